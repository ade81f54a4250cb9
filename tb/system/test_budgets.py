"""The time of lmem work on the RTL at 4, 32 and 64 lanes: exact, and within its budget.

Cycles count from the issue to the completion. They do not depend on the data, so none is loaded.
"""

import math

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn_model import cycles
from cornerturn_model.instruction import Across, Along, Digit, Nop, Swap, Tile

CONFIGS = {
    "tiny": PRESETS["tiny"],
    "default": PRESETS["default"].replace(cells=1024),
    "wide": PRESETS["wide"].replace(cells=1024),
    "npu64": PRESETS["npu64"].replace(cells=1024),
}

each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def time(simulations, config, program):
    """Cycles of a program on the RTL: always those of the model."""
    simulation = simulations(config, "icarus")
    result = simulation.run(program)
    assert all(status == 0 for _, status in result.completions)
    assert result.cycles == cycles.count(config, program)["cycles"]
    return result.cycles


def transpose(config, n, rows, element_cells=1, src=0, dst=None):
    """Rows across n lanes, each to a lane of its own."""
    dst = config.cells // 2 if dst is None else dst
    step = (0, element_cells)
    return Tile(Across(0, src), Along(0, dst), n, (Digit(rows, step, (1, 0)),), element_cells)


@each_config
@pytest.mark.parametrize("element_cells", [1, 4])
def test_rows_cost_their_beats_and_one_start_up(element_cells, config, simulations):
    most = min(config.lanes, config.cells // 2 // element_cells)
    for n, rows in ((config.lanes, most), (config.lanes - 1, 3), (2, 4), (1, 1)):
        beats = rows * math.ceil(n * element_cells / config.beat_cells)
        spent = time(simulations, config, [transpose(config, n, rows, element_cells)])
        # The last slot is beats - 1 cycles behind the first.
        assert spent == beats - 1 + config.completion_delay
        assert spent <= beats + 2 * config.hops + 12


@each_config
def test_movement_back_costs_the_same(config, simulations):
    n, rows, half = config.lanes, 4, config.cells // 2
    there = Tile(Across(0, 0), Along(0, half), n, (Digit(rows, (0, 1), (1, 0)),))
    back = Tile(Along(0, half), Across(0, 0), n, (Digit(rows, (1, 0), (0, 1)),))
    assert time(simulations, config, [there]) == time(simulations, config, [back])


def test_start_up_at_32_lanes_16_cells_and_4_a_hop(simulations):
    config = Config(beat_cells=16, lanes_per_hop=4, cells=256)
    assert time(simulations, config, [transpose(config, 16, 1)]) <= 28


@each_config
def test_padded_lanes_cost_nothing(config, simulations):
    short = time(simulations, config, [transpose(config, 2, 4)])
    assert short == 4 - 1 + config.completion_delay


@each_config
def test_independent_instructions_follow_without_a_bubble(config, simulations):
    rows = max(16, config.check_interval)
    program = [
        Tile(Across(0, 0), Across(0, config.cells // 2), 2, (Digit(rows, (0, 1), (0, 1)),))
        for _ in range(3)
    ]
    spent = time(simulations, config, program)
    assert spent == 3 * rows - 1 + config.completion_delay


@each_config
@pytest.mark.parametrize("offset", [1, 3])
def test_a_misaligned_row_costs_at_most_one_beat_more(offset, config, simulations):
    n, rows = config.lanes, 4
    for src, dst in ((offset, 0), (0, offset), (offset, offset)):
        tile = Tile(
            Along(0, src), Along(0, config.cells // 2 + dst), n, (Digit(rows, (1, 0), (1, 0)),)
        )
        beats = rows * (math.ceil(n / config.beat_cells) + 1)
        assert time(simulations, config, [tile]) <= beats - 1 + config.completion_delay


@each_config
@pytest.mark.parametrize("cell", [0, 3])
def test_swap_in_place(cell, config, simulations):
    n, word = config.lanes, config.beat_cells
    budget = 2 * config.hops + 16
    for i in range(n - 1):
        start = (cell + i + 1) % word
        across, along = math.ceil((n - 1 - i) / word), math.ceil((start + n - 1 - i) / word)
        budget += 2 * across + along
    assert time(simulations, config, [Swap(0, cell, n)]) <= budget


@each_config
def test_an_instruction_without_rows_costs_one_slot(config, simulations):
    assert time(simulations, config, [Nop()]) == config.completion_delay
