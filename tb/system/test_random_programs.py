"""Random programs: the RTL does what the model says, to the last cell and cycle.

The same test for the Amaranth simulator and for the generated Verilog in Icarus and Verilator.
"""

import pytest
from cornerturn.config import PRESETS, Config
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import programs

CONFIGS = {
    "tiny": PRESETS["tiny"],
    "5 lanes, 2 a hop": Config(lanes=5, lanes_per_hop=2, beat_cells=2, cells=64),
    "7 lanes, 3 a hop": Config(lanes=7, lanes_per_hop=3, beat_cells=8, cells=128),
    "3 lanes, 1 cell": Config(lanes=3, beat_cells=1, cells=16),
    "6 lanes, one hop": Config(lanes=6, lanes_per_hop=6, beat_cells=4, cells=64),
    "int4": Config(lanes=4, cell_width=4, beat_cells=8, cells=64),
    "16 bit": Config(lanes=4, cell_width=16, beat_cells=4, cells=64),
    "32 bit": Config(lanes=3, cell_width=32, beat_cells=2, cells=32),
}
"""Small builds; wide words and long chains are in the full tier."""

LARGE = {
    "two rotating stages": Config(lanes=9, lanes_per_hop=4, beat_cells=32, cells=256),
    "small elements": Config(lanes=13, beat_cells=16, cells=128, max_element_cells=2),
    "wide": PRESETS["wide"].replace(cells=256),
    "npu64": PRESETS["npu64"].replace(cells=128),
}

SHARE = {"pysim": 10, "icarus": 2, "verilator": 1}
"""One in so many examples, by the simulator's speed."""

BUILT = ("tiny", "7 lanes, 3 a hop", "3 lanes, 1 cell", "int4")
"""Builds that Verilator, which takes its time to make them, has in the fast tier."""


CASES = [
    pytest.param(
        config,
        backend,
        marks=[pytest.mark.full] if backend == "verilator" and name not in BUILT else [],
        id=f"{backend}, {name}",
    )
    for backend in SHARE
    for name, config in CONFIGS.items()
]


def check(simulation, backend, compare):
    @settings(max_examples=settings.default.max_examples // SHARE[backend])
    @given(programs(simulation.config, loops=True))
    def rtl_is_model(program):
        compare(simulation, program)

    rtl_is_model()


@pytest.mark.parametrize(("config", "backend"), CASES)
def test_programs(config, backend, simulations, compare):
    check(simulations(config, backend), backend, compare)


@pytest.mark.full
@pytest.mark.parametrize("backend", ["icarus", "verilator"])
@pytest.mark.parametrize("config", LARGE.values(), ids=LARGE)
def test_programs_of_large_builds(config, backend, simulations, compare):
    check(simulations(config, backend), backend, compare)


@pytest.mark.parametrize("backend", ["pysim", "icarus"])
def test_back_pressure_changes_only_the_time(backend, simulations, compare):
    config = CONFIGS["5 lanes, 2 a hop"]
    simulation = simulations(config, backend)
    chances = st.sampled_from([0.02, 0.1, 0.5, 1.0])

    @settings(max_examples=settings.default.max_examples // SHARE[backend] // 2)
    @given(programs(config, loops=True), chances, chances, st.integers(0, 9))
    def rtl_is_model(program, offer, take, seed):
        compare(simulation, program, timed=False, offer=offer, take=take, seed=seed)

    rtl_is_model()


def test_a_program_costs_the_same_cycles_in_every_simulator(simulations, compare):
    config = CONFIGS["tiny"]
    results = [
        compare(simulations(config, backend), [1 << 8, *[4] * 3], take=0.3, timed=False)[0]
        for backend in ("pysim", "icarus")
    ]
    assert results[0] == results[1]
