"""How far seven terms reach, exactly; and the jumps that walk them."""

import random

import pytest
from cornerturn.fields import DIGITS
from cornerturn.tiu.span import Span
from unit.bench import trace

TERMS = len(DIGITS) + 1  # the row, then the digits from the innermost on
HUGE = (1 << 31) - 1, -(1 << 31), 1 << 16, -(1 << 16), 1 << 30


def walk(rng, width):
    """A start, an extent, and seven (step, count less one): near the bounds, or far beyond."""
    size = 1 << width
    extent = rng.choice([0, 1, 3, 7]) & (size - 1)
    start = rng.choice([0, size - 1 - extent, size, rng.randrange(size), 1 << 31])
    start &= ~extent
    reach = rng.choice([1, size // 8, size])
    terms = []
    wild = rng.random() < 0.5
    for _ in range(TERMS):
        count_m1 = rng.choice([0, 0, 1, 1, 2, 3, 65535, rng.randrange(1 << 16)])
        step = rng.choice([0, rng.randint(-reach, reach), size, -size, size - 1, *HUGE])
        if not wild:
            count_m1, step = rng.choice([0, 0, 1, 2]), rng.choice([0, rng.randint(-reach, reach)])
        terms.append((step, count_m1))
    return start, extent, terms


def stimulus(walks):
    """A term a cycle; the sums start with the walk, and the last of them is done ten cycles on."""
    for start, extent, terms in walks:
        for cycle in range(TERMS + 3):
            inputs = {"start": start, "extent": extent, "clear": cycle == 1}
            if cycle < TERMS:
                inputs["step"] = terms[cycle][0]
            if 1 <= cycle <= TERMS:
                inputs["count_m1"] = terms[cycle - 1][1]
            if 2 <= cycle < TERMS + 2:
                inputs |= {"add": 1, "digit": cycle > 2}
            yield inputs


@pytest.mark.parametrize("width", [1, 3, 8, 16])
def test_bounds_are_exact_or_known_to_be_outside(width):
    """Whatever the terms: a spill means that the span leaves the address space."""
    rng = random.Random(width)
    size = 1 << width
    walks = [walk(rng, width) for _ in range(150)]
    seen = trace(Span(width), list(stimulus(walks)), ["low", "high", "spill", "jump"])
    inside = 0
    for (start, extent, terms), outputs in zip(walks, seen[TERMS + 2 :: TERMS + 3], strict=True):
        ways = [step * count_m1 for step, count_m1 in terms]
        low = start + sum(way for way in ways if way < 0)
        high = start + sum(way for way in ways if way > 0) + extent
        if outputs["spill"]:
            assert low < 0 or high >= size
            continue
        assert (outputs["low"], outputs["high"]) == (low, high)
        inside += low >= 0 and high < size
        for index in range(len(DIGITS)):
            step = terms[len(DIGITS) - index][0]
            inner = sum(ways[1 : len(DIGITS) - index])
            assert outputs["jump"][index] == (step - inner) % size
    assert inside > 5


def test_ignored_terms_leave_the_start():
    """However large they are."""
    terms = [(HUGE[0], 65535), (-5, 3)] + [(HUGE[1], 1)] * (TERMS - 2)
    inputs = [cycle | {"ignore": 1} for cycle in stimulus([(6, 1, terms), (8, 0, terms)])]
    seen = trace(Span(3), inputs, ["low", "high", "spill"])[TERMS + 2 :: TERMS + 3]
    assert seen == [{"low": 6, "high": 7, "spill": 0}, {"low": 0, "high": 0, "spill": 1}]


@pytest.mark.parametrize("width", [1, 3, 8, 16])
def test_seven_terms_that_all_go_one_way(width):
    """The longest sums there are without a spill."""
    size = 1 << width
    up, down = [(size - 1, 1)] * TERMS, [(-size, 1)] * TERMS
    walks = [(size - 1, 0, up), (0, 0, down), (size - 1, 0, [*up[:3], *down[:4]])]
    seen = trace(Span(width), list(stimulus(walks)), ["low", "high", "spill"])
    assert seen[TERMS + 2 :: TERMS + 3] == [
        {"low": size - 1, "high": 8 * (size - 1), "spill": 0},
        {"low": -7 * size, "high": 0, "spill": 0},
        {"low": size - 1 - 4 * size, "high": 4 * (size - 1), "spill": 0},
    ]
