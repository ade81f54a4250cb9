"""What a program leaves in the memories, with its completions and counters.

A side of a tile is a strided view of its memory in elements, with an axis for each loop and one for
the elements of a row: a tile is one assignment from view to view, wherever the order of its rows
cannot be seen. Rows that are trimmed go through lists of places, rows that meet one by one; a pair
goes block by block.
"""

import itertools
from typing import NamedTuple

import numpy as np
from cornerturn.fields import RECORDS, Mode, Opcode, Pair, Status

from . import checks, cycles
from .elements import Elements, Lmem, Memory, cell_dtype
from .instruction import as_descriptor
from .rows import blocks, decode, rows_of, walk, walk_pair

__all__ = ["Result", "cell_dtype", "run"]

CO = RECORDS.index("co")


class Result(NamedTuple):
    """The end of a run."""

    lmem: np.ndarray  # (lanes, cells)
    completions: list[tuple[int, Status]]  # (index, status), in order
    counters: dict[str, int]  # of a program that touches memory only those the cycles don't decide
    cycles: int | None  # counters["cycles"], None if the program touches memory
    faults: dict[int, tuple[int, int] | int]  # index -> (lane, cell), or byte, where a row ended it
    memory: np.ndarray | None  # bytes; None if there was none


def run(config, lmem, program, *, memory=None, window=None, start_index=0):
    """Run a program to its end, cleared and continued after every rejection and HALT.

    Parameters
    ----------
    config : Config
    lmem : ndarray
        (lanes, cells) of `cell_dtype(config)`; left as it is.
    program : sequence
        Instructions and descriptors.
    memory : ndarray, optional
        System memory from address 0 on: bytes (uint8); left as it is.
    window : tuple of int, optional
        First and last byte of it that may be touched; all by default.
    start_index : int
        Index of the first completion; they count modulo 2**32.

    Raises
    ------
    TypeError, ValueError
        If a memory or an item of the program is not of this kind, or the program touches memory
        and there is none.
    """
    lmem = Lmem(_checked_copy(config, lmem))
    if memory is not None:
        memory, window = _checked_memory(memory, window)
        memory = Memory(config, memory)
    descriptors = [as_descriptor(item) for item in program]
    statuses = checks.judge(config, descriptors, window)
    counters = cycles.count(config, descriptors, window)
    if memory is None and "cycles" not in counters:
        raise ValueError("memory must be given to a program that touches it, not None")

    def elements(descriptor):
        rows = rows_of(config, descriptor)
        return rows, *(
            Elements(config, rows, side, memory if side.mode is Mode.MEM else lmem)
            for side in (rows.source, rows.destination)
        )

    faults = {}
    for number, descriptor in enumerate(descriptors):
        f = decode(descriptor)
        if statuses[number] != Status.OK:
            continue
        if f["opcode"] == Opcode.SWAP:
            _swap(lmem.array, f)
        elif f["opcode"] == Opcode.TILE and f["pair"] == Pair.LOAD:
            halves = [elements(half) for half in descriptors[number : number + 2]]
            place, fault = _pair(config, window, *halves)
            if fault:
                statuses[number : number + 2] = [Status.PAIR_REJECTED] * 2
                statuses[number + place], faults[number + place] = fault[:2]
        elif f["opcode"] == Opcode.TILE and f["pair"] == Pair.NONE:
            serial = checks.serial(config, descriptor)
            fault = _tile(config, window, *elements(descriptor), serial=serial)
            if fault:
                statuses[number], faults[number] = fault[:2]
    return Result(
        lmem.array,
        [((start_index + number) % (1 << 32), status) for number, status in enumerate(statuses)],
        counters,
        counters.get("cycles"),
        {(start_index + number) % (1 << 32): address for number, address in faults.items()},
        None if memory is None else memory.data(),
    )


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


def _checked_memory(memory, window):
    """A copy of the memory, and the window."""
    if not isinstance(memory, np.ndarray) or memory.dtype != np.uint8 or memory.ndim != 1:
        found = getattr(memory, "dtype", memory)
        raise TypeError(f"memory must be a flat array of uint8, not {found!r}")
    whole = (0, len(memory) - 1)
    if window is not None and not whole[0] <= window[0] <= window[1] <= whole[1]:
        raise ValueError(f"window must be within the memory's bytes {whole}, not {window!r}")
    return np.array(memory, order="C"), window or whole


def _swap(lmem, f):
    lane, n, cells = f["in_lane"], f["n"], 1 << f["element"]
    block = lmem[lane : lane + n, f["in_cell"] : f["in_cell"] + n * cells].reshape(n, n, cells)
    block[...] = block.transpose(1, 0, 2).copy()


def _tile(config, window, rows, source, destination, *, serial):
    """Run a tile; what ended it early, if anything did."""
    if rows.empty:
        return None
    if not rows.limited and not serial:
        views = [(source.view(part), destination.view(part)) for part in rows.parts]
        _assign(views, destination.injective, around=CO)
        return None
    for chunk in walk(config, rows, window):
        _move(rows, source, destination, chunk, in_order=serial)
        if chunk.fault:
            return chunk.fault
    return None


def _pair(config, window, load, store):
    """Run a pair; which of the two a row ended early, and what."""
    if not load[0].limited and not store[0].limited:
        for both in itertools.zip_longest(blocks(load[0]), blocks(store[0])):
            for (_, source, destination), block in zip((load, store), both, strict=True):
                if block:  # an empty tile has none
                    views = [(source.block_view(block), destination.block_view(block))]
                    _assign(views, destination.injective)
        return None, None
    for place, chunk in walk_pair(config, load[0], store[0], window):
        _move(*(load, store)[place], chunk)
        if chunk.fault:
            return place, chunk.fault
    return None, None


def _assign(views, injective, around=0):
    """All rows of a tile or of a block, whole, none of which reads what another wrote.

    `views` are of source and destination, for every part; the first loops are `around` the parts.
    """
    # Of iterations that write one place only the last remains.
    last = tuple(slice(-1 if stride == 0 else None, None) for stride in views[0][1].strides)
    views = [(read[last], written[last]) for read, written in views]
    shape = _around([read.shape for read, _ in views])
    # The order among other rows that may write one place is that of the `outer` loops around them.
    outer = next(axis for axis in range(len(shape)) if injective(shape[axis:]))
    around = min(outer, around)
    for loops in np.ndindex(*shape[:around]):
        for read, written in views:
            for index in np.ndindex(read.shape[around:outer]):
                written[*loops, *index] = read[*loops, *index]


def _around(shapes):
    """The shape of a tile, of the shapes of its parts: as if all segments were whole."""
    shape = np.max(shapes, axis=0)
    shape[CO] += len(shapes) - 1
    return shape


def _move(rows, source, destination, chunk, *, in_order=False):
    """Move trimmed rows; in their order if one reads what another writes, or two write a place."""
    shape = _around([(*part.counts, part.length) for part in rows.parts])
    if not in_order and destination.injective(shape):
        written = destination.places(chunk.destination, chunk.length)
        read = source.places(chunk.source, chunk.length)
        destination.anywhere()[written] = source.anywhere()[read]
        return
    for row, place in zip(
        source.rows(chunk.source, chunk.length),
        destination.rows(chunk.destination, chunk.length),
        strict=True,
    ):
        place[...] = row.copy()
