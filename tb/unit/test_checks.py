"""Every rule of the check, both sides of its boundary, their priority, and the regions."""

import itertools

import plain
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import FIELDS, RECORDS, Opcode, Status, Tag, named_mask, pack, unpack
from cornerturn_model import checks
from cornerturn_model.checks import Region, check, regions, serial
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
)
from hypothesis import given
from hypothesis import strategies as st
from programs import breakable, broken, loop_tiles, swaps, tiles

TINY = PRESETS["tiny"]  # 4 lanes, 256 cells, 4 cells a word, elements up to 4 cells
ROW = unpack(Tile(Across(0, 0), Along(0, 8), 4).encode())
SWAP = unpack(Swap(0, 0, 4).encode())


def judge(config=TINY, base=ROW, **changes):
    return check(config, pack(base | changes))


@pytest.mark.parametrize(
    "item",
    [
        Nop(),
        Fence(),
        Halt(),
        Swap(0, 0, 0),
        Swap(3, 255, 1),
        Swap(0, 240, 4, 4),
        Tile(Across(0, 0), Along(0, 8), 4),
        Tile(Across(0, 0, 3), Along(3, 254), 2),
        Tile(Along(0, 0), Along(1, 0), 256),
        Tile(Along(0, 0), Along(0, 1), 4),
        Tile(Across(3, 255), Along(3, 0), 1, [Digit(2, (-3, -255), (-3, 255))]),
        Tile(Along(0, 0), Along(1, 0), 1, [Digit(65535)] * 6),
        Tile(Along(0, 0), Along(1, 0), Segment(0, 1)),
        Tile(Along(0, 0), Along(1, 0), 4, [Digit(Segment(0, 1), (99, 0))]),
    ],
)
def test_accepted(item):
    assert check(TINY, item.encode()) == Status.OK


@pytest.mark.parametrize("version", [0, 2, 15])
def test_version(version):
    assert judge(version=version) == Status.VERSION


@pytest.mark.parametrize(
    "item", [Nop(), Fence(), Halt(), Swap(0, 0, 4), Tile(Across(0, 0), Along(0, 8), 4)]
)
def test_reserved_bits_one_by_one(item):
    """Every bit that the opcode does not use is refused; a used bit never gives this code."""
    descriptor = item.encode()
    names = {
        Nop: ["version", "opcode"], Fence: ["version", "opcode"], Halt: ["version", "opcode"],
        Swap: ["version", "opcode", "element", "n", "in_cell", "in_lane"], Tile: list(FIELDS),
    }[type(item)]  # fmt: skip
    used = named_mask(names)
    for bit in range(2048):
        if not used >> bit & 1:
            assert check(TINY, descriptor | 1 << bit) == Status.RESERVED
        elif bit >= 8:
            assert check(TINY, descriptor ^ 1 << bit) != Status.RESERVED


@pytest.mark.parametrize("opcode", range(5, 16))
def test_opcode(opcode):
    assert judge(opcode=opcode) == Status.OPCODE
    assert check(TINY, pack(ROW | {"opcode": opcode}) | 1 << 31) == Status.RESERVED


@pytest.mark.parametrize("name", ["in_mode", "out_mode", "pair"])
def test_mode(name):
    assert judge(**{name: 3}) == Status.MODE


@pytest.mark.parametrize("changes", [{"in_mode": 2}, {"out_mode": 2}, {"pair": 1}, {"pair": 2}])
def test_unsupported(changes):
    assert judge(**changes) == Status.UNSUPPORTED


@pytest.mark.parametrize(
    "changes",
    [{"repeat_ho": 0}, {"repeat_wo": 0}, {"co": 4, "co_align": 5}, {"row_tag": 3}, {"d5_tag": 2},
     {"half_cells": 7}, {"co_multiplier": 9}, {"co_in_lane": -32768}],
)  # fmt: skip
def test_without_effect(changes):
    assert judge(**changes) == Status.OK


def test_element():
    for base in (ROW, SWAP):
        assert judge(base=base, element=2) == Status.OK
        assert judge(base=base, element=3) == Status.ELEMENT


def test_count():
    assert judge(co_align=0) == Status.COUNT
    assert judge(co=0, co_align=0) == Status.COUNT
    assert judge(co_align=(1 << 24) - 1) == Status.OK
    assert judge(co_align=1 << 24) == Status.COUNT
    assert judge(co=1, segment_is_digit=1, n=4, co_align=(1 << 16) - 1) == Status.OK
    assert judge(co=1, segment_is_digit=1, n=4, co_align=1 << 16) == Status.COUNT


def test_count_of_segments():
    one = ROW | {"co_align": 1}
    assert judge(base=one, co=65535) == Status.OK
    assert judge(base=one, co=65536) == Status.COUNT
    assert judge(base=ROW, co=65535 * 4) == Status.OK
    assert judge(base=ROW, co=65535 * 4 + 1) == Status.COUNT
    # With a limit nothing is said about where the rows are. 65535 * 65537 = 2**32 - 1.
    long = ROW | {"limit_co": 1, "co": (1 << 32) - 1}
    assert judge(base=long, co_align=65537) == Status.OK
    assert judge(base=long, co_align=65536) == Status.COUNT


CELLS = [name for name in FIELDS if name.endswith("_cell")]


@pytest.mark.parametrize("name", CELLS)
def test_align_of_every_cell_field(name):
    # One element, every count 1: no step is ever taken, and still each must be whole.
    one = ROW | {"co": 1, "co_align": 1, "element": 2}
    assert judge(base=one, **{name: 4}) == Status.OK
    assert judge(base=one, **{name: 6}) == Status.ALIGN
    assert judge(base=one | {"element": 1}, **{name: 6}) == Status.OK


def test_align_fields():
    assert len(CELLS) == 2 + 2 * 9
    assert judge(base=SWAP, element=1, in_cell=2) == Status.OK
    assert judge(base=SWAP, element=2, in_cell=2) == Status.ALIGN


@pytest.mark.parametrize(("prefix", "other"), [("in", "out"), ("out", "in")])
def test_range_of_lane_steps(prefix, other):
    base = unpack(Tile(Across(0, 0), Across(0, 8), 1).encode())
    for step, status in ((0, Status.RANGE), (3, Status.OK), (4, Status.RANGE)):
        for co in (0, 1):
            assert judge(base=base, co=co, **{f"{prefix}_lane_step": step}) == status
        ignored = {f"{prefix}_mode": 1, f"{prefix}_lane_step": step}
        assert judge(base=base, **ignored) == Status.OK


@pytest.mark.parametrize(
    ("item", "status"),
    [
        (Tile(Across(1, 0), Along(0, 8), 3), Status.OK),
        (Tile(Across(1, 0), Along(0, 8), 4), Status.RANGE),
        (Tile(Across(0, 0, 3), Along(0, 8), 3), Status.RANGE),
        (Tile(Along(0, 252), Along(1, 0), 1, (), 4), Status.OK),
        (Tile(Along(0, 252), Along(1, 0), 2, (), 4), Status.RANGE),
        (Tile(Across(0, 252), Along(0, 0), 2, (), 4), Status.OK),
        (Tile(Across(0, 256), Along(0, 0), 2, (), 4), Status.RANGE),
        (Tile(Along(0, 0), Along(4, 0), 1), Status.RANGE),
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(2, (-1, 0))]), Status.RANGE),
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(2, (0, 0), (0, -1))]), Status.RANGE),
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(2, (3, 255), (2, 255))]), Status.OK),
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(2, (4, 0))]), Status.RANGE),
        # The steps take each other back, but not in every iteration.
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(2, (0, 256)), Digit(2, (0, -256))]),
         Status.RANGE),
        # 65536 * 65536 cells: zero in 32 bits.
        (Tile(Along(0, 0), Along(1, 0), 1, [Digit(65535, (0, 1 << 16)), Digit(2, (0, 1 << 16))]),
         Status.RANGE),
        # An empty tile is judged by its start alone.
        (Tile(Along(3, 255), Along(0, 0), 0, [Digit(9, (9, 9))]), Status.OK),
        (Tile(Along(3, 255), Along(0, 0), 9, [Digit(0, (9, 9)), Digit(7, (8, 8))]), Status.OK),
        (Tile(Along(4, 0), Along(0, 0), 0), Status.RANGE),
        (Tile(Along(0, 0), Along(0, 256), 0), Status.RANGE),
        (Swap(3, 255, 0), Status.OK),
        (Swap(4, 0, 0), Status.RANGE),
        (Swap(0, 256, 0), Status.RANGE),
        (Swap(3, 0, 2), Status.RANGE),
        (Swap(0, 252, 4), Status.OK),
        (Swap(0, 253, 4), Status.RANGE),
        (Swap(0, 0, 5), Status.RANGE),
        (Swap(1 << 31, 1 << 31, 1), Status.RANGE),
    ],
)  # fmt: skip
def test_range(item, status):
    assert check(TINY, item.encode()) == status


@pytest.mark.parametrize(
    ("co", "align", "in_cell", "status"),
    [
        # Whole segments 248..251 and 252..255, then nothing.
        (8, 4, 248, Status.OK),
        (8, 4, 249, Status.RANGE),
        # 247..250 and 251..254, then 255 alone; one more would be outside.
        (9, 4, 247, Status.OK),
        (10, 4, 247, Status.RANGE),
        (9, 4, 248, Status.RANGE),
        # Only a remainder.
        (3, 4, 253, Status.OK),
        (3, 4, 254, Status.RANGE),
    ],
)
def test_range_of_segments(co, align, in_cell, status):
    tile = Tile(Along(0, in_cell), Along(1, 0), Segment(co, align, (0, 4), (0, 4)))
    assert check(TINY, tile.encode()) == status


def test_range_of_a_segmented_digit():
    """Three elements a row, 2 rows in each whole segment, 1 in the remainder."""
    digit = Digit(Segment(5, 2, (0, 6), (0, 6)), (0, 3), (0, 3))
    assert check(TINY, Tile(Along(0, 241), Along(1, 0), 3, [digit]).encode()) == Status.OK
    assert check(TINY, Tile(Along(0, 242), Along(1, 0), 3, [digit]).encode()) == Status.RANGE


def test_range_of_loops():
    def tile(lane, repeat_ho, repeat_wo):
        return Tile(
            Along(lane, 0), Along(0, 0), 1,
            ho=Digit(repeat_ho, (-1, 0)), wo=Digit(repeat_wo, (0, 255)),
        )  # fmt: skip

    assert check(TINY, tile(3, 4, 2).encode()) == Status.OK
    assert check(TINY, tile(3, 5, 2).encode()) == Status.RANGE
    assert check(TINY, tile(3, 4, 3).encode()) == Status.RANGE
    # One of them empty: only the start counts.
    assert check(TINY, tile(3, 5, 0).encode()) == Status.OK
    assert check(TINY, tile(3, 0, 3).encode()) == Status.OK
    assert check(TINY, tile(4, 0, 3).encode()) == Status.RANGE


LIMITED = unpack(Tile(Along(0, 0), Along(1, 0), 1, limits=Limits(wo=1)).encode())


@pytest.mark.parametrize("side", ["in", "out"])
@pytest.mark.parametrize("record", RECORDS)
def test_what_limits_leave_of_range(side, record):
    """The tiny build: 2 + 4 bits of lanes, 32 of cells, each alone."""
    counts = {
        "co": lambda count: {"co": count, "co_align": 1},
        "ho": lambda count: {"repeat_ho": count},
        "wo": lambda count: {"repeat_wo": count},
    }
    count = counts.get(record, lambda count: {f"{record}_count": count})
    for number, lane, cell, status in (
        (2, 63, 0, Status.OK), (2, 64, 0, Status.RANGE), (2, -63, 0, Status.OK),
        (2, -64, 0, Status.OK), (2, -65, 0, Status.RANGE),
        (65, 1, 0, Status.RANGE), (64, -1, 0, Status.OK),
        (1, 9999, 0, Status.OK), (0, 9999, 0, Status.OK),
        (2, 0, -(1 << 31), Status.OK), (3, 0, -(1 << 31), Status.OK),
        (4, 0, -(1 << 31), Status.RANGE),
        (3, 0, (1 << 31) - 1, Status.OK), (65535, 0, 65537, Status.OK),
        (65535, 0, 65539, Status.RANGE),
    ):  # fmt: skip
        steps = {f"{record}_{side}_lane": lane, f"{record}_{side}_cell": cell}
        assert judge(base=LIMITED, **count(number), **steps) == status


def test_what_limits_leave_of_range_of_segments():
    """The co loop goes over its whole segments, and on to a remainder: each alone."""

    def judged(co, lane):
        return judge(base=LIMITED, co=co, co_align=4, co_in_lane=lane)

    assert judged(co=12, lane=31) == Status.OK
    assert judged(co=12, lane=32) == Status.RANGE
    assert judged(co=9, lane=63) == Status.OK
    assert judged(co=9, lane=64) == Status.RANGE
    assert judged(co=5, lane=-64) == Status.OK
    assert judged(co=5, lane=-65) == Status.RANGE
    assert judged(co=4, lane=64) == Status.OK
    assert judged(co=3, lane=64) == Status.OK


def test_what_limits_leave_of_starts():
    for changes, status in (
        ({"in_lane": 63}, Status.OK), ({"in_lane": 64}, Status.RANGE),
        ({"out_lane": 64}, Status.RANGE), ({"out_cell": (1 << 32) - 1}, Status.OK),
        # Steps are not added up, nor is the row.
        ({"in_lane": 63, "repeat_ho": 2, "ho_in_lane": 63}, Status.OK),
        ({"co": (1 << 24) - 1, "co_align": (1 << 24) - 1}, Status.OK),
        # An empty tile is judged by its start, as ever.
        ({"in_lane": 4, "co": 0}, Status.RANGE), ({"in_lane": 3, "co": 0}, Status.OK),
        ({"in_mode": 0, "in_lane_step": 4}, Status.RANGE),
    ):  # fmt: skip
        assert judge(base=LIMITED, **changes) == status
    small = TINY.replace(address_bits=20)
    assert judge(small, LIMITED, in_cell=(1 << 20) - 1) == Status.OK
    assert judge(small, LIMITED, in_cell=1 << 20) == Status.RANGE


def test_a_swap_of_all_lanes_may_still_be_too_many_cells():
    config = Config(lanes=16, beat_cells=4, cells=8)
    assert check(config, Swap(0, 0, 8).encode()) == Status.OK
    assert check(config, Swap(0, 0, 9).encode()) == Status.RANGE


@pytest.mark.parametrize(
    ("item", "status", "is_serial"),
    [
        (Tile(Along(0, 0), Along(0, 4), 4), Status.OK, False),
        # Neighbouring cells of one word meet.
        (Tile(Along(0, 0), Along(0, 7), 1, [Digit(2, (0, 4))]), Status.OK, True),
        (Tile(Along(0, 0), Along(1, 0), 5), Status.OK, False),
        (Tile(Along(0, 0), Along(0, 0), 4), Status.OK, True),
        (Tile(Along(0, 0), Along(0, 0), 5), Status.OVERLAP, True),
        (Tile(Along(0, 0), Along(0, 0), Segment(4, 99)), Status.OK, True),
        (Tile(Along(0, 0), Along(0, 0), 5, [Digit(Segment(1, 1))]), Status.OVERLAP, True),
        (Tile(Across(0, 0), Along(2, 2), 4), Status.OK, True),
        (Tile(Across(0, 0), Along(2, 4), 4), Status.OK, False),
        (Tile(Along(0, 0), Along(0, 0), Segment(8, 4, (0, 4), (0, 4))), Status.OK, True),
        (Tile(Along(0, 0), Along(0, 0), Segment(8, 5, (0, 4), (0, 4))), Status.OVERLAP, True),
        # It is the remainder that meets.
        (Tile(Along(0, 0), Along(0, 8), Segment(5, 4, (0, 8), (0, 8))), Status.OK, True),
        (Tile(Along(0, 0), Along(0, 8), Segment(4, 4, (0, 8), (0, 8))), Status.OK, False),
        # Untrimmed rows count, and all that is outside is at the edge of the array.
        (
            Tile(Along(0, 0), Along(0, 0), 5, limits=Limits(co=2), row_tag=Tag.CO),
            Status.OVERLAP,
            True,
        ),
        (Tile(Along(2, 300), Along(2, 700), 4, limits=Limits(co=2)), Status.OK, True),
        (Tile(Along(9, 0), Along(3, 3), 4, limits=Limits(co=2)), Status.OK, True),
        (Tile(Along(9, 0), Along(3, 4), 4, limits=Limits(co=2)), Status.OK, False),
        # Boxes meet although no row touches the other's lanes.
        (Tile(Along(0, 0), Along(1, 0), 5, [Digit(2, (2, 0), (2, 0))]), Status.OVERLAP, True),
    ],
)
def test_overlap(item, status, is_serial):
    assert check(TINY, item.encode()) == status
    assert serial(TINY, item.encode()) is is_serial


# One change each, so that any two can be made in one descriptor: which code wins?
BASE = unpack(Tile(Along(0, 0), Along(0, 0), 5).encode()) | {"out_lane": 1}
CHANGES = {
    Status.VERSION: {"version": 2},
    Status.RESERVED: {},
    Status.OPCODE: {"opcode": 5},
    Status.MODE: {"out_mode": 3},
    Status.UNSUPPORTED: {"pair": 1},
    Status.ELEMENT: {"element": 3},
    Status.COUNT: {"co_align": 0},
    Status.ALIGN: {"element": 1, "ho_in_cell": 1},
    Status.RANGE: {"d5_count": 2, "d5_in_lane": -1},
    Status.OVERLAP: {"out_lane": 0},
}


def _break(*statuses):
    values = dict(BASE)
    for status in reversed(statuses):  # the first one's element is the one that stays
        values |= CHANGES[status]
    return pack(values) | (1 << 31 if Status.RESERVED in statuses else 0)


def test_base_is_accepted():
    assert check(TINY, _break()) == Status.OK


@pytest.mark.parametrize("status", CHANGES)
def test_single_fault(status):
    assert check(TINY, _break(status)) == status


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(CHANGES, 2)))
def test_priority(first, second):
    assert check(TINY, _break(first, second)) == first


def test_priority_of_a_swap():
    everything = {"element": 3, "in_cell": 1, "in_lane": 4}
    assert judge(base=SWAP, **everything) == Status.ELEMENT
    assert judge(base=SWAP, **everything | {"element": 1}) == Status.ALIGN
    assert judge(base=SWAP, **everything | {"element": 0}) == Status.RANGE


@pytest.mark.parametrize(
    ("item", "read", "write"),
    [
        (Tile(Across(1, 6), Along(2, 9), 3), Region(1, 3, 1, 1), Region(2, 2, 2, 2)),
        (Tile(Along(3, 2), Across(0, 255, 3), 2), Region(3, 3, 0, 0), Region(0, 3, 63, 63)),
        (Tile(Along(0, 8), Along(1, 2), 2, [Digit(3, (1, -4), (0, 2))]),
         Region(0, 2, 0, 2), Region(1, 1, 0, 1)),
        (Tile(Along(0, 8), Along(3, 4), 5, (), 4), Region(0, 0, 2, 6), Region(3, 3, 1, 5)),
        # Two segments of 4 from cells 2 and 22, a remainder of 1 at 42; rows of lanes 0, 1, 2.
        (Tile(Along(0, 2), Along(0, 100), Segment(9, 4, (0, 20), (1, 0))),
         Region(0, 0, 0, 10), Region(0, 2, 25, 25)),
        (Tile(Along(0, 0), Along(1, 40), 2, ho=Digit(2, (2, 0), (0, -8)), wo=Digit(3, (0, 8))),
         Region(0, 2, 0, 4), Region(1, 1, 8, 10)),
        # Clipped: lanes -1..4 to 0..3; cells 250..257 and -8..-7.
        (Tile(Across(1, 250), Along(2, 8), 4, ho=Digit(3, (-1, 3), (0, -8)), limits=Limits(ho=1)),
         Region(0, 3, 62, 63), Region(2, 2, 0, 2)),
        (Swap(1, 6, 3, 2), Region(1, 3, 1, 2), Region(1, 3, 1, 2)),
        (Swap(1, 6, 1), None, None),
        (Tile(Along(0, 0), Along(0, 0), 0), None, None),
        (Fence(), None, None),
    ],
)  # fmt: skip
def test_regions(item, read, write):
    assert regions(TINY, item.encode()) == (read, write)


def test_regions_are_clipped_to_bits_of_lanes():
    """Of five lanes, lane 7 is the last that has a number."""
    config = Config(lanes=5, cells=64, beat_cells=4)
    tile = Tile(Along(9, 0), Along(6, 90), 1, limits=Limits(co=1))
    assert regions(config, tile.encode()) == (Region(7, 7, 0, 0), Region(6, 6, 15, 15))


def _touched(fields, side):
    """Every (lane, cell) that a side of a tile names, trimmed or not, by the plain loops."""
    for row in plain.rows(fields):
        start = row.source if side == "in" else row.destination
        for element in plain.places(TINY, fields, side, start, row.whole):
            yield from element


@st.composite
def wild_tiles(draw):
    """Tiles whose steps and starts know nothing of the array: many leave it, many meet."""
    g = draw(st.sampled_from([1, 2, 4]))

    def step():
        cells = st.sampled_from([-8, -4, -1, 0, 0, 1, 2, 4, 100]).map(lambda step: step * g)
        return draw(st.tuples(st.integers(-2, 2), cells))

    def loop(most):
        return Digit(draw(st.integers(0, 9)) % (most + 1), step(), step())

    digits = [loop(3) for _ in range(draw(st.integers(0, 2)))]
    n = draw(st.integers(0, 6))
    segment = Segment(draw(st.integers(0, 7)), draw(st.integers(1, 5)), step(), step())
    form = draw(st.sampled_from(["plain", "row", "digit"]))
    if form == "row":
        n = segment
    elif form == "digit":
        digits.insert(0, Digit(segment, step(), step()))
    sides = []
    for _ in range(2):
        lane, cell = draw(st.integers(0, 4)), draw(st.integers(0, 12) | st.integers(240, 256))
        side = Across(lane, cell // g * g, draw(st.integers(1, 3)))
        sides.append(draw(st.sampled_from([side, Along(side.lane, side.cell)])))
    loops = [draw(st.sampled_from([Digit(1), loop(2)])) for _ in range(2)]
    return Tile(*sides, n, digits, g, *loops)


@given(wild_tiles())
def test_boxes_against_plain_loops(tile):
    descriptor = tile.encode()
    fields = unpack(descriptor)
    status = check(TINY, descriptor)
    boxes = []
    for prefix in ("in", "out"):
        places = set(_touched(fields, prefix))
        if not places:
            start = fields[f"{prefix}_lane"] < 4 and fields[f"{prefix}_cell"] < 256
            assert start or status == Status.RANGE
            continue
        lanes, cells = zip(*places, strict=True)
        inside = min(lanes) >= 0 and max(lanes) < 4 and min(cells) >= 0 and max(cells) < 256
        assert inside or status == Status.RANGE
        boxes.append(Region(min(lanes), max(lanes), min(cells) // 4, max(cells) // 4))
    if status == Status.OK:
        assert regions(TINY, descriptor) == (tuple(boxes) or (None, None))
    if status == Status.OVERLAP:
        assert max(row.whole for row in plain.rows(fields)) > 4
        assert boxes[0].meets(boxes[1])


@given(wild_tiles())
def test_range_only_for_what_leaves(tile):
    """The other direction: what is rejected does leave the array."""
    descriptor = tile.encode()
    if check(TINY, descriptor) == Status.RANGE:
        fields = unpack(descriptor)
        places = {place for prefix in ("in", "out") for place in _touched(fields, prefix)}
        places |= (
            set() if places else {(tile.src.lane, tile.src.cell), (tile.dst.lane, tile.dst.cell)}
        )
        assert any(not (0 <= lane < 4 and 0 <= cell < 256) for lane, cell in places)


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
@given(data=st.data())
def test_strategies_mean_what_they_say(config, data):
    item = data.draw(st.one_of(tiles(config), loop_tiles(config), swaps(config)))
    assert check(config, item.encode()) == Status.OK
    status = data.draw(st.sampled_from(breakable(config)))
    assert (
        check(config, data.draw(broken(config, [status], loops=data.draw(st.booleans())))) == status
    )


def test_every_code_of_this_build_is_tested():
    later = {Status.OK, Status.WINDOW, Status.NIBBLE}
    rejections = {status for status in Status if status <= Status.OVERLAP} - later
    assert set(CHANGES) == rejections
    assert set(checks.USED) == set(Opcode)
