"""Re-layout of arrays and images: right for every permutation, fast where an axis is a row."""

import itertools

import einops
import numpy as np
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn_sim.arrays import read_array, write_array
from cornerturn_sim.build import missing
from cornerturn_sim.patterns import resolve
from cornerturn_sim.relayout import relayout, relayout_file
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

TINY, DEFAULT = PRESETS["tiny"], PRESETS["default"]

CONFIGS = {
    "tiny": TINY.replace(cells=1024),
    "default": DEFAULT,
    "int4": Config(lanes=7, lanes_per_hop=3, cell_width=4, beat_cells=8, cells=2048),
    "16 bit": Config(lanes=5, cell_width=16, beat_cells=2, cells=1024),
    "one cell": Config(lanes=6, beat_cells=1, cells=1024),
}


def numbers(shape, dtype, seed=0):
    """An array of any bits."""
    rng = np.random.default_rng(seed)
    raw = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    return raw.view(dtype)[..., 0]


def pattern_of(order):
    """The einops pattern of a permutation."""
    names = "abcdef"[: len(order)]
    return f"{' '.join(names)} -> {' '.join(names[axis] for axis in order)}"


def smallest(config):
    """An element of one cell, or of two where none is smaller."""
    return {4: np.uint8, 8: np.uint8, 16: np.int16, 32: np.int32}[config.cell_width]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("axes", [1, 2, 3, 4])
def test_every_permutation(axes, config):
    shapes = {1: [(37,)], 2: [(9, 14), (1, 8)], 3: [(3, 10, 4), (8, 1, 7)], 4: [(2, 3, 5, 4)]}
    for order, shape in itertools.product(itertools.permutations(range(axes)), shapes[axes]):
        array = numbers(shape, smallest(config))
        output, report = relayout(array, pattern_of(order), config=config, sim="model")
        assert report["match"], order
        np.testing.assert_array_equal(output, array.transpose(order))


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_any_permutation_of_up_to_six_axes(config):
    @settings(max_examples=settings.default.max_examples // 4)
    @given(st.data())
    def relaid_out(data):
        order = data.draw(st.integers(2, 6).flatmap(lambda axes: st.permutations(range(axes))))
        shape = data.draw(st.tuples(*[st.integers(1, 4)] * len(order)))
        dtypes = [
            dtype for dtype in (np.uint8, np.float16, np.int32)
            if config.cell_width <= 8 * np.dtype(dtype).itemsize
            <= config.cell_width * config.max_element_cells
        ]  # fmt: skip
        array = numbers(shape, data.draw(st.sampled_from(dtypes)), seed=1)
        output, report = relayout(array, pattern_of(order), config=config, sim="model")
        assert report["match"]
        assert output.tobytes() == array.transpose(order).tobytes()

    relaid_out()


@pytest.mark.parametrize(("backend", "config"), [
    ("pysim", TINY), ("icarus", TINY), ("icarus", DEFAULT.replace(cells=512)),
    pytest.param("verilator", TINY, marks=pytest.mark.full),
])  # fmt: skip
@pytest.mark.parametrize(("pattern", "shape", "dtype"), [
    ("h w c -> w h c", (13, 6, 3), np.uint8),
    ("(b h) w -> w b h", (8, 10), np.int16),
])  # fmt: skip
def test_rtl_does_what_the_model_does(pattern, shape, dtype, backend, config):
    reason = missing(backend)
    if reason is not None:
        pytest.skip(reason)
    array = numbers(shape, dtype)
    sizes = {"b": 2} if "b" in pattern else {}
    output, report = relayout(array, pattern, sizes=sizes, config=config, sim=backend)
    assert report["match"]
    assert report["cycles"] == report["model_cycles"]
    np.testing.assert_array_equal(output, einops.rearrange(array, pattern, **sizes))


@pytest.mark.parametrize(("pattern", "shape", "dtype", "share"), [
    ("h w -> w h", (128, 256), np.uint8, 0.98),
    ("h w -> w h", (64, 128), np.int32, 0.98),
    ("h w c -> c h w", (160, 96, 3), np.uint8, 0.98),
    ("c h w -> h w c", (3, 96, 160), np.uint8, 0.98),
    ("b h w -> b w h", (32, 32, 32), np.uint8, 0.98),
    ("b h w -> b w h", (2, 64, 64), np.uint8, 0.9),
    ("b s h d -> b h s d", (1, 64, 8, 64), np.int16, 0.98),
    ("h w c -> w h c", (160, 96, 3), np.uint8, 0.74),  # three bytes move as four
    ("a b c d e f -> f e d c b a", (3, 4, 5, 6, 7, 3), np.uint16, 0.7),
])  # fmt: skip
def test_share_of_the_bus(pattern, shape, dtype, share):
    _, report = relayout(numbers(shape, dtype), pattern, config=DEFAULT, sim="model")
    assert report["match"]
    assert report["bus_limit_cycles"] / report["cycles"] >= share
    assert report["limit_cycles"] / report["cycles"] >= 0.87


def test_report_names_everything():
    _, report = relayout(numbers((4, 6), np.uint8), "h w -> w h", config=TINY, sim="model", seed=5)
    assert report == {
        "pattern": "h w -> w h", "shape_in": [4, 6], "shape_out": [6, 4], "dtype": "uint8",
        "sim": "model", "config": TINY.parameters(), "match": True, "cycles": report["cycles"],
        "model_cycles": report["cycles"], "limit_cycles": 6, "bus_limit_cycles": 6,
        "utilisation": round(6 / report["cycles"], 4), "instructions": 1, "element_cells": 1,
        "seed": 5,
    }  # fmt: skip


@pytest.mark.parametrize(("array", "pattern", "sizes", "message"), [
    (np.zeros((2, 2)), "h w -> w h", {},
     "array must hold numbers of 8, 16 or 32 bits, not float64"),
    (np.zeros((2, 0), np.uint8), "h w -> w h", {}, "array must have elements, not shape (2, 0)"),
    (np.zeros((40, 40), np.uint8), "h w -> w h", {},
     "tensor must fit the lmem twice: it takes 800 cells of each lane, and there are 256"),
    (np.zeros((2, 2), np.uint8), "h w", {}, "pattern must have one '->', not 'h w'"),
    (np.zeros((2, 2), np.uint8), "h w -> h", {},
     "pattern must have the same axes on both sides, not w on one"),
    (np.zeros((2, 2), np.uint8), "h w c -> c w h", {},
     "pattern must have 2 axes on its left side, as the array, not 3"),
    (np.zeros((6, 2), np.uint8), "(h i) w -> w h i", {},
     "sizes must be given of all but one of h, i, not of none"),
    (np.zeros((6, 2), np.uint8), "(h i) w -> w h i", {"h": 4},
     "sizes of h i must multiply to 6, not 4"),
    (np.zeros((6, 2), np.uint8), "h w -> w h", {"x": 4},
     "sizes must name axes of the pattern, not x"),
])  # fmt: skip
def test_errors_say_what_to_do(array, pattern, sizes, message):
    with pytest.raises((TypeError, ValueError)) as error:
        relayout(array, pattern, sizes=sizes, config=TINY, sim="model")
    assert str(error.value) == message


def test_element_that_no_cells_hold():
    config = Config(lanes=4, cell_width=16, beat_cells=2, cells=64)
    with pytest.raises(ValueError, match="elements of 1 to 2 cells of 16 bits, not uint8"):
        relayout(np.zeros((2, 2), np.uint8), "h w -> w h", config=config, sim="model")


def test_model_has_no_waveform():
    with pytest.raises(ValueError, match="vcd must be left out with sim 'model'"):
        relayout(np.zeros((2, 2), np.uint8), "h w -> w h", config=TINY, sim="model", vcd="x.vcd")


@pytest.mark.parametrize(("pattern", "shape", "sizes", "expected"), [
    ("b (h h2) w -> b w (h2 h)", (2, 12, 5), {"h2": 3}, ((2, 4, 3, 5), (0, 3, 2, 1))),
    ("h w c -> c h w", (2, 12, 5), {}, ((24, 5), (1, 0))),
    ("... a b -> ... b a", (2, 3, 12, 5), {}, ((6, 12, 5), (0, 2, 1))),
    ("a b 1 -> b a", (2, 3, 1), {}, ((2, 3), (1, 0))),
    ("a b -> b a", (1, 3), {}, ((3,), (0,))),
    ("a b -> b a", (1, 1), {}, ((1,), (0,))),
])  # fmt: skip
def test_patterns_resolve_to_the_fewest_axes(pattern, shape, sizes, expected):
    assert tuple(resolve(pattern, shape, sizes)) == expected


@pytest.mark.parametrize("name", ["turned.png", "turned.npy"])
def test_image_through_files(name, tmp_path):
    before = numbers((20, 9, 3), np.uint8)
    Image.fromarray(before).save(tmp_path / "before.png")
    report = relayout_file(
        "h w c -> w h c", tmp_path / "before.png", tmp_path / "out" / name, config=DEFAULT,
        sim="model",
    )  # fmt: skip
    assert report["match"]
    np.testing.assert_array_equal(read_array(report["out"]), before.transpose(1, 0, 2))


def test_array_that_is_no_image_needs_npy(tmp_path):
    with pytest.raises(ValueError, match="npy file for float32 of shape"):
        write_array(tmp_path / "x.png", np.zeros((2, 3, 4), np.float32))


@pytest.mark.parametrize(
    "backend", ["pysim", "icarus", pytest.param("verilator", marks=pytest.mark.full)]
)
def test_waveform(backend, tmp_path):
    reason = missing(backend)
    if reason is not None:
        pytest.skip(reason)
    vcd = tmp_path / "wave.vcd"
    relayout(numbers((4, 4), np.uint8), "h w -> w h", config=TINY, sim=backend, vcd=vcd)
    text = vcd.read_text()
    assert "$enddefinitions" in text
    assert text.count("\n#") > 100
