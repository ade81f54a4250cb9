"""The register slice: one cycle, one transfer a cycle, nothing lost or doubled."""

import random

import pytest
from cornerturn.tiu.slice import Slice
from unit.bench import simulate


def transfers(offer, take, *, count=200, flush=None):
    """(cycle taken, cycle given, value) as seen at both ends; random with these chances."""
    block = Slice(8)
    rng = random.Random(50)
    sent, received = [], []

    async def bench(ctx, reset):
        value, offered = 0, False
        for cycle in range(10 * count):
            offered = offered or (len(sent) < count and rng.random() < offer)
            ctx.set(block.i.valid, offered)
            ctx.set(block.i.payload, value % 256)
            ctx.set(block.o.ready, rng.random() < take)
            ctx.set(block.flush, cycle == flush)
            if ctx.get(block.o.valid) and ctx.get(block.o.ready):
                received.append((cycle, ctx.get(block.o.payload)))
            if offered and ctx.get(block.i.ready):
                sent.append((cycle, value % 256))
                value, offered = value + 1, False
            await ctx.tick()

    simulate(block, bench)
    return sent, received


@pytest.mark.parametrize("offer", [0.2, 0.8, 1])
@pytest.mark.parametrize("take", [0.2, 0.8, 1])
def test_everything_comes_out_once_and_in_order(offer, take):
    sent, received = transfers(offer, take)
    assert len(sent) == 200
    assert [value for _, value in received] == [value for _, value in sent]


def test_one_cycle_and_full_rate():
    sent, received = transfers(1, 1)
    assert [cycle for cycle, _ in sent] == list(range(200))
    assert [cycle for cycle, _ in received] == list(range(1, 201))


def test_flush_drops_what_is_inside():
    sent, received = transfers(1, 0.3, flush=100)
    before = [value for cycle, value in received if cycle <= 100]
    after = [value for cycle, value in received if cycle > 100]
    first = [value for cycle, value in sent if cycle > 100]
    assert before == [value for _, value in sent][: len(before)]
    assert after == first
