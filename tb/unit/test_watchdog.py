"""The watchdog: whatever the bus owes for two periods, and nothing else."""

import random

import pytest
from cornerturn.soc.watchdog import Watchdog
from unit.bench import trace

CYCLES = 8
READ = [{"arvalid": 1, "arready": 1}]
WRITE = [{"awvalid": 1, "awready": 1, "wvalid": 1, "wready": 1, "wlast": 1}]

OWED = {
    "ar": ([], {"arvalid": 1}),
    "r": (READ, {}),
    "r of two": ([*READ, *READ, {"rvalid": 1, "rready": 1, "rlast": 1}], {}),
    "r within a burst": ([*READ, {"rvalid": 1, "rready": 1}], {}),
    "aw": ([], {"awvalid": 1}),
    "w": ([], {"wvalid": 1}),
    "b": (WRITE, {}),
}
NOT_OWED = {
    "nothing": ([], {}),
    "the manager takes no data": (READ, {"rvalid": 1}),
    "the manager takes no answer": (WRITE, {"bvalid": 1}),
    "the manager has more data to send": ([{"awvalid": 1, "awready": 1}], {}),
    "all is answered": (
        [*READ, *WRITE, {"rvalid": 1, "rready": 1, "rlast": 1, "bvalid": 1, "bready": 1}], {},
    ),
    "data without end": (READ, {"rvalid": 1, "rready": 1}),
}  # fmt: skip


def rises(stimulus, cycles=CYCLES):
    """The cycle in which `hung` rises, and whether it stays."""
    stimulus = [inputs | {"cycles": cycles} for inputs in stimulus]
    values = [record["hung"] for record in trace(Watchdog(), stimulus, ["hung"])]
    assert values == sorted(values)
    return values.index(1) if 1 in values else None


@pytest.mark.parametrize("name", OWED)
def test_what_is_owed_too_long(name):
    """At any phase of the period."""
    before, owed = OWED[name]
    found = set()
    for phase in range(CYCLES):
        start = phase + len(before)
        rise = rises([{}] * phase + before + [owed] * 3 * CYCLES)
        found.add(rise - start)
    assert found == set(range(CYCLES + 1, 2 * CYCLES + 1))


@pytest.mark.parametrize("name", NOT_OWED)
def test_what_is_not_owed(name):
    before, forever = NOT_OWED[name]
    assert rises(before + [forever] * 6 * CYCLES) is None


@pytest.mark.parametrize("name", OWED)
def test_it_can_be_switched_off(name):
    before, owed = OWED[name]
    assert rises(before + [owed] * 6 * CYCLES, cycles=0) is None


def test_it_stays_when_the_bus_comes_back():
    stimulus = [{"arvalid": 1}] * 3 * CYCLES + [{"arvalid": 1, "arready": 1}] + [{}] * CYCLES
    assert rises(stimulus) is not None


@pytest.mark.parametrize("seed", range(3))
def test_a_bus_that_moves_within_a_period_is_not_hung(seed):
    """However many channels wait, and for how long in all."""
    rng = random.Random(seed)
    stimulus, quiet = [], 0
    while len(stimulus) < 600:
        quiet = 0 if rng.random() < 0.3 or quiet == CYCLES else quiet + 1
        stimulus.append({"arvalid": 1, "arready": quiet == 0, "rready": 1})
        stimulus[-1] |= {"rvalid": quiet == 0, "wvalid": 1, "wready": quiet == 0}
    assert rises(stimulus) is None


def test_a_shorter_period_counts_at_once():
    stimulus = [{"arvalid": 1, "cycles": 1000}] * 50 + [{"arvalid": 1, "cycles": 4}] * 20
    values = [record["hung"] for record in trace(Watchdog(), stimulus, ["hung"])]
    assert 50 < values.index(1) <= 50 + 8
