"""The row generator against plain loops over the digits."""

import itertools
import random

import pytest
from amaranth import Value
from cornerturn.fields import DIGITS
from cornerturn.tiu.rows import Rows
from unit.bench import CONFIGS, each_config, plain, poke, simulate

LATENCY = 4
SIDES = ("in", "out")


class Walk:
    """An instruction: digits with a count and steps, on both sides, in lanes and cells."""

    def __init__(self, rng, config, *, swap=False, empty=False, counts=None):
        self.config = config
        self.sizes = {"lane": 1 << config.lane_bits, "cell": config.cells}
        self.swap, self.empty = swap, empty
        self.code = rng.randrange(config.element_codes)
        self.start = {side: self._draw(rng) for side in SIDES}
        small = [1, 1, 1, 2, 3, 4] if counts is None else counts
        self.counts = [rng.choice(small) for _ in DIGITS]
        self.steps = [
            {side: rng.choice([self._draw(rng), self._zero()]) for side in SIDES} for _ in DIGITS
        ]
        self.along = {side: rng.getrandbits(1) for side in SIDES}
        most = max(1, config.cells >> self.code)
        self.elements = rng.choice([1, config.lanes, rng.randint(1, most)])
        if swap:
            self.elements = rng.randint(2, max(2, config.lanes))
            self.counts = [1] * (len(DIGITS) - 1) + [self.elements]
            self.steps[-1] = {side: {"lane": 1, "cell": 1 << self.code} for side in SIDES}

    def _zero(self):
        return {"lane": 0, "cell": 0}

    def _draw(self, rng):
        """An address; as a step, the upper half of the numbers is negative."""
        return {unit: rng.randrange(size) for unit, size in self.sizes.items()}

    def job(self):
        """What the check makes of it."""
        jumps = []
        for index in range(len(DIGITS)):
            inner = range(index + 1, len(DIGITS))
            jumps.append({
                side: {
                    unit: (self.steps[index][side][unit] - sum(
                        (self.counts[d] - 1) * self.steps[d][side][unit] for d in inner)) % size
                    for unit, size in self.sizes.items()
                }
                for side in SIDES
            })  # fmt: skip
        return {
            "start": self.start,
            "jump": jumps,
            "count_m1": [count - 1 for count in self.counts],
            "job": {
                "empty": self.empty, "swap": self.swap, "code": self.code,
                "in_along": self.along["in"], "out_along": self.along["out"],
                "cells": self.elements << self.code, "in_step_m1": 1,
            },
        }  # fmt: skip

    def rows(self):
        """The rows, by plain loops; an empty instruction has one that is marked as such."""
        counts = [1] * len(DIGITS) if self.empty else self.counts
        indexes = list(itertools.product(*map(range, counts)))
        word = self.config.beat_cells
        for number, index in enumerate(indexes):
            cells = (self.elements - self.swap * number) << self.code
            row = {"first": number == 0, "last": number == len(indexes) - 1, "cells": cells}
            beats = {}
            for side in SIDES:
                row[side] = {
                    unit: (self.start[side][unit] + sum(
                        i * step[side][unit] for i, step in zip(index, self.steps, strict=True)
                    )) % size
                    for unit, size in self.sizes.items()
                }  # fmt: skip
                offset = row[side]["cell"] % word if self.along[side] else 0
                beats[side] = -(-(offset + cells) // word)
            yield row | {"read_beats": beats["in"], "write_beats": beats["out"]}


def seen_row(block, ctx):
    """The row that is offered, without what is the same for all of an instruction."""
    row = plain(ctx.get(block.o_row.payload))
    return {name: row[name] for name in ("first", "last", *SIDES, "read_beats", "write_beats")} | {
        "cells": row["job"]["cells"]
    }, row["job"]


async def run(ctx, block, walks, *, ready=lambda: True):
    """Hand over instructions, each when the one before has issued; returns rows and their cycles.

    `ready` says in each cycle whether the row is taken.
    """
    taken, cycles, handed = [], [], []
    walks = list(walks)
    offered, cycle = 0, 0
    left = sum(1 for walk in walks for _ in walk.rows())
    issued = 0
    stood = None
    while left:
        offering = offered < len(walks) and issued == offered
        ctx.set(block.i_job.valid, offering)
        if offering:
            poke(ctx, block.i_job.payload, walks[offered].job())
        takes = ready()
        ctx.set(block.o_row.ready, takes)
        ctx.set(block.issued, 0)
        if ctx.get(block.o_row.valid):
            offer = ctx.get(Value.cast(block.o_row.payload))
            assert stood in (None, offer)  # what is offered stands
            stood = None if takes else offer
            if takes:
                row, job = seen_row(block, ctx)
                wanted = walks[issued - (not row["first"])].job()["job"]
                assert {name: job[name] for name in wanted if name != "cells"} == {
                    name: value for name, value in wanted.items() if name != "cells"
                }
                taken.append(row)
                cycles.append(cycle)
                left -= 1
                issued += row["first"]
                ctx.set(block.issued, row["first"])
        else:
            assert stood is None
        if offering and ctx.get(block.i_job.ready):
            offered += 1
            handed.append(cycle)
        await ctx.tick()
        cycle += 1
    ctx.set(block.i_job.valid, 0)
    ctx.set(block.issued, 0)
    for _ in range(2 * LATENCY):
        assert not ctx.get(block.o_row.valid)
        await ctx.tick()
    return taken, cycles, handed


@each_config
@pytest.mark.parametrize("hurry", [1, 0.5, 0.15], ids=["free", "half", "slow"])
def test_rows_are_those_of_plain_loops(config, hurry):
    """Random digits of any sign, SWAPs and empty instructions; nothing lost, nothing twice."""
    rng = random.Random(25)
    block = Rows(config)
    kinds = [{}] * 8 + [{"swap": True}, {"empty": True}, {"counts": [1]}]
    walks = [Walk(rng, config, **rng.choice(kinds)) for _ in range(20)]
    walks = [walk for walk in walks if sum(1 for _ in walk.rows()) < 150 * hurry]
    expected = [row for walk in walks for row in walk.rows()]
    assert len(expected) > 20

    async def bench(ctx, reset):
        rows, _, _ = await run(ctx, block, walks, ready=lambda: rng.random() < hurry)
        assert rows == expected

    simulate(block, bench)


def test_a_row_a_cycle():
    """The first four cycles after the instruction was taken, then one in every cycle."""
    config = CONFIGS["tiny"]
    rng = random.Random(26)
    block = Rows(config)
    walks = [Walk(rng, config, counts=[2, 3]) for _ in range(2)]

    async def bench(ctx, reset):
        for walk in walks:
            _, cycles, handed = await run(ctx, block, [walk])
            first = handed[0] + LATENCY
            assert cycles == list(range(first, first + len(list(walk.rows()))))

    simulate(block, bench)


def test_rows_are_made_ahead():
    """The first is there after four cycles, taken or not; behind it, one for every register."""
    config = CONFIGS["tiny"]
    rng = random.Random(33)
    block = Rows(config)
    walk = Walk(rng, config, counts=[1])
    walk.counts[4] = LATENCY + 1  # the last leaves the walk in the cycle after the first is taken

    async def bench(ctx, reset):
        poke(ctx, block.i_job.payload, walk.job())
        ctx.set(block.i_job.valid, 1)
        await ctx.tick()
        ctx.set(block.i_job.valid, 0)
        for cycle in range(1, 3 * LATENCY):
            assert ctx.get(block.o_row.valid) == (cycle >= LATENCY)
            assert not ctx.get(block.i_job.ready)
            await ctx.tick()
        ctx.set(block.o_row.ready, 1)
        for index, row in enumerate(walk.rows()):
            assert ctx.get(block.i_job.ready) == (index > 0)
            assert seen_row(block, ctx)[0] == row
            await ctx.tick()
        assert not ctx.get(block.o_row.valid)

    simulate(block, bench)


@pytest.mark.parametrize("rows", [4, 5, 8, 30])
def test_no_gap_between_two_instructions(rows):
    """The next one, taken while the one before is walked, follows it at once."""
    config = CONFIGS["tiny"]
    rng = random.Random(27)
    block = Rows(config)
    walks = [Walk(rng, config, counts=[1]) for _ in range(3)]
    for walk in walks:
        walk.counts[-1] = rows

    async def bench(ctx, reset):
        # The first row issues at LATENCY; the next instruction is offered a cycle later.
        taken, cycles, _ = await run(ctx, block, walks)
        assert len(taken) == 3 * rows
        gap = max(0, LATENCY + 1 - rows)
        for index in range(1, 3):
            assert cycles[index * rows] - cycles[index * rows - 1] == 1 + gap

    simulate(block, bench)


def test_many_counts():
    """More than eight bits of an outer digit, around an inner one."""
    config = CONFIGS["one cell"]
    rng = random.Random(28)
    block = Rows(config)
    walk = Walk(rng, config, counts=[1])
    walk.counts[0] = 300
    walk.counts[5] = 2

    async def bench(ctx, reset):
        rows, _, _ = await run(ctx, block, [walk])
        assert rows == list(walk.rows())

    simulate(block, bench)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("after", range(6))
def test_kill_ends_the_instruction_at_issue(rows, after):
    """Its rows end with one marked last; the next instruction is whole."""
    config = CONFIGS["tiny"]
    rng = random.Random(29)
    block = Rows(config)
    first, second = (Walk(rng, config, counts=[1]) for _ in range(2))
    first.counts[2] = rows

    async def bench(ctx, reset):
        poke(ctx, block.i_job.payload, first.job())
        ctx.set(block.i_job.valid, 1)
        await ctx.tick()
        ctx.set(block.i_job.valid, 0)
        await ctx.tick().repeat(LATENCY - 1)
        ctx.set(block.o_row.ready, 1)
        ended = False
        for cycle in range(20):
            ctx.set(block.issued, cycle == 0)
            ctx.set(block.kill, cycle == 1 + after)
            if ctx.get(block.o_row.valid):
                row, _ = seen_row(block, ctx)
                assert not ended
                ended = row["last"]
                # Five rows may be on their way.
                assert cycle <= 1 + after + LATENCY
            await ctx.tick()
        assert ended
        got, _, _ = await run(ctx, block, [second])
        assert got == list(second.rows())

    simulate(block, bench)


def test_kill_spares_the_instruction_behind():
    """Once it has been taken, the one at issue has been walked already."""
    config = CONFIGS["tiny"]
    rng = random.Random(30)
    block = Rows(config)
    first, second = (Walk(rng, config, counts=[2]) for _ in range(2))

    async def bench(ctx, reset):
        poke(ctx, block.i_job.payload, first.job())
        ctx.set(block.i_job.valid, 1)
        ctx.set(block.o_row.ready, 1)
        await ctx.tick()
        poke(ctx, block.i_job.payload, second.job())
        rows = []
        for _ in range(300):
            ready = ctx.get(block.i_job.ready)
            row = seen_row(block, ctx)[0] if ctx.get(block.o_row.valid) else None
            ctx.set(block.issued, bool(row and row["first"]))
            if row:
                rows.append(row)
            # The second has been taken, and two rows of the first are still to come.
            ctx.set(block.kill, bool(row) and len(rows) == 62)
            assert len(rows) != 62 or not ctx.get(block.i_job.valid)
            await ctx.tick()
            if ready:
                ctx.set(block.i_job.valid, 0)
        assert rows == [*first.rows(), *second.rows()]

    simulate(block, bench)


@pytest.mark.parametrize("after", range(8))
def test_flush_drops_everything(after):
    """In any stage; what comes behind is whole."""
    config = CONFIGS["tiny"]
    rng = random.Random(31)
    block = Rows(config)
    first, second = (Walk(rng, config, counts=[2]) for _ in range(2))

    async def bench(ctx, reset):
        poke(ctx, block.i_job.payload, first.job())
        ctx.set(block.i_job.valid, 1)
        await ctx.tick()
        ctx.set(block.i_job.valid, 0)
        for _ in range(after):
            await ctx.tick()
        ctx.set(block.flush, 1)
        await ctx.tick()
        ctx.set(block.flush, 0)
        assert not ctx.get(block.o_row.valid)
        rows, _, _ = await run(ctx, block, [second])
        assert rows == list(second.rows())

    simulate(block, bench)
