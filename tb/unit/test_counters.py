"""The performance counters: sums of events, and the cycles of each segment."""

import random

from cornerturn.tiu.counters import Counters
from unit.bench import trace

EVENTS = {
    "read": "beats_read", "write": "beats_written", "stall_hazard": "stalls_hazard",
    "stall_fence": "stalls_fence", "stall_port": "stalls_port",
    "stall_completion": "stalls_completion", "row": "rows", "block": "blocks",
    "issued": "instructions",
}  # fmt: skip
"""Each input, and what it counts."""


def counted(stimulus):
    """The counters in every cycle."""
    return [outputs["values"] for outputs in trace(Counters(), stimulus, ["values"])]


def test_every_event_counts_two_cycles_later():
    """Each on its own counter, many in one cycle, zero after a flush."""
    rng = random.Random(20)
    stimulus = [{name: rng.getrandbits(1) for name in EVENTS} for _ in range(200)]
    for cycle in (0, 77, 150):
        stimulus[cycle]["flush"] = 1
    totals = dict.fromkeys(EVENTS.values(), 0)
    before = dict.fromkeys(EVENTS, 0)
    for inputs, values in zip(stimulus, counted(stimulus), strict=True):
        assert {name: values[name] for name in totals} == totals
        for event, name in EVENTS.items():
            totals[name] = 0 if inputs.get("flush") else totals[name] + before[event]
        before = inputs


def segment(first, *completions, end):
    """Cycles of one segment: issues at `first`, completions offered at the given ones."""
    stimulus = [{} for _ in range(end + 1)]
    stimulus[first]["issued"] = 1
    for offered in completions:
        stimulus[offered - 1]["done"] = 1
    stimulus[end]["segment_end"] = 1
    return stimulus


def test_cycles_are_those_from_first_issue_to_last_completion():
    """Several instructions: at every completion the count is right from there on."""
    values = counted([*segment(3, 13, 20, 41, end=50), {}])
    cycles = [value["cycles"] for value in values]
    assert cycles == [0] * 13 + [10] * 7 + [17] * 21 + [38] * 11


def test_an_instruction_that_issues_and_completes_in_the_next_cycle_takes_one():
    """The shortest there can be: `done` comes with the issue."""
    values = counted([*segment(2, 3, end=6), {}])
    assert [value["cycles"] for value in values] == [0] * 3 + [1] * 5


def test_segments_add_up():
    """The time between a stop and the next issue counts in none; nor does one without an issue."""
    parts = [segment(2, 9, end=12), segment(7, 11, 30, end=33), [{"segment_end": 1}] * 3]
    parts += [segment(0, 5, end=6), [{}]]
    values = counted([inputs for part in parts for inputs in part])
    assert values[-1]["cycles"] == 7 + 23 + 5
    assert values[-1]["instructions"] == 3


def test_a_stop_that_lasts():
    """`segment_end` stays high for as long as the engine stands."""
    stop = [{"segment_end": 1}] * 20
    values = counted([*segment(1, 8, end=9), *stop, *segment(1, 8, end=9), *stop])
    assert values[-1]["cycles"] == 14


def test_flush_starts_again_from_zero():
    """In the middle of a segment, and of the time behind it."""
    running = segment(1, 8, end=20)[:12]
    flushed = [*running, {"flush": 1}, *segment(4, 10, end=11), {}]
    values = counted(flushed)
    assert values[12]["cycles"] == 7
    assert values[13]["cycles"] == values[13]["instructions"] == 0
    assert values[-1]["cycles"] == 6
