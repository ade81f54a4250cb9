"""Runs a cocotb bench on some Verilog, in processes of its own, for a test."""

import subprocess
from pathlib import Path

import pytest
from cornerturn_sim.build import missing, runner_command, runner_environment

__all__ = ["run_bench"]


def run_bench(simulator, folder, verilog, *, top, bench, passes):
    """Build and run; skip if the simulator is not there.

    Parameters
    ----------
    simulator : str
        ``"icarus"`` or ``"verilator"``.
    folder : Path
        Where to build.
    verilog : Path
    top, bench : str
        The top module, and the module below ``tb/cocotb`` with the tests.
    passes : int
        Tests that must have passed, all of them.
    """
    reason = missing(simulator)
    if reason is not None:
        pytest.skip(reason)
    common = {"hdl_toplevel": top, "build_dir": str(folder)}
    calls = {
        "build": {
            "sources": [str(verilog)], "timescale": ["1ns", "1ps"], "always": True,
            "build_args": ["-Wno-fatal"] if simulator == "verilator" else [],
        },
        "test": {"test_module": bench, "hdl_toplevel_lang": "verilog", "seed": 1},
    }  # fmt: skip
    environment = runner_environment(simulator)
    benches = Path(__file__).parent / "cocotb"
    environment["PYTHONPATH"] = f"{benches}:{environment['PYTHONPATH']}"
    for method, arguments in calls.items():
        run = subprocess.run(
            runner_command(simulator, method, **common, **arguments),
            cwd=folder, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        log = run.stdout + run.stderr
        assert run.returncode == 0, log[-6000:]
    assert "FAIL=0" in log, log[-6000:]
    assert f"PASS={passes}" in log, log[-6000:]
