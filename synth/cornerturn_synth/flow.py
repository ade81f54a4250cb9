"""Synthesis: from a configuration to cell counts, hierarchically::

    RTLIL --read--> [instances] --synthesize--> [netlist] --stat--> counts --columns--> figures
                                                    |
                                                    +--flatten--> JSON --> nextpnr (timing.py)

The hops of the chain stay modules of their own, so that a lane is mapped once however many there
are; everything else is flattened into the top. For the table of blocks every module stays. The lmem
is block RAM, or a number of bits: never flip-flops.
"""

import dataclasses
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path

from cornerturn.verilog import versions

from .targets import load_target
from .timing import place_and_route
from .tops import HOPS, LMEM, SRAM, netlist

__all__ = ["fingerprint", "measure", "synthesize", "tool_versions"]

_YOSYS = "from pyosys import libyosys as y; y.run_pass('script synth.ys', y.Design())"

_SCRIPT = """
read_rtlil top.il
read_verilog -lib sram.v
hierarchy -check -top {top}
tee -q -o instances.json stat -json
setattr -mod -set keep_hierarchy 1 {kept}
{script}
tee -q -o cells.json stat -json
"""

_FLATTEN = """
setattr -set keep 1 {rams}
setattr -mod -unset keep_hierarchy *
flatten
opt_clean
write_json netlist.json
"""
# The lmem must be kept: without a lane port nothing outside the engine sees what it holds.


def measure(config, target, *, top="engine", liberty=None, blocks=False, pnr=False, seed=1):
    """Area, and on demand timing, of a top.

    Parameters
    ----------
    config : Config
    target : str
        One of `targets.TARGETS`.
    top : str or wiring.Component
        See `tops.netlist`.
    liberty : Path or None
        Standard cells of the target ``asic``.
    blocks : bool
        The area of each block as well, in a run of its own.
    pnr : bool
        Place and route, and report the timing.
    seed : int
        Of place and route.

    Returns
    -------
    dict
        ``target``, ``top``, ``config``, ``versions``; ``area``: the target's columns and
        ``lmem_bits``; ``lane``: the same for a lane with its part of the hop's registers (if the
        top has lanes); ``blocks``: a list of the same with ``block`` and ``instances``;
        ``timing``: see `timing.place_and_route`.

    Raises
    ------
    ValueError
        If there is no such target, top or library, or the target has no place and route.
    RuntimeError
        If a tool fails.
    """
    config, target = _prepared(config, target, liberty, pnr)
    report = {
        "target": target.name,
        "top": top if isinstance(top, str) else type(top).__name__,
        "config": config.parameters(),
        "versions": tool_versions(target if pnr else None),
    }
    text, name = netlist(config, top)
    with tempfile.TemporaryDirectory() as folder:
        modules = synthesize(text, name, target, folder, flat=pnr)
        report |= _areas(modules, name, config, target)
        if blocks:
            report["blocks"] = _blocks(text, name, config, target)
        if pnr:
            report["timing"] = place_and_route(Path(folder), target, seed)
    return report


def fingerprint(config, target, *, top="engine", liberty=None, pnr=False, seed=1):
    """A short text that is another one whenever `measure` could find other figures.

    The parameters and errors are those of `measure`.
    """
    config, target = _prepared(config, target, liberty, pnr)
    library = target.liberty.read_bytes() if target.liberty else b""
    described = dataclasses.replace(target, about="", liberty=None)
    used = (netlist(config, top), described, library, _SCRIPT, _FLATTEN, SRAM)
    used += (tool_versions(target if pnr else None), pnr and seed)
    return hashlib.sha256(repr(used).encode()).hexdigest()[:12]


def _prepared(config, target, liberty, pnr):
    """The configuration as it is synthesized, and the target, of `measure`'s arguments."""
    target = load_target(target, liberty)
    if pnr and not target.nextpnr:
        raise ValueError(f"--pnr must be left out for the target {target.name!r}")
    if target.sram:
        config = config.replace(lmem="blackbox", max_element_cells=config.max_element_cells)
    if pnr and config.lmem == "blackbox":
        raise ValueError("lmem must be 'inferred' for --pnr, not 'blackbox'")
    return config, target


def _areas(modules, top, config, target):
    report = {"area": _figures(modules, top, config, target)}
    hop = next((name for name in modules.cells if name.startswith(HOPS.rstrip("*"))), None)
    if hop in modules.instances and top != hop:
        figures = _figures(modules, hop, config, target)
        lanes = modules.lanes(hop)
        report["lane"] = {column: _share(value, lanes) for column, value in figures.items()}
    return report


def _share(value, lanes):
    return value if lanes == 1 else round(value / lanes, 1)


def _blocks(text, top, config, target):
    """Figures of every block below the top, with all it contains, and how many there are."""
    with tempfile.TemporaryDirectory() as folder:
        modules = synthesize(text, top, target, folder, kept="*")
    rows = []
    for name, instances in modules.total(top, modules.instances).items():
        if name in modules.cells and not name.startswith("$"):
            block = name.partition("_")[2]
            figures = _figures(modules, name, config, target)
            rows.append({"block": block, "instances": instances, **figures})
    return sorted(rows, key=lambda row: row["block"])


def _figures(modules, name, config, target):
    lmems = modules.lanes(name)
    bits = lmems * config.cells * config.cell_width
    return {**target.count(modules.total(name, modules.cells)), "lmem_bits": bits}


class Modules:
    """Cells of each module, before and after synthesis.

    Parameters
    ----------
    instances, cells : dict
        By module, how many cells of each type it has itself: as designed, and as mapped.
    """

    def __init__(self, instances, cells):
        self.instances = instances
        self.cells = cells

    def total(self, name, table):
        """Cells of a module and everything in it, the modules among them."""
        result = {}
        for cell, number in table[name].items():
            result[cell] = result.get(cell, 0) + number
            for inner, count in self.total(cell, table).items() if cell in table else ():
                result[inner] = result.get(inner, 0) + number * count
        return result

    def lanes(self, name):
        """How many lmems a module holds, or is."""
        inside = self.total(name, self.instances) | {name: 1}
        return sum(number for cell, number in inside.items() if cell.startswith(LMEM))


def synthesize(text, top, target, folder, *, kept=HOPS, flat=False):
    """Run yosys on some RTLIL.

    Parameters
    ----------
    text, top : str
        See `tops.netlist`.
    target : Target
    folder : Path
        Where the files go.
    kept : str
        Pattern of the modules that are not flattened.
    flat : bool
        Also write ``netlist.json`` for nextpnr, flat.

    Returns
    -------
    Modules

    Raises
    ------
    RuntimeError
        If yosys is not installed, or fails.
    """
    if util.find_spec("pyosys") is None:
        raise RuntimeError("synthesis needs yosys: pip install 'cornerturn[synth]'")
    folder = Path(folder)
    script = _SCRIPT
    if flat:
        rams = " ".join(f"t:{cell}" for cell in target.columns["ram"])
        script += _FLATTEN.replace("{rams}", rams)
    liberty = target.liberty.resolve() if target.liberty else ""
    script = script.replace("{script}", target.script)
    script = script.format(top=top, kept=kept, liberty=f'"{liberty}"')
    for name, content in (("top.il", text), ("sram.v", SRAM), ("synth.ys", script)):
        (folder / name).write_text(content, encoding="utf-8")
    # A process of its own: yosys writes its log to the standard output from C++.
    run = subprocess.run(
        [sys.executable, "-c", _YOSYS], cwd=folder, capture_output=True, text=True, check=False
    )
    if run.returncode:
        errors = re.findall(r"^ERROR: (.*)", run.stdout, re.M) or [run.stderr.strip()[-300:]]
        raise RuntimeError(f"yosys must synthesize {top}: {errors[0]}")
    return Modules(*(_cells(folder / f"{name}.json") for name in ("instances", "cells")))


def _cells(path):
    statistics = json.loads(path.read_text(encoding="utf-8"))["modules"]
    return {
        name.removeprefix("\\"): {
            cell.removeprefix("\\"): number for cell, number in module["num_cells_by_type"].items()
        }
        for name, module in statistics.items()
    }


def tool_versions(placed=None):
    """Versions of everything that figures depend on.

    Parameters
    ----------
    placed : Target or None
        The target they were placed and routed for.
    """
    tools = ["pyosys", *([f"yowasp-nextpnr-{placed.nextpnr}"] if placed else [])]
    return versions() | {tool: _version(tool) for tool in tools}


def _version(package):
    """Of an installed package; the tool's own error says how to get one that is not."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
