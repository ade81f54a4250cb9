"""What the system tests share: simulators that stay open, and the comparison with the model."""

import numpy as np
import pytest
from cornerturn_model import golden
from cornerturn_sim.build import missing
from cornerturn_sim.simulation import Simulation


@pytest.fixture(scope="session")
def simulations():
    """Gives a simulation, reset, of a configuration on a backend; opens each once."""
    opened = {}

    def get(config, backend="pysim"):
        reason = missing(backend)
        if reason is not None:
            pytest.skip(reason)
        if (config, backend) not in opened:
            opened[config, backend] = Simulation(config, backend)
        opened[config, backend].reset()
        return opened[config, backend]

    yield get
    for simulation in opened.values():
        simulation.close()


@pytest.fixture(scope="session")
def noise():
    """Gives an lmem full of noise, always the same for one configuration and seed."""

    def get(config, seed=0):
        return np.random.default_rng(seed).integers(
            0, 1 << config.cell_width, (config.lanes, config.cells), golden.cell_dtype(config)
        )

    return get


@pytest.fixture(scope="session")
def compare(noise):
    """Runs a program on a simulation from reset and noise: the RTL must do what the model does.

    Gives the result, and the lmem. With `timed=False` the cycles and stalls may differ.
    """

    def run(simulation, program, *, lmem=None, timed=True, **options):
        config = simulation.config
        lmem = noise(config) if lmem is None else lmem
        model = golden.run(config, lmem, program)
        simulation.reset()
        simulation.load(lmem)
        result = simulation.run(program, **options)
        left = simulation.read()
        assert result.completions == model.completions
        np.testing.assert_array_equal(left, model.lmem)
        if timed:
            assert result.counters == model.counters
        return result, left

    return run
