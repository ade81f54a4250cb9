"""The stage of a pair: block i is stored when it is loaded, and loaded when i - 2 is stored."""

import random

import pytest
from cornerturn.tiu.stage import Stage
from unit.bench import simulate


def follow(blocks, *, load=1.0, store=1.0, rows=1, seed=0):
    """Run one pair; the cycles of (load begins, filled, store begins, emptied) of every block.

    `load` and `store` are the chances that a side goes on where it may, `rows` its slots a block.
    """
    rng = random.Random(seed)
    stage = Stage()
    events = {name: [] for name in ("load_begins", "filled", "store_begins", "emptied")}

    async def bench(ctx, reset):
        ctx.set(stage.start, 1)
        ctx.set(stage.paired, 1)
        await ctx.tick()
        ctx.set(stage.start, 0)
        loaded = stored = 0  # slots gone
        cycle = 0
        while stored < blocks * rows:
            begins = loaded % rows == 0
            goes = loaded < blocks * rows and rng.random() < load
            goes = goes and (not begins or bool(ctx.get(stage.may_load)))
            now = {"load_begins": goes and begins, "filled": goes and loaded % rows == rows - 1}
            loaded += goes
            begins = stored % rows == 0
            goes = rng.random() < store and (not begins or bool(ctx.get(stage.may_store)))
            now |= {"store_begins": goes and begins, "emptied": goes and stored % rows == rows - 1}
            stored += goes
            for name, happens in now.items():
                ctx.set(getattr(stage, name), happens)
                events[name] += [cycle] if happens else []
            await ctx.tick()
            cycle += 1
            assert cycle < 1000, "the pair stands still"

    simulate(stage, bench)
    return events


@pytest.mark.parametrize(("load", "store"), [(1, 1), (1, 0.3), (0.3, 1), (0.5, 0.5)])
@pytest.mark.parametrize("rows", [1, 3])
def test_blocks_wait_for_their_half(load, store, rows):
    events = follow(30, load=load, store=store, rows=rows, seed=38)
    loads, filled, stores, emptied = events.values()
    assert len(loads) == len(filled) == len(stores) == len(emptied) == 30
    assert all(store > full for full, store in zip(filled, stores, strict=True))
    assert all(load > free for free, load in zip(emptied, loads[2:], strict=False))


def test_neither_side_waits_longer_than_it_must():
    """A block is stored in the cycle behind its last write, and loaded in that behind the read."""
    loads, filled, stores, emptied = follow(20, rows=4).values()
    assert loads == [4 * block for block in range(20)]
    assert stores == [cycle + 1 for cycle in filled]
    assert emptied == [cycle + 3 for cycle in stores]
    loads, filled, stores, emptied = follow(20, rows=1, store=0.2, seed=1).values()
    assert loads[2:] == [cycle + 1 for cycle in emptied[:-2]]


def test_a_tile_without_a_partner_never_waits():
    """Also when the pair before ended with its halves full or taken."""
    stage = Stage()

    async def bench(ctx, reset):
        assert ctx.get(stage.may_load)
        assert ctx.get(stage.may_store)
        for paired in (1, 0):
            ctx.set(stage.start, 1)
            ctx.set(stage.paired, paired)
            await ctx.tick()
            ctx.set(stage.start, 0)
            for block in range(4):
                assert ctx.get(stage.may_load) == (not paired or block < 2)
                assert ctx.get(stage.may_store) == (not paired)
                ctx.set(stage.load_begins, ctx.get(stage.may_load))
                await ctx.tick()
                ctx.set(stage.load_begins, 0)

    simulate(stage, bench)
