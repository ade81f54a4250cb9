"""The rotator: units turned downwards, in one or two stages."""

import random

import pytest
from cornerturn.soc.rotator import Rotator
from unit.bench import trace


@pytest.mark.parametrize(
    ("units", "unit", "stages"), [(4, 8, 1), (8, 4, 1), (16, 8, 1), (128, 8, 2)]
)
def test_units_come_down_after_so_many_cycles(units, unit, stages):
    rng = random.Random(units)
    rotator = Rotator(units, unit)
    assert rotator.stages == stages
    stimulus = [
        {"i": rng.getrandbits(units * unit), "amount": rng.randrange(units), "enable": 1}
        for _ in range(60)
    ]
    expected = []
    for inputs in stimulus:
        distance = inputs["amount"] * unit
        value = inputs["i"]
        turned = value >> distance | value << (units * unit - distance)
        expected.append(turned & ((1 << units * unit) - 1))
    seen = [outputs["o"] for outputs in trace(rotator, stimulus, ["o"])]
    assert seen[stages:] == expected[: len(expected) - stages]


def test_nothing_moves_without_enable():
    stimulus = [{"i": 0x1234, "enable": 1}, {"i": 0xFFFF}, {"i": 0xFFFF}]
    assert trace(Rotator(2, 8), stimulus, ["o"])[1:] == [{"o": 0x1234}] * 2
