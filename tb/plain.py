"""The rows of a TILE by the plain loops of the specification's first section, for the tests.

Straight from its text, with the fields of a descriptor and integers of any size; it knows nothing
of the model.
"""

import itertools
from typing import NamedTuple

__all__ = ["Row", "elements", "rows", "touches_outside"]

TAGS = ("none", "ho", "wo", "co")
LOOPS = ("ho", "wo", "co")


class Row(NamedTuple):
    """One row, in the order in which they run."""

    source: tuple[int, int]  # (lane, cell) it starts at
    destination: tuple[int, int]
    length: int  # elements left of it
    whole: int  # elements it had
    begins: bool  # whether it is the first of its block


def rows(f):
    """Every row of a tile with these fields, suppressed ones too."""
    if f["co_align"] == 0:
        return
    repeat_co = (f["co"] + f["co_align"] - 1) // f["co_align"]
    for h in range(f["repeat_ho"]):
        for w in range(f["repeat_wo"]):
            for k in range(repeat_co):
                s = min(f["co_align"], f["co"] - k * f["co_align"])
                counts = [f[f"d{d}_count"] for d in range(6)]
                n_row = s
                if f["segment_is_digit"]:
                    n_row, counts[0] = f["n"], s
                if n_row == 0:
                    continue
                for i in itertools.product(*map(range, counts)):
                    index = {"ho": h, "wo": w, "co": k} | {f"d{d}": i[d] for d in range(6)}
                    yield _row(f, index, n_row, begins=not any(i))


def _row(f, index, n_row, *, begins):
    starts = []
    for side in ("in", "out"):
        lane, cell = f[f"{side}_lane"], f[f"{side}_cell"]
        for name, i in index.items():
            lane += i * f[f"{name}_{side}_lane"]
            cell += i * f[f"{name}_{side}_cell"]
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
    return Row(*starts, n, n_row, begins)


def elements(f, side, start, number):
    """The cells of each of the first elements of a row: lists of (lane, cell)."""
    lane, cell = start
    g = 1 << f["element"]
    for k in range(number):
        if f[f"{side}_mode"] == 0:
            yield [(lane + k * f[f"{side}_lane_step"], cell + c) for c in range(g)]
        else:
            yield [(lane, cell + k * g + c) for c in range(g)]


def touches_outside(config, f, row):
    """Whether a row touches, with what is left of it, a cell that is not there."""
    return any(
        not (0 <= lane < config.lanes and 0 <= cell < config.cells)
        for side, start in (("in", row.source), ("out", row.destination))
        for element in elements(f, side, start, row.length)
        for lane, cell in element
    )
