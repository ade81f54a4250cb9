"""Programs by the plain loops of the specification's first section, for the tests.

Straight from its text, with the fields of descriptors and integers of any size; it knows nothing of
the model. Memory is one integer, whose bit 8b is the lowest of byte b.
"""

import itertools
from typing import NamedTuple

from cornerturn.fields import Status, unpack

__all__ = ["Row", "places", "rows", "run", "touches_outside"]

TAGS = ("none", "ho", "wo", "co")
MEM = 2


class Row(NamedTuple):
    """One row, in the order in which they run."""

    source: tuple[int, int] | int  # (lane, cell) it starts at, or byte
    destination: tuple[int, int] | int
    length: int  # elements left of it
    whole: int  # elements it had
    block: int  # number of its block
    begins: bool  # whether it is the first of it


def rows(f):
    """Every row of a tile with these fields, suppressed ones too."""
    if f["co_align"] == 0:
        return
    repeat_co = (f["co"] + f["co_align"] - 1) // f["co_align"]
    block = 0
    for h in range(f["repeat_ho"]):
        for w in range(f["repeat_wo"]):
            for k in range(repeat_co):
                s = min(f["co_align"], f["co"] - k * f["co_align"])
                counts = [f[f"d{d}_count"] for d in range(6)]
                n_row = s
                if f["segment_is_digit"]:
                    n_row, counts[0] = f["n"], s
                if n_row > 0:
                    for i in itertools.product(*map(range, counts)):
                        index = {"ho": h, "wo": w, "co": k} | {f"d{d}": i[d] for d in range(6)}
                        yield _row(f, index, n_row, block, begins=not any(i))
                block += 1


def _row(f, index, n_row, block, *, begins):
    starts = []
    for side in ("in", "out"):
        lane, cell = f[f"{side}_lane"], f[f"{side}_cell"]
        if f[f"{side}_mode"] == MEM:
            byte = lane * 2**32 + cell
            for name, i in index.items():
                byte += i * (f[f"{name}_{side}_lane"] * 2**32 + f[f"{name}_{side}_cell"] % 2**32)
            starts.append(byte)
            continue
        for name, i in index.items():
            lane += i * f[f"{name}_{side}_lane"]
            cell += i * f[f"{name}_{side}_cell"]
        if f["pair"] and block % 2 == 1:
            cell += f["half_cells"]
        starts.append((lane, cell))
    n = n_row
    for tag, name in enumerate(TAGS):
        limit = f.get(f"limit_{name}", 0)
        if limit == 0:
            continue
        coordinate = 0
        for record, i in index.items():
            if f[f"{record}_tag"] == tag:
                coordinate += i * f[f"{record}_multiplier"]
        if tag == f["row_tag"]:
            n = min(n, max(0, min(limit - coordinate, n_row)))
        elif coordinate >= limit:
            n = 0
    return Row(*starts, n, n_row, block, begins)


def places(config, f, side, start, number):
    """Where each of the first elements of a row is: its (lane, cell)s, or its bits, in a list."""
    g = 1 << f["element"]
    for k in range(number):
        if f[f"{side}_mode"] == MEM:
            bits = g * config.cell_width
            yield range(start * 8 + k * bits, start * 8 + (k + 1) * bits)
            continue
        lane, cell = start
        if f[f"{side}_mode"] == 0:
            yield [(lane + k * f[f"{side}_lane_step"], cell + c) for c in range(g)]
        else:
            yield [(lane, cell + k * g + c) for c in range(g)]


def touches_outside(config, f, row, window=None):
    """If a row touches, with what is left of it, what is not there: RANGE or WINDOW, its start."""
    for side, start in (("in", row.source), ("out", row.destination)):
        for element in places(config, f, side, start, row.length):
            if f[f"{side}_mode"] == MEM:
                if not window[0] * 8 <= min(element) <= max(element) < (window[1] + 1) * 8:
                    return Status.WINDOW, start
            elif any(not (0 <= a < config.lanes and 0 <= b < config.cells) for a, b in element):
                return Status.RANGE, start
    return None


class _Machine:
    """The two memories, and rows that run on them."""

    def __init__(self, config, lmem, memory, window):
        self.config = config
        self.lmem = lmem.tolist()
        self.memory = int.from_bytes(b"" if memory is None else memory.tobytes(), "little")
        self.window = window

    def row(self, f, row):
        """Run one row; what ends its instruction, if anything."""
        if f["limit_ho"] or f["limit_wo"] or f["limit_co"]:
            outside = touches_outside(self.config, f, row, self.window)
            if outside:
                return outside
        values = [
            self.read(f, element)
            for element in places(self.config, f, "in", row.source, row.length)
        ]
        written = places(self.config, f, "out", row.destination, row.length)
        for element, value in zip(written, values, strict=True):
            self.write(f, element, value)
        return None

    def read(self, f, element):
        """The bits of an element as a number."""
        if f["in_mode"] == MEM:
            return self.memory >> element[0] & ((1 << len(element)) - 1)
        width = self.config.cell_width
        return sum(self.lmem[a][b] << c * width for c, (a, b) in enumerate(element))

    def write(self, f, element, value):
        """Put the bits of an element in its place."""
        if f["out_mode"] == MEM:
            self.memory &= ~(((1 << len(element)) - 1) << element[0])
            self.memory |= value << element[0]
            return
        width = self.config.cell_width
        for c, (a, b) in enumerate(element):
            self.lmem[a][b] = value >> c * width & ((1 << width) - 1)

    def swap(self, f):
        """Exchange what lies crosswise."""
        g = 1 << f["element"]
        for i in range(f["n"]):
            for j in range(i):
                for c in range(g):
                    a = (f["in_lane"] + j, f["in_cell"] + i * g + c)
                    b = (f["in_lane"] + i, f["in_cell"] + j * g + c)
                    held = self.lmem[a[0]][a[1]]
                    self.lmem[a[0]][a[1]] = self.lmem[b[0]][b[1]]
                    self.lmem[b[0]][b[1]] = held

    def pair(self, load, store):
        """Run two tiles block by block: (0 or 1, what ends it), or None."""
        of_load, of_store = list(rows(load)), list(rows(store))
        for block in range(1 + max((row.block for row in of_load + of_store), default=-1)):
            for place, (f, its) in enumerate(((load, of_load), (store, of_store))):
                for row in its:
                    if row.block == block:
                        outside = self.row(f, row)
                        if outside:
                            return place, outside
        return None


def run(config, lmem, descriptors, statuses, memory=None, window=None):
    """The end of a program that is judged already: lmem (lists), memory, statuses, faults."""
    machine = _Machine(config, lmem, memory, window)
    statuses, faults = list(statuses), {}
    for number, descriptor in enumerate(descriptors):
        f = unpack(descriptor)
        if statuses[number] != Status.OK:
            continue
        if f["opcode"] == 2:
            machine.swap(f)
        elif f["opcode"] == 1 and f["pair"] == 0:
            for row in rows(f):
                outside = machine.row(f, row)
                if outside:
                    statuses[number], faults[number] = outside
                    break
        elif f["opcode"] == 1 and f["pair"] == 1:
            ended = machine.pair(f, unpack(descriptors[number + 1]))
            if ended:
                place, outside = ended
                statuses[number] = statuses[number + 1] = Status.PAIR_REJECTED
                statuses[number + place], faults[number + place] = outside
    size = 0 if memory is None else len(memory)
    return machine.lmem, list(machine.memory.to_bytes(size, "little")), statuses, faults
