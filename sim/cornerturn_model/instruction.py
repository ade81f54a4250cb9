"""Instructions as Python objects, and their descriptors.

A program is a sequence of instructions, raw descriptors (integers of 2048 bits) or both::

    Tile(src=Across(lane=0, cell=1), dst=Along(lane=0, cell=1), n=10)

moves cell 1 of ten lanes to ten cells of lane 0. The encoding is the one of `cornerturn.fields`.
"""

import dataclasses

from cornerturn.fields import DESCRIPTOR_WIDTH, DIGITS, VERSION, Mode, Opcode, Tag, pack

__all__ = [
    "Across",
    "Along",
    "Digit",
    "Fence",
    "Halt",
    "Limits",
    "Nop",
    "Segment",
    "Swap",
    "Tile",
    "as_descriptor",
]


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
class Segment:
    """A length given by the segmented axis, which the loop co walks; stands where a number can.

    The axis of `co` elements is cut into whole segments of `co_align`, and a remainder. Each is
    one iteration of co: a step on both sides, and `multiplier` on in the coordinate `tag`.
    """

    co: int
    co_align: int
    in_step: tuple[int, int] = (0, 0)
    out_step: tuple[int, int] = (0, 0)
    tag: Tag = Tag.NONE
    multiplier: int = 0


@dataclasses.dataclass(frozen=True)
class Digit:
    """A loop of `count` iterations: around the rows of a block or, as ho and wo, around the blocks.

    Each iteration is a step of (lanes, cells) on both sides, and `multiplier` on in the coordinate
    `tag`.
    """

    count: int | Segment
    in_step: tuple[int, int] = (0, 0)
    out_step: tuple[int, int] = (0, 0)
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
    src, dst : Across or Along
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
    """

    src: Across | Along
    dst: Across | Along
    n: int | Segment
    digits: tuple[Digit, ...] = ()
    element_cells: int = 1
    ho: Digit = Digit(1)
    wo: Digit = Digit(1)
    limits: Limits = Limits()
    row_tag: Tag = Tag.NONE

    def encode(self):
        """The descriptor; ValueError if a value has no place in it."""
        values = {
            "version": VERSION,
            "opcode": Opcode.TILE,
            "element": _element(self.element_cells),
            "repeat_ho": self.ho.count,
            "repeat_wo": self.wo.count,
            "row_tag": self.row_tag,
        }
        limits = dataclasses.asdict(self.limits)
        values |= {f"limit_{name}": limit for name, limit in limits.items()}
        for prefix, side in (("in", self.src), ("out", self.dst)):
            values[f"{prefix}_lane"], values[f"{prefix}_cell"] = side.lane, side.cell
            if isinstance(side, Across):
                values[f"{prefix}_mode"] = Mode.ACROSS
                values[f"{prefix}_lane_step"] = side.step
            else:
                values[f"{prefix}_mode"] = Mode.ALONG
        values |= self._lengths()
        values |= _record("ho", self.ho) | _record("wo", self.wo)
        return pack(values)

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
            values |= _record(name, digit) | {f"{name}_count": digit.count}
        return values | _record("co", segment) | {"co": segment.co, "co_align": segment.co_align}


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


def _record(name, loop):
    """The fields of a record, without its count."""
    values = {f"{name}_tag": loop.tag, f"{name}_multiplier": loop.multiplier}
    for prefix, step in (("in", loop.in_step), ("out", loop.out_step)):
        values[f"{name}_{prefix}_lane"], values[f"{name}_{prefix}_cell"] = step
    return values


def _element(cells):
    if cells not in (1, 2, 4, 8):
        raise ValueError(f"element_cells must be 1, 2, 4 or 8, not {cells!r}")
    return cells.bit_length() - 1
