"""Which descriptors run, and the places they touch (specification, sections 1 and 2).

The rules are independent of the order in which the hardware works them out: the first that is
broken gives the status. :func:`judge` looks at a program, for the two tiles of a pair are judged
together.
"""

import functools
import itertools
from typing import NamedTuple

from cornerturn.fields import (
    FIELDS,
    RECORDS,
    USED,
    VERSION,
    Mode,
    Opcode,
    Pair,
    Status,
    Tag,
    named_mask,
)

from .rows import bounds, decode, rows_of, whole_memory

__all__ = ["Bytes", "Region", "check", "judge", "regions", "serial"]

WITHOUT_MEMORY = True
"""Reject what touches memory as UNSUPPORTED, as builds do that have none yet."""

SHARED = ("repeat_ho", "repeat_wo", "co", "co_align", "half_cells")
"""The fields in which the two tiles of a pair agree."""

ROW_LIMIT = FIELDS["n"].limits[1]
COUNT_LIMIT = FIELDS["d0_count"].limits[1]


class Region(NamedTuple):
    """A rectangle of lanes and words, ends included."""

    lane_lo: int
    lane_hi: int
    word_lo: int
    word_hi: int

    def meets(self, other):
        """Whether the two have a word in common; words and bytes never have."""
        return (
            isinstance(other, Region)
            and self.lane_lo <= other.lane_hi
            and other.lane_lo <= self.lane_hi
            and self.word_lo <= other.word_hi
            and other.word_lo <= self.word_hi
        )


class Bytes(NamedTuple):
    """A range of bytes in memory, ends included."""

    first: int
    last: int

    def meets(self, other):
        """Whether the two have a byte in common; bytes and words never have."""
        return isinstance(other, Bytes) and self.first <= other.last and other.first <= self.last


def judge(config, descriptors, window=None):
    """How the engine judges the descriptors of a program: Status.OK, or the code of a rejection.

    Parameters
    ----------
    config : Config
    descriptors : sequence of int
    window : tuple of int, optional
        First and last byte of the memory that may be touched; all of it by default.
    """
    loads = list(_loads(descriptors))
    partners = {load: load + 1 for load in loads} | {load + 1: load for load in loads}
    statuses = []
    for number, descriptor in enumerate(descriptors):
        partner = descriptors[partners[number]] if number in partners else None
        # A STORE is compared with the places of a LOAD only if these make sense.
        compared = number - 1 in loads and statuses[-1] == Status.OK
        rules = _rules(config, descriptor, window, partner, compared=compared)
        statuses.append(next((status for status, broken in rules if broken), Status.OK))
    for load in loads:
        halves = statuses[load : load + 2]
        if any(halves):
            statuses[load : load + 2] = [status or Status.PAIR_REJECTED for status in halves]
    return statuses


def _loads(descriptors):
    """The numbers of those that are the LOAD of a pair, by opcode and pair alone."""
    pairs = [
        f["pair"] if f["opcode"] == Opcode.TILE else Pair.NONE for f in map(decode, descriptors)
    ]
    for number, pair in enumerate(itertools.pairwise(pairs)):
        if pair == (Pair.LOAD, Pair.STORE):
            yield number


def check(config, descriptor, window=None):
    """The same of a descriptor on its own."""
    return judge(config, [descriptor], window)[0]


@functools.lru_cache(maxsize=1024)
def regions(config, descriptor):
    """What an accepted instruction reads and writes: two regions, or None twice."""
    f = decode(descriptor)
    if f["opcode"] == Opcode.SWAP and f["n"] > 1:
        region = _words(config, _swap_box(f))
        return region, region
    if f["opcode"] == Opcode.TILE:
        rows = rows_of(config, descriptor)
        if not rows.empty:
            return _region(config, rows, rows.source), _region(config, rows, rows.destination)
    return None, None


def serial(config, descriptor):
    """Whether an accepted instruction is a TILE whose rows must run one at a time."""
    if decode(descriptor)["opcode"] != Opcode.TILE:
        return False
    read, write = regions(config, descriptor)
    return read is not None and read.meets(write)


def _rules(config, descriptor, window, partner, *, compared):
    """Every rule by priority, as (status, broken); lazily, for the later need the earlier."""
    f = decode(descriptor)
    yield Status.VERSION, f["version"] != VERSION
    yield Status.RESERVED, descriptor & ~named_mask(USED.get(f["opcode"], FIELDS))
    yield Status.OPCODE, f["opcode"] not in USED
    if f["opcode"] == Opcode.TILE:
        yield from _tile_rules(config, descriptor, window, partner)
        if compared:
            yield Status.OVERLAP, _pair_overlaps(config, partner, descriptor)
    elif f["opcode"] == Opcode.SWAP:
        cells = 1 << f["element"]
        yield Status.ELEMENT, cells > config.max_element_cells
        yield Status.ALIGN, f["in_cell"] % cells
        yield Status.RANGE, f["n"] > config.lanes
        yield Status.RANGE, f["in_lane"] >= config.lanes or f["in_cell"] >= config.cells
        (_, lane), (_, cell) = _swap_box(f)
        yield Status.RANGE, f["n"] >= 1 and (lane >= config.lanes or cell >= config.cells)


def _tile_rules(config, descriptor, window, partner):
    f = decode(descriptor)
    modes = {prefix: f[f"{prefix}_mode"] for prefix in ("in", "out")}
    in_lmem = [prefix for prefix, mode in modes.items() if mode != Mode.MEM]
    yield Status.MODE, 3 in (*modes.values(), f["pair"])
    if WITHOUT_MEMORY:
        yield Status.UNSUPPORTED, len(in_lmem) < 2 or f["pair"] != Pair.NONE
    if f["pair"] != Pair.NONE:
        yield Status.MODE, in_lmem != ["out" if f["pair"] == Pair.LOAD else "in"]
        yield (
            Status.MODE,
            any(
                f[f"{loop}_{in_lmem[0]}_{half}"]
                for loop in ("ho", "wo", "co")
                for half in ("lane", "cell")
            ),
        )
        yield Status.MODE, partner is None
        yield (
            Status.MODE,
            f["pair"] == Pair.STORE and any(f[name] != decode(partner)[name] for name in SHARED),
        )
    cells = 1 << f["element"]
    yield Status.ELEMENT, cells > config.max_element_cells
    yield (
        Status.COUNT,
        not (1 <= f["co_align"] <= (COUNT_LIMIT if f["segment_is_digit"] else ROW_LIMIT)),
    )
    yield Status.COUNT, -(-f["co"] // f["co_align"]) > COUNT_LIMIT
    yield (
        Status.ALIGN,
        any(
            f[f"{prefix}_cell"] % cells or f[f"{record}_{prefix}_cell"] % cells
            for prefix in in_lmem
            for record in RECORDS
        ),
    )
    yield (
        Status.ALIGN,
        f["pair"] != Pair.NONE and f["half_cells"] % max(cells, config.beat_cells),
    )
    yield (
        Status.RANGE,
        any(
            modes[prefix] == Mode.ACROSS and not 1 <= f[f"{prefix}_lane_step"] < config.lanes
            for prefix in in_lmem
        ),
    )
    rows = rows_of(config, descriptor)
    for status, in_memory in ((Status.RANGE, False), (Status.WINDOW, True)):
        yield (
            status,
            any(
                _misplaced(config, rows, side, window)
                for side in (rows.source, rows.destination)
                if (side.mode is Mode.MEM) == in_memory
            ),
        )
    yield Status.NIBBLE, config.cell_width == 4 and len(in_lmem) < 2 and _is_odd(f)
    yield Status.OVERLAP, serial(config, descriptor) and rows.length > config.lanes


def _misplaced(config, rows, side, window):
    """Whether a side is known to name places that are not there."""
    limits = bounds(config, side, window)
    if rows.limited:
        return _goes_far(config, rows, side)
    box = [(start, start) for start in side.start] if rows.empty else rows.box(side)
    return any(
        low < least or high > most for (low, high), (least, most) in zip(box, limits, strict=True)
    )


def _goes_far(config, rows, side):
    """Whether a start, a loop or a digit alone goes too far to be added up as the rows run."""
    ends = (1 << config.lane_bits + 4, 1 << config.address_bits)
    if side.mode is Mode.MEM:
        ends = (8 << config.address_bits,)
    ways = [side.start]
    for part in rows.parts:
        ways += [
            [(count - 1) * axis for axis in step]
            for count, step in zip(part.counts, side.steps, strict=True)
        ]
    if len(rows.parts) > 1:
        ways.append(side.steps[RECORDS.index("co")])  # from the whole segments to the remainder
    return any(not -end <= axis < end for way in ways for axis, end in zip(way, ends, strict=True))


def _is_odd(f):
    """Whether a row may begin or end within a byte, if cells have 4 bits."""
    elements = [f["n"]] if f["segment_is_digit"] else [f["co"], f["co_align"]]
    if f["row_tag"] != Tag.NONE:
        limit = f[f"limit_{Tag(f['row_tag']).name.lower()}"]
        tagged = [record for record in RECORDS if f[f"{record}_tag"] == f["row_tag"]]
        elements += [limit, *(f[f"{record}_multiplier"] for record in tagged)] if limit else []
    return any((number << f["element"]) % 2 for number in elements)


def _pair_overlaps(config, load, store):
    """Whether the two tiles of a pair, each legal, are in each other's way."""
    load, store = (rows_of(config, descriptor) for descriptor in (load, store))
    sides = [(load, load.destination), (store, store.source)]
    halves = [
        _words(config, rows.box(side, halves=False)) for rows, side in sides if not rows.empty
    ]
    if any(rows.blocks > 1 for rows, _ in sides):
        first = min(half.word_lo for half in halves)
        last = max(half.word_hi for half in halves)
        if last - first + 1 > load.half_cells // config.beat_cells:
            return True
    if load.empty or store.empty:
        return False
    return _region(config, load, load.source).meets(_region(config, store, store.destination))


def _swap_box(f):
    return (
        (f["in_lane"], f["in_lane"] + f["n"] - 1),
        (f["in_cell"], f["in_cell"] + (f["n"] << f["element"]) - 1),
    )


def _region(config, rows, side):
    """The region of a side of a tile."""
    box = rows.box(side)
    if side.mode is not Mode.MEM:
        return _words(config, box)
    last = whole_memory(config)[1]
    return Bytes(*(min(max(bit // 8, 0), last) for bit in box[0]))


def _words(config, box):
    """The region of a box, which only limits may let be outside the array: it is clipped."""
    lanes, cells = (
        [min(max(bound, 0), end - 1) for bound in axis]
        for axis, end in zip(box, (1 << config.lane_bits, config.cells), strict=True)
    )
    return Region(*lanes, *(cell // config.beat_cells for cell in cells))
