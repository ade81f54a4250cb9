"""Instructions as Python objects, and their descriptors.

A program is a sequence of instructions, raw descriptors (integers of 2048 bits) or both::

    Tile(src=Across(lane=0, cell=1), dst=Along(lane=0, cell=1), n=10)

moves cell 1 of ten lanes to ten cells of lane 0. The encoding is the one of `cornerturn.fields`.
"""

import dataclasses

from cornerturn.fields import DESCRIPTOR_WIDTH, DIGITS, VERSION, Mode, Opcode, Pair, Tag, pack

__all__ = [
    "Across",
    "Along",
    "Digit",
    "Fence",
    "Halt",
    "Limits",
    "Mem",
    "Nop",
    "Segment",
    "Swap",
    "Tile",
    "as_descriptor",
]


NO_STEP = (0, 0)
"""The step of a loop that stays where it is, in lanes and cells as well as in memory."""


@dataclasses.dataclass(frozen=True)
class Across:
    """A side whose element k is in lane `lane + k * step`, at `cell`."""

    lane: int
    cell: int
    step: int = 1


@dataclasses.dataclass(frozen=True)
class Along:
    """A side whose element k is in `lane`, at cell `cell + k * element_cells`."""

    lane: int
    cell: int


@dataclasses.dataclass(frozen=True)
class Mem:
    """A side in system memory: the cells of a row are packed from byte `address` on."""

    address: int


@dataclasses.dataclass(frozen=True)
class Segment:
    """A length given by the segmented axis, which the loop co walks; stands where a number can.

    The axis of `co` elements is cut into whole segments of `co_align`, and a remainder. Each is
    one iteration of co: a step on both sides, and `multiplier` on in the coordinate `tag`.
    """

    co: int
    co_align: int
    in_step: tuple[int, int] | int = NO_STEP
    out_step: tuple[int, int] | int = NO_STEP
    tag: Tag = Tag.NONE
    multiplier: int = 0


@dataclasses.dataclass(frozen=True)
class Digit:
    """A loop of `count` iterations: around the rows of a block or, as ho and wo, around the blocks.

    Each iteration is a step on both sides, of (lanes, cells), or bytes on a Mem side; and
    `multiplier` on in the coordinate `tag`.
    """

    count: int | Segment
    in_step: tuple[int, int] | int = NO_STEP
    out_step: tuple[int, int] | int = NO_STEP
    tag: Tag = Tag.NONE
    multiplier: int = 0


@dataclasses.dataclass(frozen=True)
class Limits:
    """Where the coordinates end; 0 for nowhere."""

    ho: int = 0
    wo: int = 0
    co: int = 0


@dataclasses.dataclass(frozen=True)
class Tile:
    """Moves rows of elements from one side to the other.

    Parameters
    ----------
    src, dst : Across, Along or Mem
        Where the first row starts and how it runs.
    n : int or Segment
        Elements of a row.
    digits : sequence of Digit
        The loops around a row, outermost first, at most six. Only the first may count a segment,
        and only if `n` does not.
    element_cells : int
        Cells of an element: 1, 2, 4 or 8.
    ho, wo : Digit
        The loops around the blocks, outermost first. The loop co inside them is the segment's.
    limits : Limits
        What reaches them is neither read nor written.
    row_tag : Tag
        The coordinate that the elements of a row advance, by 1 each.
    pair : Pair
        Whether the tile is one of two that run block by block.
    half_cells : int
        Of a pair: how much higher its lmem side is in every other block.
    """

    src: Across | Along | Mem
    dst: Across | Along | Mem
    n: int | Segment
    digits: tuple[Digit, ...] = ()
    element_cells: int = 1
    ho: Digit = Digit(1)
    wo: Digit = Digit(1)
    limits: Limits = Limits()
    row_tag: Tag = Tag.NONE
    pair: Pair = Pair.NONE
    half_cells: int = 0

    def encode(self):
        """The descriptor; ValueError if a value has no place in it."""
        values = {
            "version": VERSION,
            "opcode": Opcode.TILE,
            "element": _element(self.element_cells),
            "repeat_ho": self.ho.count,
            "repeat_wo": self.wo.count,
            "row_tag": self.row_tag,
            "pair": self.pair,
            "half_cells": self.half_cells,
        }
        limits = dataclasses.asdict(self.limits)
        values |= {f"limit_{name}": limit for name, limit in limits.items()}
        for prefix, side in (("in", self.src), ("out", self.dst)):
            values |= {f"{prefix}_{name}": value for name, value in _start(side).items()}
        values |= self._lengths()
        values |= self._record("ho", self.ho) | self._record("wo", self.wo)
        return pack(values)

    def _record(self, name, loop):
        """The fields of a record, without its count."""
        values = {f"{name}_tag": loop.tag, f"{name}_multiplier": loop.multiplier}
        for prefix, side, step in (
            ("in", self.src, loop.in_step),
            ("out", self.dst, loop.out_step),
        ):
            lane, cell = _step(side, step)
            values |= {f"{name}_{prefix}_lane": lane, f"{name}_{prefix}_cell": cell}
        return values

    def _lengths(self):
        segment, digits = self.n, dict.fromkeys(DIGITS, Digit(1))
        values = {}
        if len(self.digits) > len(DIGITS):
            raise ValueError(f"digits must be at most {len(DIGITS)}, not {len(self.digits)!r}")
        if self.digits:
            digits |= zip(DIGITS[-len(self.digits) :], self.digits, strict=True)
        if self.digits and isinstance(self.digits[0].count, Segment):
            # The segment can only be the count of d0; all others stay where they are.
            if isinstance(self.n, Segment):
                raise ValueError(f"n must be a number if a digit counts a segment, not {self.n!r}")
            segment = self.digits[0].count
            digits[DIGITS[-len(self.digits)]] = Digit(1)
            digits[DIGITS[0]] = dataclasses.replace(self.digits[0], count=0)
            values |= {"segment_is_digit": 1, "n": self.n}
        elif not isinstance(self.n, Segment):
            segment = Segment(self.n, max(1, self.n))
        for name, digit in digits.items():
            if isinstance(digit.count, Segment):
                raise ValueError(
                    f"count must be a number in all digits but the first, not {digit.count!r}"
                )
            values |= self._record(name, digit) | {f"{name}_count": digit.count}
        values |= {"co": segment.co, "co_align": segment.co_align}
        return values | self._record("co", segment)


@dataclasses.dataclass(frozen=True)
class Swap:
    """Transposes the block of n x n elements at (`lane`, `cell`) in place; row i at element i."""

    lane: int
    cell: int
    n: int
    element_cells: int = 1

    def encode(self):
        """The descriptor; ValueError if a value has no place in it."""
        return pack(
            {
                "version": VERSION,
                "opcode": Opcode.SWAP,
                "n": self.n,
                "in_lane": self.lane,
                "in_cell": self.cell,
                "element": _element(self.element_cells),
            }
        )


@dataclasses.dataclass(frozen=True)
class Nop:
    """Completes, in order."""

    def encode(self):
        """The descriptor."""
        return pack({"version": VERSION, "opcode": Opcode.NOP})


@dataclasses.dataclass(frozen=True)
class Fence:
    """Issues when everything before it has completed."""

    def encode(self):
        """The descriptor."""
        return pack({"version": VERSION, "opcode": Opcode.FENCE})


@dataclasses.dataclass(frozen=True)
class Halt:
    """Issues as a fence; nothing behind it runs until software clears."""

    def encode(self):
        """The descriptor."""
        return pack({"version": VERSION, "opcode": Opcode.HALT})


def as_descriptor(item):
    """The descriptor of a program's item: an instruction, or a descriptor already.

    Raises
    ------
    TypeError, ValueError
        If the item is neither, or the integer is not one of 2048 bits.
    """
    if hasattr(item, "encode") and not isinstance(item, str):
        return item.encode()
    if not isinstance(item, int):
        raise TypeError(f"program item must be an instruction or a descriptor, not {item!r}")
    if not 0 <= item < 1 << DESCRIPTOR_WIDTH:
        raise ValueError(f"descriptor must be 0 to 2**{DESCRIPTOR_WIDTH} - 1, not {item!r}")
    return item


def _start(side):
    """The fields of a side, without its prefix."""
    if isinstance(side, Mem):
        if not 0 <= side.address < 1 << 64:
            raise ValueError(f"address must be 0 to 2**64 - 1, not {side.address!r}")
        return {"mode": Mode.MEM, "lane": side.address >> 32, "cell": side.address % (1 << 32)}
    place = {"lane": side.lane, "cell": side.cell}
    if isinstance(side, Across):
        return place | {"mode": Mode.ACROSS, "lane_step": side.step}
    return place | {"mode": Mode.ALONG}


def _step(side, step):
    """The lane half and the cell half of a step."""
    if step == NO_STEP:
        return step
    if not isinstance(side, Mem):
        if isinstance(step, int):
            raise ValueError(f"step of an lmem side must be (lanes, cells), not {step!r}")
        return step
    if not isinstance(step, int) or not -(1 << 47) <= step < 1 << 47:
        raise ValueError(f"step of a Mem side must be -2**47 to 2**47 - 1 bytes, not {step!r}")
    lane, cell = divmod(step, 1 << 32)
    # The low half is unsigned in meaning, and a signed field.
    return lane, cell - (cell >> 31 << 32)


def _element(cells):
    if cells not in (1, 2, 4, 8):
        raise ValueError(f"element_cells must be 1, 2, 4 or 8, not {cells!r}")
    return cells.bit_length() - 1
