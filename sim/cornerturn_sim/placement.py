"""Where the elements of a tensor lie in the lmem.

A tensor's leading axes lie across the lanes, all others along the cells of each lane, in order. The
last of the leading axes is cut if the lanes do not suffice: `cyclic`, it goes round the lanes, or
`blocked`, each lane has a run of it::

    h = 0..7, 4 lanes      cyclic     lane 0: h=0, h=4    lane 1: h=1, h=5    unit 4
                           blocked    lane 0: h=0, h=1    lane 1: h=2, h=3    unit 2
"""

import math
from typing import NamedTuple

__all__ = ["LaneAxis", "Placement", "lane_choices", "reconcile"]


class LaneAxis(NamedTuple):
    """An axis that lies across the lanes, cut every `unit` indices."""

    axis: int
    unit: int
    blocked: bool

    def extents(self, size):
        """(lanes, cells) it takes, in steps, if it has `size` indices."""
        blocks, inside = -(-size // self.unit), min(size, self.unit)
        return (blocks, inside) if self.blocked else (inside, blocks)

    def split(self, index):
        """(lanes, cells) of an index, in steps."""
        block, inside = index // self.unit, index % self.unit
        return (block, inside) if self.blocked else (inside, block)


class Placement:
    """A map from the indices of a tensor to lanes and cells, affine between the cuts.

    Parameters
    ----------
    config : Config
    sizes : sequence of int
        Of the tensor's axes.
    lanes : sequence of LaneAxis
        The leading axes, outermost first.
    along : sequence of int
        All other axes, outermost first.
    element_cells : int
    base : int
        First cell, the same in every lane.
    pitch : int
        What lies innermost along the cells takes a multiple of so many.

    Members
    -------
    lanes : tuple of LaneAxis
    end : int
        First cell behind the tensor, in a word of its own: two tensors never meet.
    """

    def __init__(self, config, sizes, lanes, along, *, element_cells, base=0, pitch=1):
        self.lanes = tuple(lanes)
        self.base = base
        self._by_axis = {entry.axis: entry for entry in lanes}
        self._lane_steps, self._cell_steps = {}, {}
        step = 1
        for entry in reversed(lanes):
            self._lane_steps[entry.axis] = step
            step *= entry.extents(sizes[entry.axis])[0]
        parts = [(entry.axis, entry.extents(sizes[entry.axis])[1]) for entry in lanes]
        parts += [(axis, sizes[axis]) for axis in along]
        step = element_cells
        for number, (axis, extent) in enumerate(reversed(parts)):
            self._cell_steps[axis] = step
            step *= extent
            if number == 0:
                step = _round_up(step, pitch)
        self.end = base + _round_up(step, config.beat_cells)

    def cuts(self, axis):
        """The unit an axis is cut in; ``None`` if it lies along the cells."""
        return self._by_axis[axis].unit if axis in self._by_axis else None

    def offset(self, axis, index):
        """What an index of one axis adds to (lane, cell); arrays of indices give arrays."""
        if axis not in self._by_axis:
            return 0 * index, index * self._cell_steps[axis]
        lanes, cells = self._by_axis[axis].split(index)
        return lanes * self._lane_steps[axis], cells * self._cell_steps[axis]

    def address(self, indices):
        """(lane, cell) of an element, from the index on each axis; arrays are broadcast."""
        offsets = [self.offset(axis, index) for axis, index in enumerate(indices)]
        return sum(lane for lane, _ in offsets), self.base + sum(cell for _, cell in offsets)


def lane_choices(config, sizes, order):
    """Which leading axes of a tensor can lie across the lanes, and how: lists of LaneAxis.

    More than the first only while the lanes they leave are worth it.
    """
    for count in range(1, len(order) + 1):
        *outer, last = order[:count]
        taken = math.prod(sizes[axis] for axis in outer)
        if count > 1 and 2 * taken > config.lanes:
            return
        lanes = [LaneAxis(axis, sizes[axis], False) for axis in outer]
        size, room = sizes[last], config.lanes // taken
        yield [*lanes, LaneAxis(last, min(size, room), False)]
        if size > room:
            yield [*lanes, LaneAxis(last, -(-size // room), True)]


def reconcile(first, second):
    """The same choices for two placements, with units of which one divides the other."""
    first, second = list(first), list(second)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            if a.axis == b.axis:
                small = min(a.unit, b.unit)
                first[i], second[j] = _multiple(a, small), _multiple(b, small)
    return first, second


def _multiple(entry, unit):
    # Fewer lanes a round or longer runs: either way no more lanes than before.
    rounded = _round_up(entry.unit, unit) if entry.blocked else entry.unit // unit * unit
    return entry._replace(unit=rounded)


def _round_up(value, unit):
    return -(-value // unit) * unit
