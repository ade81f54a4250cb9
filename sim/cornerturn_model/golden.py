"""What a program leaves in the memories, with its completions and counters.

A side of a tile is a strided view of its memory in elements, with an axis for each loop and one for
the elements of a row: a tile is one assignment from view to view, wherever the order of its rows
cannot be seen. Rows that are trimmed go through lists of places, rows that meet one by one.
"""

from typing import NamedTuple

import numpy as np
from cornerturn.fields import RECORDS, Opcode, Status

from . import checks, cycles
from .instruction import as_descriptor
from .rows import decode, rows_of, walk

__all__ = ["Result", "cell_dtype", "run"]

CO = RECORDS.index("co")


class Result(NamedTuple):
    """The end of a run."""

    lmem: np.ndarray  # (lanes, cells)
    completions: list[tuple[int, Status]]  # (index, status), in order
    counters: dict[str, int]
    cycles: int  # counters["cycles"]
    faults: dict[int, tuple[int, int]]  # index -> (lane, cell) of the row that ended it


def cell_dtype(config):
    """The numpy type that holds one cell; a cell of 4 bits has a byte to itself."""
    return np.dtype(f"u{max(8, config.cell_width) // 8}")


def run(config, lmem, program, *, start_index=0):
    """Run a program to its end, cleared and continued after every rejection and HALT.

    Parameters
    ----------
    config : Config
    lmem : ndarray
        (lanes, cells) of `cell_dtype(config)`; left as it is.
    program : sequence
        Instructions and descriptors.
    start_index : int
        Index of the first completion; they count modulo 2**32.

    Raises
    ------
    TypeError, ValueError
        If the memory or an item of the program is not of this kind.
    """
    lmem = _checked_copy(config, lmem)
    descriptors = [as_descriptor(item) for item in program]
    completions, faults = [], {}
    for number, descriptor in enumerate(descriptors, start_index):
        index, fault = number % (1 << 32), None
        status = checks.check(config, descriptor)
        if status == Status.OK:
            fault = _execute(config, lmem, descriptor)
        if fault:
            status, faults[index] = fault.status, fault.address
        completions.append((index, status))
    counters = cycles.count(config, descriptors)
    return Result(lmem, completions, counters, counters["cycles"], faults)


def _checked_copy(config, lmem):
    shape, dtype = (config.lanes, config.cells), cell_dtype(config)
    if not isinstance(lmem, np.ndarray) or lmem.dtype != dtype:
        raise TypeError(f"lmem must be an array of {dtype}, not {getattr(lmem, 'dtype', lmem)!r}")
    if lmem.shape != shape:
        raise ValueError(f"lmem must be of shape (lanes, cells) = {shape}, not {lmem.shape!r}")
    if lmem.max() >> config.cell_width:
        raise ValueError(
            f"lmem must be below 2**{config.cell_width} everywhere, not {int(lmem.max())!r}"
        )
    return np.array(lmem, order="C")


def _execute(config, lmem, descriptor):
    """Run an accepted instruction; what ended it early, if anything did."""
    f = decode(descriptor)
    if f["opcode"] == Opcode.TILE:
        return _tile(config, lmem, descriptor)
    if f["opcode"] == Opcode.SWAP:
        lane, n, cells = f["in_lane"], f["n"], 1 << f["element"]
        block = lmem[lane : lane + n, f["in_cell"] : f["in_cell"] + n * cells]
        block = block.reshape(n, n, cells)
        block[...] = block.transpose(1, 0, 2).copy()
    return None


def _tile(config, lmem, descriptor):
    rows = rows_of(config, descriptor)
    source, destination = (_Elements(lmem, rows, side) for side in (rows.source, rows.destination))
    serial = checks.serial(config, descriptor)
    if rows.empty:
        return None
    if not rows.limited and not serial:
        return _by_views(rows, source, destination)
    in_order = serial or not destination.injective(
        _around([(*part.counts, part.length) for part in rows.parts])
    )
    move = _one_by_one if in_order else _by_places
    for chunk in walk(config, rows):
        move(source, destination, chunk)
        if chunk.fault:
            return chunk.fault
    return None


def _around(shapes):
    """The shape of a tile, of the shapes of its parts: as if all segments were whole."""
    shape = np.max(shapes, axis=0)
    shape[CO] += len(shapes) - 1
    return shape


class _Elements:
    """One side of a tile as elements somewhere in the bytes of an array."""

    def __init__(self, array, rows, side):
        self._array = array
        self._side = side
        self._type = np.dtype((np.void, rows.element_cells * array.itemsize))
        steps = (*side.steps, side.element_step)
        self.strides = tuple(map(self._bytes, steps))  # of each record, and of the row

    def _bytes(self, address):
        return sum(part * stride for part, stride in zip(address, self._array.strides, strict=True))

    def injective(self, shape):
        """Whether, by a sufficient test, no two elements share a byte."""
        reach = self._type.itemsize - 1
        strides = self.strides[len(self.strides) - len(shape) :]
        for count, stride in sorted(zip(shape, map(abs, strides), strict=True), key=lambda a: a[1]):
            if count > 1 and stride <= reach:
                return False
            reach += (count - 1) * stride
        return True

    def view(self, part):
        """A part of the tile: an axis for each record, then one for the row."""
        start = self._bytes(self._side.places((0,) * len(part.counts), part.first))
        shape = (*part.counts, part.length)
        return np.ndarray(shape, self._type, self._array, start, self.strides)

    def rows(self, addresses, lengths):
        """The rows at some addresses, one array each."""
        stride = self.strides[-1:]
        for start, length in zip(self._bytes(addresses).tolist(), lengths.tolist(), strict=True):
            if length:
                yield np.ndarray((length,), self._type, self._array, start, stride)

    def places(self, addresses, lengths):
        """The elements of the rows at some addresses, in order, as indices of :meth:`anywhere`."""
        k = np.arange(lengths.max(initial=0))
        places = self._bytes(addresses)[:, None] + k * self.strides[-1]
        return places[k < lengths[:, None]]

    def anywhere(self):
        """An element at every byte."""
        number = self._array.nbytes - self._type.itemsize + 1
        return np.ndarray((number,), self._type, self._array, strides=(1,))


def _one_by_one(source, destination, chunk):
    """Rows in their order."""
    for row, place in zip(
        source.rows(chunk.source, chunk.length),
        destination.rows(chunk.destination, chunk.length),
        strict=True,
    ):
        place[...] = row.copy()


def _by_places(source, destination, chunk):
    """Rows of any lengths, in no order."""
    written = destination.places(chunk.destination, chunk.length)
    destination.anywhere()[written] = source.anywhere()[source.places(chunk.source, chunk.length)]


def _by_views(rows, source, destination):
    """All rows, whole, none of which reads what another wrote."""
    # Of iterations that write one place only the last remains.
    last = tuple(slice(-1 if stride == 0 else None, None) for stride in destination.strides)
    parts = [(source.view(part)[last], destination.view(part)[last]) for part in rows.parts]
    shape = _around([read.shape for read, _ in parts])
    # The order among other rows that may write one place is that of the loops outside them: of
    # `outer` loops, the first two are around both parts.
    outer = next(axis for axis in range(len(shape)) if destination.injective(shape[axis:]))
    both = min(outer, CO)
    for loops in np.ndindex(*shape[:both]):
        for read, written in parts:
            for index in np.ndindex(read.shape[both:outer]):
                written[*loops, *index] = read[*loops, *index]
