"""The SoC top as it is shipped, with cocotbext-axi on both buses, under Icarus and Verilator."""

import importlib.util
import subprocess
from pathlib import Path

import pytest
from cornerturn.config import PRESETS
from cornerturn.verilog import TOPS, write_verilog
from cornerturn_sim.build import missing, runner_command, runner_environment

TINY = PRESETS["tiny"]
WIDE = TINY.replace(beat_cells=16)


@pytest.mark.parametrize(
    ("simulator", "config"),
    [
        pytest.param("icarus", TINY, id="icarus, 32 bits"),
        pytest.param("icarus", WIDE, id="icarus, 128 bits"),
        pytest.param("verilator", WIDE, id="verilator, 128 bits", marks=pytest.mark.full),
    ],
)
def test_shipped_verilog(simulator, config, tmp_path):
    reason = missing(simulator)
    if importlib.util.find_spec("cocotbext") is None:
        reason = "cocotbext-axi is not installed"
    if reason is not None:
        pytest.skip(reason)
    source = tmp_path / "cornerturn.v"
    write_verilog(config, source, "axi")
    common = {"hdl_toplevel": TOPS["axi"], "build_dir": str(tmp_path)}
    calls = {
        "build": {
            "sources": [str(source)], "timescale": ["1ns", "1ps"], "always": True,
            "build_args": ["-Wno-fatal"] if simulator == "verilator" else [],
        },
        "test": {"test_module": "engine_axi_bench", "hdl_toplevel_lang": "verilog", "seed": 1},
    }  # fmt: skip
    environment = runner_environment(simulator)
    environment["PYTHONPATH"] = f"{Path(__file__).parent}:{environment['PYTHONPATH']}"
    for method, arguments in calls.items():
        run = subprocess.run(
            runner_command(simulator, method, **common, **arguments),
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert "FAIL=0" in run.stdout + run.stderr, run.stdout[-6000:]
    assert "PASS=2" in run.stdout + run.stderr
