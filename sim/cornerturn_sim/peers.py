"""What others transpose, and the cycles they need: figures, and the formulas behind them.

A matrix is (rows, columns, element bytes); a tensor is the (n, c, h, w) that is made from
(n, w, h, c). A figure is, from the strongest to the weakest, *measured* (by us, on their RTL: the
lines of `peers.csv`), *published* (by them) or *derived* (by us, from a formula that meets all that
was measured, or at their peak rate: the least they could need).
"""

import csv
import functools
from importlib import resources
from typing import NamedTuple

__all__ = [
    "MATRICES",
    "MOVES",
    "PAIRS",
    "SQUARES",
    "TENSORS",
    "TILES",
    "Figure",
    "bm1688",
    "idma",
    "idma_formula",
    "idma_pair",
    "measured",
    "xdma",
]

MATRICES = (
    *((8, 8, 1), (16, 16, 1), (16, 8, 1), (8, 8, 2), (6, 8, 1), (8, 6, 1), (6, 6, 1), (5, 7, 1)),
    *((10, 6, 1), (5, 5, 2), (32, 24, 1), (32, 32, 1), (64, 64, 1), (128, 128, 1), (64, 32, 1)),
    *((64, 32, 2), (64, 32, 4), (13, 19, 1), (7, 5, 2), (5, 3, 4), (9, 5, 4), (130, 70, 1)),
)
"""iDMA's own tests, and what was measured on it."""

SQUARES = tuple(work for work in MATRICES if work[0] == work[1] <= 32)
"""Those that an engine of 32 lanes transposes in place with one instruction."""

PAIRS = (
    ((8, 8, 1), (8, 8, 1)),
    ((8, 8, 1), (64, 64, 1)),
    ((13, 19, 1), (7, 5, 2)),
    ((64, 32, 1), (64, 32, 4)),
    ((130, 70, 1), (32, 32, 1)),
)
"""Some of all pairs, to run back to back."""

TENSORS = (
    *((1, 128, 32, 128), (1, 3, 128, 128), (1, 1, 1, 1024), (1, 1024, 1, 1), (1, 1, 7, 2)),
    *((1, 1, 17, 13), (1, 1, 10, 60), (1, 2, 1, 1), (2, 17, 1, 4), (2, 17, 3, 4), (3, 16, 7, 1)),
    *((3, 39, 17, 23), (3, 36, 16, 20), (20, 35, 2, 2), (20, 35, 3, 2)),
)
"""SOPHGO's tests of its transposition, in elements of 1, 2 and 4 bytes."""

TILES = (
    ("16x32x1, from blocks of 16x16", (1, 32, 1, 16), 1),
    ("32x16x2, from blocks of 32x16", (1, 16, 1, 32), 2),
    ("16x24x1", (1, 24, 1, 16), 1),
    ("16x24x2", (1, 24, 1, 16), 2),
    ("256 of 8x8x1", (256, 8, 1, 8), 1),
)
"""XDMA's, with element bytes. In lanes, blocks side by side are whole rows: a row is a lane."""

MOVES = {
    "iDMA": "streams memory to memory",
    "BM1688": "moves lane memory to lane memory, as we do",
    "XDMA": "streams memory to memory",
}
"""What a peer's figure covers."""


class Figure(NamedTuple):
    """Cycles of a peer, and where they come from."""

    peer: str
    cycles: int
    kind: str  # "measured", "published" or "derived"
    source: str


@functools.cache
def measured():
    """The figures of `peers.csv`, by (peer, rows, columns, element bytes, bus bits)."""
    text = (resources.files(__package__) / "peers.csv").read_text(encoding="utf-8")
    figures = {}
    for line in csv.DictReader(text.splitlines()):
        sizes = (int(line[key]) for key in ("rows", "columns", "element_bytes", "bus_bits"))
        figures[line["peer"], *sizes] = Figure(
            line["peer"], int(line["cycles"]), line["kind"], line["source"]
        )
    return figures


def idma_formula(rows, columns, element_bytes, bus_bits):
    """Beats and start-up of iDMA's transposer: tiles of NE x NE elements, padded; then NE + 1."""
    edge = bus_bits // 8 // element_bytes
    return -(-rows // edge) * -(-columns // edge) * edge, edge + 1


def idma(rows, columns, element_bytes, bus_bits):
    """One matrix through iDMA 0.7.0: as measured, otherwise by the formula."""
    key = ("iDMA", rows, columns, element_bytes, bus_bits)
    if key in measured():
        return measured()[key]
    cycles = sum(idma_formula(rows, columns, element_bytes, bus_bits))
    return Figure("iDMA", cycles, "derived", "padded beats + NE + 1, which meets all measured")


def idma_pair(first, second, bus_bits):
    """Two matrices through iDMA 0.7.0, if it loses no cycle between them."""
    beats, startup = zip(*(idma_formula(*work, bus_bits) for work in (first, second)), strict=True)
    return Figure("iDMA", sum(beats) + max(startup), "derived", "padded beats of both + NE + 1")


def bm1688(n, c, h, w, element_bytes):
    """SOPHGO BM1688 (32 lanes, 16 bytes a beat) making (n, c, h, w)."""
    cycles = 30 + n * h * (-(-c // 32) * 32) * -(-w * element_bytes // 16)
    source = "SOPHGO's cycle model: 30 + n*h*ALIGN(c,32)*ceil(w*bytes/16), for cw and wc alike"
    return Figure("BM1688", cycles, "published", source)


def xdma(elements, element_bytes):
    """KU Leuven's XDMA at its peak of 64 bytes a cycle."""
    cycles = -(-elements * element_bytes // 64)
    source = "arXiv 2508.08396: 64 int8 or 32 int16 elements a cycle at most; no start-up counted"
    return Figure("XDMA", cycles, "derived", source)
