"""The data of a program: the published examples, plain loops, and what the run refuses.

The examples are those of the transposition patent (lanes and cells count from 1 there): paragraph
123 (one cell of each of ten lanes to ten cells of one), 125 (back), 142 (five lanes), 157 and 179
(the same with another lane as destination).
"""

import re
import time

import numpy as np
import plain
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import Status, Tag
from cornerturn_model import golden, rows
from cornerturn_model.checks import judge
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Nop,
    Segment,
    Swap,
    Tile,
    as_descriptor,
)
from hypothesis import given
from hypothesis import strategies as st
from programs import programs

TINY = PRESETS["tiny"]
DEFAULT = PRESETS["default"]
CONFIGS = {
    **PRESETS,
    "nibbles": Config(lanes=5, lanes_per_hop=2, cell_width=4, beat_cells=8, cells=64),
    "halves": Config(lanes=3, cell_width=16, beat_cells=2, cells=32),
    "words": Config(lanes=7, cell_width=32, beat_cells=1, cells=16),
}


def memory(config, seed=1):
    generator = np.random.default_rng(seed)
    shape = (config.lanes, config.cells)
    return generator.integers(0, 1 << config.cell_width, shape).astype(golden.cell_dtype(config))


def changed(before, after):
    """The cells that differ, as {(lane, cell): value}."""
    return {(int(a), int(b)): int(after[a, b]) for a, b in np.argwhere(before != after)}


def run(config, lmem, *program):
    result = golden.run(config, lmem, program)
    assert all(status == Status.OK for _, status in result.completions)
    return result.lmem


ELEMENTS = [0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80, 0x90]


def test_movement_a_of_paragraph_123():
    before = np.full((32, 4096), 0xEE, np.uint8)
    before[0:10, 0] = ELEMENTS
    after = run(DEFAULT, before, Tile(Across(lane=0, cell=0), Along(lane=0, cell=0), n=10))
    # The cell of lane 1 that is read and written keeps its 00: the row is read whole first.
    assert after[0, 0:10].tolist() == ELEMENTS
    assert after[1:10, 0].tolist() == ELEMENTS[1:]
    assert changed(before, after) == {(0, k): ELEMENTS[k] for k in range(1, 10)}


def test_movement_b_of_paragraph_125():
    before = np.full((32, 4096), 0xEE, np.uint8)
    before[0, 0:10] = ELEMENTS
    after = run(DEFAULT, before, Tile(Along(lane=0, cell=0), Across(lane=0, cell=0), n=10))
    assert after[0:10, 0].tolist() == ELEMENTS
    assert changed(before, after) == {(k, 0): ELEMENTS[k] for k in range(1, 10)}


def test_five_lanes_of_paragraph_142():
    before = np.full((32, 4096), 0xEE, np.uint8)
    before[0:5, 0] = ELEMENTS[:5]
    after = run(DEFAULT, before, Tile(Across(0, 0), Along(7, 3), n=5))
    assert changed(before, after) == {(7, 3 + k): ELEMENTS[k] for k in range(5)}


@pytest.mark.parametrize("lane", [0, 8, 31])
def test_any_second_address_of_paragraph_157(lane):
    before = np.full((32, 4096), 0xEE, np.uint8)
    before[0:10, 0] = ELEMENTS
    after = run(DEFAULT, before, Tile(Across(0, 0), Along(lane, 100), n=10))
    assert changed(before, after) == {(lane, 100 + k): ELEMENTS[k] for k in range(10)}


@pytest.mark.parametrize("position", range(10))
def test_each_lane_keeps_its_own_element_of_paragraphs_179_and_208(position):
    """The element of place k goes to lane k and no other, for example the eighth of ten."""
    before = np.full((32, 4096), 0xEE, np.uint8)
    before[3, 5:15] = 0xEE
    before[3, 5 + position] = 0x80
    after = run(DEFAULT, before, Tile(Along(3, 5), Across(0, 0), n=10))
    assert changed(before, after) == {(position, 0): 0x80}


def test_a_then_b_restores():
    before = memory(DEFAULT)
    there = Tile(Across(3, 9, step=2), Along(20, 64), n=11, element_cells=1)
    back = Tile(Along(20, 64), Across(3, 10, step=2), n=11, element_cells=1)
    after = run(DEFAULT, before, there, back)
    assert (after[3:25:2, 10] == before[3:25:2, 9]).all()


def test_matrix_is_transposed():
    before = memory(DEFAULT)
    digits = [Digit(32, (0, 2), (1, 0))]
    after = run(DEFAULT, before, Tile(Across(0, 0), Along(0, 64), 32, digits, element_cells=2))
    matrix = before[:, :64].reshape(32, 32, 2)
    assert (after[:, 64:128].reshape(32, 32, 2) == matrix.transpose(1, 0, 2)).all()
    assert (after[:, :64] == before[:, :64]).all()


def test_broadcast_and_flip():
    before = memory(TINY)
    flip = Tile(Along(0, 7), Along(1, 0), 1, [Digit(8, (0, -1), (0, 1))])
    broadcast = Tile(Along(0, 0), Along(1, 8), 8, [Digit(3, (0, 0), (1, 0))])
    after = run(TINY, before, flip, broadcast)
    assert (after[1, 0:8] == before[0, 7::-1]).all()
    assert (after[1:4, 8:16] == before[0, 0:8]).all()


def test_last_row_wins():
    before = memory(TINY)
    # Two digits name each destination twice in different order; a third does not move it at all.
    digits = [Digit(2, (0, 32), (0, 1)), Digit(3, (0, 8), (0, 0)), Digit(2, (0, 4), (0, 1))]
    after = run(TINY, before, Tile(Along(0, 0), Along(1, 0), 1, digits))
    assert after[1, 0:3].tolist() == [before[0, 16], before[0, 48], before[0, 52]]


def test_rows_that_meet_run_in_order():
    before = memory(TINY)
    after = run(TINY, before, Tile(Along(2, 0), Along(2, 1), 1, [Digit(9, (0, 1), (0, 1))]))
    assert (after[2, 0:10] == before[2, 0]).all()


def test_segment_counts():
    before = memory(TINY)
    as_row = Tile(Along(0, 0), Along(1, 0), Segment(3, 5))
    as_digit = Tile(Along(0, 8), Along(1, 8), 2, [Digit(Segment(3, 5), (0, 2), (0, 4))])
    after = run(TINY, before, as_row, as_digit)
    assert changed(before[:, :8], after[:, :8]).keys() <= {(1, 0), (1, 1), (1, 2)}
    assert (after[1, 0:3] == before[0, 0:3]).all()
    assert (after[1, 8:20].reshape(3, 4)[:, :2] == before[0, 8:14].reshape(3, 2)).all()


def counted():
    """Cells 0 .. 237 of lane 0 hold their numbers; all others 238."""
    lmem = np.full((4, 256), 238, np.uint8)
    lmem[0, :238] = np.arange(238)
    return lmem


def moved(*program, status=Status.OK):
    """What a program changes in lane 1 of the counted memory, as {cell: value}."""
    before = counted()
    result = golden.run(TINY, before, program)
    assert [found for _, found in result.completions] == [status] * len(program)
    places = changed(before, result.lmem)
    assert {lane for lane, _ in places} <= {1}
    return {cell: value for (_, cell), value in places.items()}


def test_whole_segments_and_remainder():
    rows = Tile(Along(0, 0), Along(1, 0), Segment(5, 2, (0, 10), (0, 20)))
    assert moved(rows) == {0: 0, 1: 1, 20: 10, 21: 11, 40: 20}
    digit = Digit(Segment(5, 2, (0, 10), (0, 20)), (0, 1), (0, 3))
    digits = Tile(Along(0, 0), Along(1, 0), 1, [digit])
    assert moved(digits) == {0: 0, 3: 1, 20: 10, 23: 11, 40: 20}


def test_loops_are_around_the_segments():
    """The loop ho outermost, then wo, then co: in one place the last of each remains."""
    one = Segment(5, 3, (0, 3))
    assert moved(Tile(Along(0, 0), Along(1, 0), one)) == {0: 3, 1: 4, 2: 2}
    loops = {"ho": Digit(2, (0, 100)), "wo": Digit(3, (0, 10), (0, 4))}
    assert moved(Tile(Along(0, 0), Along(1, 0), one, **loops)) == {
        0: 103, 1: 104, 2: 102, 4: 113, 5: 114, 6: 112, 8: 123, 9: 124, 10: 122
    }  # fmt: skip
    # The remainder of one (ho, wo) comes before the whole segments of the next.
    loops = {"wo": Digit(2, (0, 100), (0, 1))}
    assert moved(Tile(Along(0, 0), Along(1, 0), one, **loops)) == {0: 3, 1: 103, 2: 104, 3: 102}


def test_rows_are_trimmed_at_the_limit_of_their_own_coordinate():
    segment = Segment(6, 4, (0, 4), (0, 4), Tag.CO, 4)
    for limit, cells in ((0, 6), (1, 1), (4, 4), (5, 5), (6, 6), (7, 6)):
        tile = Tile(Along(0, 0), Along(1, 0), segment, limits=Limits(co=limit), row_tag=Tag.CO)
        assert moved(tile) == {k: k for k in range(cells)}


def test_rows_are_suppressed_at_the_limits_of_other_coordinates():
    def tile(row_tag, **limits):
        return Tile(
            Along(0, 0), Along(1, 0), 2, [Digit(4, (0, 2), (0, 2), Tag.HO, 2)],
            limits=Limits(**limits), row_tag=row_tag,
        )  # fmt: skip

    # Coordinates 0, 2, 4, 6.
    for limit, many in ((1, 1), (2, 1), (3, 2), (6, 3), (7, 4)):
        assert moved(tile(Tag.NONE, ho=limit)) == {k: k for k in range(2 * many)}
        assert moved(tile(Tag.WO, ho=limit, wo=1)) == {2 * k: 2 * k for k in range(many)}
    # As the row's own it trims: of limit 3 the row at 2 keeps one element.
    assert moved(tile(Tag.HO, ho=3)) == {0: 0, 1: 1, 2: 2}
    # No loop has the tag: the coordinate is 0.
    assert moved(tile(Tag.NONE, wo=1)) == {k: k for k in range(8)}


def test_a_coordinate_is_the_sum_over_its_tag():
    """Two blocks of four rows by one, 4 and 1 apart, in an axis of 6."""
    tile = Tile(
        Along(0, 0), Along(1, 0), 1, [Digit(4, (0, 1), (0, 1), Tag.HO, 1)],
        ho=Digit(2, (0, 10), (0, 10), Tag.HO, 4), limits=Limits(ho=6),
    )  # fmt: skip
    assert moved(tile) == {0: 0, 1: 1, 2: 2, 3: 3, 10: 10, 11: 11}


def test_what_is_suppressed_does_not_count_as_last():
    digits = [Digit(3, (0, 10), (0, 0), Tag.WO, 1)]
    tile = Tile(Along(0, 0), Along(1, 0), 2, digits, limits=Limits(wo=2))
    assert moved(tile) == {0: 10, 1: 11}
    trimmed = Tile(
        Along(0, 0), Along(1, 0), 2, [Digit(3, (0, 10), (0, 0), Tag.WO, 1)],
        limits=Limits(wo=3), row_tag=Tag.WO,
    )  # fmt: skip
    assert moved(trimmed) == {0: 20, 1: 11}


def test_limits_of_rows_that_meet():
    """Each element to the next cell, one by one: the first goes all the way, up to the limit."""
    digits = [Digit(9, (0, 1), (0, 1), Tag.HO, 1)]
    before = counted()
    tile = Tile(Along(0, 100), Along(0, 101), 1, digits, limits=Limits(ho=4))
    after = run(TINY, before, tile)
    assert changed(before, after) == {(0, 101 + k): 100 for k in range(4)}


def test_the_first_row_outside_ends_its_instruction():
    before = counted()
    out = Tile(Along(0, 0), Along(1, 7), 2, [Digit(3, (0, 9), (2, 0))], limits=Limits(wo=9))
    result = golden.run(TINY, before, [out, Tile(Along(0, 0), Along(2, 0), 1)], start_index=6)
    assert result.completions == [(6, Status.RANGE), (7, Status.OK)]
    assert result.faults == {6: (5, 7)}
    assert changed(before, result.lmem) == {
        (1, 7): 0, (1, 8): 1, (3, 7): 9, (3, 8): 10, (2, 0): 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tile", "address"),
    [
        # Two elements are left, or three.
        (Tile(Along(0, 0), Along(1, 254), 4, limits=Limits(co=2), row_tag=Tag.CO), None),
        (Tile(Along(0, 0), Along(1, 254), 4, limits=Limits(co=3), row_tag=Tag.CO), (1, 254)),
        (Tile(Along(0, 0), Across(2, 9), 4, limits=Limits(co=2), row_tag=Tag.CO), None),
        (Tile(Along(0, 0), Across(2, 9), 4, limits=Limits(co=3), row_tag=Tag.CO), (2, 9)),
        (Tile(Along(0, 0), Across(1, 256), 1, limits=Limits(co=1)), (1, 256)),
        (Tile(Across(0, 256), Along(1, 0), 1, limits=Limits(co=1)), (0, 256)),
        # Both are outside: the source.
        (Tile(Along(4, 8), Along(5, 9), 1, limits=Limits(co=1)), (4, 8)),
        # Backwards below zero, where another limit suppresses it, or not.
        (Tile(Along(0, 4), Along(1, 0), 2, [Digit(4, (0, -2), (0, 2), Tag.HO, 1)],
              limits=Limits(ho=3)), None),
        (Tile(Along(0, 4), Along(1, 0), 2, [Digit(4, (0, -2), (0, 2), Tag.HO, 1)],
              limits=Limits(ho=4)), (0, -2)),
        (Tile(Along(0, 0), Along(1, 0), 2, [Digit(3, (-1, 0), (0, 2))],
              limits=Limits(ho=4)), (-1, 0)),
    ],
)  # fmt: skip
def test_where_a_row_is_outside(tile, address):
    result = golden.run(TINY, counted(), [tile])
    status = Status.OK if address is None else Status.RANGE
    assert result.completions == [(0, status)]
    assert result.faults == ({} if address is None else {0: address})


@pytest.mark.parametrize("n", [0, 1, 2, 5, 32])
def test_swap(n):
    before = memory(DEFAULT)
    after = run(DEFAULT, before, Swap(0, 12, n, 4))
    block = before[:n, 12 : 12 + 4 * n].reshape(n, n, 4)
    expected = before.copy()
    expected[:n, 12 : 12 + 4 * n] = block.transpose(1, 0, 2).reshape(n, 4 * n)
    assert (after == expected).all()


def test_completions_and_start_index():
    bad = Nop().encode() | 1 << 100
    program = [Nop(), bad, Halt(), Fence()]
    result = golden.run(TINY, memory(TINY), program, start_index=(1 << 32) - 2)
    assert result.completions == [
        ((1 << 32) - 2, Status.OK), ((1 << 32) - 1, Status.RESERVED), (0, Status.OK), (1, Status.OK)
    ]  # fmt: skip
    assert result.cycles == result.counters["cycles"]


def test_rejected_does_nothing_and_the_rest_runs():
    before = memory(TINY)
    too_far = Tile(Along(0, 0), Along(1, 0), 257)
    result = golden.run(TINY, before, [too_far, Tile(Along(0, 0), Along(2, 0), 1)])
    assert [status for _, status in result.completions] == [Status.RANGE, Status.OK]
    assert changed(before, result.lmem).keys() <= {(2, 0)}
    assert result.lmem[2, 0] == before[0, 0]


def test_memory_is_left_alone():
    before = memory(TINY)
    copy = before.copy()
    golden.run(TINY, before, [Swap(0, 0, 4)])
    assert (before == copy).all()
    before.flags.writeable = False
    assert golden.run(TINY, np.asfortranarray(before), [Swap(0, 0, 4)]).lmem.flags.writeable


@pytest.mark.parametrize(("width", "dtype"), [(4, "u1"), (8, "u1"), (16, "u2"), (32, "u4")])
def test_cell_dtype(width, dtype):
    assert golden.cell_dtype(Config(cell_width=width)) == np.dtype(dtype)


def test_refused_memories():
    def refuses(error, message, lmem, config=TINY):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            golden.run(config, lmem, [])

    refuses(TypeError, "lmem must be an array of uint8, not dtype('int64')",
            np.zeros((4, 256), np.int64))  # fmt: skip
    refuses(TypeError, "lmem must be an array of uint8, not [0]", [0])
    refuses(ValueError, "lmem must be of shape (lanes, cells) = (4, 256), not (256, 4)",
            np.zeros((256, 4), np.uint8))  # fmt: skip
    nibbles = Config(lanes=4, cells=256, beat_cells=4, cell_width=4)
    refuses(ValueError, "lmem must be below 2**4 everywhere, not 16",
            np.full((4, 256), 16, np.uint8), nibbles)  # fmt: skip
    golden.run(nibbles, np.full((4, 256), 15, np.uint8), [])


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@given(data=st.data())
def test_against_plain_loops(config, data):
    agrees(config, data.draw(programs(config, loops=data.draw(st.booleans()))))


def agrees(config, program):
    """The run ends as that by the plain loops."""
    descriptors = [as_descriptor(item) for item in program]
    before = memory(config, seed=len(program))
    result = golden.run(config, before, program)
    lmem, _, statuses, faults = plain.run(config, before, descriptors, judge(config, descriptors))
    assert [status for _, status in result.completions] == statuses
    assert result.faults == faults
    assert result.lmem.tolist() == lmem


@given(data=st.data())
def test_in_chunks_of_few_rows(data):
    """Large tiles are walked in pieces: the same data, the same time."""
    program = data.draw(programs(TINY, max_size=3, loops=True))
    at_once = golden.run(TINY, memory(TINY), program)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "CHUNK", data.draw(st.integers(1, 9)))
        in_pieces = golden.run(TINY, memory(TINY), program)
    assert (at_once.lmem == in_pieces.lmem).all()
    assert at_once[1:5] == in_pieces[1:5]


@st.composite
def aliasing_tiles(draw):
    """Tiles of the tiny build with small destination steps, so that places are named repeatedly."""
    digits = []
    for _ in range(draw(st.integers(1, 4))):
        out_step = (draw(st.sampled_from([0, 0, 1, -1])), draw(st.integers(-3, 3)))
        digits.append(Digit(draw(st.integers(1, 3)), (0, draw(st.integers(-4, 4))), out_step))
    source = Along(draw(st.sampled_from([0, 3])), 200)
    destination = draw(st.sampled_from([Along(2, 40), Across(1, 40, 1), Across(1, 40, 2)]))
    small = st.sampled_from([(0, 0), (0, 1), (0, -2), (0, 3)])
    row = draw(st.integers(1, 3))
    if draw(st.booleans()):
        row = Segment(draw(st.integers(1, 7)), row, draw(small), draw(small))
    loops = {name: Digit(draw(st.integers(1, 2)), (0, 9), draw(small)) for name in ("ho", "wo")}
    limits = Limits(co=draw(st.sampled_from([0, 2])))
    row_tag = draw(st.sampled_from([Tag.CO, Tag.NONE]))
    return Tile(source, destination, row, digits, limits=limits, row_tag=row_tag, **loops)


@given(aliasing_tiles())
def test_last_wins_against_plain_loops(tile):
    agrees(TINY, [tile])


def test_a_million_rows_in_one_place():
    """Counts are 16 bits; iterations that write one place cost nothing."""
    before = memory(TINY)
    digits = [Digit(65535), Digit(65535), Digit(2, (0, 1))]
    after = run(TINY, before, Tile(Along(0, 0), Along(1, 0), 1, digits))
    assert after[1, 0] == before[0, 1]


@pytest.mark.full
@pytest.mark.parametrize("segmented", [False, True])
@pytest.mark.parametrize("across_first", [True, False])
def test_speed(across_first, segmented):
    """A large corner turn of 8-bit elements: at least 50 million a second on one core."""
    config = Config(lanes=64, beat_cells=16, cells=65536)
    sides = (Across(0, 0), Along(0, 32768))
    steps = [((0, 512), (1, 0)), ((0, 1), (0, 64))]
    if not across_first:
        sides, steps = (Along(0, 0), Across(0, 32768)), [((1, 0), (0, 512)), ((0, 64), (0, 1))]
    digits = [Digit(64, *steps[0]), Digit(512, *steps[1])]
    if segmented:
        segment = Segment(63, 20, *(tuple(20 * by for by in step) for step in steps[0]))
        digits[0] = Digit(segment, *steps[0])
    before = memory(config)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        run(config, before, Tile(*sides, 64, digits))
        seconds.append(time.perf_counter() - start)
    assert (63 if segmented else 64) * 64 * 512 / min(seconds) >= 50e6
