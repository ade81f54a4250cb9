"""The read-after-write interlock between instructions."""

import itertools
import random

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.tiu.interlock import Interlock
from unit.bench import trace

COMPARED = 2  # cycles from `reads` to `blocked`
COUNTED = 3  # cycles from an issue to `blocked`

SMALL = Config(lanes=3, cells=16, beat_cells=4)  # two entries
LARGE = Config(lanes=40, cells=64, beat_cells=4)  # a train so long that there are five


def boxes(rng, config):
    """A random region, sometimes empty."""
    lanes = sorted(rng.randrange(config.lanes) for _ in range(2))
    words = sorted(rng.randrange(config.words) for _ in range(2))
    return {
        "valid": rng.random() < 0.9,
        "lane_low": lanes[0], "lane_high": lanes[1],
        "word_low": words[0], "word_high": words[1],
    }  # fmt: skip


def places(box):
    """Every lane and word of a region."""
    if not box["valid"]:
        return set()
    lanes = range(box["lane_low"], box["lane_high"] + 1)
    words = range(box["word_low"], box["word_high"] + 1)
    return set(itertools.product(lanes, words))


@pytest.mark.parametrize("config", [SMALL, LARGE, PRESETS["tiny"]], ids=["small", "large", "tiny"])
def test_blocked_while_something_read_is_to_be_written(config):
    """Random regions, issues and launches, as many in flight as there can be."""
    rng = random.Random(24)
    stimulus, expected = [], []  # expected: blocked, or None where it is not to be looked at
    in_flight = []  # [cycle of issue, places written, cycle before the launch or None]
    cycle = most = 0
    for _ in range(120):
        # An instruction: its regions come, and stand until it issues.
        reads, writes = boxes(rng, config), boxes(rng, config)
        came = cycle
        wait = rng.choice([config.check_interval, config.check_interval, rng.randint(16, 40)])
        for age in range(wait + 1):
            inputs = {"reads": reads, "writes": writes, "issue": age == wait}
            waiting = [entry for entry in in_flight if entry[2] is None]
            if age == wait and len(waiting) == config.in_flight:
                launch = True  # there are never more
            else:
                launch = rng.random() < 1 / (1.2 * config.check_interval)
            if waiting and launch:
                waiting[0][2] = cycle
                inputs["launching"] = 1
            blocked = any(
                issued + COUNTED <= cycle and (launching is None or cycle <= launching + 1)
                and places(reads) & written
                for issued, written, launching in in_flight
            )  # fmt: skip
            expected.append(blocked if cycle >= came + COUNTED else None)
            stimulus.append(inputs)
            cycle += 1
        in_flight.append([cycle - 1, places(writes), None])
        most = max(most, sum(entry[2] is None for entry in in_flight))
    assert most == config.in_flight
    seen = [outputs["blocked"] for outputs in trace(Interlock(config), stimulus, ["blocked"])]
    for cycle, (found, wanted) in enumerate(zip(seen, expected, strict=True)):
        assert wanted is None or found == wanted, cycle
    assert {True, False} <= set(expected)


def test_latencies():
    """Of a region that comes, of an issue, and of a launch: D = 1 behind it."""
    region = {"valid": 1, "lane_low": 1, "lane_high": 1, "word_low": 2, "word_high": 2}
    other = region | {"word_low": 1, "word_high": 1}
    stimulus = [{"writes": region, "reads": region, "issue": cycle == 5} for cycle in range(30)]
    launch = 25
    stimulus[launch - 1]["launching"] = 1
    for cycle in (12, 13, 14):
        stimulus[cycle]["reads"] = other
    seen = [outputs["blocked"] for outputs in trace(Interlock(SMALL), stimulus, ["blocked"])]
    first = 5 + COUNTED
    expected = [first <= cycle < launch + SMALL.raw_gap for cycle in range(30)]
    for cycle in (12, 13, 14):
        expected[cycle + COMPARED] = False
    assert seen == expected


@pytest.mark.parametrize("side", ["lane", "word"])
def test_regions_that_touch(side):
    """Bounds are included: neighbours do not meet, one common lane or word does."""
    config = PRESETS["tiny"]
    whole = {"valid": 1, "lane_low": 0, "lane_high": 3, "word_low": 0, "word_high": 3}
    for low, high in itertools.combinations_with_replacement(range(4), 2):
        written = whole | {f"{side}_low": 1, f"{side}_high": 2}
        reads = whole | {f"{side}_low": low, f"{side}_high": high}
        stimulus = [{"writes": written, "issue": 1}] + [{"reads": reads}] * 6
        seen = trace(Interlock(config), stimulus, ["blocked"])
        assert seen[-1]["blocked"] == (low <= 2 and high >= 1)
