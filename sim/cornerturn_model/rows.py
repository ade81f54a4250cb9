"""A TILE as arithmetic: its loops, its sides and the rows it runs (specification, section 1).

::

    descriptor --rows_of--> Rows: parts, sides, limits --walk--> its rows in order, trimmed

Loops and digits together are nine *records*, outermost first. An address in an lmem has two axes,
(lane, cell); one in memory has one, (bit,), for rows of 4-bit cells end within a byte.
"""

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np
from cornerturn.fields import DIGITS, RECORDS, Mode, Pair, Status, Tag, unpack

__all__ = [
    "Block",
    "Chunk",
    "Fault",
    "Part",
    "Rows",
    "Side",
    "blocks",
    "bounds",
    "decode",
    "rows_of",
    "walk",
    "walk_pair",
    "whole_memory",
]

CELL = 1
"""The axis of cells in an address in an lmem."""

CHUNK = 1 << 20
"""Elements that :func:`walk` hands out at once, about."""

MANY = 1 << 62
"""More rows than anybody runs: numbers of rows are cut there to stay integers of numpy."""


class Side(NamedTuple):
    """Where the rows of one side are, all of it per axis."""

    mode: Mode
    start: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]  # of each record
    element_step: tuple[int, ...]  # from an element of a row to the next
    reach: tuple[int, ...]  # from the first place of an element to its last

    def places(self, index, first=0):
        """The address of the row at an index of the records; `first` is added to that of co."""
        index = (*index[:2], index[2] + first, *index[3:])
        return tuple(
            start + sum(i * step[axis] for i, step in zip(index, self.steps, strict=True))
            for axis, start in enumerate(self.start)
        )


class Part(NamedTuple):
    """Blocks of one shape: of every (ho, wo) the whole segments, or the remainder."""

    first: int  # index of co that the count of co begins at
    counts: tuple[int, ...]  # of the records
    length: int  # elements of a row


class Rows(NamedTuple):
    """What a TILE moves: for every index of the records, one row."""

    parts: tuple[Part, ...]  # whole segments, then the remainder; none if the tile is empty
    element_cells: int
    source: Side
    destination: Side
    tags: tuple[Tag, ...]  # of the records
    multipliers: tuple[int, ...]
    limits: dict[Tag, int]  # of the coordinates that have one
    row_tag: Tag
    half_cells: int  # what the lmem side of a pair's tile is higher by in every other block

    @property
    def empty(self):
        """Whether there is nothing to move."""
        return not self.parts

    @property
    def limited(self):
        """Whether rows are trimmed and tested as they run."""
        return bool(self.limits) and not self.empty

    @property
    def length(self):
        """Elements of the longest row, untrimmed."""
        return max((part.length for part in self.parts), default=0)

    @property
    def number(self):
        """Rows, suppressed ones included."""
        return sum(math.prod(part.counts) for part in self.parts)

    @property
    def blocks(self):
        """Blocks, all of whose rows may be suppressed."""
        return sum(math.prod(part.counts[:3]) for part in self.parts)

    def box(self, side, *, halves=True):
        """What a side names, untrimmed, in one half or in both: (lowest, highest) of each axis."""
        boxes = [_part_box(part, side) for part in self.parts]
        axes = [
            (min(low for low, _ in axis), max(high for _, high in axis))
            for axis in zip(*boxes, strict=True)
        ]
        if halves and self.blocks > 1 and side.mode is not Mode.MEM:
            axes[CELL] = (axes[CELL][0], axes[CELL][1] + self.half_cells)
        return tuple(axes)


class Fault(NamedTuple):
    """The row that ended an instruction."""

    status: Status
    address: tuple[int, int] | int  # (lane, cell) or byte that the row starts at, where outside
    begins: bool  # whether it is the first row of a block


class Chunk(NamedTuple):
    """Some rows in their order, one column each."""

    source: np.ndarray  # (axes, rows): where each starts
    destination: np.ndarray
    length: np.ndarray  # elements left of each, 0 if suppressed
    begins: np.ndarray  # whether each is the first of a block
    fault: Fault | None = None  # what ends the instruction behind them


decode = functools.lru_cache(maxsize=1024)(unpack)
"""`fields.unpack`, remembered: every part of the model looks at the same descriptors."""


@functools.lru_cache(maxsize=1024)
def rows_of(config, descriptor):
    """The :class:`Rows` of a TILE whose modes and co_align are legal."""
    f = decode(descriptor)
    limits = {tag: f[f"limit_{tag.name.lower()}"] for tag in (Tag.HO, Tag.WO, Tag.CO)}
    return Rows(
        parts=tuple(_parts(f)),
        element_cells=1 << f["element"],
        source=_side(config, f, "in"),
        destination=_side(config, f, "out"),
        tags=tuple(Tag(f[f"{record}_tag"]) for record in RECORDS),
        multipliers=tuple(f[f"{record}_multiplier"] for record in RECORDS),
        limits={tag: limit for tag, limit in limits.items() if limit},
        row_tag=Tag(f["row_tag"]),
        half_cells=f["half_cells"] if f["pair"] != Pair.NONE else 0,
    )


def _parts(f):
    whole, remainder = divmod(f["co"], f["co_align"])
    loops = (f["repeat_ho"], f["repeat_wo"])
    digits = [f[f"{digit}_count"] for digit in DIGITS]
    for first, segments, segment in ((0, whole, f["co_align"]), (whole, 1, remainder)):
        length = segment
        if f["segment_is_digit"]:
            length, digits[0] = f["n"], segment
        if segment and length and 0 not in (*loops, segments, *digits):
            yield Part(first, (*loops, segments, *digits), length)


def _side(config, f, prefix):
    mode, cells = Mode(f[f"{prefix}_mode"]), 1 << f["element"]
    start = (f[f"{prefix}_lane"], f[f"{prefix}_cell"])
    steps = tuple(
        (f[f"{record}_{prefix}_lane"], f[f"{record}_{prefix}_cell"]) for record in RECORDS
    )
    if mode is Mode.MEM:
        bits = cells * config.cell_width
        return Side(mode, _bits(start), tuple(map(_bits, steps)), (bits,), (bits - 1,))
    element_step = (f[f"{prefix}_lane_step"], 0) if mode is Mode.ACROSS else (0, cells)
    return Side(mode, start, steps, element_step, (0, cells - 1))


def _bits(halves):
    """The bit address, or step, of which a descriptor holds the halves of the byte address."""
    return (8 * ((halves[0] << 32) + halves[1] % (1 << 32)),)


def _part_box(part, side):
    start = side.places((0,) * len(RECORDS), part.first)
    counts, steps = (*part.counts, part.length), (*side.steps, side.element_step)
    for axis, (place, reach) in enumerate(zip(start, side.reach, strict=True)):
        spans = [(count - 1) * step[axis] for count, step in zip(counts, steps, strict=True)]
        low = place + sum(span for span in spans if span < 0)
        yield low, place + sum(span for span in spans if span > 0) + reach


def whole_memory(config):
    """The window, first and last byte, that is open if none is set: all of the address space."""
    return 0, (1 << config.address_bits) - 1


def bounds(config, side, window):
    """The least and the largest place there is on a side: of each axis (low, high)."""
    if side.mode is Mode.MEM:
        first, last = window or whole_memory(config)
        return ((8 * first, 8 * last + 7),)
    return ((0, config.lanes - 1), (0, config.cells - 1))


def walk(config, rows, window=None, first=0, last=None):
    """The rows of an accepted tile in order, in chunks, up to the one that ends it.

    Those from number `first` on, to `last`, if not all.
    """
    last = rows.number if last is None else last
    size = max(1, CHUNK // max(1, rows.length))
    for start in range(first, last, size):
        index, length = _index(rows, np.arange(start, min(start + size, last)))
        chunk = Chunk(
            *(_addresses(rows, side, index) for side in (rows.source, rows.destination)),
            _trimmed(rows, index, length),
            ~index[len(RECORDS) - len(DIGITS) :].any(axis=0),
        )
        if rows.limited:
            chunk = _until_fault(config, rows, window, chunk)
        yield chunk
        if chunk.fault:
            return


def walk_pair(config, load, store, window):
    """The rows of a pair in order, up to the one that ends it: (0 for load or 1, chunk)."""
    for both in itertools.zip_longest(blocks(load), blocks(store)):
        for place, (rows, block) in enumerate(zip((load, store), both, strict=True)):
            # An empty tile has no blocks.
            for chunk in walk(config, rows, window, *block.rows) if block else ():
                yield place, chunk
                if chunk.fault:
                    return


class Block(NamedTuple):
    """What runs for one (ho, wo, co)."""

    number: int
    index: tuple[int, int, int]
    part: Part
    rows: tuple[int, int]  # numbers of its first row, and of the first behind it


def blocks(rows):
    """The blocks of a tile in order."""
    number = first = 0
    for loops in np.ndindex(rows.parts[0].counts[:2] if rows.parts else 0):
        for part in rows.parts:
            for k in range(part.first, part.first + part.counts[2]):
                end = first + math.prod(part.counts[3:])
                yield Block(number, (*loops, k), part, (first, end))
                number, first = number + 1, end


def _index(rows, number):
    """Of rows by their number: the index of each record, and the untrimmed lengths."""
    ends = np.cumsum([min(MANY, math.prod(part.counts[2:])) for part in rows.parts])
    index = np.empty((len(RECORDS), len(number)), np.int64)
    length = np.empty(len(number), np.int64)
    outer, number = np.divmod(number, min(MANY, int(ends[-1])))
    index[:2] = np.divmod(outer, rows.parts[0].counts[1])
    for part, end in reversed(list(zip(rows.parts, ends, strict=True))):
        here = number < end
        rest = number[here] - (end - math.prod(part.counts[2:]))
        for record in reversed(range(2, len(RECORDS))):
            rest, index[record, here] = np.divmod(rest, part.counts[record])
        index[2, here] += part.first
        length[here] = part.length
    return index, length


def _addresses(rows, side, index):
    addresses = np.array(side.start)[:, None] + np.array(side.steps).T @ index
    if rows.half_cells and side.mode is not Mode.MEM:
        repeat_co = sum(part.counts[2] for part in rows.parts)
        block = (index[0] * rows.parts[0].counts[1] + index[1]) * repeat_co + index[2]
        addresses[CELL] += rows.half_cells * (block % 2)
    return addresses


def _trimmed(rows, index, length):
    for tag, limit in rows.limits.items():
        multipliers = [
            multiplier * (of == tag)
            for multiplier, of in zip(rows.multipliers, rows.tags, strict=True)
        ]
        left = limit - np.array(multipliers) @ index
        length = np.minimum(length, left.clip(0)) if tag == rows.row_tag else length * (left > 0)
    return length


def _until_fault(config, rows, window, chunk):
    """The chunk up to the first of its rows that touches something that is not there."""
    sides = ((rows.source, chunk.source), (rows.destination, chunk.destination))
    outside = [_outside(bounds(config, side, window), side, at, chunk.length) for side, at in sides]
    either = outside[0] | outside[1]
    if not either.any():
        return chunk
    row = int(either.argmax())
    side, addresses = sides[0 if outside[0][row] else 1]
    address = tuple(map(int, addresses[:, row]))
    status = Status.RANGE
    if side.mode is Mode.MEM:
        status, address = Status.WINDOW, address[0] // 8
    fault = Fault(status, address, bool(chunk.begins[row]))
    return Chunk(*(column[..., :row] for column in chunk[:4]), fault)


def _outside(limits, side, address, length):
    """Whether each row touches, with the elements left of it, what is not within the limits."""
    low, high = np.array(limits).T[:, :, None]
    last = address + np.array(side.element_step)[:, None] * (length - 1)
    last += np.array(side.reach)[:, None]
    return ((address < low) | (last > high)).any(axis=0) & (length > 0)
