"""The engine beside other transposers, for the same work: area, time, and area x time.

The work is a square matrix of elements of one cell, two lane arrays wide and high (64 x 64 for 32
lanes). Ours moves it from lmem to lmem with one instruction; a tile transposer of the same beat has
it streamed through, in tiles of W x W; the serial one moves an element a cycle in a memory of its
own. What fetches, stores and addresses the tiles is part of ours and not of theirs.
"""

import csv
from importlib import resources

from cornerturn_model import cycles
from cornerturn_model.instruction import Across, Along, Digit, Tile

from .baselines import PingPong, RegisterArray, Serial
from .flow import measure
from .targets import load_target

__all__ = ["compare", "peers", "work"]


def work(config):
    """The edge of the matrix in elements, and the instruction that transposes it.

    Row i is in lane i % M at cell i // M * edge, the result behind it in the same way.
    """
    lanes, edge = config.lanes, 2 * config.lanes
    halves = [Digit(2, in_step=(0, edge), out_step=(0, lanes))]  # rows of one lane
    halves.append(Digit(2, in_step=(0, lanes), out_step=(0, edge)))  # columns, by result lane
    return edge, Tile(
        Across(lane=0, cell=0),
        Along(lane=0, cell=2 * edge),
        n=lanes,
        digits=[*halves, Digit(lanes, in_step=(0, 1), out_step=(1, 0))],
    )


def peers(beat_width):
    """Figures of other projects at a beat of some bits: a list of rows."""
    text = (resources.files(__package__) / "baselines" / "peers.csv").read_text(encoding="utf-8")
    return [
        row for row in csv.DictReader(text.splitlines()) if int(row["beat_width"]) == beat_width
    ]


def compare(config, target, *, liberty=None, pnr=False, seed=1, track=iter):
    """Area, fmax and time of the engine, its parts and the baselines; then of the peers.

    Parameters
    ----------
    config, target, liberty, pnr, seed
        See `flow.measure`.
    track : callable
        Wraps the list of what is measured, for a progress bar.

    Returns
    -------
    list of dict
        ``name``, the target's columns, ``fmax_mhz`` (None if not known), ``cycles`` (None for a
        part of ours), ``time_us``, ``area_time``: area in GE or LUT, by cycles or by us if fmax is
        known, divided by 1000; ``measured``: "here" or "elsewhere"; ``source``.

    Raises
    ------
    ValueError
        If the matrix does not fit into the lanes.
    """
    edge, tile = work(config)
    size, width = config.beat_cells, config.cell_width
    if 4 * edge > config.cells or size < 2:
        raise ValueError(
            f"cells must be at least {4 * edge} and beat_cells at least 2 for --compare, "
            f"not {config.cells} and {size}"
        )
    ours = cycles.count(config, [tile])["cycles"]
    address_bits = (2 * edge * edge - 1).bit_length()
    things = (
        ("ours: engine", "engine", ours),
        (f"ours: {config.lanes} lanes and chain", "chain", None),
        ("ours: TIU", "tiu", None),
        (f"register array {size} x {size}", RegisterArray, RegisterArray.cycles(size, edge, edge)),
        (f"ping-pong {size} x {size}", PingPong, PingPong.cycles(size, edge, edge)),
        ("element-serial", Serial, Serial.cycles(edge, edge)),
    )
    rows = []
    for name, top, count in track(things):
        if not isinstance(top, str):
            top = top(address_bits if top is Serial else size, width)
        report = measure(config, target, top=top, liberty=liberty, pnr=pnr, seed=seed)
        fmax = report["timing"]["fmax_mhz"] if pnr else None
        source = " ".join(f"{tool} {version}" for tool, version in report["versions"].items())
        rows.append(_row(name, report["area"], fmax, count, "here", source))
    columns = list(load_target(target, liberty).columns)
    for peer in peers(config.beat_width) if width >= 8 else ():
        area = {column: int(peer[column]) if peer.get(column) else None for column in columns}
        known = pnr and target == "ecp5" and peer["fmax_mhz"]
        fmax = float(peer["fmax_mhz"]) if known else None
        # Both transpose tiles as wide as the beat, and lose no cycle between them.
        count = RegisterArray.cycles(size, edge, edge)
        name = f"{peer['peer']}, {config.beat_width} bit"
        rows.append(_row(name, area, fmax, count, "elsewhere", peer["source"]))
    return rows


def _row(name, area, fmax, count, measured, source):
    size = area.get("ge") or area.get("lut")
    time = count / fmax if count and fmax else None
    product = size * (time or count) / 1000 if size and count else None
    return {
        "name": name,
        **area,
        "fmax_mhz": fmax,
        "cycles": count,
        "time_us": time and round(time, 2),
        "area_time": product and round(product, 1),
        "measured": measured,
        "source": source,
    }
