"""Place and route by nextpnr, and the slowest paths in words.

::

    netlist.json --nextpnr--> report.json (fmax, use of the device)
                         +--> delays.sdf  --> longest path to each register --> words

nextpnr reports one path a clock. Its delays (SDF) hold them all; with the same delays the longest
one here is the one it reports. A path is called after the registers at its ends: the name of the
cell without what yosys has appended to it.
"""

import dataclasses
import functools
import json
import re
import subprocess
import sys
from collections import defaultdict
from importlib import util

__all__ = ["Path", "paths", "place_and_route"]

_NEXTPNR = "import sys, {package} as n; sys.exit(n.run_nextpnr_{family}(sys.argv[1:]))"

PATHS = 10
"""How many paths are reported: the slowest, one for each pair of registers (of any lane)."""

_LANE = re.compile(r"(?<=hop)\d+|(?<=npu)\d+")


def place_and_route(folder, target, seed):
    """Place and route ``netlist.json`` in a folder, without its pins.

    Parameters
    ----------
    folder : Path
    target : Target
    seed : int

    Returns
    -------
    dict
        ``fmax_mhz``; ``seed``; ``used``: cells of the device by nextpnr's type, as [used, there];
        ``paths``: the `PATHS` slowest, see `Path.report`.

    Raises
    ------
    RuntimeError
        If nextpnr is not installed, or fails.
    """
    package = f"yowasp_nextpnr_{target.nextpnr}"
    if util.find_spec(package) is None:
        name = package.replace("_", "-")
        raise RuntimeError(f"--pnr needs nextpnr: pip install {name}")
    command = [sys.executable, "-c", _NEXTPNR.format(package=package, family=target.nextpnr)]
    command += [*target.pnr, "--timing-allow-fail", "--seed", str(seed), "--json", "netlist.json"]
    command += ["--report", "report.json", "--sdf", "delays.sdf", "-q", "-l", "nextpnr.log"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode:
        log = (folder / "nextpnr.log").read_text(encoding="utf-8")
        errors = re.findall(r"^ERROR: (.*)", log, re.M) or [run.stderr.strip()[-300:]]
        raise RuntimeError(f"nextpnr must place and route the design: {errors[0]}")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    slowest = paths((folder / "delays.sdf").read_text(encoding="utf-8"), PATHS)
    return {
        "fmax_mhz": round(min(clock["achieved"] for clock in report["fmax"].values()), 1),
        "seed": seed,
        "used": {
            cell: [use["used"], use["available"]]
            for cell, use in report["utilization"].items()
            if use["used"]
        },
        "paths": [path.report() for path in slowest],
    }


@dataclasses.dataclass(frozen=True)
class Path:
    """A path from register to register.

    Parameters
    ----------
    delay_ps : int
        Clock to output, logic, wires and set-up.
    wires_ps : int
        The wires of it.
    cells : tuple of str
        Names of the cells that it passes, from register to register.
    port : str
        Where it ends, as ``DI`` or ``CE``.
    """

    delay_ps: int
    wires_ps: int
    cells: tuple
    port: str

    @property
    def ends(self):
        """The registers at its ends."""
        return _signal(self.cells[0]), _signal(self.cells[-1])

    @property
    def through(self):
        """The signals that it passes between them, each once."""
        names = dict.fromkeys(_signal(cell) for cell in self.cells[1:-1])
        return [name for name in names if name not in self.ends]

    def report(self):
        """The path as plain values, and `words`: all of it in a sentence."""
        start, end = self.ends
        report = {
            "from": start,
            "to": f"{end} ({self.port})",
            "ns": self.delay_ps / 1000,
            "wires_ns": self.wires_ps / 1000,
            "levels": len(set(self.cells[1:-1])),
            "through": self.through,
        }
        words = "{from} to {to}: {ns:.2f} ns, {wires_ns:.2f} ns of them wires, {levels} levels"
        return report | {"words": words.format(**report)}


_MAPPED = re.compile(r"_(TRELLIS|LUT4|PFUMX|L6MUX21|CCU2C|DP16KD|MULT18X18D|SB_[A-Z]).*")


def _signal(cell):
    """The signal a cell is named after: yosys appends what it mapped the signal to."""
    name = re.sub(r"\$\d+(?=\.)", "", cell)
    return re.sub(r"(\.\d+\.\d+)?(\$\w+)?$", "", _MAPPED.sub("", name))


def paths(sdf, number):
    """The slowest paths of a placed design, one for each pair of registers whatever the lane.

    Parameters
    ----------
    sdf : str
        Delays as nextpnr writes them.
    number : int
        How many, at most.

    Returns
    -------
    list of Path
        The slowest first.
    """
    graph = _Graph(sdf)
    found = {}
    for arrival, setup, end in sorted(graph.ends(), reverse=True):
        path = graph.trace(end, arrival + setup)
        found.setdefault(tuple(_LANE.sub("", name) for name in path.ends), path)
        if len(found) == number:
            break
    return list(found.values())


class _Graph:
    """Delays in ps between ports, a port being (cell, name)."""

    _WIRE = re.compile(r"\(INTERCONNECT (\S+)/(\S+) (\S+)/(\S+) \(\d+:\d+:(\d+)\) \(\d+:\d+:(\d+)")
    _ARC = re.compile(r"\(IOPATH (\S+) (\S+) \(\d+:\d+:(\d+)\) \(\d+:\d+:(\d+)\)")
    _SETUP = re.compile(r"\(SETUPHOLD \(\w+ (\w+)\) \(\w+ (\w+)\) \(-?\d+:-?\d+:(-?\d+)\)")

    def __init__(self, sdf):
        self.wire = {}  # by the port that is driven: (its driver, delay)
        self.arcs = defaultdict(list)  # by output: (input, delay) of each
        self.setups = {}  # by input: the set-up time
        clocks = set()
        for part in sdf.split("\n  (CELL\n")[1:]:
            cell = _plain(re.search(r"\(INSTANCE (\S*)\)", part)[1])
            for a, out, b, into, rise, fall in self._WIRE.findall(part):
                delay = max(int(rise), int(fall))
                self.wire[_plain(b), into] = (_plain(a), out), delay
            for into, out, rise, fall in self._ARC.findall(part):
                self.arcs[cell, out].append(((cell, into), max(int(rise), int(fall))))
            for into, clock, setup in self._SETUP.findall(part):
                port = cell, into
                self.setups[port] = max(int(setup), self.setups.get(port, 0))
                clocks.add(clock)
        self.clocks = clocks
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))
        self.arrival = functools.cache(self._arrival)

    def _arrival(self, port):
        """Latest arrival at an output, and the input it comes from; None: not from a register."""
        best = None
        for source, delay in self.arcs[port]:
            if source[1] in self.clocks:
                found = delay, source
            else:
                driver, wire = self.wire.get(source, (None, 0))
                before = self.arrival(driver) if driver else None
                if before is None:
                    continue
                found = before[0] + wire + delay, source
            best = max(best, found) if best else found
        return best

    def ends(self):
        """(arrival, set-up, port) of each input of a register that a register feeds."""
        for port, setup in self.setups.items():
            if port in self.wire:
                driver, delay = self.wire[port]
                before = self.arrival(driver)
                if before is not None:
                    yield before[0] + delay, setup, port

    def trace(self, end, delay_ps):
        """The longest path to an input of a register."""
        cells, wires, port = [end[0]], 0, end
        while port in self.wire:
            driver, delay = self.wire[port]
            wires += delay
            cells.append(driver[0])
            port = self.arrival(driver)[1]
        return Path(delay_ps, wires, tuple(reversed(cells)), end[1])


def _plain(name):
    return name.replace("\\", "")
