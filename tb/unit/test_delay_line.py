"""A delay of a constant number of cycles, in registers or in a RAM."""

import random

import pytest
from cornerturn.tiu.delay_line import DelayLine
from unit.bench import trace


@pytest.mark.parametrize("cycles", [0, 1, 2, 3, 4, 5, 7, 8, 13])
@pytest.mark.parametrize("width", [1, 9])
def test_output_is_input_of_so_many_cycles_ago(cycles, width):
    """Nothing before the first input comes out, after power-up and after a reset in the middle."""
    rng = random.Random(cycles * width)
    line = DelayLine(width, cycles)
    assert line.cycles == cycles
    values = [rng.getrandbits(width) | 1 for _ in range(4 * cycles + 3)]
    again = [rng.getrandbits(width) for _ in range(3 * cycles)]
    stimulus = [{"i": value} for value in values] + [{"i": 1, "rst": 1}]
    stimulus += [{"i": value} for value in again]
    seen = [outputs["o"] for outputs in trace(line, stimulus, ["o"])]
    assert seen[: len(values)] == ([0] * cycles + values)[: len(values)]
    assert seen[len(values) + 1 :] == ([0] * cycles + again)[: len(again)]
