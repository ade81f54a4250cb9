"""What every test relies on: the pinned Verilog back end, the tiers, and seeds that are known.

The fast tier draws the same hypothesis examples on every machine. The full tier draws new ones on
every run, more of them, from a seed that the header prints and ``--hypothesis-seed`` repeats.
"""

import os
import random

import pytest
from hypothesis import HealthCheck, settings

# The text of the Verilog changes with the version of yosys: never the one on PATH.
os.environ["AMARANTH_USE_YOSYS"] = "builtin"

# A first example may build a simulator, so neither a deadline nor its health check means anything.
settings.register_profile(
    "fast",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "full", settings.get_profile("fast"), derandomize=False, database=None, max_examples=1000
)


def pytest_addoption(parser):
    """Add ``--run-full``."""
    parser.addoption("--run-full", action="store_true", help="run the tests marked full, too")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Choose the hypothesis profile and, for the full tier, a seed that all workers share."""
    full = config.getoption("--run-full")
    settings.load_profile("full" if full else "fast")
    if full and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(1 << 32))


def pytest_report_header(config):
    """Name what repeats this run."""
    seed = config.option.hypothesis_seed
    return f"hypothesis seed: {seed or 'none, the examples are always the same'}"


def pytest_collection_modifyitems(config, items):
    """Leave out the tests marked full, unless asked for them."""
    if config.getoption("--run-full"):
        return
    full = [item for item in items if item.get_closest_marker("full")]
    if full:
        config.hook.pytest_deselected(items=full)
        items[:] = [item for item in items if item not in full]
