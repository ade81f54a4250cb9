"""What a program moves over the chain and the bus of the memory, however long that takes.

::

    descriptors --judge--> walk, walk_pair: rows --> traffic: beats of lmem words, beats of the bus
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from cornerturn.fields import Mode, Opcode, Pair, Status

from . import checks
from .instruction import as_descriptor
from .rows import decode, rows_of, walk, walk_pair

__all__ = ["Traffic", "position", "touches_memory", "traffic", "words"]


class Traffic(NamedTuple):
    """What a program moves, however long it takes.

    A beat of the chain is a word of an lmem; a beat of memory is a word of its bus, `bus_width`
    bits, and rows that follow one another without a gap share theirs.
    """

    chain_read: int = 0  # beats
    chain_written: int = 0
    memory_read: int = 0
    memory_written: int = 0
    rows: int = 0  # as the counters count
    blocks: int = 0
    instructions: int = 0  # both tiles of a pair, wherever a row ends it


def touches_memory(descriptors, statuses):
    """Whether any of the descriptors that are accepted moves from or to memory."""
    fields = [decode(one) for one, status in zip(descriptors, statuses, strict=True) if not status]
    return any(
        f["opcode"] == Opcode.TILE and Mode.MEM in (f["in_mode"], f["out_mode"]) for f in fields
    )


def traffic(config, program, window=None):
    """The :class:`Traffic` of a program, by a look at each of its rows."""
    descriptors = [as_descriptor(item) for item in program]
    statuses = checks.judge(config, descriptors, window)
    total = Counter(dict.fromkeys(Traffic._fields, 0))
    for number, descriptor in enumerate(descriptors):
        f = decode(descriptor)
        if statuses[number] != Status.OK:
            continue
        total["instructions"] += 1
        if f["opcode"] == Opcode.SWAP:
            slots, rows = _swap_slots(config, f), max(0, f["n"] - 1)
            total.update(chain_read=slots, chain_written=slots, rows=rows, blocks=int(rows > 0))
        elif f["opcode"] == Opcode.TILE and f["pair"] != Pair.STORE:
            tiles = [rows_of(config, descriptor)]
            chunks = ((0, chunk) for chunk in walk(config, tiles[0], window))
            if f["pair"] == Pair.LOAD:
                tiles.append(rows_of(config, descriptors[number + 1]))
                chunks = walk_pair(config, *tiles, window)
            total.update(_tile_traffic(config, tiles, chunks))
    return Traffic(**total)


def _tile_traffic(config, tiles, chunks):
    """Beats, rows and blocks of a tile, or of the two of a pair, of whose rows `chunks` tells."""
    total = Counter()
    ends = [("read", "source"), ("written", "destination")]
    buses = {(place, way): _Bus(config) for place in range(len(tiles)) for way, _ in ends}
    for place, chunk in chunks:
        total["rows"] += int((chunk.length > 0).sum())
        total["blocks"] += int(chunk.begins.sum()) + (
            chunk.fault is not None and chunk.fault.begins
        )
        moving = chunk.length > 0
        length = chunk.length[moving]
        for way, end in ends:
            side, address = getattr(tiles[place], end), getattr(chunk, end)[-1, moving]
            if side.mode is Mode.MEM:
                buses[place, way].add(address, address + length * side.element_step[0])
            else:
                cells = position(config, side, address) + length * tiles[place].element_cells
                total[f"chain_{way}"] += int(words(config, cells).sum())
    for (_, way), bus in buses.items():
        total[f"memory_{way}"] += bus.beats()
    return total


def words(config, cells):
    """Words that hold so many cells from the start of one on."""
    return -(-cells // config.beat_cells)


def position(config, side, cell):
    """The place of a row's start in its word; across it is the lane's business, and counts as 0."""
    return cell % config.beat_cells * (side.mode == Mode.ALONG)


def _swap_slots(config, f):
    """Slots of a SWAP, each of which reads and writes: two for each word along a lane."""
    starts = [f["in_cell"] + (row << f["element"]) for row in range(1, f["n"])]
    end = f["in_cell"] + (f["n"] << f["element"])
    return sum(2 * words(config, start % config.beat_cells + end - start) for start in starts)


class _Bus:
    """The beats of rows on the bus of the memory."""

    def __init__(self, config):
        self._width = config.bus_width
        self._beats = 0
        self._open = None  # (start, end) of what the next row may continue

    def add(self, starts, ends):
        """Rows in their order, as bits from start to end."""
        if not len(starts):
            return
        if self._open:
            starts, ends = (
                np.concatenate([[one], many])
                for one, many in zip(self._open, (starts, ends), strict=True)
            )
        gap = starts[1:] != ends[:-1]
        starts, ends = starts[np.append(True, gap)], ends[np.append(gap, True)]
        self._open = (starts[-1], ends[-1])
        self._beats += int(self._words(starts[:-1], ends[:-1]).sum())

    def beats(self):
        """All until now."""
        return self._beats + (int(self._words(*self._open)) if self._open else 0)

    def _words(self, starts, ends):
        return (ends - 1) // self._width - starts // self._width + 1
