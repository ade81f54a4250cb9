"""Tensors whose channels lie apart, and tensors whose channels lie together, as tiles.

A *turn* is the way between the two, in either direction, through a stage in the lanes::

    blocked  [..][co][digits]  --rows of the digits, along lane co-->  stage
    stage  --rows of co, across the lanes-->  dense  [..][co]

The blocks of a convolution (:data:`PRESETS`) and NCHW are blocked, NHWC and each group of channels
of NCHWc are dense. All sizes and strides are in elements, all addresses in bytes.

The presets are illustrative: the published text of the tiling instruction ends before the shape
that its claim 8 names, and the shapes here are the hypotheses that fit its claims 1 to 7.
"""

import dataclasses
import functools
import math

from cornerturn.fields import Pair, Tag

from .instruction import NO_STEP, Across, Along, Digit, Limits, Mem, Segment, Tile

__all__ = ["PRESETS", "Axis", "Preset", "Turn", "nchw_nchwc", "nchw_nhwc", "nchwc_nhwc"]


NO_LIMITS = Limits()


@dataclasses.dataclass(frozen=True)
class Axis:
    """A loop or digit: where an iteration leads in both tensors, and in the coordinate `tag`."""

    count: int = 1
    blocked: int = 0  # stride
    dense: int = 0  # stride
    tag: Tag = Tag.NONE
    multiplier: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turn:
    """A blocked and a dense tensor, and how the elements of one lie in the other.

    Parameters
    ----------
    ho, wo : Axis
        The loops around the blocks.
    co : Axis
        The segmented axis, one lane an element; its tag is CO.
    digits : sequence of Axis
        The mixed dimension, outermost first: the elements of a row of the blocked tensor, without
        gaps, whatever `blocked` says.
    limits : Limits
        Ends of the coordinates; what is beyond exists in the blocked tensor only.
    group : tuple of int, optional
        Size of the segments and the stride in the dense tensor from one to the next, if that is
        not simply so many times the stride of co.
    """

    ho: Axis = Axis()
    wo: Axis = Axis()
    co: Axis
    digits: tuple[Axis, ...]
    limits: Limits = NO_LIMITS
    group: tuple[int, int] | None = None

    @property
    def mixed(self):
        """Elements of a row of the blocked tensor."""
        return math.prod(digit.count for digit in self.digits)

    @property
    def ragged(self):
        """Whether the blocked tensor has elements that the dense one does not have."""
        ends = {Tag.HO: self.limits.ho, Tag.WO: self.limits.wo, Tag.CO: self.limits.co}
        for axis in (self.ho, self.wo, self.co, *self.digits):
            if ends.get(axis.tag):
                ends[axis.tag] -= (axis.count - 1) * axis.multiplier
                if ends[axis.tag] <= 0:
                    return True
        return False

    @property
    def reach(self):
        """Elements from the first of the dense tensor to the last that any step leads to."""
        last = sum((axis.count - 1) * axis.dense for axis in (self.ho, self.wo, *self.digits))
        if self.group:
            size, stride = self.group
            return last + (self.co.count - 1) // size * stride + size
        return last + (self.co.count - 1) * self.co.dense + 1

    def stage_cells(self, config, element_cells=1):
        """Cells of one half of the stage: a row of the blocked tensor, to whole words."""
        return -(-self.mixed * element_cells // config.beat_cells) * config.beat_cells

    def tiles(
        self, config, blocked, dense, *, element_cells=1, cell=0, reverse=False, padding=False
    ):
        """The pair of tiles, LOAD and STORE, that turns the blocked tensor into the dense one.

        Steps lead beyond the limits before rows are trimmed: nothing of the blocked tensor may lie
        within :attr:`reach` of the dense one.

        Parameters
        ----------
        config : Config
        blocked, dense : int
            Addresses of the tensors.
        element_cells : int
            Cells of an element, which is whole bytes.
        cell : int
            Where in every lane the stage begins, a whole word: two halves of :meth:`stage_cells`.
        reverse : bool
            Turn the dense tensor into the blocked one.
        padding : bool
            With `reverse`: write the elements that only the blocked tensor has, too, with what the
            stage happens to hold. That allows longer rows; otherwise they stay as they are.

        Raises
        ------
        ValueError
            If an element is not whole bytes, a segment has no lanes, or the stage no cells.
        """
        bits = element_cells * config.cell_width
        if bits % 8:
            raise ValueError(f"element must be whole bytes, not {bits} bits")
        lanes, half = config.lanes, self.stage_cells(config, element_cells)
        if self.group and self.group[0] > lanes:
            raise ValueError(f"group must be at most lanes ({lanes}), not {self.group[0]}")
        if cell + 2 * half > config.cells:
            raise ValueError(f"stage must end by cell {config.cells}, not {cell + 2 * half}")
        trim = reverse and self.ragged and not padding
        blocked_rows = self._trimmed_rows if trim else self._whole_rows
        sides = [
            ("blocked", Mem(blocked), Along(0, cell), blocked_rows),
            ("dense", Mem(dense), Across(0, cell), self._dense_rows),
        ]
        tiles = []
        for pair, (name, memory, stage, rows) in zip(
            (Pair.LOAD, Pair.STORE), reversed(sides) if reverse else sides, strict=True
        ):
            steps = functools.partial(_steps, pair, bits // 8)
            tile = Tile(
                *((memory, stage) if pair == Pair.LOAD else (stage, memory)),
                **rows(steps, self.group[0] if self.group else lanes, element_cells),
                element_cells=element_cells,
                ho=_loop(self.ho, steps(getattr(self.ho, name))),
                wo=_loop(self.wo, steps(getattr(self.wo, name))),
                pair=pair,
                half_cells=half,
            )
            tiles.append(tile)
        return tuple(tiles)

    def _strides(self):
        """The digits, each with its stride in a row of the blocked tensor."""
        counts = [digit.count for digit in self.digits]
        return [
            (digit, math.prod(counts[place:])) for place, digit in enumerate(self.digits, start=1)
        ]

    def _dense_rows(self, steps, lanes, cells):
        """Rows across the lanes, of channels that lie together; else an element each."""
        stride = self.group[1] if self.group else lanes * self.co.dense
        segment = self._segment(steps(stride), lanes)
        digits = [
            _loop(digit, steps(digit.dense, (0, place * cells))) for digit, place in self._strides()
        ]
        limits = self.limits if self.ragged else NO_LIMITS
        if self.co.dense == self.co.multiplier == 1:
            return {"n": segment, "digits": tuple(digits), "limits": limits, "row_tag": Tag.CO}
        lane = _loop(self.co, steps(self.co.dense, (1, 0)), segment)
        return {"n": 1, "digits": (lane, *digits), "limits": limits}

    def _whole_rows(self, steps, lanes, cells):
        """Rows along a lane, all digits in each."""
        return {"n": self.mixed, "digits": (self._lane(steps, lanes),)}

    def _trimmed_rows(self, steps, lanes, cells):
        """Rows along a lane that the limits can cut: of the last digit, if it goes by ones."""
        digits, row = self._strides(), {"n": 1}
        if digits and digits[-1][0].multiplier == 1:
            last, _ = digits.pop()
            row = {"n": last.count, "row_tag": last.tag}
        loops = [_loop(digit, steps(place, (0, place * cells))) for digit, place in digits]
        return row | {"digits": (self._lane(steps, lanes), *loops), "limits": self.limits}

    def _lane(self, steps, lanes):
        segment = self._segment(steps(lanes * self.co.blocked), lanes)
        return _loop(self.co, steps(self.co.blocked, (1, 0)), segment)

    def _segment(self, steps, lanes):
        multiplier = lanes * self.co.multiplier
        return Segment(self.co.count, lanes, **steps, tag=self.co.tag, multiplier=multiplier)


def _steps(pair, size, elements, stage=NO_STEP):
    """The keywords of steps of so many elements in memory, and one in the stage."""
    steps = (elements * size, stage) if pair == Pair.LOAD else (stage, elements * size)
    return dict(zip(("in_step", "out_step"), steps, strict=True))


def _loop(axis, steps, count=None):
    return Digit(count or axis.count, **steps, tag=axis.tag, multiplier=axis.multiplier)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """How a convolution spreads its output over units, and over the blocked tensor they leave.

    `groups` of units share out the channels, `spread` (ho, wo) units the rows and columns, and each
    unit makes tiles of `tile` (ho, wo).
    """

    groups: int
    spread: tuple[int, int]
    tile: tuple[int, int]

    def turn(self, ho, wo, co, *, interleaved=False):
        """The :class:`Turn` between the blocks of a tensor [ho][wo][co] and the tensor itself.

        Parameters
        ----------
        ho, wo, co : int
            Sizes of the tensor; what the blocks have beyond is left out.
        interleaved : bool
            Neighbouring tiles, and channels, belong to neighbouring units. Otherwise each unit has
            a contiguous piece of every axis. (Interleaved channels lie as if they were not grouped:
            the digit of co then is one with the dimension co.)
        """
        dense = {Tag.HO: wo * co, Tag.WO: co, Tag.CO: 1}
        size = {Tag.HO: ho, Tag.WO: wo, Tag.CO: co}
        units = {Tag.HO: self.spread[0], Tag.WO: self.spread[1], Tag.CO: self.groups}
        tile = {Tag.HO: self.tile[0], Tag.WO: self.tile[1], Tag.CO: 1}
        loops = {tag: -(-size[tag] // (units[tag] * tile[tag])) for tag in size}

        def axis(tag, count, multiplier, blocked=0):
            return Axis(count, blocked, multiplier * dense[tag], tag, multiplier)

        def unit(tag):
            return axis(tag, units[tag], tile[tag] * (1 if interleaved else loops[tag]))

        def loop(tag, blocked):
            return axis(tag, loops[tag], tile[tag] * (units[tag] if interleaved else 1), blocked)

        digits = [unit(Tag.CO), unit(Tag.HO), unit(Tag.WO)]
        digits += [axis(tag, tile[tag], 1) for tag in (Tag.HO, Tag.WO)]
        mixed = math.prod(digit.count for digit in digits)
        channels = loop(Tag.CO, mixed)
        if interleaved:
            grouped = digits.pop(0).count
            channels = axis(Tag.CO, channels.count * grouped, 1, mixed // grouped)
        row = loops[Tag.CO] * mixed
        return Turn(
            ho=loop(Tag.HO, loops[Tag.WO] * row),
            wo=loop(Tag.WO, row),
            co=channels,
            digits=tuple(digit for digit in digits if digit.count > 1),
            limits=Limits(ho, wo, co),
        )


PRESETS = {
    f"forward{forward}/group{groups}/{rows}x{columns}": Preset(
        groups=groups, spread=(rows, columns), tile=(tile, tile)
    )
    for forward, tile in ((4, 4), (16, 2), (1, 8))
    for groups, units in ((1, 16), (4, 4), (16, 1))
    for rows, columns in ((rows, units // rows) for rows in (1, 2, 4, 8, 16) if rows <= units)
}
"""Convolutions by name: tile, groups and spread of the units. Illustrative, see above."""


def nchw_nhwc(n, c, h, w):
    """The :class:`Turn` between images [n][c][h][w] and [n][h][w][c]."""
    return Turn(
        ho=Axis(n, c * h * w, h * w * c),
        wo=Axis(h, w, w * c),
        co=Axis(c, h * w, 1, Tag.CO, 1),
        digits=(Axis(w, dense=c),),
    )


def nchw_nchwc(n, c, h, w, group):
    """The :class:`Turn` between images [n][c][h][w] and [n][c / group][h][w][group].

    Channels that only the last group has are not touched.
    """
    return Turn(
        ho=Axis(n, c * h * w, -(-c // group) * group * h * w),
        wo=Axis(h, w, w * group),
        co=Axis(c, h * w, 1, Tag.CO, 1),
        digits=(Axis(w, dense=group),),
        group=(group, h * w * group),
    )


def nchwc_nhwc(config, grouped, dense, n, c, h, w, group, *, element_cells=1, reverse=False):
    """The tile from images [n][c / group][h][w][group] to [n][h][w][c], or (`reverse`) back.

    Both hold a group's channels together, so that no lanes are needed. Channels that only the last
    group has are not touched.
    """
    bits = element_cells * config.cell_width
    if bits % 8:
        raise ValueError(f"element must be whole bytes, not {bits} bits")
    groups = -(-c // group)
    loops = [
        (n, groups * h * w * group, h * w * c),
        (groups, h * w * group, group),
        (h, w * group, w * c),
        (w, group, c),
    ]
    digits = []
    for place, (count, *strides) in enumerate(loops):
        steps = [stride * bits // 8 for stride in (reversed(strides) if reverse else strides)]
        tagged = {"tag": Tag.CO, "multiplier": group} if place == 1 else {}
        digits.append(Digit(count, *steps, **tagged))
    sides = (Mem(grouped), Mem(dense))
    return Tile(
        *(reversed(sides) if reverse else sides),
        group,
        tuple(digits),
        element_cells,
        limits=Limits(co=c) if c % group else NO_LIMITS,
        row_tag=Tag.CO,
    )
