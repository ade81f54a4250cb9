"""The Verilog as it is shipped, without test access: one bench for Icarus and Verilator."""

import pytest
from cocotb_run import run_bench
from cornerturn.config import PRESETS
from cornerturn.verilog import write_verilog


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.full)])
def test_shipped_verilog(simulator, tmp_path):
    source = tmp_path / "cornerturn.v"
    write_verilog(PRESETS["tiny"], source)
    run_bench(simulator, tmp_path, source, top="cornerturn", bench="engine_bench", passes=5)
