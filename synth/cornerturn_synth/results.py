"""Recorded results: `synth/results.csv`, a row for each case, target and cell library.

::

    results.toml --cases--> measure --> rows --> results.csv --> table
                   +-bounds---------------------------+--------> what is past its bound

A row stays as it was while its `input` (the netlist, the script, the tools) is the same, and if it
cannot be measured here (a library that is not at hand).
"""

import csv
import tomllib
from importlib import resources
from pathlib import Path

from cornerturn.config import PRESETS

from .flow import fingerprint, measure
from .targets import DEBIAN_LIBERTY

__all__ = [
    "COLUMNS",
    "RESULTS",
    "cases",
    "failures",
    "identity",
    "input_of",
    "key_of",
    "load",
    "record",
    "row_of",
    "write",
]

RESULTS = Path(__file__).parents[1] / "results.csv"
"""What was measured last. It is part of the source tree, not of the package."""

KEY = ("config", "changes", "top", "target", "library")
_FIGURES = ("lut", "ff", "ram", "carry", "lutram", "dsp", "um2", "ge", "lmem_bits", "fmax_mhz")
COLUMNS = (*KEY, *_FIGURES, "seed", "tools", "input")


def cases(liberties=()):
    """What is to be measured: a case for each target and cell library.

    Parameters
    ----------
    liberties : sequence of Path
        Standard cells for the target ``asic``.

    Returns
    -------
    list of dict
        As in `results.toml`, but for one ``target``: ``liberty``, ``bounds`` and ``pnr`` (a bool)
        are those of it.
    """
    text = (resources.files(__package__) / "results.toml").read_text(encoding="utf-8")
    found = []
    for case in tomllib.loads(text)["cases"]:
        for target in case["targets"]:
            own = {
                "target": target,
                "bounds": case.get("bounds", {}).get(target, {}),
                "pnr": target in case.get("pnr", ()),
            }
            for liberty in liberties if target == "asic" else (None,):
                found.append({"changes": {}} | case | own | {"liberty": liberty})
    return found


def key_of(case):
    """What a case is called in its row."""
    changes = " ".join(f"{name}={value}" for name, value in case["changes"].items())
    library = case["liberty"].stem if case["liberty"] else ""
    return {
        "config": case["config"],
        "changes": changes,
        "top": case["top"],
        "target": case["target"],
        "library": library,
    }


def input_of(case):
    """What the figures of a case depend on, as `flow.fingerprint` says it."""
    return _call(fingerprint, case)


def _call(function, case):
    config = PRESETS[case["config"]].replace(**case["changes"])
    options = {name: case[name] for name in ("top", "liberty", "pnr")}
    return function(config, case["target"], **options)


def row_of(case):
    """Measure a case: its row, all values as text."""
    report = _call(measure, case)
    figures = dict(report["area"])
    if case["pnr"]:
        figures |= {key: report["timing"][key] for key in ("fmax_mhz", "seed")}
    tools = " ".join(f"{tool}={version}" for tool, version in report["versions"].items())
    row = key_of(case) | figures | {"tools": tools, "input": input_of(case)}
    return {column: str(row.get(column, "")) for column in COLUMNS}


def load():
    """The recorded rows, all values as text.

    Raises
    ------
    ValueError
        Outside a source tree.
    """
    if not RESULTS.is_file():
        raise ValueError("--results and --record must be used in a source tree of Cornerturn")
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def record(liberty=None, track=iter):
    """Measure every case that is not recorded as it is now, and write `RESULTS`.

    Parameters
    ----------
    liberty : Path or None
        One more library for the target ``asic``, beside Debian's.
    track : callable
        Wraps the list of cases, for a progress bar.

    Returns
    -------
    list of dict
        All rows.
    """
    liberties = [path for path in (DEBIAN_LIBERTY, liberty) if path and path.is_file()]
    order = [tuple(key_of(case).values())[:-1] for case in cases([Path()])]
    rows = {identity(row): row for row in load() if identity(row)[:-1] in order}
    for case in track(cases(liberties)):
        known = rows.get(tuple(key_of(case).values()), {})
        if known.get("input") == input_of(case):
            continue
        row = row_of(case)
        rows[identity(row)] = row
        write(sorted(rows.values(), key=lambda row: order.index(identity(row)[:-1])))
    return load()


def identity(row):
    """The values of `KEY` in a row."""
    return tuple(row[name] for name in KEY)


def write(rows):
    """Write rows to `RESULTS`."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def failures(rows):
    """Where recorded rows are past a bound, or a bound has no row: a list of lines."""
    by_key = {identity(row): row for row in rows}
    lines = []
    for case in cases():
        key = tuple(key_of(case).values())
        for column, bound in case["bounds"].items():
            value = by_key.get(key, {}).get(column, "")
            least = column == "fmax_mhz"
            if value == "" or (float(value) < bound if least else float(value) > bound):
                rule = "at least" if least else "at most"
                name = " ".join(filter(None, key))
                lines.append(f"{name}: {column} must be {rule} {bound}, not {value or 'absent'}")
    return lines
