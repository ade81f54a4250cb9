"""The lane against its area budget, and against what was recorded."""

import csv

import pytest

pytest.importorskip("pyosys", reason="pyosys (extra `synth`) is not installed")

from cornerturn.config import PRESETS
from cornerturn_synth.lane import BASELINE, BUDGET, lane_area


def _recorded(cells):
    with BASELINE.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if int(row.pop("max_element_cells")) == cells:
                return {name: int(value) for name, value in row.items()}
    raise AssertionError(f"{BASELINE.name} has no row for {cells}")


@pytest.mark.parametrize("cells", [1, pytest.param(8, marks=pytest.mark.full)])
def test_area_is_as_recorded(cells):
    config = PRESETS["default"].replace(lane_ports=False, max_element_cells=cells)
    assert lane_area(config) == _recorded(cells)


def test_recorded_area_is_within_the_budget():
    recorded = _recorded(1)
    assert {name: recorded[name] <= limit for name, limit in BUDGET.items()} == dict.fromkeys(
        BUDGET, True
    )
