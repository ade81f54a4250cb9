"""Which descriptors run, and the places they touch (specification, sections 1 and 2).

The rules are independent of the order in which the hardware works them out: the first that is
broken gives the status. `Rows` is a TILE reduced to its arithmetic, for the data and the cycles.
"""

import functools
from typing import NamedTuple

from cornerturn.fields import (
    DIGITS,
    FIELDS,
    RECORDS,
    USED,
    VERSION,
    Mode,
    Opcode,
    Pair,
    Status,
    named_mask,
    unpack,
)

__all__ = ["Region", "Rows", "Side", "check", "decode", "regions", "rows_of", "serial"]

LOOPS = ("ho", "wo", *DIGITS)
"""The loops around a row, outermost first (co does not repeat until the tiler is built)."""

ROW_LIMIT = FIELDS["n"].limits[1]
DIGIT_LIMIT = FIELDS["d0_count"].limits[1]


class Region(NamedTuple):
    """A rectangle of lanes and words, ends included."""

    lane_lo: int
    lane_hi: int
    word_lo: int
    word_hi: int

    def meets(self, other):
        """Whether the two have a word in common."""
        return (
            self.lane_lo <= other.lane_hi
            and other.lane_lo <= self.lane_hi
            and self.word_lo <= other.word_hi
            and other.word_lo <= self.word_hi
        )


class Side(NamedTuple):
    """Where the rows of one side are: a start, and steps of (lanes, cells)."""

    mode: Mode
    start: tuple[int, int]
    steps: tuple[tuple[int, int], ...]  # of each loop, outermost first
    element_step: tuple[int, int]  # from an element of a row to the next


class Rows(NamedTuple):
    """What a TILE moves: for every index tuple of the loops, one row of `length` elements."""

    length: int
    element_cells: int
    counts: tuple[int, ...]  # of the loops, outermost first
    source: Side
    destination: Side

    @property
    def empty(self):
        """Whether there is nothing to move."""
        return self.length == 0 or 0 in self.counts

    def box(self, side):
        """Lanes and cells that a side touches, as ((lane_lo, lane_hi), (cell_lo, cell_hi))."""
        counts = (*self.counts, self.length)
        steps = (*side.steps, side.element_step)
        bounds = []
        for axis, last in ((0, 0), (1, self.element_cells - 1)):
            spans = [(count - 1) * step[axis] for count, step in zip(counts, steps, strict=True)]
            low = side.start[axis] + sum(span for span in spans if span < 0)
            high = side.start[axis] + sum(span for span in spans if span > 0) + last
            bounds.append((low, high))
        return tuple(bounds)


decode = functools.lru_cache(maxsize=1024)(unpack)
"""`fields.unpack`, remembered: every part of the model looks at the same descriptors."""


@functools.lru_cache(maxsize=1024)
def rows_of(descriptor):
    """The :class:`Rows` of a TILE whose modes are ACROSS or ALONG."""
    f = decode(descriptor)
    cells = 1 << f["element"]
    segment = min(f["co_align"], f["co"])
    counts = {
        loop: f[f"repeat_{loop}" if loop in ("ho", "wo") else f"{loop}_count"] for loop in LOOPS
    }
    if f["segment_is_digit"]:
        length, counts[DIGITS[0]] = f["n"], segment
    else:
        length = segment
    sides = []
    for prefix in ("in", "out"):
        mode = Mode(f[f"{prefix}_mode"])
        sides.append(
            Side(
                mode,
                (f[f"{prefix}_lane"], f[f"{prefix}_cell"]),
                tuple((f[f"{loop}_{prefix}_lane"], f[f"{loop}_{prefix}_cell"]) for loop in LOOPS),
                (f[f"{prefix}_lane_step"], 0) if mode is Mode.ACROSS else (0, cells),
            )
        )
    return Rows(length, cells, tuple(counts.values()), *sides)


def check(config, descriptor):
    """How the engine judges a descriptor: Status.OK, or the code of its rejection."""
    return next((status for status, broken in _rules(config, descriptor) if broken), Status.OK)


def regions(config, descriptor):
    """What an accepted instruction reads and writes: two regions, or None twice."""
    f = decode(descriptor)
    if f["opcode"] == Opcode.SWAP and f["n"] > 1:
        region = _region(config, *_swap_box(f))
        return region, region
    if f["opcode"] == Opcode.TILE:
        rows = rows_of(descriptor)
        if not rows.empty:
            return (
                _region(config, *rows.box(rows.source)),
                _region(config, *rows.box(rows.destination)),
            )
    return None, None


def serial(config, descriptor):
    """Whether an accepted instruction is a TILE whose rows must run one at a time."""
    if decode(descriptor)["opcode"] != Opcode.TILE:
        return False
    read, write = regions(config, descriptor)
    return read is not None and read.meets(write)


def _rules(config, descriptor):
    """Every rule by priority, as (status, broken); lazily, for the later need the earlier."""
    f = decode(descriptor)
    yield Status.VERSION, f["version"] != VERSION
    yield Status.RESERVED, descriptor & ~named_mask(USED.get(f["opcode"], FIELDS))
    yield Status.OPCODE, f["opcode"] not in USED
    if f["opcode"] == Opcode.TILE:
        yield from _tile_rules(config, descriptor)
    elif f["opcode"] == Opcode.SWAP:
        cells = 1 << f["element"]
        yield Status.ELEMENT, cells > config.max_element_cells
        yield Status.ALIGN, f["in_cell"] % cells
        yield Status.RANGE, f["n"] > config.lanes or _starts_outside(config, f, "in")
        yield Status.RANGE, f["n"] >= 1 and _leaves(config, *_swap_box(f))


def _tile_rules(config, descriptor):
    f = decode(descriptor)
    modes = (f["in_mode"], f["out_mode"])
    yield Status.MODE, 3 in (*modes, f["pair"])
    yield (
        Status.UNSUPPORTED,
        (
            Mode.MEM in modes
            or f["pair"] != Pair.NONE
            or f["repeat_ho"] > 1
            or f["repeat_wo"] > 1
            or f["co"] > f["co_align"] != 0
            or any(f[f"limit_{record}"] for record in ("ho", "wo", "co"))
        ),
    )
    cells = 1 << f["element"]
    yield Status.ELEMENT, cells > config.max_element_cells
    yield (
        Status.COUNT,
        not (1 <= f["co_align"] <= (DIGIT_LIMIT if f["segment_is_digit"] else ROW_LIMIT)),
    )
    yield (
        Status.ALIGN,
        any(
            f[f"{prefix}_cell"] % cells or f[f"{record}_{prefix}_cell"] % cells
            for prefix in ("in", "out")
            for record in RECORDS
        ),
    )
    yield (
        Status.RANGE,
        any(
            mode == Mode.ACROSS and not 1 <= f[f"{prefix}_lane_step"] < config.lanes
            for mode, prefix in zip(modes, ("in", "out"), strict=True)
        ),
    )
    rows = rows_of(descriptor)
    if rows.empty:
        yield Status.RANGE, any(_starts_outside(config, f, prefix) for prefix in ("in", "out"))
    else:
        yield (
            Status.RANGE,
            any(_leaves(config, *rows.box(side)) for side in (rows.source, rows.destination)),
        )
        yield Status.OVERLAP, serial(config, descriptor) and rows.length > config.lanes


def _starts_outside(config, f, prefix):
    return f[f"{prefix}_lane"] >= config.lanes or f[f"{prefix}_cell"] >= config.cells


def _leaves(config, lanes, cells):
    return lanes[0] < 0 or lanes[1] >= config.lanes or cells[0] < 0 or cells[1] >= config.cells


def _swap_box(f):
    return (
        (f["in_lane"], f["in_lane"] + f["n"] - 1),
        (f["in_cell"], f["in_cell"] + (f["n"] << f["element"]) - 1),
    )


def _region(config, lanes, cells):
    return Region(*lanes, cells[0] // config.beat_cells, cells[1] // config.beat_cells)
