"""What a target counts, and what it takes from a Liberty file."""

import re

import pytest
from cornerturn_synth import targets
from cornerturn_synth.targets import TARGETS, load_target

LIBERTY = """
library (test) {
  cell (INVX1) { area : 2.0; pin (Y) { direction : output; } }
  cell ("NAND2X2") {
    area : 8;
  }
  cell (NAND2X1) {
    cell_footprint : "nand2";
    area : 4.0;
  }
  cell (DFFPOSX1) {
    area : 24;
    ff (IQ, IQN) { clocked_on : "CLK"; }
  }
}
"""


@pytest.fixture
def liberty(tmp_path):
    path = tmp_path / "test.lib"
    path.write_text(LIBERTY, encoding="utf-8")
    return path


def test_every_target_loads(liberty):
    for name, about in TARGETS.items():
        target = load_target(name, liberty if name == "asic" else None)
        assert (target.name, target.about) == (name, about)
        assert "{top}" in target.script
        assert target.columns
        assert bool(target.pnr) == bool(target.nextpnr)
        assert target.sram == ("ram" not in target.columns)


def test_cells_are_weighed():
    cells = {"LUT4": 7, "TRELLIS_FF": 3, "CCU2C": 2, "$scopeinfo": 9, "cornerturn_hop": 4}
    counted = load_target("ecp5").count(cells)
    assert counted == {"lut": 7, "ff": 3, "ram": 0, "carry": 2, "lutram": 0, "dsp": 0}
    counted = load_target("xilinx").count({"LUT2": 1, "LUT6": 2, "FDSE": 3, "RAMB18E1": 3})
    assert counted == {"lut": 3, "ff": 3, "ram": 1.5, "carry": 0, "lutram": 0, "dsp": 0}
    counted = load_target("generic").count({"$_DFF_P_": 2, "$_NAND_": 3, "$_NOT_": 1})
    assert counted == {"ff": 2, "ge": 15.5}


def test_liberty(liberty):
    target = load_target("asic", liberty)
    assert target.liberty == liberty
    assert target.count({"NAND2X2": 1, "DFFPOSX1": 2, "INVX1": 1, "cornerturn_sram": 5}) == {
        "um2": 58,
        "ge": 14.5,  # the smallest NAND2 is one
        "ff": 2,
    }


def test_errors(liberty, tmp_path, monkeypatch):
    expected = "target must be one of ecp5, ice40, xilinx, generic, asic, not 'ecp6'"
    with pytest.raises(ValueError, match=f"^{expected}$"):
        load_target("ecp6")
    with pytest.raises(ValueError, match=r"^--liberty must be left out for the target 'ecp5'$"):
        load_target("ecp5", liberty)
    absent = tmp_path / "absent.lib"
    monkeypatch.setattr(targets, "DEBIAN_LIBERTY", absent)
    expected = (
        f"--liberty must be the path of a Liberty file, not {str(absent)!r}; "
        "one comes with: apt install qflow-tech-osu018"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        load_target("asic")
    absent.write_text(LIBERTY.replace("NAND2", "AND2"), encoding="utf-8")
    expected = f"--liberty must name a library with a NAND2 cell, not {str(absent)!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        load_target("asic")
