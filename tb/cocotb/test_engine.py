"""The Verilog as it is shipped, without test access: one bench for Icarus and Verilator."""

import subprocess
from pathlib import Path

import pytest
from cornerturn.config import PRESETS
from cornerturn.verilog import write_verilog
from cornerturn_sim.build import missing, runner_command, runner_environment


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.full)])
def test_shipped_verilog(simulator, tmp_path):
    reason = missing(simulator)
    if reason is not None:
        pytest.skip(reason)
    source = tmp_path / "cornerturn.v"
    write_verilog(PRESETS["tiny"], source)
    common = {"hdl_toplevel": "cornerturn", "build_dir": str(tmp_path)}
    calls = {
        "build": {
            "sources": [str(source)], "timescale": ["1ns", "1ps"], "always": True,
            "build_args": ["-Wno-fatal"] if simulator == "verilator" else [],
        },
        "test": {"test_module": "engine_bench", "hdl_toplevel_lang": "verilog", "seed": 1},
    }  # fmt: skip
    environment = runner_environment(simulator)
    environment["PYTHONPATH"] = f"{Path(__file__).parent}:{environment['PYTHONPATH']}"
    for method, arguments in calls.items():
        run = subprocess.run(
            runner_command(simulator, method, **common, **arguments),
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "FAIL=0" in run.stdout + run.stderr
    assert "PASS=5" in run.stdout + run.stderr
