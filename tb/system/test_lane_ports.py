"""The lane ports beside a running engine: right data, and not one cycle more for the engine."""

import random

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn_model import golden
from cornerturn_model.instruction import Across, Along, Digit, Tile
from cornerturn_sim.job import Access
from cornerturn_sim.words import to_words

CONFIG = Config(lanes=5, lanes_per_hop=2, beat_cells=4, cells=128)
OURS = range(16, 32)
"""Words that only the lane ports use; the programs keep to the others."""

PROGRAM = [
    Tile(Across(0, 0), Along(0, 32), 5, (Digit(5, (0, 1), (1, 0)), Digit(3, (0, 5), (0, 5)))),
    Tile(Along(0, 32), Across(0, 20), 5, (Digit(5, (1, 0), (0, 1)),)),
    Tile(Along(1, 32), Along(0, 20), 12, (Digit(4, (1, 0), (1, 0)),)),
]

each_backend = pytest.mark.parametrize(
    "backend", ["pysim", "icarus", pytest.param("verilator", marks=pytest.mark.full)]
)


def cells_of(word):
    """The cells of a word."""
    return list(word.to_bytes(CONFIG.beat_cells, "little"))


def word_of(lmem, lane, word):
    """A word of an lmem, flat."""
    return int.from_bytes(lmem[lane, word * 4 : word * 4 + 4].tobytes(), "little")


@pytest.mark.parametrize(
    ("backend", "seed"), [("pysim", 0), *(("icarus", seed) for seed in range(4))]
)
def test_random_accesses_beside_a_program(backend, seed, simulations, noise):
    rng = random.Random(seed)
    lmem = noise(CONFIG)
    simulation = simulations(CONFIG, backend)
    simulation.load(lmem)
    accesses = []
    # A lane's words are written by even accesses and read by odd ones: each has its own.
    for lane in range(CONFIG.lanes):
        for _ in range(40):
            cycle = rng.randrange(120)
            if rng.random() < 0.5:
                accesses.append(Access(cycle=cycle, lane=lane, word=rng.choice(OURS[1::2])))
            else:
                accesses.append(Access(
                    cycle=cycle, lane=lane, word=rng.choice(OURS[::2]),
                    data=rng.randrange(1 << 32), mask=rng.randrange(16),
                ))  # fmt: skip
    result = simulation.run(PROGRAM, accesses=tuple(accesses))
    model = golden.run(CONFIG, lmem, PROGRAM)
    assert result.counters == model.counters
    expected = model.lmem.copy()
    for access, answer in zip(accesses, result.answers, strict=True):
        assert answer.cycle >= access.cycle
        if access.data is None:
            assert answer.data == word_of(lmem, access.lane, access.word)
        else:
            for cell, value in enumerate(cells_of(access.data)):
                if access.mask >> cell & 1:
                    expected[access.lane, access.word * 4 + cell] = value
    np.testing.assert_array_equal(simulation.read(), expected)


@each_backend
def test_port_waits_while_the_chain_uses_the_lane(backend, simulations, noise):
    """A row along lane 0 takes its read port for 24 cycles in a row; lane 1's stays free."""
    simulation = simulations(CONFIG, backend)
    simulation.load(noise(CONFIG))
    program = [Tile(Along(0, 0), Along(4, 0), 64, (Digit(4, (0, 0), (0, 0)),))]
    accesses = tuple(Access(cycle=30, lane=lane, word=20) for lane in (0, 1))
    result = simulation.run(program, accesses=accesses)
    busy, free = result.answers
    assert free.cycle == 30
    assert busy.cycle > 60
    assert [answer.data for answer in result.answers] == [
        word_of(noise(CONFIG), lane, 20) for lane in (0, 1)
    ]


@each_backend
def test_own_read_and_write_of_one_word_write_first(backend, simulations):
    simulation = simulations(CONFIG, backend)
    accesses = (
        Access(cycle=3, lane=2, word=7, data=0x04030201, mask=15),
        Access(cycle=3, lane=2, word=7),
        Access(cycle=3, lane=3, word=7),
    )
    result = simulation.run([], accesses=accesses)
    write, read, other = result.answers
    assert (write.cycle, read.cycle, other.cycle) == (3, 4, 3)
    assert read.data == 0x04030201


@each_backend
def test_load_and_read_any_box(backend, simulations, noise):
    simulation = simulations(CONFIG, backend)
    lmem = noise(CONFIG, 1)
    simulation.load(lmem)
    box = np.arange(21, dtype=np.uint8).reshape(3, 7)
    simulation.load(box, lane=2, cell=5)
    lmem[2:5, 5:12] = box
    np.testing.assert_array_equal(simulation.read(), lmem)
    np.testing.assert_array_equal(simulation.read(lane=2, cell=5, lanes=3, cells=7), box)
    lane, cell = np.int8([2, 5])
    np.testing.assert_array_equal(simulation.read(lane=lane, cell=cell, lanes=3, cells=7), box)


def test_engine_without_lane_ports_has_them_in_simulation(simulations, noise):
    config = Config(lanes=3, beat_cells=2, cells=16, lane_ports=False)
    simulation = simulations(config)
    simulation.load(noise(config))
    np.testing.assert_array_equal(simulation.read(), noise(config))


@pytest.mark.parametrize(("array", "options", "message"), [
    (np.zeros((5, 128), np.uint16), {}, "array must be of uint8, not uint16"),
    (np.zeros(5, np.uint8), {}, r"array must be of shape (lanes, cells), not (5,)"),
    (np.zeros((5, 1), np.uint8), {"lane": 1}, "lanes must be within 0 to 4, not 1 to 5"),
    (np.zeros((1, 9), np.uint8), {"cell": 120}, "cells must be within 0 to 127, not 120 to 128"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(array, options, message, simulations):
    with pytest.raises((TypeError, ValueError)) as error:
        simulations(CONFIG).load(array, **options)
    assert str(error.value) == message


def test_values_that_no_cell_holds_are_refused(simulations):
    config = Config(lanes=3, cell_width=4, beat_cells=2, cells=16)
    simulation = simulations(config)
    simulation.load(np.array([[15]], np.uint8))
    with pytest.raises(ValueError, match=r"^array must be below 2\*\*4 everywhere, not 17$"):
        simulation.load(np.array([[3, 17]], np.uint8))
    np.testing.assert_array_equal(simulation.read(lanes=1, cells=2), [[15, 0]])


def test_words_of_every_cell_width_hold_cells_in_order():
    config = Config(lanes=2, cell_width=4, beat_cells=2, cells=4)
    array = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8)
    assert to_words(config, array) == [(0, 3, 15, 0x6521), (1, 3, 15, 0x8743)]
