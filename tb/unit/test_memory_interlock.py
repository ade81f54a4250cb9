"""Reads of memory wait for the writes that are not answered, and for their common box."""

import random

import pytest
from cornerturn.config import PRESETS
from cornerturn.tiu.memory_interlock import MemoryInterlock
from unit.bench import trace

LATENCY = 2


def ranges(rng, top):
    low, high = sorted(rng.randrange(top) for _ in range(2))
    return {"valid": 1, "low": low, "high": high}


@pytest.mark.parametrize("top", [12, 1 << 32])
def test_blocked_while_the_box_is_met(top):
    """Random issues and answers, as many in flight as there can be."""
    config = PRESETS["default"]
    rng = random.Random(43)
    stimulus, expected = [], []
    unanswered = []  # ranges, oldest first
    box, since = None, 0  # least range of what is unanswered; the cycle it is of
    reads, came = None, 0
    most = 0
    for cycle in range(3000):
        if cycle % 7 == 0:
            reads, came = ranges(rng, top) | {"valid": rng.random() < 0.9}, cycle
        known = cycle >= came + LATENCY and cycle >= since + LATENCY
        meets = bool(
            box and reads["valid"] and reads["low"] <= box[1] and box[0] <= reads["high"]
        )  # fmt: skip
        expected.append(meets if known else None)
        issue = rng.random() < 0.1 and len(unanswered) < config.outstanding
        done = bool(unanswered) and rng.random() < 0.12
        writes = ranges(rng, top)
        stimulus.append({"reads": reads, "writes": writes, "issue": issue, "done": done})
        if issue:
            new = (writes["low"], writes["high"])
            box = new if not unanswered else (min(box[0], new[0]), max(box[1], new[1]))
            unanswered.append(new)
        if done:
            unanswered.pop(0)
            box = box if unanswered else None
        if issue or done:
            since = cycle + 1
        most = max(most, len(unanswered))
    assert most == config.outstanding
    seen = [one["blocked"] for one in trace(MemoryInterlock(config), stimulus, ["blocked"])]
    for cycle, (found, wanted) in enumerate(zip(seen, expected, strict=True)):
        assert wanted is None or found == wanted, cycle
    assert expected.count(True) > 100 < expected.count(False)


def test_bounds_are_included():
    config = PRESETS["tiny"]
    written = {"valid": 1, "low": 5, "high": 9}
    for low, high, met in [(0, 4, False), (0, 5, True), (9, 20, True), (10, 20, False)]:
        reads = {"valid": 1, "low": low, "high": high}
        stimulus = [{"writes": written, "issue": 1, "reads": reads}] + [{"reads": reads}] * 4
        seen = trace(MemoryInterlock(config), stimulus, ["blocked"])
        assert [one["blocked"] for one in seen[1 + LATENCY :]] == [met] * 2
