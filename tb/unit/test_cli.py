"""The command line: what it prints, its exit codes, and that errors leave nothing behind."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cornerturn.config import PRESETS
from cornerturn.fields import Pair, Tag
from cornerturn_model.instruction import Across, Along, Digit, Limits, Segment, Tile
from cornerturn_sim import arrays, cli, program
from cornerturn_sim.pins import SimulationError

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "transpose.toml")
COMMANDS = ("verilog", "regs", "info", "run", "relayout", "bench", "demo")


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Call the command line in an empty folder; returns (status, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            cli.main([str(argument) for argument in arguments])
        return exit_.value.code, *capsys.readouterr()

    return run


def program_file(folder, text):
    """A file of a program in a folder."""
    path = folder / "program.toml"
    path.write_text(text)
    return path


def test_without_arguments_it_helps(call):
    status, out, err = call()
    assert (status, err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(call, command):
    status, out, err = call(command, "--help")
    assert (status, err) == (0, "")
    assert f"Example: cornerturn {command}" in out


def test_module_and_script_are_the_same():
    run = subprocess.run(
        [sys.executable, "-m", "cornerturn", "info", "--json"], capture_output=True, text=True
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["config"] == PRESETS["default"].parameters()


def test_info_shows_everything_that_follows(call):
    status, out, _ = call("info", "--config", "npu64")
    assert status == 0
    for name, value in PRESETS["npu64"].derived().items():
        assert any(line.split()[:2] == [name, str(value)] for line in out.splitlines())


@pytest.mark.parametrize("name", PRESETS)
def test_options_change_a_preset(call, name):
    _, out, _ = call("info", "--json", "--config", name, "--lanes", 5, "--lanes-per-hop", 2)
    report = json.loads(out)
    config = PRESETS[name].replace(lanes=5, lanes_per_hop=2)
    assert report["config"] == config.parameters()
    assert report["derived"] == config.derived()
    _, out, _ = call("info", "--json", "--config", name, "--no-lane-ports", "--cell-width", 16)
    assert json.loads(out)["config"]["lane_ports"] is False
    assert json.loads(out)["config"]["cell_width"] == 16


def test_options_change_a_file(call, tmp_path):
    (tmp_path / "mine.toml").write_text('lanes = 6\nlmem = "blackbox"\n')
    _, out, _ = call("info", "--json", "--config", "mine.toml", "--cells", 64)
    expected = PRESETS["default"].replace(lanes=6, lmem="blackbox", cells=64)
    assert json.loads(out)["config"] == expected.parameters()


@pytest.mark.parametrize("top", ["engine", "axi"])
def test_verilog_writes_its_files(call, tmp_path, top):
    status, out, err = call(
        "verilog", "--config", "tiny", "--top", top, "--json", "-o", "deep/engine.v"
    )
    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["files"] == [f"deep/engine.{kind}" for kind in ("v", "json", "core", "vlt")]
    assert report["lines"] == len((tmp_path / "deep/engine.v").read_text().splitlines())


def test_regs_writes_the_formats_asked_for(call, tmp_path):
    status, out, err = call("regs", "--format", "rdl", "--json", "-o", "deep/regs")
    assert (status, err) == (0, "")
    assert json.loads(out)["files"] == ["deep/regs/cornerturn.rdl"]
    assert [path.name for path in (tmp_path / "deep/regs").iterdir()] == ["cornerturn.rdl"]
    _, out, _ = call("regs", "--format", "rdl", "-o", "deep/regs")
    assert out == "written:\n  deep/regs/cornerturn.rdl\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["regs", "--format", "rdl,pdf"], "format must be one of rdl, html, md, c, not 'pdf'"),
        (["info", "--lanes", 1], "lanes must be 2 to 256, not 1"),
        (
            ["info", "--lanes", "x"],
            (
                "Invalid value for '--lanes': Input should be a valid integer, "
                "unable to parse string as an integer"
            ),
        ),
        (
            ["verilog", "--config", "none", "-o", "x.v"],
            (
                "config must be one of tiny, default, wide, npu64 or an existing .toml file, "
                "not 'none'"
            ),
        ),
        (
            ["relayout", "a b", "x.npy", "-o", "y.npy", "--size", "a"],
            "size must be NAME=N, not 'a'",
        ),
        (
            ["relayout", "a b -> b a", "none.npy", "-o", "y.npy"],
            "none.npy: No such file or directory",
        ),
        (["run", "none.toml"], "none.toml: No such file or directory"),
        (["run"], "Missing argument 'program'."),
        (["turn"], "No such command 'turn'."),
        (
            ["run", EXAMPLE, "--sim", "model", "--vcd", "x.vcd"],
            "vcd must be left out with sim 'model', which has no signals",
        ),
        *(
            (["run", EXAMPLE, "--sim", sim, *options], message)
            for sim in ("pysim", "icarus", "verilator")
            for options, message in (
                (["--vcd", "none/x.vcd"], "none/x.vcd: No such file or directory"),
                (["--vcd", "."], ".: Is a directory"),
                (
                    ["--lmem", "blackbox"],
                    "lmem must be 'inferred' for simulation, not 'blackbox'",
                ),
            )
        ),
        (["run", EXAMPLE, "-o", "res"], "output must be a .npy file, not 'res'"),
        (["run", EXAMPLE, "-o", "."], "output must be a .npy file, not '.'"),
        (["run", EXAMPLE, "-o", f"{EXAMPLE}/x.npy"], f"{EXAMPLE}/x.npy: Not a directory"),
        (
            ["run", EXAMPLE, "--seed", -1],
            "Invalid value for '--seed': Input should be greater than or equal to 0",
        ),
        (
            ["verilog", "--config", "tiny", "-o", "x.json"],
            "output must not end in .json, as a file beside it does, not 'x.json'",
        ),
        (["verilog", "--config", "tiny", "-o", "."], ".: Is a directory"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(call, tmp_path, arguments, message):
    assert call(*arguments) == (2, "", f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_simulation_is_not_bad_usage(call, monkeypatch):
    def hang(*_, **__):
        raise SimulationError("no progress\nin 5000 cycles")

    monkeypatch.setattr(program, "run_program", hang)
    assert call("run", EXAMPLE) == (1, "", "error: no progress in 5000 cycles\n")


@pytest.mark.parametrize("sim", ["model", "pysim"])
def test_run_transposes(call, tmp_path, sim):
    status, out, err = call("run", EXAMPLE, "--sim", sim, "--json", "-o", "after.npy")
    report = json.loads(out)
    assert (status, err) == (0, "")
    assert report["match"] is True
    assert report["sim"] == sim
    assert [item["status"] for item in report["completions"]] == ["OK"] * 3
    assert report["cycles"] == report["model_cycles"] == report["counters"]["cycles"]
    after = np.load(tmp_path / "after.npy")
    before = 16 * np.arange(4)[:, None] + np.arange(6)
    assert np.array_equal(after[0, 16:40].reshape(6, 4), before.T)
    assert np.array_equal(after[:, :4], before[:, :4].T)
    assert np.array_equal(after[:, 4:6], before[:, 4:6])


def test_run_prints_completions_and_counters(call):
    status, out, _ = call("run", EXAMPLE)
    assert status == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["2", "swap", "OK"] in rows
    assert ["beats_read", "18"] in rows
    assert ["match", "True"] in rows


def test_a_mismatch_is_status_1(call, monkeypatch):
    real = program.golden.run

    def wrong(*arguments):
        result = real(*arguments)
        return result._replace(counters=result.counters | {"rows": 0})

    monkeypatch.setattr(program.golden, "run", wrong)
    status, out, _ = call("run", EXAMPLE, "--json")
    assert (status, json.loads(out)["match"]) == (1, False)


def test_a_rejected_instruction_is_reported(call, tmp_path):
    path = program_file(
        tmp_path,
        '[[instruction]]\nop = "swap"\nlane = 3\ncell = 0\nn = 2\n[[instruction]]\nop = "nop"',
    )
    status, out, _ = call("run", path, "--config", "tiny", "--json")
    report = json.loads(out)
    assert (status, report["match"]) == (0, True)
    assert [item["status"] for item in report["completions"]] == ["RANGE", "OK"]


def test_config_of_a_program(call, tmp_path):
    path = program_file(tmp_path, "[config]\nlanes = 3\ncells = 64\n")
    assert json.loads(call("run", path, "--json")[1])["config"]["lanes"] == 3
    (tmp_path / "mine.toml").write_text("lanes = 5\n")
    path = program_file(tmp_path, 'config = "mine.toml"\n')
    _, out, _ = call("run", path, "--json", "--cells", 32)
    assert [json.loads(out)["config"][name] for name in ("lanes", "cells")] == [5, 32]


def test_lmem_of_a_program(tmp_path):
    config = PRESETS["tiny"]
    address = arrays.initial_lmem(config, pattern="address")
    assert [address[1, 2], address[3, 255]] == [18, (48 + 255) % 256]
    assert not arrays.initial_lmem(config).any()
    first, second = (arrays.initial_lmem(config, pattern="random", seed=n) for n in (1, 2))
    assert not np.array_equal(first, second)
    np.save(tmp_path / "lmem.npy", first)
    path = program_file(tmp_path, 'config = "tiny"\nlmem = {file = "lmem.npy"}\n')
    left, report = program.run_program(program.read_program(path), sim="model")
    assert np.array_equal(left, first)
    assert report["utilisation"] is None


def test_seed_option_changes_the_lmem(call, tmp_path):
    path = program_file(tmp_path, 'config = "tiny"\nlmem = {pattern = "random"}\n')
    for seed, name in ((1, "a.npy"), (2, "b.npy")):
        call("run", path, "--sim", "model", "--seed", seed, "-o", name)
    assert not np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))


TILE = '[[instruction]]\nop = "tile"\nsrc = {along = {lane = 0, cell = 0}}\n'
SWAP = '[[instruction]]\nop = "swap"\nlane = 0\ncell = 0\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "program program.toml must be valid TOML: "),
        ("a = 1", "program program.toml must name only config, lmem, instruction, not a"),
        ("lmem = 1", "[lmem] must be a table, not 1"),
        ("[lmem]\nsize = 1", "[lmem] must name only pattern, seed, file, not size"),
        (
            '[lmem]\npattern = "ones"',
            "pattern must be one of zeros, random, address, not 'ones'",
        ),
        ("[config]\nlane = 1", "[config] must name only lanes, "),
        ("instruction = 1", "instruction in program program.toml must be a list, not 1"),
        ("instruction = [1]", "instruction 0 must be a table, not 1"),
        (
            '[[instruction]]\nop = "turn"',
            "op of instruction 0 must be one of tile, swap, fence, halt, nop, not 'turn'",
        ),
        (
            '[[instruction]]\nop = "nop"\nn = 1',
            "instruction 0 (nop) must name only op, not n",
        ),
        (f"{TILE}n = 1", "instruction 0 (tile) must name dst"),
        (
            f"{TILE}dst = {{memory = {{}}}}",
            "dst of instruction 0 (tile) must be {across = {...}} or {along = {...}}",
        ),
        (
            f"{TILE}dst = {{across = {{lane = 0.5, cell = 0}}}}",
            "lane of dst of instruction 0 (tile) must be an integer, not 0.5",
        ),
        (
            f"{TILE}digits = [{{count = 1, in_step = [1]}}]",
            "in_step of item 0 of digits of instruction 0 (tile) must be [lanes, cells], not [1]",
        ),
        (
            f"{TILE}n = {{co = 4}}",
            "n of instruction 0 (tile) must name co_align",
        ),
        (
            "[[instruction]]\nop = []",
            "op of instruction 0 must be one of tile, swap, fence, halt, nop, not []",
        ),
        (
            f"{TILE}n = 1979-05-27",
            "n of instruction 0 (tile) must be an integer, not datetime.date(1979, 5, 27)",
        ),
        (f"{TILE}n = true", "n of instruction 0 (tile) must be an integer, not True"),
        (f"{TILE}n = -1", "n of instruction 0 (tile) must be 0 to 4294967295, not -1"),
        (
            f"{TILE}digits = [{{count = 1}}, {{count = -1}}]",
            "count of item 1 of digits of instruction 0 (tile) must be 0 to 4294967295, not -1",
        ),
        (f"{TILE}limits = 3", "limits of instruction 0 (tile) must be a table, not 3"),
        (
            f'{TILE}row_tag = "n"',
            "row_tag of instruction 0 (tile) must be one of none, ho, wo, co, not 'n'",
        ),
        (f"{SWAP}n = {{co = 2}}", "n of instruction 0 (swap) must be an integer, not {'co': 2}"),
        (
            f"{SWAP}n = 2\nelement_cells = {{a = 1}}",
            "element_cells of instruction 0 (swap) must be an integer, not {'a': 1}",
        ),
        (f"{SWAP}n = -1", "instruction 0 (swap): n must be 0 to 16777215, not -1"),
        (
            f"{SWAP}n = 1\n{SWAP}n = 1\nelement_cells = 3",
            "instruction 1 (swap): element_cells must be 1, 2, 4 or 8, not 3",
        ),
        ("[lmem]\nfile = 5", "file of [lmem] must be a string, not 5"),
        ('[lmem]\nseed = "x"', "seed must be an integer of at least 0, not 'x'"),
        ("[lmem]\nseed = -4", "seed must be an integer of at least 0, not -4"),
        ('[lmem]\nfile = "none.npy"', "none.npy: No such file or directory"),
        (
            '[lmem]\nfile = "program.toml"',
            "program.toml must be an image that can be read: cannot identify image file ",
        ),
        (
            "config = [1]",
            "config of program program.toml must be a name or a table, not [1]",
        ),
        ("[config]\nlanes = []", "lanes must be an integer, not []"),
    ],
)
def test_errors_in_a_program(call, tmp_path, text, message):
    program_file(tmp_path, text)
    status, out, err = call("run", "program.toml", "--sim", "model")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert err.count("\n") == 1


def test_a_program_says_all_that_an_instruction_can(tmp_path):
    text = """
[[instruction]]
op = "tile"
src = {across = {lane = 1, cell = 2, step = 3}}
dst = {along = {lane = 4, cell = 5}}
n = {co = 9, co_align = 2, in_step = [1, -1], out_step = [0, 6], tag = "co", multiplier = 2}
digits = [{count = 3, in_step = [0, 4], tag = "ho", multiplier = 1}, {count = 2}]
element_cells = 2
ho = {count = 7, out_step = [1, 0]}
wo = {count = 8, tag = "wo"}
limits = {ho = 10, co = 12}
row_tag = "co"
pair = "load"
half_cells = 64
"""
    digits = (Digit(3, (0, 4), tag=Tag.HO, multiplier=1), Digit(2))
    tile = Tile(
        Across(1, 2, 3), Along(4, 5), Segment(9, 2, (1, -1), (0, 6), Tag.CO, 2), digits, 2,
        Digit(7, out_step=(1, 0)), Digit(8, tag=Tag.WO), Limits(ho=10, co=12), Tag.CO,
        Pair.LOAD, 64,
    )  # fmt: skip
    assert program.read_program(program_file(tmp_path, text)).instructions == [tile]


def test_relayout_writes_nothing_else_than_it_says(call, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((3, 4), np.uint8))
    for name, message in (
        ("x.xyz", "output must be a .npy file or an image, not 'x.xyz'"),
        (".", ".: Is a directory"),
        ("in.npy/x.npy", "in.npy/x.npy: Not a directory"),
    ):
        arguments = ["relayout", "a b -> b a", "in.npy", "-o", name, "--sim", "model"]
        assert call(*arguments) == (2, "", f"error: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


@pytest.mark.parametrize("name", ["in.npy", "in.png"])
def test_an_input_that_is_no_array_is_named(call, tmp_path, name):
    (tmp_path / name).touch()
    status, out, err = call("relayout", "a b -> b a", name, "-o", "x.npy", "--sim", "model")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {name} must be ")


def test_relayout_of_a_file(call, tmp_path):
    array = np.arange(5 * 6, dtype=np.uint16).reshape(5, 6)
    np.save(tmp_path / "in.npy", array)
    status, out, err = call(
        "relayout", "(a b) c -> c b a", "in.npy", "-o", "out.npy", "--size", "a=1", "--config",
        "tiny", "--sim", "model", "--json",
    )  # fmt: skip
    assert (status, err) == (0, "")
    report = json.loads(out)
    for name in (
        "pattern", "shape_in", "shape_out", "dtype", "sim", "config", "match", "cycles",
        "limit_cycles", "bus_limit_cycles", "utilisation", "instructions",
    ):  # fmt: skip
        assert name in report
    assert np.array_equal(np.load(tmp_path / "out.npy"), array.T[:, :, None])


def test_relayout_prints_a_table(call, tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((3, 4), np.uint8))
    status, out, _ = call("relayout", "a b -> b a", "in.npy", "-o", "out.npy", "--config", "tiny")
    assert status == 0
    assert ["match", "True"] in [line.split() for line in out.splitlines()]


def test_demo_needs_no_external_tool(call, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    status, out, err = call("demo", "-o", "results", "--json")
    assert (status, err) == (0, "")
    report = json.loads(out)
    assert report["match"] is True
    assert all((tmp_path / file).is_file() for file in report["files"])


def test_demo_says_where_it_wrote(call, monkeypatch):
    from cornerturn_sim import demo

    files = ["results/a.png", "results/report.md"]
    part = {"match": False, "cycles": 3}
    report = {"match": False, "crop": part, "plane": part, "files": files}
    monkeypatch.setattr(demo, "photo", lambda out: report)
    status, out, _ = call("demo", "--photo", "-o", "results")
    assert status == 1
    assert out.splitlines()[-2:] == [f"  {file}" for file in files]


def test_bench_prints_tables_or_one_object(call, monkeypatch):
    from cornerturn_sim import bench

    few = list(bench.works())[:2]
    real = bench.rows
    monkeypatch.setattr(bench, "rows", lambda sim, *, track: real(sim, selection=few, track=track))
    status, out, err = call("bench", "--json")
    assert (status, err) == (0, "")
    assert len(json.loads(out)["rows"]) == 2 * len(few)
    status, out, err = call("bench")
    assert (status, err) == (0, "")
    assert few[0].name in out
