"""Random programs for every test that compares with the model: a hypothesis strategy.

Most instructions are valid and live in few lanes and words, so that they read what others wrote;
some are broken on purpose, one rejection code each, and few are noise. All are small. Tiles with
loops around their blocks and with limits come with `loops=True`.
"""

import dataclasses

from cornerturn.fields import DESCRIPTOR_WIDTH, FIELDS, Opcode, Status, Tag, named_mask, unpack
from cornerturn_model import checks, cycles
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Mem,
    Nop,
    Segment,
    Swap,
    Tile,
    as_descriptor,
)
from cornerturn_model.rows import rows_of
from cornerturn_model.traffic import touches_memory
from hypothesis import strategies as st

__all__ = [
    "BROKEN",
    "MEMORY_BYTES",
    "WINDOW",
    "broken",
    "element_cells",
    "instructions",
    "limit_tiles",
    "limited",
    "loop_tiles",
    "looped",
    "noise",
    "place_in_lmem",
    "place_in_memory",
    "programs",
    "swaps",
    "tiles",
]

MEMORY_BYTES, WINDOW = 1024, (40, 999)
"""Of the programs that touch memory: its size, and the first and last byte that they may."""

LONGEST = 400
"""Cycles of one instruction at most, on average tens: what a simulator can afford."""


def programs(config, max_size=8, *, loops=False):
    """Programs of 1 to `max_size` items, instructions or descriptors, all of the given build."""
    return st.lists(instructions(config, loops=loops), min_size=1, max_size=max_size)


@st.composite
def instructions(draw, config, *, loops=False):
    """One item of a program; about one in ten is rejected."""
    kind = draw(st.sampled_from(KINDS + loops * LOOP_KINDS))
    return draw(kind(config, loops=loops) if kind in (broken, noise) else kind(config))


def element_cells(config):
    return st.sampled_from([1 << code for code in range(config.element_codes)])


def _arena(config):
    """Cells in which nearly everything happens: few enough to meet, enough for a row."""
    return min(config.cells, max(4 * config.beat_cells, 2 * config.max_element_cells * 8))


def _sides(draw, config, cells, kinds=(Across, Along)):
    """Modes, lane steps and the longest row of two sides, and the elements of their arena."""
    arena = draw(st.sampled_from([_arena(config)] * 7 + [config.cells])) // cells
    modes = draw(st.tuples(*[st.sampled_from(kinds)] * 2))
    lane_steps = [draw(st.sampled_from([1, 1, 1, 2, 3, config.lanes - 1])) for _ in modes]
    lane_steps = [min(step, config.lanes - 1) for step in lane_steps]
    fits = [
        {
            Across: (config.lanes - 1) // step + 1,
            Along: arena,
            Mem: MEMORY_BYTES * 2 // (cells * config.cell_width),
        }[mode]
        for mode, step in zip(modes, lane_steps, strict=True)
    ]
    return list(zip(modes, lane_steps, strict=True)), min(*fits, 3 * config.lanes, 96), arena


def _place(draw, config, sides, cells, arena, n, counts):
    """Two sides whose rows stay inside, and for each count the keywords of its steps."""
    starts, steps = [], []
    for mode, lane_step in sides:
        if mode is Mem:
            start, taken = place_in_memory(draw, config, WINDOW, cells, n, counts)
        else:
            start, taken = place_in_lmem(draw, config, mode, lane_step, cells, arena, n, counts)
        starts.append(start)
        steps.append(taken)
    return starts, [
        dict(zip(("in_step", "out_step"), step, strict=True)) for step in zip(*steps, strict=True)
    ]


def place_in_lmem(draw, config, mode, lane_step, cells, arena, n, counts):
    """A side whose rows of n stay in the first elements of the lanes, and a step for each count."""
    across = mode is Across
    # What the side has left for its steps: lanes, and elements of the arena.
    room = [config.lanes - 1 - across * (n - 1) * lane_step, arena - 1 - (not across) * (n - 1)]
    low, taken = [0, 0], []
    for count in counts:
        step, moves = [draw(_step(left, count)) for left in room], max(0, count - 1)
        room = [left - abs(by) * moves for left, by in zip(room, step, strict=True)]
        low = [a - min(0, by) * moves for a, by in zip(low, step, strict=True)]
        taken.append((step[0], step[1] * cells))
    lane, cell = (draw(st.integers(a, a + left)) for a, left in zip(low, room, strict=True))
    return Across(lane, cell * cells, lane_step) if across else Along(lane, cell * cells), taken


def place_in_memory(draw, config, window, cells, n, counts):
    """A side whose rows of n stay in the window, and a step for each count."""
    size = -(-n * cells * config.cell_width // 8)
    low, room, taken = window[0], window[1] + 1 - window[0] - size, []
    for count in counts:
        step, moves = draw(_step(room, count)), max(0, count - 1)
        if draw(st.booleans()) and size * moves <= room:
            step = size  # rows that follow one another
        room -= abs(step) * moves
        low -= min(0, step) * moves
        taken.append(step)
    return Mem(draw(st.integers(low, low + room))), taken


@st.composite
def tiles(draw, config):
    """Valid tiles: every pair of modes, every element, digits of any sign, segments, empty ones."""
    cells = draw(element_cells(config))
    sides, most, arena = _sides(draw, config, cells)
    n = draw(st.integers(1, most) | st.integers(1, min(4, most)))
    counts = draw(st.lists(st.integers(1, 4), max_size=3))
    starts, steps = _place(draw, config, sides, cells, arena, n, counts)
    digits = [Digit(count, **step) for count, step in zip(counts, steps, strict=True)]
    length = n
    form = draw(st.sampled_from(["plain"] * 5 + ["row", "digit", "zero"]))
    if form == "row":
        n = draw(_segment(n))
    elif form == "digit" and digits:
        digits[0] = dataclasses.replace(digits[0], count=draw(_segment(counts[0])))
    elif form == "zero" and digits:
        where = draw(st.integers(0, len(digits) - 1))
        digits[where] = dataclasses.replace(digits[where], count=0)
    elif form == "zero":
        n = 0
    tile = Tile(*starts, n, tuple(digits), cells)
    # Rows that meet may be too long to be accepted, or too many to wait for: move one, short.
    descriptor = tile.encode()
    if checks.check(config, descriptor) == Status.OVERLAP or too_long(config, descriptor):
        return Tile(*starts, min(length, config.lanes), (), cells)
    return tile


@st.composite
def loop_tiles(draw, config):
    """Valid tiles with loops, segments and remainders, none of which needs limits."""
    tile, _ = draw(looped(config))
    return tile


@st.composite
def limit_tiles(draw, config, kinds=(Across, Along)):
    """Tiles with limits: rows trimmed, suppressed, or outside the array as they run."""
    tile, reach = draw(looped(config, kinds))
    return draw(limited(config, tile, reach))


@st.composite
def limited(draw, config, tile, reach):
    """The tile with tags, limits, and perhaps a start from where some rows leave the array."""
    tags = st.sampled_from([Tag.HO, Tag.WO, Tag.CO, Tag.NONE])
    multipliers = st.sampled_from([0, 1, 1, 2, reach])

    def tagged(loop):
        return dataclasses.replace(loop, tag=draw(tags), multiplier=draw(multipliers))

    def segmented(length):
        return tagged(length) if isinstance(length, Segment) else length

    digits = [tagged(dataclasses.replace(d, count=segmented(d.count))) for d in tile.digits]
    row_tag = draw(tags)
    limits = {
        tag: draw(st.sampled_from([0, 0, 1, 2, 3, 2 * reach, 1 << 31])) for tag in list(Tag)[1:]
    }
    if row_tag is not Tag.NONE:
        limits[row_tag] = draw(st.integers(0, reach) | st.integers(1, 4 * reach))
    sides = [tile.src, tile.dst]
    if draw(st.sampled_from([False, True, True])):
        # A shift that may take some rows outside, or only what is trimmed away.
        side = draw(st.integers(0, 1))
        if isinstance(sides[side], Mem):
            sides[side] = Mem(draw(st.integers(0, 80) | st.integers(900, MEMORY_BYTES)))
        else:
            lane = sides[side].lane + draw(st.sampled_from([0, 0, 1, config.lanes // 2]))
            cells = [sides[side].cell, 0, config.cells - 2 * tile.element_cells]
            sides[side] = dataclasses.replace(
                sides[side], lane=lane, cell=draw(st.sampled_from(cells))
            )
    changed = dataclasses.replace(
        tile, src=sides[0], dst=sides[1], n=segmented(tile.n), digits=tuple(digits),
        ho=tagged(tile.ho), wo=tagged(tile.wo), limits=Limits(*limits.values()), row_tag=row_tag,
    )  # fmt: skip
    return tile if too_long(config, changed.encode()) else changed


@st.composite
def looped(draw, config, kinds=(Across, Along)):
    """A valid tile with loops, and the elements of its longest row, or segments' sum if more."""
    cells = draw(element_cells(config))
    sides, most, arena = _sides(draw, config, cells, kinds)
    n = draw(st.integers(1, most) | st.integers(1, min(6, most)))
    as_digit = draw(st.booleans())
    align = draw(st.integers(1, 4)) if as_digit else n
    co = draw(st.integers(1, 3 * align))
    if cells * config.cell_width < 8 and Mem in dict(sides):
        # Rows in memory are whole bytes.
        n, align = max(2, n - n % 2), max(2, align - align % 2)
        co += co % 2
    counts = [draw(st.integers(1, 3)) for _ in range(2)] + [-(-co // align)]
    counts += as_digit * [min(align, co)] + draw(st.lists(st.integers(1, 3), max_size=2))
    if draw(st.sampled_from([False] * 9 + [True])):
        counts[draw(st.integers(0, 1))] = 0
    starts, steps = _place(draw, config, sides, cells, arena, n, counts)
    segment = Segment(co, align, **steps[2])
    digits = [Digit(count, **step) for count, step in zip(counts[3:], steps[3:], strict=True)]
    if as_digit:
        digits[0] = dataclasses.replace(digits[0], count=segment)
    ho, wo = (Digit(count, **step) for count, step in zip(counts[:2], steps[:2], strict=True))
    tile = Tile(*starts, n if as_digit else segment, tuple(digits), cells, ho=ho, wo=wo)
    descriptor = tile.encode()
    if checks.check(config, descriptor, WINDOW) == Status.OVERLAP or too_long(config, descriptor):
        short = Segment(min(4, n), min(2, n))
        tile = Tile(*starts, short, (), cells, ho=Digit(min(2, ho.count)), wo=Digit(2))
    return tile, max(n, co)


def _step(room, count):
    """Steps that `count` iterations can take; mostly short, often none."""
    most = room // (count - 1) if count > 1 else 2
    return st.sampled_from([0, 0, *(by for by in (1, 1, 1, -1, 2, -2, 3) if abs(by) <= most), most])


def _segment(length):
    """Segments of a length: a whole one, or the remainder of a longer one."""
    return st.builds(Segment, st.just(length), st.sampled_from([length, length + 1, 1000]))


@st.composite
def swaps(draw, config):
    """Valid SWAPs, 0 and 1 included; some long enough that their reads meet their writes."""
    cells = draw(element_cells(config))
    most = min(config.lanes, _arena(config) // cells, 32)
    n = draw(st.integers(0, min(most, 8)) | st.integers(0, most))
    lane = draw(st.integers(0, config.lanes - max(1, n)))
    cell = draw(st.integers(0, _arena(config) // cells - max(1, n)))
    return Swap(lane, cell * cells, n, cells)


def _fields(descriptor, **values):
    """A descriptor with some fields replaced by raw bits."""
    for name, value in values.items():
        field = FIELDS[name]
        bits = (value & ((1 << field.width) - 1)) << field.offset
        descriptor = descriptor & ~named_mask([name]) | bits
    return descriptor


def _reserved_bits():
    free = ((1 << DESCRIPTOR_WIDTH) - 1) & ~named_mask(FIELDS)
    return [bit for bit in range(DESCRIPTOR_WIDTH) if free >> bit & 1]


def _version(draw, config, tile):
    return _fields(tile, version=draw(st.sampled_from([0, 2, 3, 9, 15])))


def _reserved(draw, config, tile):
    free = draw(st.sampled_from(_reserved_bits()))
    unused = FIELDS[draw(st.sampled_from(["n", "in_lane", "d5_count", "limit_ho", "co"]))].offset
    return draw(st.sampled_from([tile | 1 << free, Fence().encode() | 1 << unused]))


def _opcode(draw, config, tile):
    return _fields(tile, opcode=draw(st.integers(len(Opcode), 15)))


def _mode(draw, config, tile):
    return _fields(tile, **{draw(st.sampled_from(["in_mode", "out_mode", "pair"])): 3})


def _unsupported(draw, config, tile):
    return _fields(tile, **draw(st.sampled_from([
        {"in_mode": 2}, {"out_mode": 2}, {"pair": 1}, {"pair": 2},
    ])))  # fmt: skip


def _element(draw, config, tile):
    swap = Swap(0, 0, 1).encode()
    return _fields(draw(st.sampled_from([tile, swap])), element=config.element_codes)


def _count(draw, config, tile):
    return _fields(tile, **draw(st.sampled_from([
        {"co": 0, "co_align": 0}, {"co": 1, "co_align": 0},
        {"co_align": 1 << 24, "segment_is_digit": 0},
        {"co_align": 1 << 16, "segment_is_digit": 1},
    ])))  # fmt: skip


def _align(draw, config, tile):
    cell = draw(st.sampled_from([name for name in FIELDS if name.endswith("_cell")]))
    code = draw(st.integers(1, config.element_codes - 1))
    return _fields(Tile(Across(0, 0), Along(0, 0), 1).encode(), element=code, **{cell: 1})


def _range(draw, config, tile):
    lanes, cells = config.lanes, config.cells
    lane, cell = draw(st.sampled_from([(lanes, 0), (0, cells), (1 << 31, 0), (0, 1 << 31)]))
    corner = Across(lanes - 1, cells - config.max_element_cells)
    return draw(st.sampled_from([
        Tile(Along(lane, cell), Across(0, 0), 1, (), 1),
        Tile(Across(0, 0), Along(lane, cell), 0, (), 1),
        Tile(corner, Along(0, 0), 2, (), 1),
        Tile(Along(0, 0), corner, 1, (Digit(1), Digit(2, (0, 0), (0, cells // 2)))),
        Tile(Along(0, 0), Along(1, 0), 1, (Digit(2, (-1, 0), (0, 0)),)),
        Tile(Along(0, 0), Along(1, 0), 1, (Digit(65535, (0, 1 << 16), (0, -(1 << 31))),)),
        Tile(Across(0, 0, 0), Along(0, 0), 0),
        Tile(Along(0, 0), Across(0, 0, lanes), 1),
        Swap(lane, cell, 0), Swap(0, 0, lanes + 1), Swap(1, 0, lanes),
    ])).encode()  # fmt: skip


def _overlap(draw, config, tile):
    n = config.lanes + draw(st.integers(1, 3))
    lane, cell = draw(st.integers(0, config.lanes - 1)), draw(st.integers(0, config.beat_cells - 1))
    return Tile(Along(lane, 0), Along(lane, cell), n).encode()


BROKEN = {
    Status.VERSION: _version,
    Status.RESERVED: _reserved,
    Status.OPCODE: _opcode,
    Status.MODE: _mode,
    Status.UNSUPPORTED: _unsupported,
    Status.ELEMENT: _element,
    Status.COUNT: _count,
    Status.ALIGN: _align,
    Status.RANGE: _range,
    Status.OVERLAP: _overlap,
}
"""What breaks one rule, by the status of its rejection: (draw, config, tile) -> descriptor."""


def _count_of_segments(draw, config, tile):
    return _fields(tile, co=(1 << 16) + draw(st.integers(0, 9)), co_align=1)


def _far(draw, config, tile):
    """A start or a step too far to be added up, whatever the limits would suppress."""
    lanes = 1 << config.lane_bits + 4
    far = draw(st.sampled_from([
        {"in_lane": lanes}, {"out_lane": (1 << 32) - 1},
        {"repeat_ho": 2, "ho_in_lane": lanes}, {"repeat_wo": 2, "wo_out_lane": -lanes - 1},
        {"d5_count": 65535, "d5_in_lane": draw(st.sampled_from([-1, 1])) * lanes},
    ]))  # fmt: skip
    one = Tile(Along(0, 0), Along(1, 0), 1, limits=Limits(ho=1)).encode()
    return _fields(one, **far)


BROKEN_LOOPS = {Status.COUNT: _count_of_segments, Status.RANGE: _far}
"""The same for rules about loops and limits."""


def breakable(config):
    """The statuses that a descriptor can be rejected with in this build."""
    impossible = set()
    if config.max_element_cells == 8:
        impossible.add(Status.ELEMENT)
    if config.max_element_cells == 1:
        impossible.add(Status.ALIGN)
    if config.cells < config.lanes + 3 + config.beat_cells:
        impossible.add(Status.OVERLAP)
    return [status for status in BROKEN if status not in impossible]


@st.composite
def broken(draw, config, statuses=None, *, loops=False):
    """Descriptors rejected with one of the given statuses (default: any that is possible)."""
    status = draw(st.sampled_from(statuses or breakable(config)))
    tile = draw(loop_tiles(config) if loops else tiles(config)).encode()
    ways = [BROKEN[status], *([BROKEN_LOOPS[status]] if loops and status in BROKEN_LOOPS else [])]
    return draw(st.sampled_from(ways))(draw, config, tile)


@st.composite
def noise(draw, config, *, loops=False):
    """Valid descriptors with a few bits flipped, and bits without any meaning; never long."""
    item = as_descriptor(
        draw(st.one_of(tiles(config), swaps(config), *loops * [limit_tiles(config)]))
    )
    named = [bit for field in FIELDS.values() for bit in range(field.offset, sum(field[1:3]))]
    for bit in draw(st.lists(st.sampled_from(named), min_size=1, max_size=3)):
        item ^= 1 << bit
    item = draw(st.sampled_from([item] * 4 + [item ^ 1 << 480, item * 3 % (1 << 2048)]))
    return Nop() if too_long(config, item) or (not loops and _has_loops(item)) else item


def _has_loops(item):
    f = unpack(item)
    return f["opcode"] == Opcode.TILE and (
        max(f["repeat_ho"], f["repeat_wo"]) > 1
        or f["co"] > f["co_align"]
        or any(f[f"limit_{name}"] for name in ("ho", "wo", "co"))
    )


def too_long(config, item):
    """Whether an accepted item takes more than :data:`LONGEST` cycles, or beats of memory."""
    descriptor = as_descriptor(item)
    if unpack(descriptor)["opcode"] != Opcode.TILE:
        return False
    if checks.check(config, descriptor, WINDOW) != Status.OK:
        return False
    # A row takes at least a slot; so many are not even counted.
    if rows_of(config, descriptor).number > LONGEST:
        return True
    if touches_memory([descriptor], [Status.OK]):
        return cycles.limit(config, [descriptor], WINDOW) > LONGEST
    return cycles.count(config, [descriptor])["cycles"] > LONGEST


def _plain(config):
    return st.sampled_from([Nop(), Fence(), Fence(), Halt()])


KINDS = (tiles,) * 24 + (swaps,) * 6 + (_plain,) * 3 + (broken,) * 2 + (noise,)
"""The kinds of instruction, as often as they come."""

LOOP_KINDS = (loop_tiles,) * 12 + (limit_tiles,) * 24
"""What comes in addition if there are loops."""
