"""What can be synthesized for: the lines of `targets.toml`, and the cells of a Liberty file.

A target counts a netlist by weighing its cells: a LUT is one of column `lut`, a NAND2 is 7.26 of
column `um2`. So every target, and every sum over a hierarchy, is made the same way::

    {"LUT4": 271, "DP16KD": 2, ...} --columns--> {"lut": 271, "ram": 2, ...}
"""

import dataclasses
import fnmatch
import re
import tomllib
from importlib import resources
from pathlib import Path

__all__ = ["DEBIAN_LIBERTY", "TARGETS", "Target", "load_target"]

DEBIAN_LIBERTY = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
"""OSU's 0.18 um cells, of the Debian package qflow-tech-osu018."""


def _table():
    text = (resources.files(__package__) / "targets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


TARGETS = {name: entry["about"] for name, entry in _table().items()}
"""What each target is, by its name."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Target:
    """One line of `targets.toml`.

    Parameters
    ----------
    name, about, script : str
    sram : bool
        The lmem is a black box, reported in bits.
    columns : dict
        Weights by cell pattern, by column.
    nextpnr : str or None
        nextpnr's name of the family; ``None``: no place and route.
    pnr : tuple of str
        Its arguments that choose the device.
    liberty : Path or None
    """

    name: str
    about: str
    script: str
    sram: bool
    columns: dict
    nextpnr: str | None = None
    pnr: tuple = ()
    liberty: Path | None = None

    def count(self, cells):
        """The columns of some cells.

        Parameters
        ----------
        cells : dict of int
            How many there are of each type.

        Returns
        -------
        dict
            A number for each column: an integer where the weights are.
        """
        return {
            column: _plain(
                sum(
                    number * weight
                    for cell, number in cells.items()
                    for pattern, weight in weights.items()
                    if fnmatch.fnmatchcase(cell, pattern)
                )
            )
            for column, weights in self.columns.items()
        }


def _plain(number):
    return int(number) if number == int(number) else round(number, 1)


def load_target(name, liberty=None):
    """A target by its name.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    liberty : Path or None
        Standard cells of the target ``asic``; `DEBIAN_LIBERTY` if there are none given.

    Raises
    ------
    ValueError
        If there is no such target, or no such library.
    """
    table = _table()
    if name not in table:
        raise ValueError(f"target must be one of {', '.join(table)}, not {name!r}")
    entry = table[name] | {"pnr": tuple(table[name].get("pnr", ()))}
    if "{liberty}" not in entry["script"]:
        if liberty is not None:
            raise ValueError(f"--liberty must be left out for the target {name!r}")
        return Target(name=name, **entry)
    liberty = Path(liberty or DEBIAN_LIBERTY)
    if not liberty.is_file():
        raise ValueError(
            f"--liberty must be the path of a Liberty file, not {str(liberty)!r}; "
            "one comes with: apt install qflow-tech-osu018"
        )
    return Target(name=name, liberty=liberty, **entry | {"columns": _liberty_columns(liberty)})


def _liberty_columns(path):
    """Area in um2, gate equivalents (area of the smallest NAND2) and flip-flops of each cell."""
    text = path.read_text(encoding="utf-8", errors="replace")
    pieces = re.split(r'^\s*cell\s*\(\s*"?(\w+)"?\s*\)\s*\{', text, flags=re.M)[1:]
    areas, flip_flops = {}, {}
    for cell, body in zip(pieces[::2], pieces[1::2], strict=True):
        area = re.search(r"^\s*area\s*:\s*([\d.]+)", body, re.M)
        areas[cell] = float(area[1]) if area else 0.0
        if re.search(r"^\s*ff\s*\(", body, re.M):
            flip_flops[cell] = 1
    nands = [area for cell, area in areas.items() if re.search("nand2", cell, re.I) and area]
    if not nands:
        raise ValueError(f"--liberty must name a library with a NAND2 cell, not {str(path)!r}")
    gates = {cell: area / min(nands) for cell, area in areas.items()}
    return {"um2": areas, "ge": gates, "ff": flip_flops}
