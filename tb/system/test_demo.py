"""The demonstrations, and the transpose in place that one of them shows."""

import json

import numpy as np
import pytest
from cornerturn.config import PRESETS
from cornerturn_sim import demo
from cornerturn_sim.build import missing


def test_small_demo_needs_nothing_but_the_package(tmp_path):
    report = demo.small(tmp_path / "demo")
    assert report["match"]
    assert report["sim"] == "pysim"
    assert json.loads((tmp_path / "demo" / "report.json").read_text())["match"]
    assert "module cornerturn" in (tmp_path / "demo" / "cornerturn.v").read_text()
    before, after = (np.load(tmp_path / "demo" / f"{name}.npy") for name in ("before", "after"))
    np.testing.assert_array_equal(after, before.transpose(1, 0, 2))


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_plane_in_place(blocks):
    side = 4 * blocks
    plane = np.arange(side * side, dtype=np.uint8).reshape(side, side)
    turned, report = demo.transpose_in_place(plane, config=PRESETS["tiny"], sim="pysim")
    assert report["match"]
    np.testing.assert_array_equal(turned, plane.T)


@pytest.mark.parametrize("shape", [(4, 8), (6, 6), (4, 4, 4), (64, 64)])
def test_plane_that_cannot_be_turned_in_place(shape):
    with pytest.raises(ValueError, match="plane must"):
        demo.transpose_in_place(np.zeros(shape, np.uint8), config=PRESETS["tiny"])


@pytest.mark.full
def test_photo_demo(tmp_path):
    reason = missing("verilator")
    if reason is not None:
        pytest.skip(reason)
    report = demo.photo(tmp_path)
    assert report["match"]
    assert min(report[part]["utilisation"] for part in ("crop", "plane")) > 0.98
    assert (tmp_path / "crop.png").stat().st_size > 10_000
