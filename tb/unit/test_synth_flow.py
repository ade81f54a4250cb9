"""Synthesis of small tops: what is counted, what is kept, what is refused."""

import re

import pytest

pytest.importorskip("pyosys", reason="pyosys (extra `synth`) is not installed")

from cornerturn.config import PRESETS, Config
from cornerturn_synth.flow import Modules, fingerprint, measure
from cornerturn_synth.tops import netlist, tops

TINY = PRESETS["tiny"].replace(lane_ports=False)
BLOCK_RAM = Config(lanes=5, lanes_per_hop=2, beat_cells=4, lane_ports=False)


def test_lane_is_mapped_once():
    report = measure(BLOCK_RAM, "ecp5", top="chain", blocks=True)
    lane = measure(BLOCK_RAM, "ecp5", top="lane")["area"]
    assert lane["ram"] == report["lane"]["ram"] == 2
    assert report["area"]["ram"] == 5 * 2
    assert report["area"]["lmem_bits"] == 5 * lane["lmem_bits"] == 5 * 8 * 4096
    assert report["area"]["carry"] == report["area"]["dsp"] == report["area"]["lutram"] == 0
    blocks = {row["block"]: row for row in report["blocks"]}
    # Two hops of two lanes are one module, what is left of the lanes is another.
    assert (blocks["hop"]["instances"], blocks["hop_2"]["instances"]) == (2, 1)
    assert blocks["npu"]["instances"] == blocks["lmem"]["instances"] == 5
    assert blocks["hop"]["ram"] == 2 * blocks["npu"]["ram"] == 4
    assert blocks["xbar"]["ff"] > 0


@pytest.mark.parametrize("target", ["generic", "xilinx", "ice40"])
def test_lmem_is_ram_or_bits(target):
    report = measure(TINY, target, top="lane")
    assert report["area"]["lmem_bits"] == 256 * 8
    assert 200 < report["area"]["ff"] < 300
    assert report["area"].get("ram", 2) + report["area"].get("lutram", 0) >= 2
    assert report["config"]["lmem"] == ("blackbox" if target == "generic" else "inferred")
    assert report["versions"]["pyosys"]


@pytest.mark.full
def test_engine_keeps_its_memories():
    """Without lane ports no data leaves the engine, and yet it is all there."""
    report = measure(TINY, "generic", top="engine")
    lane = measure(TINY, "generic", top="lane")["area"]
    assert report["lane"] == lane
    assert report["area"]["lmem_bits"] == 4 * lane["lmem_bits"]
    assert report["area"]["ff"] > 4 * lane["ff"] + 1000


def test_blocks_are_what_the_engine_has():
    text, top = netlist(TINY, "engine")
    assert top == "cornerturn"
    assert {"tiu", "chain", "check", "xbar", "lmem", "dp_w0"} <= set(tops(text))
    assert netlist(TINY, "check")[1] == "cornerturn_check"


def test_memories_say_that_nothing_collides():
    """Those that promise it, and no other."""
    text, _ = netlist(TINY, "engine")
    promised = []
    for module in re.split(r"^(?=module )", text, flags=re.M):
        masks = set(re.findall(r"COLLISION_X_MASK (\S+)", module))
        if "attribute \\no_rw_check 1\n" in module:
            promised.append(re.match(r"module \\(\w+)", module)[1])
            assert masks == {"1'1"}
        else:
            assert masks <= {"1'0"}
    assert set(promised) == {"cornerturn_lmem", "cornerturn_delay_line"}


def test_sums_over_a_hierarchy():
    modules = Modules({}, {"top": {"a": 2, "LUT": 1}, "a": {"b": 3, "LUT": 4}, "b": {"LUT": 5}})
    assert modules.total("top", modules.cells) == {"a": 2, "b": 6, "LUT": 1 + 2 * (4 + 3 * 5)}


def test_no_name_looks_like_a_bit():
    """Of an array yosys' mapper would take `x[3]` for a bit of `x`, and abort."""
    text, _ = netlist(TINY, "engine")
    assert re.search(r"\\\S+\.\d+\b", text)
    assert not re.search(r"\\\S+\[\d", text)


def test_fingerprint():
    """It changes with all that the figures depend on."""
    plain = {"config": TINY, "target": "ecp5", "top": "lane"}
    changes = [
        {},
        {"target": "ice40"},
        {"top": "npu"},
        {"config": TINY.replace(cells=512)},
        {"pnr": True},
        {"pnr": True, "seed": 2},
    ]
    found = [fingerprint(**plain | change) for change in changes]
    assert len(set(found)) == len(changes)
    assert found[0] == fingerprint(**plain, seed=2)


def test_errors():
    with pytest.raises(ValueError, match=r"^top must be engine, lane, aligner, .*, not 'cpu'$"):
        measure(TINY, "ecp5", top="cpu")
    with pytest.raises(ValueError, match=r"^--pnr must be left out for the target 'xilinx'$"):
        measure(TINY, "xilinx", pnr=True)
    with pytest.raises(ValueError, match=r"^lmem must be 'inferred' for --pnr, not 'blackbox'$"):
        measure(TINY.replace(lmem="blackbox"), "ecp5", pnr=True)


def test_a_failure_is_one_line(monkeypatch):
    monkeypatch.setattr("cornerturn_synth.flow.netlist", lambda config, top: ("nonsense", "x"))
    with pytest.raises(RuntimeError, match=r"^yosys must synthesize x: Module `x' not found!$"):
        measure(TINY, "generic", top="lane")


def test_without_yosys(monkeypatch):
    monkeypatch.setattr("cornerturn_synth.flow.util.find_spec", lambda name: None)
    expected = r"^synthesis needs yosys: pip install 'cornerturn\[synth\]'$"
    with pytest.raises(RuntimeError, match=expected):
        measure(TINY, "generic", top="lane")
