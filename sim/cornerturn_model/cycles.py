"""When every slot of a program issues, exactly (specification, sections 3 to 5).

Time depends on no data and, within a tile, only on the lengths of the rows and the positions of
their ends in words. So a tile is the histogram of those over its rows, however many there are; only
if limits trim them, each row is looked at::

    descriptor --> Span: slots, last write, beats, own stalls --> count: where the spans may start
"""

import functools
from collections import Counter
from typing import NamedTuple

import numpy as np
from cornerturn.fields import COUNTERS, Opcode, Status

from . import checks
from .instruction import as_descriptor
from .rows import decode, rows_of, walk
from .traffic import position, touches_memory, traffic, words

__all__ = ["count", "limit"]


class Span(NamedTuple):
    """An instruction from its first slot (cycle 0) to its last."""

    length: int = 1  # cycles, waits within included
    last_write: int = 0  # cycle of the last slot that writes, or of the only slot
    beats_read: int = 0
    beats_written: int = 0
    rows: int = 0
    blocks: int = 0
    stalls_hazard: int = 0
    stalls_port: int = 0
    stops: bool = False  # a row ended it


class Shape(NamedTuple):
    """What the time of a row depends on."""

    source: int  # cell of its first element in the word, 0 across
    destination: int
    length: int  # elements left of it


def count(config, program, window=None):
    """The counters of a program, by name; `cycles` is one of them.

    Every rejection, every HALT and every instruction that a row ends is the end of a segment; what
    follows starts without a memory of it.

    Time in memory is not the engine's: of a program that touches it only `rows`, `blocks` and
    `instructions` are counted. Its :func:`traffic` says what it costs at the least.
    """
    descriptors = [as_descriptor(item) for item in program]
    statuses = checks.judge(config, descriptors, window)
    if touches_memory(descriptors, statuses):
        moved = traffic(config, descriptors, window)
        return {name: getattr(moved, name) for name in ("rows", "blocks", "instructions")}
    totals = Counter(dict.fromkeys(COUNTERS, 0))
    segment = _Segment(config, totals)
    for descriptor, status in zip(descriptors, statuses, strict=True):
        if status != Status.OK:
            segment = _Segment(config, totals)
            continue
        if segment.issue(descriptor) or decode(descriptor)["opcode"] == Opcode.HALT:
            segment = _Segment(config, totals)
    return dict(totals)


def limit(config, program, window=None):
    """Cycles that a program needs at the least, whatever the engine does.

    For the port of one lane, a beat a cycle: the sum over all rows of ceil(elements *
    element_cells / W); a row of a SWAP counts twice, as it reads across and along. If the program
    touches memory: the most beats of its :func:`traffic`. Rejected instructions cost nothing.
    """
    descriptors = [as_descriptor(item) for item in program]
    statuses = checks.judge(config, descriptors, window)
    if touches_memory(descriptors, statuses):
        return max(traffic(config, descriptors, window)[:4])
    beats = 0
    for descriptor, status in zip(descriptors, statuses, strict=True):
        if status != Status.OK:
            continue
        f = decode(descriptor)
        if f["opcode"] == Opcode.SWAP:
            beats += sum(2 * words(config, n << f["element"]) for n in range(1, f["n"]))
        elif f["opcode"] == Opcode.TILE:
            rows = rows_of(config, descriptor)
            histogram, _ = _histogram(config, rows)
            beats += sum(
                number * words(config, shape.length * rows.element_cells)
                for shape, number in histogram.items()
            )
    return beats


class _Segment:
    """The instructions between two stops, on one time axis; the first issues in cycle 0."""

    def __init__(self, config, totals):
        self._config = config
        self._totals = totals
        self._ready = 0  # the next instruction cannot issue earlier
        self._completed = 0  # the cycle after the last completion so far
        self._writes = []  # (region, first cycle in which a read may meet it)

    def issue(self, descriptor):
        """Add one accepted instruction; whether it stops the engine on its own account."""
        config, opcode = self._config, decode(descriptor)["opcode"]
        read, write = checks.regions(config, descriptor)
        span = _span(config, descriptor)
        self._writes = [entry for entry in self._writes if entry[1] > self._ready]
        after_hazard = after_fence = self._ready
        if read is not None:
            after_hazard = max(
                [self._ready, *(free for region, free in self._writes if region.meets(read))]
            )
        if opcode in (Opcode.FENCE, Opcode.HALT):
            after_fence = max(self._ready, self._completed)
        start = max(after_hazard, after_fence)
        if write is not None:
            self._writes.append((write, start + span.last_write + _raw_distance(config)))
        # Completions are in order, so the time up to the latest one is all there is.
        completed = start + span.last_write + config.completion_delay
        self._totals.update(
            cycles=completed - max(0, self._completed - 1),
            beats_read=span.beats_read,
            beats_written=span.beats_written,
            rows=span.rows,
            stalls_hazard=after_hazard - self._ready + span.stalls_hazard,
            stalls_fence=after_fence - self._ready,
            stalls_port=span.stalls_port,
            blocks=span.blocks,
            instructions=1,
        )
        self._completed = completed + 1
        self._ready = start + max(span.length, config.check_interval)
        return span.stops


def _span(config, descriptor):
    f = decode(descriptor)
    if checks.regions(config, descriptor) == (None, None):
        return Span()
    if f["opcode"] == Opcode.SWAP:
        return _swap_span(config, f["in_cell"] % config.beat_cells, f["n"], 1 << f["element"])
    return _tile_span(config, rows_of(config, descriptor), checks.serial(config, descriptor))


def _tile_span(config, rows, serial):
    histogram, last = _histogram(config, rows)
    length = beats_read = beats_written = stalls = 0
    for shape, number in histogram.items():
        reads, writes, slots, last_write, wait = _row_time(config, rows, serial, shape)
        beats_read += number * reads
        beats_written += number * writes
        length += number * (slots + wait)
        stalls += number * wait
    # Nothing waits behind the last row.
    _, _, slots, last_write, wait = _row_time(config, rows, serial, last.shape)
    length, stalls = length - wait, stalls - wait
    return Span(
        length,
        length - slots + last_write,
        beats_read,
        beats_written,
        sum(number for shape, number in histogram.items() if shape.length),
        last.blocks,
        stalls,
        stops=last.stops,
    )


def _row_time(config, rows, serial, shape):
    """Beats read and written by a row, its slots, its last that writes, and the wait behind it."""
    if not shape.length:
        return 0, 0, 1, 0, 0
    cells = shape.length * rows.element_cells
    reads, writes = (words(config, start + cells) for start in shape[:2])
    slots, last_write, wait = max(reads, writes), writes - 1, 0
    if serial:
        if reads > config.protected_beats:
            slots, last_write = slots + config.hold_beats, last_write + config.hold_beats
        wait = max(0, last_write + _raw_distance(config) - slots)
    return reads, writes, slots, last_write, wait


class _Last(NamedTuple):
    """How a tile ends."""

    shape: Shape  # of its last row
    blocks: int  # begun until then
    stops: bool  # whether the row is one that ends it, outside the array


def _histogram(config, rows):
    """The number of rows by their :class:`Shape`, and how they end."""
    if rows.limited:
        return _walked(config, rows)
    histogram, last = Counter(), None
    for part in rows.parts:
        positions, end = _positions(config, rows, part)
        for starts, number in positions.items():
            histogram[Shape(*starts, part.length)] += number
        last = Shape(*end, part.length)
    return histogram, _Last(last, rows.blocks, stops=False)


def _walked(config, rows):
    """The same by a look at each row."""
    histogram, blocks, last, word = Counter(), 0, None, config.beat_cells
    for chunk in walk(config, rows):
        source = position(config, rows.source, chunk.source[-1])
        destination = position(config, rows.destination, chunk.destination[-1])
        # One number a row; it is 0 for all that neither read nor write.
        keys = ((chunk.length * word + destination) * word + source) * (chunk.length > 0)
        unique, numbers = np.unique(keys, return_counts=True)
        for key, number in zip(unique.tolist(), numbers.tolist(), strict=True):
            histogram[_shape(config, key)] += number
        blocks += int(chunk.begins.sum())
        last = Shape(0, 0, 0) if chunk.fault else _shape(config, int(keys[-1]))
    if chunk.fault:
        histogram[last] += 1
        blocks += chunk.fault.begins
    return histogram, _Last(last, blocks, stops=chunk.fault is not None)


def _shape(config, key):
    rest, source = divmod(key, config.beat_cells)
    length, destination = divmod(rest, config.beat_cells)
    return Shape(source, destination, length)


def _positions(config, rows, part):
    """The rows of a part by their two positions, and those of the last row."""
    word = config.beat_cells

    def both(source_cell, destination_cell):
        return (
            position(config, rows.source, source_cell),
            position(config, rows.destination, destination_cell),
        )

    zero = (0,) * len(part.counts)
    first = both(
        rows.source.places(zero, part.first)[1], rows.destination.places(zero, part.first)[1]
    )
    histogram, last = Counter({first: 1}), first
    for number, (_, a), (_, b) in zip(
        part.counts, rows.source.steps, rows.destination.steps, strict=True
    ):
        # The positions repeat after at most W iterations, as W is a power of two.
        moves = Counter()
        for i in range(min(number, word)):
            moves[both(i * a, i * b)] += (number - i - 1) // word + 1
        if len(moves) == 1:
            moved = {key: many * number for key, many in histogram.items()}
        else:
            moved = {}
            for (source, destination), many in histogram.items():
                for (by_source, by_destination), times in moves.items():
                    key = both(source + by_source, destination + by_destination)
                    moved[key] = moved.get(key, 0) + many * times
        histogram = moved
        last = both(last[0] + (number - 1) * a, last[1] + (number - 1) * b)
    return histogram, last


@functools.lru_cache(maxsize=256)
def _swap_span(config, offset, n, cells):
    """The span of a SWAP whose block starts at cell `offset` of a word; lanes count from 0."""
    word, time, stalls, beats = config.beat_cells, 0, 0, 0
    written = {}  # cycle of a slot -> its across write: (word, lowest lane, highest lane)
    for i in range(n - 1):
        across_word = (offset + i * cells) // word
        along_word, start = divmod(offset + (i + 1) * cells, word)
        for b in range(words(config, start + (n - 1 - i) * cells)):
            lanes = (
                i + 1 + max(0, -(-(b * word - start) // cells)),
                i + min(n - 1 - i, ((b + 1) * word - start) // cells),
            )
            across, along = (across_word, *lanes), (along_word + b, i, i)
            for read, across_write in ((across, None), (along, across)):
                while _meet(read, written.get(time + 1 - config.write_delay)):
                    time += 1
                    stalls += 1
                written[time] = across_write
                beats += 1
                time += 1
    return Span(time, time - 1, beats, beats, n - 1, 1, stalls_port=stalls)


def _meet(read, write):
    return write is not None and read[0] == write[0] and read[1] <= write[2] and write[1] <= read[2]


def _raw_distance(config):
    """Cycles from a slot that writes to the first slot that may read the same place."""
    return config.write_delay + config.raw_gap
