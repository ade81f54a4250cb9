"""The model of memory and pairs: rules by hand, data against plain loops, and beats of the bus."""

import dataclasses
import re

import numpy as np
import plain
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import Pair, Status, Tag, pack, unpack
from cornerturn_model import checks, cycles, golden, rows
from cornerturn_model.checks import Bytes, Region, check, judge, regions, serial
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Limits,
    Mem,
    Segment,
    Swap,
    Tile,
    as_descriptor,
)
from cornerturn_model.traffic import Traffic, traffic
from hypothesis import given
from hypothesis import strategies as st
from memory_programs import MEMORY_BYTES, WINDOW, memory_programs, memory_tiles, pairs

TINY = PRESETS["tiny"]  # 4 lanes, 256 cells, 4 cells of 8 bits a word
NIBBLES = Config(lanes=5, lanes_per_hop=2, cell_width=4, beat_cells=8, cells=64)
HALVES = Config(lanes=3, cell_width=16, beat_cells=2, cells=32)
WORDS = Config(lanes=7, cell_width=32, beat_cells=1, cells=16)
CONFIGS = {**PRESETS, "nibbles": NIBBLES, "halves": HALVES, "words": WORDS}


@pytest.fixture(scope="module", autouse=True)
def _with_memory():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "WITHOUT_MEMORY", False)
        yield


def noise(config):
    generator = np.random.default_rng(3)
    shape = (config.lanes, config.cells)
    lmem = generator.integers(0, 1 << config.cell_width, shape).astype(golden.cell_dtype(config))
    return lmem, generator.integers(0, 256, MEMORY_BYTES, np.uint8)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@given(data=st.data())
def test_against_plain_loops(config, data):
    descriptors = [as_descriptor(item) for item in data.draw(memory_programs(config))]
    lmem, memory = noise(config)
    result = golden.run(config, lmem, descriptors, memory=memory, window=WINDOW)
    statuses = judge(config, descriptors, WINDOW)
    expected = plain.run(config, lmem, descriptors, statuses, memory, WINDOW)
    assert result.lmem.tolist() == expected[0]
    assert result.memory.tolist() == expected[1]
    assert [status for _, status in result.completions] == expected[2]
    assert result.faults == expected[3]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@given(data=st.data())
def test_strategies_mean_what_they_say(config, data):
    assert check(config, data.draw(memory_tiles(config)).encode(), WINDOW) == Status.OK
    pair = [half.encode() for half in data.draw(pairs(config))]
    assert judge(config, pair, WINDOW) == [Status.OK] * 2


# --- the rules ------------------------------------------------------------------------------------

ROW = unpack(Tile(Mem(64), Along(0, 0), 4).encode())


def judged(config, *items):
    return judge(config, [as_descriptor(item) for item in items], WINDOW)


@pytest.mark.parametrize(
    ("item", "status"),
    [
        (Tile(Mem(40), Along(0, 0), 4), Status.OK),
        (Tile(Mem(39), Along(0, 0), 4), Status.WINDOW),
        (Tile(Along(0, 0), Mem(996), 4), Status.OK),
        (Tile(Along(0, 0), Mem(997), 4), Status.WINDOW),
        (Tile(Mem(41), Across(0, 8), 4, (), 4), Status.OK),  # any byte will do
        (Tile(Mem(41), Across(0, 9), 4, (), 4), Status.ALIGN),
        (Tile(Mem(41), Along(0, 0), 1, [Digit(2, 1, (0, 4))], 4), Status.OK),
        (Tile(Mem(41), Along(0, 0), 1, [Digit(2, 4, (0, 1))], 4), Status.ALIGN),
        (Tile(Mem(940), Along(0, 0), 1, [Digit(16, 4)]), Status.WINDOW),
        (Tile(Mem(939), Along(0, 0), 1, [Digit(16, 4)]), Status.OK),
        (Tile(Mem(60), Along(0, 0), 1, [Digit(21, -1)]), Status.OK),
        (Tile(Mem(60), Along(0, 0), 1, [Digit(22, -1)]), Status.WINDOW),
        # 2**16 times 2**32: zero in 48 bits.
        (Tile(Mem(60), Along(0, 0), 1, [Digit(65535, 1 << 32), Digit(2, 1 << 32)]), Status.WINDOW),
        (Tile(Mem((1 << 64) - 1), Along(0, 0), 1), Status.WINDOW),
        # The array comes before the window; empty tiles are judged by their start.
        (Tile(Mem(0), Along(4, 0), 4), Status.RANGE),
        (Tile(Mem(40), Along(0, 0), 0, [Digit(9, 9999)]), Status.OK),
        (Tile(Mem(39), Along(0, 0), 0), Status.WINDOW),
        (Tile(Mem(1000), Along(0, 0), 0), Status.WINDOW),
        # What limits leave: addresses of 32 bits.
        (Tile(Mem((1 << 32) - 1), Along(0, 0), 1, limits=Limits(co=1)), Status.OK),
        (Tile(Mem(1 << 32), Along(0, 0), 1, limits=Limits(co=1)), Status.WINDOW),
        (Tile(Mem(64), Along(0, 0), 1, [Digit(3, -(1 << 31))], limits=Limits(co=1)), Status.OK),
        (Tile(Mem(64), Along(0, 0), 1, [Digit(3, 1 << 31)], limits=Limits(co=1)), Status.WINDOW),
        (Tile(Mem(64), Along(0, 0), 1, [Digit(2, -(1 << 32) - 1)], limits=Limits(co=1)),
         Status.WINDOW),
        (Tile(Mem(64), Along(0, 0), 1, [Digit(2, -(1 << 31))], limits=Limits(co=1)), Status.OK),
        (Tile(Mem(64), Along(64, 0), 1, [Digit(2, 1 << 32)], limits=Limits(co=1)), Status.RANGE),
        # From memory to memory, onto itself.
        (Tile(Mem(64), Mem(67), 4), Status.OK),
        (Tile(Mem(64), Mem(68), 5), Status.OVERLAP),
        (Tile(Mem(64), Mem(69), 5), Status.OK),
    ],
)  # fmt: skip
def test_rules_of_memory(item, status):
    assert judged(TINY, item) == [status]


def test_without_a_window_all_addresses_are_open():
    tile = Tile(Mem((1 << 32) - 4), Along(0, 0), 4)
    assert check(TINY, tile.encode()) == Status.OK
    assert check(TINY.replace(address_bits=31), tile.encode()) == Status.WINDOW
    assert check(TINY, Tile(Mem((1 << 32) - 3), Along(0, 0), 4).encode()) == Status.WINDOW


def test_lane_steps_of_memory_sides_are_ignored():
    assert check(TINY, pack(ROW | {"in_lane_step": 99}), WINDOW) == Status.OK


def test_a_switch_for_builds_without_memory(monkeypatch):
    load, store = PAIR
    far = Tile(Mem(0), Along(9, 9), 9)
    assert judged(TINY, far, load, store) == [Status.RANGE, Status.OK, Status.OK]
    monkeypatch.setattr(checks, "WITHOUT_MEMORY", True)
    assert judged(TINY, far) == [Status.UNSUPPORTED]
    assert judged(TINY, load, store) == [Status.UNSUPPORTED] * 2
    assert check(TINY, pack(ROW | {"pair": 3})) == Status.MODE


@pytest.mark.parametrize(
    ("tile", "status"),
    [
        (Tile(Mem(64), Along(0, 0), 4), Status.OK),
        (Tile(Mem(64), Along(0, 0), 3), Status.NIBBLE),
        (Tile(Along(0, 0), Mem(64), 3), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 3, (), 2), Status.OK),
        (Tile(Along(1, 0), Along(0, 0), 3), Status.OK),
        (Tile(Mem(64), Along(0, 0), Segment(5, 4, 2, (0, 4))), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), Segment(6, 3, 2, (0, 4))), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 2, [Digit(Segment(5, 3, 3), 1)]), Status.OK),
        (Tile(Mem(64), Along(0, 0), 1, [Digit(Segment(4, 2, 3), 1)]), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 4, limits=Limits(co=3), row_tag=Tag.CO), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 4, limits=Limits(co=3), row_tag=Tag.WO), Status.OK),
        (Tile(Mem(64), Along(0, 0), 4, limits=Limits(co=3)), Status.OK),
        (Tile(Mem(64), Along(0, 0), 4, [Digit(1, tag=Tag.CO, multiplier=1)],
              limits=Limits(co=4), row_tag=Tag.CO), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 4, [Digit(1, tag=Tag.CO, multiplier=2)],
              limits=Limits(co=4), row_tag=Tag.CO), Status.OK),
        (Tile(Mem(64), Along(0, 0), 4, [Digit(1, tag=Tag.CO, multiplier=1)],
              limits=Limits(wo=4), row_tag=Tag.CO), Status.OK),
        (Tile(Mem(64), Along(0, 0), 4, ho=Digit(1, tag=Tag.CO, multiplier=1),
              limits=Limits(co=4), row_tag=Tag.CO), Status.NIBBLE),
        (Tile(Mem(64), Along(0, 0), 4, [Digit(1, tag=Tag.WO, multiplier=1)],
              limits=Limits(co=4), row_tag=Tag.CO), Status.OK),
        # An empty row, too; and the window comes first, the overlap last.
        (Tile(Mem(64), Along(0, 0), Segment(0, 1)), Status.NIBBLE),
        (Tile(Mem(39), Along(0, 0), 3), Status.WINDOW),
        (Tile(Mem(64), Mem(64), 7), Status.NIBBLE),
        (Tile(Mem(64), Mem(64), 8), Status.OVERLAP),
    ],
)  # fmt: skip
def test_nibbles(tile, status):
    assert judged(NIBBLES, tile) == [status]


def test_odd_rows_of_whole_bytes():
    assert judged(TINY, Tile(Mem(64), Along(0, 0), 3)) == [Status.OK]


@pytest.mark.parametrize(
    ("item", "read", "write", "is_serial"),
    [
        (Tile(Mem(64), Along(1, 6), 4), Bytes(64, 67), Region(1, 1, 1, 2), False),
        (Tile(Mem(64), Mem(63), 4), Bytes(64, 67), Bytes(63, 66), True),
        (Tile(Mem(64), Mem(68), 4), Bytes(64, 67), Bytes(68, 71), False),
        # Two segments of 2 elements of 4 bytes, then one; of bytes 100, 90 and 80.
        (Tile(Along(0, 0), Mem(100), Segment(5, 2, (0, 8), -10), (), 4),
         Region(0, 0, 0, 4), Bytes(80, 107), False),
        (Tile(Mem(2), Along(0, 0), 1, [Digit(9, -1)], limits=Limits(co=1)),
         Bytes(0, 2), Region(0, 0, 0, 0), False),
        (Tile(Mem((1 << 32) - 2), Along(0, 0), 4, limits=Limits(co=1)),
         Bytes((1 << 32) - 2, (1 << 32) - 1), Region(0, 0, 0, 0), False),
    ],
)  # fmt: skip
def test_regions(item, read, write, is_serial):
    assert regions(TINY, item.encode()) == (read, write)
    assert serial(TINY, item.encode()) == is_serial


def test_regions_of_a_stage_reach_both_halves():
    load, _ = PAIR
    assert regions(TINY, load.encode())[1] == Region(0, 0, 0, 0)
    twice = dataclasses.replace(load, ho=Digit(2))
    assert regions(TINY, twice.encode())[1] == Region(0, 0, 0, 1)
    alone = dataclasses.replace(twice, pair=Pair.NONE)
    assert regions(TINY, alone.encode())[1] == Region(0, 0, 0, 0)


@st.composite
def wild_tiles(draw):
    """Tiles from and to memory whose steps know nothing of the window."""
    g = draw(st.sampled_from([1, 2]))
    step = st.integers(-5, 5) | st.integers(-300, 300)
    segment = Segment(draw(st.integers(0, 7)), draw(st.integers(1, 4)), draw(step), draw(step))
    digits = [
        Digit(draw(st.integers(0, 3)), draw(step), draw(step))
        for _ in range(draw(st.integers(0, 2)))
    ]
    sides = [Mem(draw(st.integers(30, 80) | st.integers(960, 1010))) for _ in range(2)]
    return Tile(*sides, segment, digits, g, Digit(draw(st.integers(1, 2)), draw(step), draw(step)))


@given(wild_tiles())
def test_windows_against_plain_loops(tile):
    f = unpack(tile.encode())
    (status,) = judged(TINY, tile)
    touched = [
        {bit // 8 for row in plain.rows(f) for element in
         plain.places(TINY, f, side, row[at], row.whole) for bit in element}
        for at, side in enumerate(("in", "out"))
    ]  # fmt: skip
    touched = [
        some or {start.address} for some, start in zip(touched, (tile.src, tile.dst), strict=True)
    ]
    inside = all(WINDOW[0] <= min(some) and max(some) <= WINDOW[1] for some in touched)
    assert (status == Status.WINDOW) == (not inside)
    if inside and any(True for _ in plain.rows(f)):
        boxes = [(min(some), max(some)) for some in touched]
        found = regions(TINY, tile.encode())
        assert [tuple(region) for region in found] == boxes
        meet = boxes[0][0] <= boxes[1][1] and boxes[1][0] <= boxes[0][1]
        long = max(row.whole for row in plain.rows(f)) > 4
        assert status == (Status.OVERLAP if meet and long else Status.OK)


# --- pairs ----------------------------------------------------------------------------------------

LOAD = Tile(Mem(64), Along(0, 0), 4, pair=Pair.LOAD, half_cells=4)
STORE = Tile(Along(0, 0), Mem(512), 4, pair=Pair.STORE, half_cells=4)
PAIR = (LOAD, STORE)
change = dataclasses.replace
OK, MODE, REJECTED = Status.OK, Status.MODE, Status.PAIR_REJECTED


@pytest.mark.parametrize(
    ("program", "statuses"),
    [
        ([LOAD, STORE], [OK, OK]),
        ([LOAD], [MODE]),
        ([STORE], [MODE]),
        ([LOAD, Fence(), STORE], [MODE, OK, MODE]),
        ([STORE, LOAD], [MODE, MODE]),
        ([LOAD, LOAD, STORE], [MODE, OK, OK]),
        ([LOAD, STORE, STORE], [OK, OK, MODE]),
        ([LOAD, STORE, LOAD, STORE], [OK] * 4),
        # By opcode and pair alone: broken halves are halves.
        ([LOAD.encode() ^ 1, STORE], [Status.VERSION, REJECTED]),
        ([LOAD, STORE.encode() | 1 << 31], [REJECTED, Status.RESERVED]),
        ([LOAD.encode() ^ 1 << 6, STORE], [Status.OPCODE, MODE]),
    ],
)
def test_who_is_a_pair(program, statuses):
    assert judged(TINY, *program) == statuses


@pytest.mark.parametrize(
    ("load", "store", "statuses"),
    [
        # Modes.
        (change(LOAD, src=Along(1, 0)), STORE, [MODE, REJECTED]),
        (change(LOAD, dst=Mem(800)), STORE, [MODE, REJECTED]),
        (LOAD, change(STORE, dst=Along(1, 0)), [REJECTED, MODE]),
        (change(LOAD, src=Along(0, 0), dst=Mem(64)), STORE, [MODE, REJECTED]),
        (change(LOAD, dst=Across(0, 0)), change(STORE, src=Across(0, 0)), [OK, OK]),
        # Steps of the loops in the stage, whatever their count; digits may have them.
        (change(LOAD, ho=Digit(1, 4, (0, 0))), STORE, [OK, OK]),
        (change(LOAD, ho=Digit(1, 0, (0, 4))), STORE, [MODE, REJECTED]),
        (change(LOAD, wo=Digit(1, 0, (1, 0))), STORE, [MODE, REJECTED]),
        (LOAD, change(STORE, n=Segment(4, 4, (0, 4))), [REJECTED, MODE]),
        (change(LOAD, digits=[Digit(2, 0, (1, 0))]), STORE, [OK, OK]),
        # The loops of both are alike.
        (LOAD, change(STORE, ho=Digit(2)), [REJECTED, MODE]),
        (LOAD, change(STORE, wo=Digit(2)), [REJECTED, MODE]),
        (LOAD, change(STORE, n=3), [REJECTED, MODE]),
        (LOAD, change(STORE, n=Segment(4, 5)), [REJECTED, MODE]),
        (LOAD, change(STORE, half_cells=8), [REJECTED, MODE]),
        (LOAD, change(STORE, n=4, digits=[Digit(3)]), [OK, OK]),
        # As digit in one, as row in the other.
        (change(LOAD, n=2, digits=[Digit(Segment(4, 4))]), STORE, [OK, OK]),
        (change(LOAD, n=4, digits=[Digit(Segment(3, 4))]), STORE, [REJECTED, MODE]),
        # Halves of whole words.
        (change(LOAD, half_cells=6), change(STORE, half_cells=6), [Status.ALIGN] * 2),
        (change(LOAD, half_cells=0), change(STORE, half_cells=0), [OK, OK]),
        # Each has its own faults, its partner none.
        (change(LOAD, src=Mem(0)), STORE, [Status.WINDOW, REJECTED]),
        (LOAD, change(STORE, src=Along(4, 0)), [REJECTED, Status.RANGE]),
        (change(LOAD, src=Mem(0)), change(STORE, src=Along(4, 0)), [Status.WINDOW, Status.RANGE]),
        # The LOAD reads 64 .. 67.
        (LOAD, change(STORE, dst=Mem(67)), [REJECTED, Status.OVERLAP]),
        (LOAD, change(STORE, dst=Mem(68)), [OK, OK]),
        (LOAD, change(STORE, dst=Mem(61)), [REJECTED, Status.OVERLAP]),
        (LOAD, change(STORE, dst=Mem(60)), [OK, OK]),
        # Only a LOAD that is sound is compared; what the fields say of both counts anyway.
        (change(LOAD, dst=Along(4, 0)), change(STORE, dst=Mem(64)), [Status.RANGE, REJECTED]),
        (change(LOAD, dst=Along(4, 0)), change(STORE, n=3), [Status.RANGE, MODE]),
        # Of what is empty nothing meets.
        (change(LOAD, digits=[Digit(0)]), change(STORE, dst=Mem(64)), [OK, OK]),
    ],
)  # fmt: skip
def test_rules_of_pairs(load, store, statuses):
    assert judged(TINY, load, store) == statuses


@pytest.mark.parametrize(
    ("in_cell", "out_cell", "half_cells", "repeat", "statuses"),
    [
        # One block has one half: neither its size nor the other half matters.
        (252, 8, 0, 1, [OK, OK]),
        (252, 252, 4, 2, [Status.RANGE, Status.RANGE]),
        (248, 248, 4, 2, [OK, OK]),
        (248, 249, 4, 2, [REJECTED, Status.RANGE]),
        # The half is one word: both must be in the same, and in one.
        (0, 0, 0, 2, [REJECTED, Status.OVERLAP]),
        (0, 4, 4, 2, [REJECTED, Status.OVERLAP]),
        (0, 4, 8, 2, [OK, OK]),
        (4, 0, 8, 2, [OK, OK]),
        (1, 1, 4, 2, [REJECTED, Status.OVERLAP]),
        (1, 4, 8, 2, [OK, OK]),
        (3, 5, 8, 2, [REJECTED, Status.OVERLAP]),
    ],
)
def test_stages(in_cell, out_cell, half_cells, repeat, statuses):
    both = {"half_cells": half_cells, "wo": Digit(repeat)}
    load = change(LOAD, dst=Along(0, in_cell), **both)
    store = change(STORE, src=Along(1, out_cell), **both)
    assert judged(TINY, load, store) == statuses


# --- data -----------------------------------------------------------------------------------------


def numbered():
    """A memory whose bytes are their addresses modulo 251."""
    return (np.arange(MEMORY_BYTES) % 251).astype(np.uint8)


def run(config, *program, lmem=None):
    lmem = (
        np.zeros((config.lanes, config.cells), golden.cell_dtype(config)) if lmem is None else lmem
    )
    result = golden.run(config, lmem, program, memory=numbered())
    assert {status for _, status in result.completions} == {Status.OK}
    return result


def test_load_and_store_bytes():
    lmem = np.zeros((4, 256), np.uint8)
    lmem[:, 9] = [201, 202, 203, 204]
    result = run(TINY, Tile(Mem(100), Along(1, 5), 3), Tile(Across(0, 9), Mem(7), 4), lmem=lmem)
    assert result.lmem[1, 4:9].tolist() == [0, 100, 101, 102, 0]
    assert result.memory[5:13].tolist() == [5, 6, 201, 202, 203, 204, 11, 12]
    assert (result.memory[13:] == numbered()[13:]).all()


def test_cells_of_two_bytes_are_little_endian_at_any_byte():
    result = run(HALVES, Tile(Mem(0x21), Along(1, 4), 2, (), 2), Tile(Along(1, 4), Mem(101), 3))
    assert result.lmem[1, 4:8].tolist() == [0x2221, 0x2423, 0x2625, 0x2827]
    assert result.memory[100:109].tolist() == [100, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 107, 108]


def test_cells_of_half_a_byte_are_packed_low_first():
    result = run(
        NIBBLES,
        Tile(Mem(0x21), Along(1, 3), 4),
        Tile(Along(1, 4), Mem(100), 2),
        Tile(Mem(0x21), Mem(110), 4, [Digit(2, 1, 2)]),
    )
    assert result.lmem[1, 2:8].tolist() == [0, 1, 2, 2, 2, 0]
    assert result.memory[100:102].tolist() == [0x22, 101]
    assert result.memory[110:115].tolist() == [0x21, 0x22, 0x22, 0x23, 114]


def test_rows_that_meet_in_memory_run_in_order():
    result = run(TINY, Tile(Mem(50), Mem(51), 1, [Digit(5, 1, 1)]))
    assert result.memory[49:58].tolist() == [49, 50, 50, 50, 50, 50, 50, 56, 57]


def test_elements_that_overlap_in_memory_are_written_in_order():
    lmem = np.zeros((4, 256), np.uint8)
    lmem[0, :12] = range(201, 213)
    tile = Tile(Along(0, 0), Mem(20), 1, [Digit(3, (0, 4), 3)], 4)
    assert run(TINY, tile, lmem=lmem).memory[19:31].tolist() == [
        19, 201, 202, 203, 205, 206, 207, 209, 210, 211, 212, 30
    ]  # fmt: skip


def corner_turn(config, c, x, align, src, dst):
    """The example of the design: [c][x] to [x][c], rows along lanes in, across them out."""
    half = -(-x // config.beat_cells) * config.beat_cells
    digit = Digit(Segment(c, align, align * x), x, (1, 0))
    load = Tile(Mem(src), Along(0, 0), x, [digit], pair=Pair.LOAD, half_cells=half)
    store = Tile(
        Across(0, 0), Mem(dst), Segment(c, align, (0, 0), align), [Digit(x, (0, 1), c)],
        pair=Pair.STORE, half_cells=half,
    )  # fmt: skip
    return load, store


def test_a_corner_turn_through_the_stage():
    result = run(TINY, *corner_turn(TINY, c=10, x=7, align=4, src=0, dst=512))
    source = numbered()[:70].reshape(10, 7)
    assert (result.memory[512:582].reshape(7, 10) == source.T).all()
    assert (
        np.delete(result.memory, range(512, 582)) == np.delete(numbered(), range(512, 582))
    ).all()
    # Blocks 0 and 2 in the lower half, the shorter over the longer, block 1 in the upper.
    lower = [source[8], source[9], source[2], source[3]]
    assert (result.lmem[:, :7] == lower).all()
    assert (result.lmem[:, 8:15] == source[4:8]).all()
    assert not result.lmem[:, 7].any()
    assert not result.lmem[:, 15:].any()


@pytest.mark.parametrize("place", [0, 1])
def test_a_row_outside_the_window_ends_both_of_a_pair(place):
    """In block 2 of 3: the STOREs of blocks 0 and 1 stand, and the LOAD of 2 if that was inside."""

    def tile(source, destination, pair, **loop):
        return Tile(
            source, destination, 2, wo=Digit(3, **loop), pair=pair, half_cells=4,
            limits=Limits(co=9),
        )  # fmt: skip

    places = [(200, 200), (100, 8)] if place == 0 else [(10, 8), (100, 200)]
    load = tile(Mem(places[0][0]), Along(0, 0), Pair.LOAD, in_step=places[0][1])
    store = tile(Along(0, 0), Mem(places[1][0]), Pair.STORE, out_step=places[1][1])
    result = golden.run(
        TINY, np.zeros((4, 256), np.uint8), [load, store, Tile(Mem(0), Along(3, 0), 1)],
        memory=numbered(), window=(0, 500), start_index=5,
    )  # fmt: skip
    statuses = [Status.PAIR_REJECTED, Status.PAIR_REJECTED, Status.OK]
    statuses[place] = Status.WINDOW
    assert result.completions == list(zip((5, 6, 7), statuses, strict=True))
    assert result.faults == {5 + place: 600 if place == 0 else 500}
    second = 108 if place == 0 else 300
    loaded = [[200, 201], [149, 150]] if place == 0 else [[10, 11], [18, 19]]
    expected = numbered()
    expected[100:102], expected[second : second + 2] = loaded
    assert result.memory.tolist() == expected.tolist()
    first = loaded[0] if place == 0 else [26, 27]
    assert result.lmem[0, :8].tolist() == [*first, 0, 0, *loaded[1], 0, 0]


def test_an_empty_load_leaves_the_stage():
    load = change(LOAD, digits=[Digit(0)])
    lmem = np.zeros((4, 256), np.uint8)
    lmem[0, :4] = [201, 202, 203, 204]
    result = run(TINY, load, STORE, lmem=lmem)
    assert result.memory[512:516].tolist() == [201, 202, 203, 204]


def test_memory_is_left_alone():
    before = numbered()
    result = golden.run(TINY, np.zeros((4, 256), np.uint8), [Swap(0, 0, 4)], memory=before)
    assert (result.memory == before).all()
    assert result.memory is not before
    run(TINY, Tile(Along(0, 0), Mem(0), 4))
    assert golden.run(TINY, np.zeros((4, 256), np.uint8), []).memory is None


def test_refused_memories():
    def refuses(error, message, **keywords):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            golden.run(
                TINY, np.zeros((4, 256), np.uint8), [Tile(Mem(0), Along(0, 0), 1)], **keywords
            )

    refuses(ValueError, "memory must be given to a program that touches it, not None")
    refuses(TypeError, "memory must be a flat array of uint8, not [0]", memory=[0])
    refuses(TypeError, "memory must be a flat array of uint8, not dtype('int64')",
            memory=np.zeros(4, np.int64))  # fmt: skip
    refuses(ValueError, "window must be within the memory's bytes (0, 7), not (4, 8)",
            memory=np.zeros(8, np.uint8), window=(4, 8))  # fmt: skip


# --- beats ----------------------------------------------------------------------------------------


def test_rows_share_the_beats_of_the_bus():
    """A bus of 4 bytes; four rows of 3 bytes."""

    def beats(address, step):
        return traffic(TINY, [Tile(Mem(address), Along(0, 0), 3, [Digit(4, step, (0, 4))])])

    # Bytes 64 .. 75; 66 .. 77; with gaps; all the same.
    assert beats(64, 3) == Traffic(0, 4, 3, 0, rows=4, blocks=1, instructions=1)
    assert beats(66, 3).memory_read == 4
    assert beats(64, 4).memory_read == 4
    assert beats(66, 4).memory_read == 8
    assert beats(64, 0).memory_read == 4
    assert beats(80, -3).memory_read == 1 + 2 + 1 + 2


def test_beats_of_rows_in_pieces(monkeypatch):
    tile = Tile(Mem(66), Mem(300), 3, [Digit(2, 200, 160), Digit(40, 3, 4)])
    at_once = traffic(TINY, [tile])
    # Read 66 .. 185 and 266 .. 385, words 16 .. 46 and 66 .. 96; written one by one.
    assert at_once[:4] == (0, 0, 31 + 31, 80)
    monkeypatch.setattr(rows, "CHUNK", 7)
    assert traffic(TINY, [tile]) == at_once


def test_counters_of_a_program_in_memory():
    load, store = corner_turn(TINY, c=10, x=7, align=4, src=0, dst=512)
    program = [Swap(0, 0, 3), load, store, 1 << 40]
    assert traffic(TINY, program) == Traffic(
        # A SWAP of 3 has 2 rows of 2 slots. Of the pair, rows of 7 bytes are 2 beats along a lane,
        # those of 4, 4 and 2 bytes one across the lanes.
        chain_read=4 + 3 * 7, chain_written=4 + 10 * 2,
        # 70 bytes in one. Stored 10 bytes apart, every second piece of 4 bytes is in two words.
        memory_read=18, memory_written=(4 + 6) + (4 + 6) + 7,
        rows=2 + 10 + 21, blocks=1 + 3 + 3, instructions=3,
    )  # fmt: skip
    assert cycles.count(TINY, program) == {"rows": 33, "blocks": 7, "instructions": 3}
    assert cycles.limit(TINY, program) == 27
    result = golden.run(TINY, np.zeros((4, 256), np.uint8), program, memory=numbered())
    assert result.cycles is None
    assert result.counters == {"rows": 33, "blocks": 7, "instructions": 3}
