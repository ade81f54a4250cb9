"""The recorded results, their bounds, the comparison, and the command that prints them."""

import importlib.util
import json
import re

import numpy as np
import pytest
from cornerturn.config import PRESETS
from cornerturn_model import cycles, golden
from cornerturn_sim import cli
from cornerturn_synth import compare, results
from cornerturn_synth.targets import DEBIAN_LIBERTY
from cornerturn_synth.tops import netlist

FPGA_LANE = {"config": "default", "top": "lane", "target": "ecp5"}

needs_pyosys = pytest.mark.skipif(
    importlib.util.find_spec("pyosys") is None, reason="pyosys (extra `synth`) is not installed"
)


@pytest.fixture
def call(capsys):
    """Call `cornerturn synth`; returns (status, stdout, stderr)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.main(["synth", *map(str, arguments)])
        return exit_.value.code, *capsys.readouterr()

    return run


def case_of(row, liberties=()):
    for case in results.cases(liberties):
        if results.key_of(case) == {name: row[name] for name in results.key_of(case)}:
            return case
    return None


def test_every_case_is_recorded():
    recorded = [results.identity(row) for row in results.load()]
    assert len(set(recorded)) == len(recorded)
    for case in results.cases():
        assert tuple(results.key_of(case).values()) in recorded
    # Standard cells of two libraries.
    assert len({row["library"] for row in results.load() if row["target"] == "asic"}) >= 2


def test_recorded_results_are_within_their_bounds():
    known = results.failures(results.load())
    assert known == []


def test_bounds():
    row = {"config": "default", "changes": "lane_ports=False max_element_cells=1", "top": "lane"}
    row |= {"target": "ecp5", "library": "", "lut": "321", "ff": "420", "ram": "2"}
    lines = [line for line in results.failures([row]) if "max_element_cells" in line]
    name = "default lane_ports=False max_element_cells=1 lane ecp5"
    assert lines == [f"{name}: lut must be at most 320, not 321"]
    assert f"{name}: ff must be at most 420, not absent" in results.failures([])


@needs_pyosys
@pytest.mark.parametrize(
    "changes", ["lane_ports=False max_element_cells=1", "lane_ports=False beat_cells=1 cells=2048"]
)
def test_recorded_lane_is_what_is_built(changes):
    row = next(row for row in results.load() if row | FPGA_LANE | {"changes": changes} == row)
    measured = results.row_of(case_of(row) | {"pnr": False})
    others = {name: row[name] for name in ("fmax_mhz", "seed", "tools", "input")}
    assert measured | others == row


@pytest.mark.full
@needs_pyosys
@pytest.mark.parametrize("row", results.load(), ids=lambda row: " ".join(results.identity(row)))
def test_recorded_row_is_what_is_built(row):
    case = case_of(row, [DEBIAN_LIBERTY] if DEBIAN_LIBERTY.is_file() else [])
    if case is None:
        pytest.skip(f"the library {row['library']} is not installed")
    if case["pnr"]:
        pytest.importorskip(f"yowasp_nextpnr_{row['target']}")
    assert results.row_of(case) == row


def test_record_keeps_what_cannot_be_measured(monkeypatch, tmp_path):
    """Rows of other libraries stay; rows of cases that are no more go."""
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.csv")
    monkeypatch.setattr(results, "DEBIAN_LIBERTY", tmp_path / "absent.lib")
    measured = []

    def measure(config, target, *, top, **rest):
        measured.append((config.lanes, target, top))
        timing = {"fmax_mhz": 100.0, "seed": 1}
        return {"area": {"lut": config.lanes}, "timing": timing, "versions": {"tool": "1"}}

    monkeypatch.setattr(results, "measure", measure)
    monkeypatch.setattr(results, "fingerprint", lambda config, target, **rest: f"{config.lanes}")
    blank = dict.fromkeys(results.COLUMNS, "")
    lane = "lane_ports=False max_element_cells=1"
    other = {"config": "default", "changes": lane, "top": "lane", "target": "asic"}
    other = blank | other | {"library": "other"}
    gone = blank | {"config": "tiny", "top": "none", "target": "ecp5"}
    results.write([other, gone])
    rows = results.record()
    assert rows == results.load()
    assert other in rows
    assert gone not in rows
    order = [results.key_of(case)["top"] for case in results.cases()]
    assert [row["top"] for row in rows if row["target"] != "asic"] == order
    placed = {results.identity(row) for row in rows if row["fmax_mhz"] == "100.0"}
    assert placed == {
        tuple(results.key_of(case).values()) for case in results.cases() if case["pnr"]
    }
    assert {row["lut"] for row in rows if row != other} == {"32"}
    assert all(row["tools"] == "tool=1" for row in rows if row != other)

    # Only what has changed is measured again.
    measured.clear()
    results.write([row | {"input": "old"} if row["top"] == "engine" else row for row in rows])
    assert results.record() == rows
    assert measured == [
        (32, case["target"], "engine") for case in results.cases() if case["top"] == "engine"
    ]


def test_results_need_a_source_tree(call, monkeypatch, tmp_path):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.csv")
    expected = "error: --results and --record must be used in a source tree of Cornerturn\n"
    assert call("--results") == call("--record") == (2, "", expected)


@pytest.mark.parametrize("name", PRESETS)
def test_the_compared_work_is_a_transposition(name):
    config = PRESETS[name]
    edge, tile = compare.work(config)
    lanes = config.lanes
    lmem = np.random.default_rng(1).integers(0, 256, (lanes, config.cells), np.uint8)
    after = golden.run(config, lmem, [tile]).lmem

    def matrix(memory, first):
        starts = ((row % lanes, first + row // lanes * edge) for row in range(edge))
        return np.array([memory[lane, cell : cell + edge] for lane, cell in starts])

    np.testing.assert_array_equal(matrix(after, 2 * edge), matrix(lmem, 0).T)
    beats = edge * edge // config.beat_cells
    assert cycles.count(config, [tile])["cycles"] == beats - 1 + config.completion_delay


def test_comparison(call, monkeypatch):
    """Area by what there is, time by clock if it is known; peers only where both know a column."""

    def measured(config, target, *, top, pnr, **rest):
        if not isinstance(top, str):
            assert netlist(config, top)
        name = top if isinstance(top, str) else type(top).__name__
        area = {"engine": 9000, "chain": 6000, "tiu": 3000, "RegisterArray": 2000}.get(name, 500)
        timing = {"timing": {"fmax_mhz": 100.0}} if pnr else {}
        return {"area": {"lut": area, "ff": 7}, "versions": {"tool": "1"}} | timing

    monkeypatch.setattr(compare, "measure", measured)
    status, out, err = call("--compare", "--pnr", "--json")
    assert (status, err) == (0, "")
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    engine, array, idma = (
        rows[name] for name in ("ours: engine", "register array 8 x 8", "iDMA, 64 bit")
    )
    assert engine["cycles"] == 64 * 64 // 8 - 1 + PRESETS["default"].completion_delay
    assert engine["time_us"] == engine["cycles"] / 100
    assert engine["area_time"] == pytest.approx(9000 * engine["cycles"] / 100 / 1000, abs=0.1)
    assert array["cycles"] == rows["ping-pong 8 x 8"]["cycles"] == 64 * 64 // 8 + 8
    assert (engine["measured"], idma["measured"]) == ("here", "elsewhere")
    assert (idma["lut"], idma["ff"], idma["fmax_mhz"], idma["cycles"]) == (1767, 1159, 114, 520)
    assert rows["ours: TIU"]["cycles"] is rows["ours: TIU"]["area_time"] is None
    assert rows["element-serial"]["cycles"] == 64 * 64 + 2
    status, out, _ = call("--compare", "--config", "wide")
    assert status == 0
    assert re.search(r"Gemmini, 256 bit +10,100 +8,700 +- +160 .*elsewhere", out)


@pytest.mark.full
@needs_pyosys
def test_comparison_as_built():
    rows = compare.compare(PRESETS["tiny"], "generic")
    engine, lanes, tiu, array, pair, serial = rows
    assert engine["ge"] == pytest.approx(tiu["ge"] + lanes["ge"], rel=0.02)
    assert array["ff"] >= 4 * 4 * 8
    assert pair["ff"] >= 2 * 4 * 4 * 8
    assert serial["ge"] < array["ge"] < pair["ge"]


def test_peers_stand_beside():
    for width in (64, 128, 256):
        assert compare.peers(width)
    assert {row["peer"] for row in compare.peers(256)} == {"iDMA", "Gemmini"}
    assert all(row["source"] for row in compare.peers(256))


@needs_pyosys
def test_command_prints_blocks(call):
    status, out, err = call("--config", "tiny", "--target", "generic", "--top", "npu")
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    for block in ("xbar", "lmem", "dp_r0", "dp_w0", "dis_w"):
        assert any(line[:2] == [block, "1"] for line in lines)


def test_command_prints_results(call, monkeypatch):
    status, out, err = call("--results")
    assert (status, err) == (0, "")
    assert re.search(r"default +lane_ports=False max_element_cells=1 +lane +ecp5", out)
    monkeypatch.setattr(results, "load", list)
    monkeypatch.setattr(results, "failures", lambda rows: ["something is too large"])
    status, out, _ = call("--results", "--json")
    assert status == 1
    assert json.loads(out)["failures"] == ["something is too large"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "z80"],
            "target must be one of ecp5, ice40, xilinx, generic, asic, not 'z80'",
        ),
        (["--target", "xilinx", "--pnr"], "--pnr must be left out for the target 'xilinx'"),
        (
            ["--config", "tiny", "--cells", 16, "--compare"],
            "cells must be at least 32 and beat_cells at least 2 for --compare, not 16 and 4",
        ),
    ],
)
def test_errors_are_one_line(call, arguments, message):
    assert call(*arguments) == (2, "", f"error: {message}\n")
