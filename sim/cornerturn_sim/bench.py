"""The benchmark: transpositions in lmem beside the limits of the bus and the figures of peers.

::

    works --plan--> program --golden--> data, compared with numpy        +--> tables
                       |  +---cycles--> exact cycles, and limits --rows--+
                       +--simulation--> the same, from the RTL           +--> summary

A work transposes a tensor (n, w, h, c) to (n, c, h, w); a matrix has n = h = 1. Both lie in lmem as
the tensors of a lane array do: the second axis across the lanes, in blocks of M, the others along
the cells. The peers count bytes, so the configurations have cells of 8 bits.
"""

import itertools
import math
import statistics
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from cornerturn.config import Config
from cornerturn.fields import Status
from cornerturn_model import cycles, golden
from cornerturn_model.instruction import Across, Along, Digit, Swap, Tile
from rich.table import Table

from . import peers
from .simulation import Simulation

__all__ = ["HOPS", "Transpose", "Work", "plan", "rows", "summary", "tables", "works"]

HOPS = (4, 1)
"""Lanes per hop of the configurations: few cycles, or a high clock."""

SECTIONS = {
    "matrix": "one matrix",
    "pair": "two matrices back to back",
    "in place": "one matrix in place (the peer's figure is from one memory to another)",
    "tensor": "(n, c, h, w) from (n, w, h, c)",
    "tiles": "layouts of matrix units",
}
"""The sections, and their titles."""

CAUSES = {
    "start-up": "the start-up of {startup_cycles} cycles, paid once in a queue of work",
    "short rows": "beats that short rows do not fill",
    "bus": "its bus alone",
}
"""Why a peer needs fewer cycles; the words of a row are those of its fields."""

LEGEND = (
    "H: lanes behind a register of the chain; gather: read across the lanes, written along one; "
    "spread: the reverse; limit: beats of all rows; bus limit: bytes by the bus; used: limit by "
    "cycles; *: derived, not measured or published"
)


class Transpose(NamedTuple):
    """From (n, w, h, c) to the `shape` (n, c, h, w)."""

    shape: tuple[int, int, int, int]
    element_bytes: int
    in_place: bool = False


class Work(NamedTuple):
    """One line of the benchmark: transpositions back to back, at one width of the bus."""

    section: str
    name: str
    parts: tuple[Transpose, ...]
    bus_bits: int
    figure: peers.Figure


class Tensor(NamedTuple):
    """Where a tensor lies: (n, c, h, w) in lane c % M, from `cell` on as [n][c // M][h][w]."""

    shape: tuple[int, int, int, int]
    element_cells: int
    lanes: int
    cell: int
    pitch: int  # cells from one row of w elements to the next

    def at(self, n=0, block=0, h=0, w=0):
        """The cell of an element, or those of an array of them."""
        blocks = -(-self.shape[1] // self.lanes)
        row = (n * blocks + block) * self.shape[2] + h
        return self.cell + row * self.pitch + w * self.element_cells

    def step(self, **index):
        """From an element to the next along one index, as (lanes, cells)."""
        return 0, self.at(**index) - self.cell

    @property
    def end(self):
        """The first cell behind it."""
        return self.at(n=self.shape[0])

    def put(self, lmem, values):
        """Write `values`, bytes of shape (n, c, h, w, element_bytes), into lanes x cells."""
        n, c, h, w = np.indices(self.shape, sparse=True)
        cell = self.at(n, c // self.lanes, h, w)[..., None] + np.arange(self.element_cells)
        lmem[(c % self.lanes)[..., None], cell] = values


class Plan(NamedTuple):
    """A program, and the (source, destination) of each of its parts."""

    program: list
    places: list[tuple[Tensor, Tensor]]

    @property
    def end(self):
        """The first cell behind everything."""
        return max(destination.end for _, destination in self.places)


def works():
    """Every work, those included that do not fit the lmem."""

    def matrix(rows, columns, element_bytes, **options):
        return Transpose((1, columns, 1, rows), element_bytes, **options)

    def name(sizes):
        return "x".join(map(str, sizes))

    buses = (64, 128, 256)
    for sizes, bus in itertools.product(peers.MATRICES, buses):
        yield Work("matrix", name(sizes), (matrix(*sizes),), bus, peers.idma(*sizes, bus))
    for pair, bus in itertools.product(peers.PAIRS, buses):
        parts = tuple(matrix(*sizes) for sizes in pair)
        yield Work("pair", ", ".join(map(name, pair)), parts, bus, peers.idma_pair(*pair, bus))
    for sizes, bus in itertools.product(peers.SQUARES, buses):
        parts = (matrix(*sizes, in_place=True),)
        yield Work("in place", name(sizes), parts, bus, peers.idma(*sizes, bus))
    for shape, size in itertools.product(peers.TENSORS, (1, 2, 4)):
        title = f"{','.join(map(str, shape))} x{size}"
        yield Work("tensor", title, (Transpose(shape, size),), 128, peers.bm1688(*shape, size))
    for title, shape, size in peers.TILES:
        figure = peers.xdma(math.prod(shape), size)
        yield Work("tiles", title, (Transpose(shape, size),), 512, figure)


def plan(config, parts):
    """The fastest program known here for transpositions one behind the other.

    On either side rows begin at words if that is faster and there is room for it, else they are
    dense. Each tile goes the faster way: it gathers (reads across, writes along) or spreads (the
    reverse). If nothing fits the lmem, the smallest is returned.

    Raises
    ------
    ValueError
        If a cell is not a byte.
    """
    if config.cell_width != 8:
        raise ValueError(f"cell_width must be 8, not {config.cell_width!r}")
    units = itertools.product((1, config.beat_cells), repeat=2)
    plans = [_plan(config, parts, *pair) for pair in units]
    fitting = [candidate for candidate in plans if candidate.end <= config.cells]
    if not fitting:
        return min(plans, key=lambda one: one.end)
    return min(fitting, key=lambda one: cycles.count(config, one.program)["cycles"])


def rows(sim="model", *, selection=None, lanes_per_hop=HOPS, seed=0, track=iter):
    """Run works, and say how they went.

    Parameters
    ----------
    sim : str
        ``"model"``, or a backend of :class:`Simulation`, which then has to give the same data and
        the same cycles.
    selection : iterable of Work, optional
        What to run; by default all of :func:`works`.
    lanes_per_hop : sequence of int
        Of the configurations, each of which runs everything.
    seed : int
        Of the data.
    track : callable
        Takes the list of jobs and yields them, for a progress bar.

    Returns
    -------
    list of dict
        Plain values, a work's configurations side by side. `match` says whether everything was
        right. Works that do not fit the lmem have `needs_cells`, but no `cycles`.
    """
    selection = list(works() if selection is None else selection)
    jobs = [
        (Config(beat_cells=work.bus_bits // 8, lanes_per_hop=hop), index, work)
        for hop in lanes_per_hop
        for index, work in enumerate(selection)
    ]
    # One simulator at a time: a build and its start cost more than most works.
    jobs.sort(key=lambda job: (job[0].lanes_per_hop, job[0].beat_cells))
    results = {}
    for config, group in itertools.groupby(track(jobs), key=lambda job: job[0]):
        with nullcontext() if sim == "model" else Simulation(config, sim, seed=seed) as engine:
            for _, index, work in group:
                row = {"sim": sim, **_describe(config, work), **_run(config, work, engine, seed)}
                results[index, config.lanes_per_hop] = row
    return [results[index, hop] for index in range(len(selection)) for hop in lanes_per_hop]


def tables(results):
    """The rows of :func:`rows` as tables for a terminal, one for each section."""
    for section, title in SECTIONS.items():
        chosen = [row for row in results if row["section"] == section and "cycles" in row]
        if not chosen:
            continue
        peer = chosen[0]["peer"]
        table = Table(
            title=f"{title}: cycles beside {peer}",
            caption=f"ours: lmem to lmem; {peer}: {peers.MOVES[peer]}\n{LEGEND}",
        )
        headings = ("work", "bus", "H", "by", "cycles", "limit", "bus limit", "used", peer, "ratio")
        for heading in (*headings, "behind by"):
            text = heading in ("work", "by", "behind by")
            table.add_column(heading, justify="left" if text else "right")
        for row in chosen:
            table.add_row(
                row["name"],
                *(str(row[key]) for key in ("bus_bits", "lanes_per_hop", "moves", "cycles")),
                *(str(row[key]) for key in ("limit_cycles", "bus_limit_cycles")),
                f"{row['utilisation']:.0%}",
                f"{row['peer_cycles']}{'*' if row['peer_kind'] == 'derived' else ''}",
                f"{row['ratio']:.2f}",
                row["behind_by"] if row["match"] else "MISMATCH",
            )
        yield table


def summary(results):
    """Where we are ahead and where not, and why: a line for each section, bus and chain."""
    ran = [row for row in results if "cycles" in row]

    def key(row):
        return list(SECTIONS).index(row["section"]), row["bus_bits"], -row["lanes_per_hop"]

    for _, group in itertools.groupby(sorted(ran, key=key), key=key):
        group = list(group)
        first = group[0]
        ratio = statistics.geometric_mean(row["ratio"] for row in group)
        ahead = sum(not row["behind_by"] for row in group)
        line = (
            f"{first['section']}, {first['bus_bits']} bit, H = {first['lanes_per_hop']}: "
            f"{ratio:.2f} of {first['peer']}'s cycles (geometric mean), "
            f"at most as many in {ahead} of {len(group)}"
        )
        for cause, meaning in CAUSES.items():
            behind = [row for row in group if row["behind_by"] == cause]
            if behind:
                worst = max(behind, key=lambda row: row["ratio"])
                line += (
                    f"; behind in {len(behind)} by {meaning.format(**worst)}, "
                    f"{worst['ratio']:.2f} at worst ({worst['name']})"
                )
        yield line
    left_out = {row["name"]: row["needs_cells"] for row in results if "needs_cells" in row}
    if left_out:
        cells = ", ".join(f"{name} ({number})" for name, number in left_out.items())
        yield f"left out, as they need more cells a lane than there are: {cells}"


def _behind_by(row):
    """Why the peer needs fewer cycles, one of `CAUSES`; empty if it does not."""
    if row["ratio"] <= 1:
        return ""
    if row["cycles"] - row["startup_cycles"] <= row["peer_cycles"]:
        return "start-up"
    return "short rows" if row["bus_limit_cycles"] <= row["peer_cycles"] else "bus"


def _describe(config, work):
    """What is compared with what."""
    return {
        "section": work.section,
        "name": work.name,
        "parts": [part._asdict() for part in work.parts],
        "bus_bits": work.bus_bits,
        "lanes": config.lanes,
        "lanes_per_hop": config.lanes_per_hop,
        "comparison": f"lmem to lmem; {work.figure.peer} {peers.MOVES[work.figure.peer]}",
        "peer": work.figure.peer,
        "peer_kind": work.figure.kind,
        "peer_source": work.figure.source,
    }


def _run(config, work, engine, seed):
    """Run one work on the model, and on the engine if there is one."""
    planned = plan(config, work.parts)
    if planned.end > config.cells:
        return {"needs_cells": planned.end, "match": True}
    lmem, wanted = _memories(config, work.parts, planned.places, seed)
    result = golden.run(config, lmem, planned.program)
    match = np.array_equal(result.lmem, wanted)
    statuses = {status for _, status in result.completions}
    if engine is not None:
        used = _next_word(config, planned.end)
        engine.load(lmem[:, :used])
        run = engine.run(planned.program)
        match = match and np.array_equal(engine.read(cells=used), wanted[:, :used])
        match = match and run.cycles == result.cycles
        statuses |= {status for _, status in run.completions}
    size = sum(math.prod(part.shape) * part.element_bytes for part in work.parts)
    limit = cycles.limit(config, planned.program)
    row = {
        "instructions": len(planned.program),
        "moves": _moves(planned.program),
        "cycles": result.cycles,
        "limit_cycles": limit,
        "bus_limit_cycles": -(-size // config.beat_cells),
        "startup_cycles": config.completion_delay - 1,
        "utilisation": limit / result.cycles,
        "peer_cycles": work.figure.cycles,
        "ratio": result.cycles / work.figure.cycles,
        "match": match and statuses == {Status.OK},
    }
    return row | {"behind_by": _behind_by(row)}


def _memories(config, parts, places, seed):
    """Random lmem contents before, and as they have to be afterwards: nothing else changes."""
    generator = np.random.default_rng(seed)
    before = generator.integers(0, 256, (config.lanes, config.cells), np.uint8)
    tensors = [
        generator.integers(0, 256, (*part.shape, part.element_bytes), np.uint8) for part in parts
    ]
    for values, (source, _) in zip(tensors, places, strict=True):
        source.put(before, values.transpose(0, 3, 2, 1, 4))
    after = before.copy()
    for values, (_, destination) in zip(tensors, places, strict=True):
        destination.put(after, values)
    return before, after


def _moves(program):
    ways = {
        "swap" if isinstance(item, Swap) else "gather" if isinstance(item.src, Across) else "spread"
        for item in program
    }
    return " + ".join(sorted(ways))


def _plan(config, parts, *units):
    """A plan whose rows begin at multiples of so many cells, in the source and the destination."""
    program, places, cell = [], [], 0
    for (n, c, h, w), g, in_place in parts:
        shapes = (n, w, h, c), (n, c, h, w)
        pitches = (
            -(-shape[3] * g // unit) * unit for shape, unit in zip(shapes, units, strict=True)
        )
        source, destination = (
            Tensor(shape, g, config.lanes, cell, pitch)
            for shape, pitch in zip(shapes, pitches, strict=True)
        )
        if in_place:
            destination = source
            program.append(Swap(0, cell, c, g))
        else:
            destination = destination._replace(cell=_next_word(config, source.end))
            program += _tiles(config, source, destination)
        places.append((source, destination))
        cell = _next_word(config, destination.end)
    return Plan(program, places)


def _tiles(config, source, destination):
    """The tiles of one transposition, the longest first: a check hides behind the one ahead."""
    (n, c, h, w), g, lanes = destination.shape, source.element_cells, config.lanes
    timed = []
    for over_w, over_c in itertools.product(_split(w, lanes), _split(c, lanes)):
        (block_w, blocks_w, size_w), (block_c, blocks_c, size_c) = over_w, over_c
        start = source.at(block=block_w, w=block_c * lanes)
        end = destination.at(block=block_c, w=block_w * lanes)
        outer = (
            Digit(n, source.step(n=1), destination.step(n=1)),
            Digit(blocks_w, source.step(block=1), destination.step(w=lanes)),
            Digit(blocks_c, source.step(w=lanes), destination.step(block=1)),
            Digit(h, source.step(h=1), destination.step(h=1)),
        )
        each_w, each_c = Digit(size_w, (1, 0), (0, g)), Digit(size_c, (0, g), (1, 0))
        ways = (
            Tile(Across(0, start), Along(0, end), size_w, (*outer, each_c), g),
            Tile(Along(0, start), Across(0, end), size_c, (*outer, each_w), g),
        )
        times = [cycles.count(config, [way])["cycles"] for way in ways]
        timed.append((min(times), ways[times.index(min(times))]))
    return [tile for _, tile in sorted(timed, key=lambda pair: -pair[0])]


def _split(size, lanes):
    """An axis in blocks of `lanes`: (first block, blocks, size of each), the remainder apart."""
    whole, rest = divmod(size, lanes)
    return [part for part in ((0, whole, lanes), (whole, 1, rest)) if part[1] and part[2]]


def _next_word(config, cell):
    return -(-cell // config.beat_cells) * config.beat_cells
