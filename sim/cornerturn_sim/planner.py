"""From a permutation of axes to tiles: which axis a row runs along, and in how many passes.

Both tensors lie as :mod:`placement` says, so an element's address is affine in its indices, and any
axis can be the row whose step is one lane or one element on each side::

    source lanes  --ACROSS-->  destination cells     (its innermost axis): the corner turn
    source cells  --ALONG--->  destination lanes     the same, from the other end
    both lanes    --ACROSS-->  ACROSS                any order within the lanes

Where no axis is a row, two passes are: one turns the corner, one orders the cells of each lane. All
that fit are tried; the cycle model chooses.
"""

import itertools
import math
from typing import NamedTuple

from cornerturn_model import cycles
from cornerturn_model.instruction import Across, Along, Digit, Tile

from .placement import Placement, lane_choices, reconcile

__all__ = ["Plan", "plan", "tiles"]

MOST_DIGITS = 6


class Plan(NamedTuple):
    """A re-layout, ready to run."""

    source: Placement
    destination: Placement
    program: list[Tile]
    group: int  # of the last axis, elements that move as one
    sizes: tuple[int, ...]  # of the axes, the last one in such groups
    cycles: int  # by the cycle model


def plan(config, permutation, element_cells):
    """The fastest plan that fits the lmem.

    Parameters
    ----------
    config : Config
    permutation : Permutation
    element_cells : int
        Cells of an element.

    Raises
    ------
    ValueError
        If source and destination do not fit.
    """
    best, least = None, math.inf
    for group, sizes, order in _groupings(config, permutation, element_cells):
        cells = group * element_cells
        for passes, end in _routes(config, sizes, order, cells):
            least = min(least, end)
            if end > config.cells:
                continue
            program = [
                tile
                for source, destination in itertools.pairwise(passes)
                for tile in tiles(config, sizes, source, destination, cells)
            ]
            time = cycles.count(config, program)["cycles"]
            if best is None or time < best.cycles:
                best = Plan(passes[0], passes[-1], program, group, sizes, time)
    if best is None:
        raise ValueError(
            f"tensor must fit the lmem twice: it takes {least} cells of each lane, "
            f"and there are {config.cells}"
        )
    return best


def tiles(config, sizes, source, destination, element_cells):
    """The instructions that move a tensor from one placement to another."""
    program = []
    boxes = [list(_boxes(size, axis, source, destination)) for axis, size in enumerate(sizes)]
    for box in itertools.product(*boxes):
        corner = [first for first, _ in box]
        digits = []
        for axis, (first, splits) in enumerate(box):
            for count, stride in splits:
                steps = [
                    _difference(side.offset(axis, first + stride), side.offset(axis, first))
                    for side in (source, destination)
                ]
                digits.append(Digit(count, *steps))
        starts = [side.address(corner) for side in (source, destination)]
        digits = _merge([digit for digit in digits if digit.count > 1])
        row = _best_row(config, starts, digits, element_cells)
        if row is not None:
            digits.remove(row)
        program += _unrolled(starts, row, digits, element_cells)
    return program


def _groupings(config, permutation, element_cells):
    """Ways to take neighbours on an axis that is the last of both tensors as one element."""
    sizes, order = permutation
    group = 1
    while group * element_cells <= config.max_element_cells:
        last = -(-sizes[-1] // group)
        if last == 1 and len(sizes) > 1:
            yield group, sizes[:-1], order[:-1]
            return
        yield group, (*sizes[:-1], last), order
        if order[-1] != len(sizes) - 1 or last == 1:
            return
        group *= 2


def _routes(config, sizes, order, cells):
    """Sequences of placements from source to destination, with the cells they take."""
    straight = tuple(range(len(sizes)))
    options = itertools.product(
        (1, config.beat_cells),
        lane_choices(config, sizes, straight),
        lane_choices(config, sizes, order),
    )
    for pitch, *choices in options:

        def place(lanes, along, base, pitch=pitch):
            return Placement(
                config, sizes, lanes, along, element_cells=cells, base=base, pitch=pitch
            )

        before, after = reconcile(*choices)
        source = place(before, straight[len(before) :], 0)
        destination = place(after, order[len(after) :], source.end)
        yield [source, destination], destination.end
        for lanes, inner in ((before, after[-1].axis), (after, before[-1].axis)):
            taken = {entry.axis for entry in lanes}
            if inner in taken:
                continue
            rest = [axis for axis in order if axis not in taken and axis != inner]
            stage = place(lanes, [*rest, inner], source.end)
            # Where there is no room behind the stage, the source is not needed any more.
            room = stage.end + destination.end - destination.base <= config.cells
            last = place(after, order[len(after) :], stage.end if room else 0)
            fits = room or last.end <= stage.base
            yield [source, stage, last], max(stage.end, last.end) if fits else math.inf


def _boxes(size, axis, source, destination):
    """Cuts an axis: (first index, [(count, stride), ...]), affine on both sides."""
    units = {side.cuts(axis) for side in (source, destination)} - {None}
    units = [*sorted((unit for unit in units if unit < size), reverse=True), 1]
    first = 0
    while size > first:
        rest = size - first
        units = [unit for unit in units if unit <= rest]
        splits = [(rest // units[0], units[0])]
        splits += [(outer // inner, inner) for outer, inner in itertools.pairwise(units)]
        yield first, splits
        first += rest // units[0] * units[0]


def _difference(a, b):
    return a[0] - b[0], a[1] - b[1]


def _merge(digits):
    """Digits with every pair joined in which one goes on where the other ends, on both sides."""
    for outer, inner in itertools.permutations(digits, 2):
        if all(
            tuple(inner.count * step for step in getattr(inner, side)) == getattr(outer, side)
            for side in ("in_step", "out_step")
        ):
            rest = [digit for digit in digits if digit not in (outer, inner)]
            joined = Digit(outer.count * inner.count, inner.in_step, inner.out_step)
            return _merge([*rest, joined])
    return digits


def _best_row(config, starts, digits, element_cells):
    """The digit to run rows along: the one that moves most elements a beat; None if none can."""
    word = config.beat_cells
    best, most = None, 0
    for row in digits:
        beats = -(-row.count * element_cells // word)
        for number, step in enumerate((row.in_step, row.out_step)):
            if step == (0, element_cells):
                others = [
                    (digit.in_step, digit.out_step)[number][1]
                    for digit in digits
                    if digit is not row
                ]
                if any(cell % word for cell in (starts[number][1], *others)):
                    beats = max(beats, -(-(row.count * element_cells + word - 1) // word))
            elif step[1] or not 0 < step[0] < config.lanes:
                break
        else:
            if row.count / beats > most:
                best, most = row, row.count / beats
    return best


def _unrolled(starts, row, digits, element_cells):
    """Tiles of at most six digits; more are unrolled, the shortest first."""
    digits = sorted(digits, key=lambda digit: digit.count, reverse=True)
    loops, digits = digits[MOST_DIGITS:], digits[:MOST_DIGITS]
    for index in itertools.product(*(range(digit.count) for digit in loops)):
        sides = []
        for number, start in enumerate(starts):
            lane, cell = start
            for i, digit in zip(index, loops, strict=True):
                step = (digit.in_step, digit.out_step)[number]
                lane, cell = lane + i * step[0], cell + i * step[1]
            step = (row.in_step, row.out_step)[number] if row else (0, element_cells)
            sides.append(Across(lane, cell, step[0]) if step[0] else Along(lane, cell))
        yield Tile(*sides, row.count if row else 1, tuple(digits), element_cells)
