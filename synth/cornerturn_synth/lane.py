"""Area of one lane with its hop registers on ECP5: `python -m cornerturn_synth.lane`.

::

    Hop(1 lane) --rtlil_text--> RTLIL --yosys synth_ecp5--> stat --> table, baselines/lane.csv

The lmem is told that no word is read and written in one cycle (its `no_rw_check`). From Verilog
yosys takes that from the attribute; RTLIL has its memory ports made already, and there it is a
parameter of the read port.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from cornerturn.config import PRESETS
from cornerturn.interconnect.chain import Hop
from cornerturn.verilog import rtlil_text

__all__ = ["BASELINE", "BUDGET", "lane_area", "rows"]

BASELINE = Path(__file__).parent.parent / "baselines" / "lane.csv"
"""What was measured last, a row per element size."""

BUDGET = {"lut4": 320, "ff": 420, "block_rams": 2}
"""Of a lane of W = 8 cells of 8 bits, g = 1, 4096 cells, H = 1, without lane port."""

_CELLS = {"lut4": "LUT4", "carry": "CCU2C", "ff": "TRELLIS_FF", "block_rams": "DP16KD"}
_SCRIPT = "read_rtlil lane.il; synth_ecp5 -top lane; tee -o stat.json stat -json"
_YOSYS = "import sys; from pyosys import libyosys as y; y.run_pass(sys.argv[1], y.Design())"


def lane_area(config):
    """Cells of a lane of `config` after `synth_ecp5`.

    Returns
    -------
    dict
        ``lut4`` (of them none is a carry cell), ``carry`` (CCU2C, two bits each), ``ff``,
        ``block_rams`` (DP16KD).

    Raises
    ------
    RuntimeError
        If yosys fails.
    """
    lane = Hop(config, lanes=1, port=config.lane_ports, watch=False)
    text = rtlil_text(lane, "lane").replace("COLLISION_X_MASK 1'0", "COLLISION_X_MASK 1'1")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lane.il").write_text(text, encoding="utf-8")
        # A process of its own: yosys writes its log to the standard output from C++.
        run = subprocess.run(
            [sys.executable, "-c", _YOSYS, _SCRIPT], cwd=folder, capture_output=True, text=True
        )
        if run.returncode:
            raise RuntimeError(f"yosys must synthesize the lane: {run.stderr.strip()[-300:]}")
        stat = json.loads(Path(folder, "stat.json").read_text(encoding="utf-8"))
    counts = stat["design"]["num_cells_by_type"]
    return {name: counts.get(cell, 0) for name, cell in _CELLS.items()}


def rows():
    """The lane of the preset `default` without port, for each largest element: a list of dicts."""
    result = []
    for cells in (1, 2, 4, 8):
        config = PRESETS["default"].replace(lane_ports=False, max_element_cells=cells)
        result.append({"max_element_cells": cells, **lane_area(config)})
    return result


def main():
    """Measure, print the table, and record it in `BASELINE`."""
    measured = rows()
    with BASELINE.open("w", encoding="utf-8", newline="") as file:
        for target in (file, sys.stdout):
            writer = csv.DictWriter(target, measured[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(measured)


if __name__ == "__main__":
    main()
