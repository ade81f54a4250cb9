"""Icarus Verilog and Verilator as backends: a simulator that stays, and serves call after call.

::

    CocotbBackend --AF_UNIX, authenticated--> cocotb_server, in the simulator's process
          |                                        |
          +--starts--> cocotb's runner --starts----+

It runs the Verilog that users get, plus the test access.
"""

import contextlib
import json
import secrets
import subprocess
import tempfile
import threading
from multiprocessing.connection import Client, Listener
from pathlib import Path

from .build import TOP, build, runner_command, runner_environment, tail
from .pins import SimulationError

__all__ = ["CocotbBackend", "IcarusBackend", "VerilatorBackend"]


class CocotbBackend:
    """The engine's Verilog in a simulator under cocotb.

    Parameters
    ----------
    config : Config
    simulator : str
        ``"icarus"`` or ``"verilator"``.
    vcd : Path or None
        Where to write every signal's waveform.

    Raises
    ------
    RuntimeError
        If the simulator is missing; SimulationError if the engine does not build or start.
    """

    def __init__(self, config, simulator, *, vcd=None):
        built = build(config, simulator, trace=vcd is not None)
        self._simulator = simulator
        self._folder = tempfile.TemporaryDirectory(prefix="cornerturn-")
        self._log = Path(self._folder.name) / "simulator.log"
        self._address = str(Path(self._folder.name) / "socket")
        self._key = secrets.token_bytes(32)
        self._process = self._start(config, built, vcd)
        with Listener(self._address, "AF_UNIX", authkey=self._key) as listener:
            threading.Thread(target=self._unblock, daemon=True).start()
            self._connection = listener.accept()
        # The first answer comes unasked, when the simulator is ready.
        self._receive()

    def call(self, name, *arguments):
        """Let the session do something, and return what it returns."""
        self._connection.send((name, *arguments))
        return self._receive()

    def close(self):
        """End the simulator and wait until its files are written."""
        if self._process is None:
            return
        with contextlib.suppress(OSError):  # it may have ended already
            self._connection.send(None)
        self._connection.close()
        self._process.wait()
        self._process = None
        self._folder.cleanup()

    def _start(self, config, built, vcd):
        options, more = {}, {}
        if vcd is not None:
            path = Path(vcd).absolute()
            if self._simulator == "icarus":
                options["plusargs"] = [f"+vcd={path}"]
                more["SIM_CMD_SUFFIX"] = "-vcd"
            else:
                options["test_args"] = ["--trace", "--trace-file", str(path)]
        command = runner_command(
            self._simulator,
            "test",
            test_module="cornerturn_sim.cocotb_server",
            hdl_toplevel=TOP,
            hdl_toplevel_lang="verilog",
            build_dir=str(built),
            test_dir=self._folder.name,
            **options,
        )
        environment = runner_environment(
            self._simulator,
            CORNERTURN_ADDRESS=self._address,
            CORNERTURN_KEY=self._key.hex(),
            CORNERTURN_CONFIG=json.dumps(config.parameters()),
            **more,
        )
        with self._log.open("w") as output:
            return subprocess.Popen(
                command,
                cwd=self._folder.name,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def _unblock(self):
        """Answer in the simulator's place, if it ends before it has connected."""
        self._process.wait()
        with contextlib.suppress(OSError):  # nobody may be waiting any more
            Client(self._address, "AF_UNIX", authkey=self._key).close()

    def _receive(self):
        try:
            result, error = self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.wait()
            raise SimulationError(
                f"{self._simulator} must not end by itself; its log:\n{tail(self._log)}"
            ) from None
        if error is not None:
            raise error
        return result


class IcarusBackend(CocotbBackend):
    """The engine's Verilog under Icarus Verilog."""

    def __init__(self, config, *, vcd=None):
        super().__init__(config, "icarus", vcd=vcd)


class VerilatorBackend(CocotbBackend):
    """The engine's Verilog under Verilator."""

    def __init__(self, config, *, vcd=None):
        super().__init__(config, "verilator", vcd=vcd)
