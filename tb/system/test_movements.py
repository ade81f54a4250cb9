"""The two movements of the seed on the RTL: exhaustively on `tiny`, and its worked examples."""

import itertools

import numpy as np
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn_model.instruction import Across, Along, Digit, Swap, Tile

TINY = PRESETS["tiny"]

RANGES = [
    (n, first, step)
    for n in range(1, TINY.lanes + 1)
    for step in range(1, TINY.lanes)
    for first in range(TINY.lanes - (n - 1) * step)
]
"""Every (elements, first lane, lane step) that fits `tiny`."""


def movements(element_cells, cell):
    """Movement A and movement B for every range and every lane on the other side."""
    for (n, first, step), lane in itertools.product(RANGES, range(TINY.lanes)):
        yield Tile(Across(first, cell, step), Along(lane, 128 + cell), n, (), element_cells)
        yield Tile(Along(lane, cell), Across(first, 128 + cell, step), n, (), element_cells)


@pytest.mark.parametrize(
    ("backend", "element_cells", "cell"),
    [("pysim", 1, 3), *(("icarus", *case) for case in [(1, 0), (1, 3), (2, 2), (4, 4)])],
)
def test_every_range_of_tiny(backend, element_cells, cell, simulations, compare):
    program = list(movements(element_cells, cell))
    # In pieces, so that a movement that goes wrong is not hidden by those that follow.
    for at in range(0, len(program), 12):
        compare(simulations(TINY, backend), program[at : at + 12])


def test_one_cell_of_ten_lanes_to_ten_cells_of_one_and_back(simulations):
    """Paragraphs 123 and 125: elements 00, 10 .. 90 of figures 3 and 4."""
    elements = np.arange(0, 100, 10, dtype=np.uint8)
    config = Config(lanes=10, beat_cells=4, cells=64)
    simulation = simulations(config)
    simulation.load(np.zeros((10, 64), np.uint8))
    simulation.load(elements.reshape(10, 1))
    result = simulation.run([Tile(Across(0, 0), Along(0, 0), 10)])
    assert [status for _, status in result.completions] == [0]
    np.testing.assert_array_equal(simulation.read(lanes=1, cells=10)[0], elements)

    simulation.load(np.full((9, 1), 255, np.uint8), lane=1)
    simulation.run([Tile(Along(0, 0), Across(0, 0), 10)])
    np.testing.assert_array_equal(simulation.read(cells=1)[:, 0], elements)
    np.testing.assert_array_equal(simulation.read(lanes=1, cells=10)[0], elements)


@pytest.mark.parametrize(
    ("backend", "element_cells"), [("pysim", 2), ("icarus", 1), ("icarus", 2), ("icarus", 4)]
)
def test_every_swap_of_tiny(backend, element_cells, simulations, compare):
    program = [
        Swap(lane, cell * element_cells, n, element_cells)
        for n in range(TINY.lanes + 1)
        for lane in range(TINY.lanes - max(1, n) + 1)
        for cell in range(5)
    ]
    compare(simulations(TINY, backend), program)


@pytest.mark.parametrize("backend", ["icarus", pytest.param("verilator", marks=pytest.mark.full)])
def test_half_words_read_beside_writes_of_the_other_half(backend, simulations, compare):
    """32 lanes, W = 8: four cells of every word are read while the other four are written.

    The simulation raises if the SRAM ever does both in one cycle.
    """
    config = PRESETS["default"].replace(cells=256)
    lower, upper = [Along(lane, 0) for lane in (0, 5)], [Across(0, 4), Across(0, 12)]
    program = [
        *(Tile(Across(0, 8), side, 4, (Digit(8, (1, 0), (1, 0)),)) for side in upper),
        Tile(Across(0, 0), Across(0, 4), 32, (Digit(4, (0, 1), (0, 1)),)),
        *(Tile(side, Across(0, 4), 4, (Digit(4, (0, 8), (0, 8)),)) for side in lower),
        Tile(Along(0, 4), Along(0, 0), 4, (Digit(32, (1, 0), (1, 0)),)),
    ]
    compare(simulations(config, backend), program)
