"""The sequencer by itself: its latency and its rate; what its slots hold is in `test_issue`."""

import random

import pytest
from cornerturn.tiu.sequencer import Sequencer
from unit.bench import CONFIGS, plain, poke, simulate
from unit.test_issue import LATENCY, Empty, Swap, Tile


def play(config, instructions, take=1.0):
    """Cycles in which rows were taken, and (cycle, slot) of everything given."""
    block = Sequencer(config)
    rng = random.Random(51)
    rows = [row for instruction in instructions for row, _ in instruction.rows()]
    total = sum(len(list(slots)) for item in instructions for _, slots in item.rows())
    taken, given = [], []

    async def bench(ctx, reset):
        cycle = 0
        while len(given) < total:
            left = rows[len(taken) :]
            ctx.set(block.i_row.valid, bool(left))
            if left:
                poke(ctx, block.i_row.payload, left[0])
            ctx.set(block.o_slot.ready, rng.random() < take)
            if ctx.get(block.o_slot.valid) and ctx.get(block.o_slot.ready):
                given.append((cycle, plain(ctx.get(block.o_slot.payload))))
            if left and ctx.get(block.i_row.ready):
                taken.append(cycle)
            await ctx.tick()
            cycle += 1
        assert not ctx.get(block.o_slot.valid)  # nothing is left over

    simulate(block, bench)
    return taken, given


def work(config):
    """Instructions of every kind."""
    rng = random.Random(52)
    kinds = [
        lambda: Tile(rng, config, rows=3),
        lambda: Swap(rng, config),
        lambda: Empty(rng, config),
    ]
    return [rng.choice(kinds)() for _ in range(12)]


@pytest.mark.parametrize("name", CONFIGS)
def test_a_slot_a_cycle(name):
    taken, given = play(CONFIGS[name], work(CONFIGS[name]))
    first = taken[0] + LATENCY
    assert [cycle for cycle, _ in given] == list(range(first, first + len(given)))


@pytest.mark.parametrize("name", CONFIGS)
def test_back_pressure_changes_only_the_time(name):
    _, quick = play(CONFIGS[name], work(CONFIGS[name]))
    _, slow = play(CONFIGS[name], work(CONFIGS[name]), take=0.3)
    assert [slot for _, slot in slow] == [slot for _, slot in quick]


@pytest.mark.parametrize("name", CONFIGS)
def test_first_and_last_slots_are_marked(name):
    instructions = work(CONFIGS[name])
    _, given = play(CONFIGS[name], instructions)
    expected = []
    for instruction in instructions:
        sizes = [len(list(slots)) for _, slots in instruction.rows()]
        for row, size in enumerate(sizes):
            for slot in range(size):
                last = row == len(sizes) - 1
                expected.append((row == slot == 0, last and slot == size - 1, slot == 0, not last))
    names = ("starts", "ends", "begin", "more_rows")
    assert [tuple(slot[name] for name in names) for _, slot in given] == expected
