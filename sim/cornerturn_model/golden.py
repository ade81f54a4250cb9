"""What a program leaves in the memories, with its completions and counters.

A lane's memory is a row of a numpy array. Viewed in elements instead of cells, a side of a tile is
a strided view of it, with an axis for each loop and one for the elements of a row; a tile is one
assignment from view to view, wherever the order of its rows cannot be seen.
"""

from typing import NamedTuple

import numpy as np
from cornerturn.fields import Opcode, Status

from . import checks, cycles
from .instruction import as_descriptor

__all__ = ["Result", "cell_dtype", "run"]


class Result(NamedTuple):
    """The end of a run."""

    lmem: np.ndarray  # (lanes, cells)
    completions: list[tuple[int, Status]]  # (index, status), in order
    counters: dict[str, int]
    cycles: int  # counters["cycles"]


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
    completions = []
    for index, descriptor in enumerate(descriptors, start_index):
        status = checks.check(config, descriptor)
        if status == Status.OK:
            _execute(config, lmem, descriptor)
        completions.append((index % (1 << 32), status))
    counters = cycles.count(config, descriptors)
    return Result(lmem, completions, counters, counters["cycles"])


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
    f = checks.decode(descriptor)
    cells = 1 << f["element"]
    # Alignment is checked, so no element straddles two of this view.
    memory = lmem.view(np.dtype((np.void, cells * lmem.itemsize)))
    if f["opcode"] == Opcode.TILE:
        rows = checks.rows_of(descriptor)
        if not rows.empty:
            _move(memory, rows, serial=checks.serial(config, descriptor))
    elif f["opcode"] == Opcode.SWAP:
        lane, cell, n = f["in_lane"], f["in_cell"] // cells, f["n"]
        block = memory[lane : lane + n, cell : cell + n]
        block[...] = block.T.copy()


def _move(memory, rows, *, serial):
    source, destination = (_view(memory, rows, side) for side in (rows.source, rows.destination))
    if serial:
        for index in np.ndindex(source.shape[:-1]):
            destination[index] = source[index].copy()
        return
    # No row reads what another wrote. Iterations that write one place: only the last remains.
    last = tuple(-1 if stride == 0 else slice(None) for stride in destination.strides)
    source, destination = source[last], destination[last]
    # The order among other rows that may write one place is that of the loops outside them.
    outer = next(axis for axis in range(destination.ndim + 1) if _injective(destination, axis))
    for index in np.ndindex(source.shape[:outer]):
        destination[index] = source[index]


def _view(memory, rows, side):
    """The elements of a side: an axis for each loop that repeats, then one for the row."""
    lane_stride, element_stride = memory.strides

    def address(lane, cell):
        return lane * lane_stride + cell // rows.element_cells * element_stride

    axes = [
        (count, address(*step))
        for count, step in zip(rows.counts, side.steps, strict=True)
        if count > 1
    ]
    axes.append((rows.length, address(*side.element_step)))
    shape, strides = zip(*axes, strict=True)
    return np.ndarray(shape, memory.dtype, memory, address(*side.start), strides)


def _injective(view, outer):
    """Whether, by a sufficient test, no two indices of the axes from `outer` on name one place."""
    reach = 0
    axes = zip(view.shape[outer:], view.strides[outer:], strict=True)
    for count, stride in sorted(axes, key=lambda axis: abs(axis[1])):
        if count > 1 and abs(stride) <= reach:
            return False
        reach += (count - 1) * abs(stride)
    return True
