"""Names, positions and meanings of everything that crosses the engine's boundary (plain Python).

The single source of the descriptor's layout, the opcodes, the modes and the status codes. `isa.py`
makes the hardware's structures from it; the model, the documents and headers read the same table.
A descriptor is 64 words of 32 bits, word 0 first, bit 0 the lowest::

    0      1          2  3   4         5           6     7-9     10-11  12-13   14-27     28-63
    kind   lane step  n  co  co_align  half_cells  tags  limits  in     out     reserved  9 records

A record (ho, wo, co, then digits d0..d5, outermost first) is 4 words: the step of each side, 48
bits wide (lane:cell for lmem, bytes for memory), a count and a multiplier.
"""

import enum
from typing import NamedTuple

__all__ = [
    "COUNTERS",
    "DESCRIPTOR_WIDTH",
    "DIGITS",
    "FIELDS",
    "RECORDS",
    "USED",
    "VERSION",
    "Field",
    "Mode",
    "Opcode",
    "Pair",
    "Status",
    "Tag",
    "named_mask",
    "pack",
    "unpack",
]

VERSION = 1
"""Version of the descriptor's layout, in its first field."""

DESCRIPTOR_WIDTH = 2048
"""Bits of a descriptor."""

DIGITS = ("d0", "d1", "d2", "d3", "d4", "d5")
"""The digits of the mixed dimension, outermost first."""

RECORDS = ("ho", "wo", "co", *DIGITS)
"""The loops and digits, outermost first: each has a record of steps, count and multiplier."""


class Opcode(enum.IntEnum):
    """What an instruction does."""

    NOP = 0  # completes, in order
    TILE = 1  # moves rows
    SWAP = 2  # transposes an n x n block of lmem in place
    FENCE = 3  # issues when everything before it has completed
    HALT = 4  # as FENCE, then interrupts and stops until cleared


class Mode(enum.IntEnum):
    """How one side of a tile addresses a row."""

    ACROSS = 0  # element k in lane l + k*lane_step, at one cell
    ALONG = 1  # element k in one lane, at cell c + k*g
    MEM = 2  # element k in system memory, at byte a + k*g*cell_width/8


class Pair(enum.IntEnum):
    """Whether a tile is one half of a memory -> stage -> memory conversion."""

    NONE = 0
    LOAD = 1  # first half, memory -> stage
    STORE = 2  # second half, stage -> memory


class Tag(enum.IntEnum):
    """The coordinate a loop or digit (or the row itself) advances."""

    NONE = 0
    HO = 1
    WO = 2
    CO = 3


class Status(enum.IntEnum):
    """How an instruction ended; the codes of a rejection stand in order of priority."""

    OK = 0
    VERSION = 1  # descriptor version is not VERSION
    RESERVED = 2  # a bit that the opcode does not use is set
    OPCODE = 3  # unknown opcode
    MODE = 4  # unknown mode or pair
    UNSUPPORTED = 5  # legal, but not in this build
    ELEMENT = 6  # element larger than the build moves
    COUNT = 7  # co_align is 0 or beyond the field it replaces
    ALIGN = 8  # an lmem cell or cell step is not a multiple of the element
    RANGE = 9  # a lane step, lane or cell outside the array
    WINDOW = 10  # memory outside the window
    NIBBLE = 11  # odd number of 4-bit cells on a memory side
    OVERLAP = 12  # source and destination meet in rows of more than M elements
    PAIR_REJECTED = 13  # the other half of the pair was rejected
    READ_ERROR = 14  # the bus answered a read with an error
    WRITE_ERROR = 15  # the bus answered a write with an error
    BUS_HUNG = 16  # the bus did not answer in time
    ABORTED = 17  # ended by abort or soft reset


COUNTERS = (
    "cycles",
    "beats_read",
    "beats_written",
    "stalls_hazard",
    "stalls_fence",
    "stalls_port",
    "stalls_completion",
    "rows",
    "blocks",
    "instructions",
)
"""The performance counters, 32 bits each, lowest first."""


class Field(NamedTuple):
    """One field of the descriptor."""

    name: str
    offset: int  # first bit
    width: int  # bits
    signed: bool
    doc: str

    @property
    def limits(self):
        """The least and the largest value the field holds."""
        half = 1 << (self.width - 1)
        return (-half, half - 1) if self.signed else (0, (1 << self.width) - 1)


def _fields():
    word = 32
    yield Field("version", 0, 4, False, "layout of the descriptor, 1")
    yield Field("opcode", 4, 4, False, "what to do (Opcode)")
    yield Field("in_mode", 8, 2, False, "addressing of the source (Mode)")
    yield Field("out_mode", 10, 2, False, "addressing of the destination (Mode)")
    yield Field("pair", 12, 2, False, "half of a pair (Pair)")
    yield Field("element", 14, 2, False, "log2 of g, the cells of an element")
    yield Field(
        "segment_is_digit",
        16,
        1,
        False,
        "the segment is the count of digit 0, and n the row's length",
    )
    yield Field("row_tag", 17, 2, False, "coordinate that the row's elements advance (Tag)")
    yield Field("in_lane_step", 1 * word, 16, False, "lanes between elements, ACROSS source")
    yield Field(
        "out_lane_step", 1 * word + 16, 16, False, "lanes between elements, ACROSS destination"
    )
    yield Field("n", 2 * word, 24, False, "elements of a row, if the segment does not replace it")
    yield Field("co", 3 * word, 32, False, "size of the segmented axis")
    yield Field("co_align", 4 * word, 32, False, "size of a whole segment")
    yield Field("half_cells", 5 * word, 32, False, "cells of one half of a pair's stage")
    for index, record in enumerate(RECORDS):
        yield Field(
            f"{record}_tag",
            6 * word + 2 * index,
            2,
            False,
            f"coordinate that {record} advances (Tag)",
        )
    for index, record in enumerate(RECORDS[:3]):
        yield Field(
            f"limit_{record}",
            (7 + index) * word,
            32,
            False,
            f"end of the coordinate {record}, 0 for none",
        )
    for index, side in enumerate(("in", "out")):
        yield Field(
            f"{side}_cell",
            (10 + 2 * index) * word,
            32,
            False,
            f"{side} start: cell (low half of a byte address)",
        )
        yield Field(
            f"{side}_lane",
            (11 + 2 * index) * word,
            32,
            False,
            f"{side} start: lane (high half of a byte address)",
        )
    for index, record in enumerate(RECORDS):
        base = (28 + 4 * index) * word
        for offset, side in ((0, "in"), (48, "out")):
            yield Field(
                f"{record}_{side}_cell",
                base + offset,
                32,
                True,
                f"{side} step of {record}: cells (low bits of a byte step)",
            )
            yield Field(
                f"{record}_{side}_lane",
                base + offset + 32,
                16,
                True,
                f"{side} step of {record}: lanes (high bits of a byte step)",
            )
        if record != "co":  # its count, repeat_co, is made in hardware
            name = f"{record}_count" if record in DIGITS else f"repeat_{record}"
            yield Field(name, base + 96, 16, False, f"iterations of {record}")
        yield Field(
            f"{record}_multiplier",
            base + 112,
            16,
            False,
            f"what one step of {record} adds to its coordinate",
        )


FIELDS = {field.name: field for field in _fields()}
"""Every named field of the descriptor, by name."""

USED = {
    Opcode.NOP: ("version", "opcode"),
    Opcode.TILE: tuple(FIELDS),
    Opcode.SWAP: ("version", "opcode", "element", "n", "in_cell", "in_lane"),
    Opcode.FENCE: ("version", "opcode"),
    Opcode.HALT: ("version", "opcode"),
}
"""The fields each opcode uses; all other bits of its descriptor are zero."""


def named_mask(names):
    """A mask with a one at every bit of the named fields."""
    return sum(((1 << FIELDS[name].width) - 1) << FIELDS[name].offset for name in names)


def pack(values):
    """The descriptor, an integer of 2048 bits, with the given fields; the others are zero.

    Raises
    ------
    ValueError
        If a name is no field, or a value does not fit its field.
    """
    descriptor = 0
    for name, value in values.items():
        if name not in FIELDS:
            raise ValueError(f"descriptor field must be one of fields.FIELDS, not {name!r}")
        field = FIELDS[name]
        low, high = field.limits
        if not low <= value <= high:
            raise ValueError(f"{name} must be {low} to {high}, not {value!r}")
        descriptor |= (int(value) & ((1 << field.width) - 1)) << field.offset
    return descriptor


def unpack(descriptor):
    """Every field of a descriptor by name, signed where the field is."""
    values = {}
    for name, field in FIELDS.items():
        value = (descriptor >> field.offset) & ((1 << field.width) - 1)
        if field.signed and value >> (field.width - 1):
            value -= 1 << field.width
        values[name] = value
    return values
