"""Which descriptors run, and the places they touch (specification, sections 1 and 2).

The rules are independent of the order in which the hardware works them out: the first that is
broken gives the status.
"""

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
    named_mask,
)

from .rows import decode, rows_of

__all__ = ["Region", "check", "regions", "serial"]

ROW_LIMIT = FIELDS["n"].limits[1]
COUNT_LIMIT = FIELDS["d0_count"].limits[1]


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


def check(config, descriptor):
    """How the engine judges a descriptor: Status.OK, or the code of its rejection."""
    return next((status for status, broken in _rules(config, descriptor) if broken), Status.OK)


def regions(config, descriptor):
    """What an accepted instruction reads and writes: two regions, or None twice."""
    f = decode(descriptor)
    if f["opcode"] == Opcode.SWAP and f["n"] > 1:
        region = _region(config, _swap_box(f))
        return region, region
    if f["opcode"] == Opcode.TILE:
        rows = rows_of(config, descriptor)
        if not rows.empty:
            return tuple(
                _region(config, rows.box(side)) for side in (rows.source, rows.destination)
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
        yield Status.RANGE, f["n"] >= 1 and _leaves(config, _swap_box(f))


def _tile_rules(config, descriptor):
    f = decode(descriptor)
    modes = (f["in_mode"], f["out_mode"])
    yield Status.MODE, 3 in (*modes, f["pair"])
    yield Status.UNSUPPORTED, Mode.MEM in modes or f["pair"] != Pair.NONE
    cells = 1 << f["element"]
    yield Status.ELEMENT, cells > config.max_element_cells
    yield (
        Status.COUNT,
        not (1 <= f["co_align"] <= (COUNT_LIMIT if f["segment_is_digit"] else ROW_LIMIT)),
    )
    yield Status.COUNT, _repeat_co(f) > COUNT_LIMIT
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
    rows = rows_of(config, descriptor)
    if rows.empty:
        yield Status.RANGE, any(_starts_outside(config, f, prefix) for prefix in ("in", "out"))
    elif rows.limited:
        yield (
            Status.RANGE,
            any(_goes_far(config, rows, side) for side in (rows.source, rows.destination)),
        )
    else:
        yield (
            Status.RANGE,
            any(_leaves(config, rows.box(side)) for side in (rows.source, rows.destination)),
        )
    if not rows.empty:
        yield Status.OVERLAP, serial(config, descriptor) and rows.length > config.lanes


def _repeat_co(f):
    return -(-f["co"] // f["co_align"])


def _goes_far(config, rows, side):
    """Whether a start, a loop or a digit alone goes too far to be added up as the rows run."""
    ends = (1 << config.lane_bits + 4, 1 << config.address_bits)
    ways = [side.start]
    for part in rows.parts:
        ways += [
            [(count - 1) * axis for axis in step]
            for count, step in zip(part.counts, side.steps, strict=True)
        ]
    if len(rows.parts) > 1:
        ways.append(side.steps[RECORDS.index("co")])  # from the whole segments to the remainder
    return any(not -end <= axis < end for way in ways for axis, end in zip(way, ends, strict=True))


def _starts_outside(config, f, prefix):
    return f[f"{prefix}_lane"] >= config.lanes or f[f"{prefix}_cell"] >= config.cells


def _leaves(config, box):
    (lane_lo, lane_hi), (cell_lo, cell_hi) = box
    return lane_lo < 0 or lane_hi >= config.lanes or cell_lo < 0 or cell_hi >= config.cells


def _swap_box(f):
    return (
        (f["in_lane"], f["in_lane"] + f["n"] - 1),
        (f["in_cell"], f["in_cell"] + (f["n"] << f["element"]) - 1),
    )


def _region(config, box):
    """The region of a box; a tile with limits may have it outside the array, so it is clipped."""
    lanes, cells = (
        [min(max(bound, 0), end - 1) for bound in bounds]
        for bounds, end in zip(box, (1 << config.lane_bits, config.cells), strict=True)
    )
    return Region(*lanes, *(cell // config.beat_cells for cell in cells))
