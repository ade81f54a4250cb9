"""The tiler: which blocks there are, in which order, and the offsets of each."""

import random

import pytest
from cornerturn import isa
from cornerturn.tiu.tiler import Tiler
from unit.bench import CONFIGS, draw, plain, poke, simulate

LOOPS = ("ho", "wo", "co")
SIDES = ("in", "out")
UNITS = ("lane", "offset")


class Job:
    """Loops around blocks: how often each, its steps, and the segmented axis."""

    def __init__(self, rng, config, repeats=None, *, whole=None, rest=None):
        ho, wo = repeats or [rng.choice([1, 1, 2, 3]) for _ in range(2)]
        whole = rng.choice([0, 1, 1, 2, 3]) if whole is None else whole
        rest = rng.choice([0, 1]) if rest is None else rest
        self.config = config
        self.segment = rng.choice([2, 5, (1 << 24) - 1])  # co_align
        rest = (rest or not whole) and rng.randint(1, self.segment - 1)
        self.co = whole * self.segment + rest
        repeat_co = (self.co + self.segment - 1) // self.segment
        self.repeats = (ho, wo, repeat_co)
        # As far as each may go by itself, so that places are exact and never wrap.
        far = {"lane": 1 << config.lane_bits + 4, "offset": 1 << config.address_bits}

        def step(unit, count):
            return rng.choice([0, rng.randint(-far[unit], far[unit] - 1) // max(1, count - 1)])

        self.start = {
            side: {unit: rng.randrange(far[unit]) for unit in UNITS} for side in SIDES
        }  # fmt: skip
        self.steps = [
            {side: {unit: step(unit, count) for unit in UNITS} for side in SIDES}
            for count in self.repeats
        ]
        self.walk = draw(rng, isa.walk(config))

    def payload(self):
        """The instruction as the check hands it over."""
        return {
            "start": self.start,
            "step": self.steps,
            "repeat_m1": [count - 1 for count in self.repeats],
            "segment": self.segment,
            "rest": self.co % self.segment,
            "walk": self.walk,
        }

    def blocks(self):
        """(block, trace) of every block, by the plain loops of the specification."""
        ho, wo, repeat_co = self.repeats
        before = None
        for h in range(ho):
            for w in range(wo):
                for k in range(repeat_co):
                    index = (h, w, k)
                    offset = {
                        side: {
                            unit: sum(
                                i * step[side][unit]
                                for i, step in zip(index, self.steps, strict=True)
                            )
                            for unit in UNITS
                        }
                        for side in SIDES
                    }
                    start = {
                        side: {u: self.start[side][u] + offset[side][u] for u in UNITS}
                        for side in SIDES
                    }
                    segment = min(self.segment, self.co - k * self.segment)
                    block = {
                        "first": before is None,
                        "last": index == tuple(count - 1 for count in self.repeats),
                        "start": start,
                        "segment": segment,
                    }
                    if before is not None:  # the outermost loop whose index is another
                        same = [a == b for a, b in zip(before, index, strict=True)]
                        block["advanced"] = same.index(False)
                    else:
                        block["walk"] = self.walk
                    before = index
                    yield block, {
                        "index": list(index), "repeat_co_m1": repeat_co - 1, "segment": segment,
                        "offset": offset,
                    }  # fmt: skip


class Bench:
    """A check that hands over jobs one by one, and a row generator that takes blocks."""

    def __init__(self, config, rng):
        self.config, self.rng = config, rng
        self.block = Tiler(config)
        self.taken = []  # (cycle, block)
        self.cycle = 0
        self.traced = None  # what the trace should show
        self.shown = None  # the job whose payload stands

    async def step(self, ctx, job=None, *, valid=0, ready=1, kill=0, flush=0):
        """One cycle, in which the payload of a job stands, or of none.

        Returns what was taken: whether the job was, and a block or None.
        """
        block = self.block
        ctx.set(block.prepare, job is not None)
        ctx.set(block.i_job.valid, valid)
        if job is not self.shown:
            payload = job.payload() if job else draw(self.rng, isa.instruction(self.config))
            poke(ctx, block.i_job.payload, payload)
            self.shown = job
        ctx.set(block.o_block.ready, ready)
        ctx.set(block.kill, kill)
        ctx.set(block.flush, flush)
        if self.traced is not None:
            assert plain(ctx.get(block.trace)) == self.traced
        job_taken = bool(valid and ctx.get(block.i_job.ready))
        self.offered = ctx.get(block.o_block.valid)
        out = plain(ctx.get(block.o_block.payload)) if self.offered and ready else None
        if out:
            assert out["first"] == job_taken  # a job goes with its first block
            self.taken.append((self.cycle, out))
        await ctx.tick()
        self.cycle += 1
        return job_taken, out

    async def play(self, ctx, jobs, *, early=1, between=1, hurry=1, share=1):
        """Hand over jobs: each `early` cycles before it is valid, `between` after the last was.

        `hurry` is the share of cycles in which blocks are taken, `share` that in which a job is
        valid, once it may be.
        """
        pause, ahead, left = 0, 0, list(jobs)
        blocks = [pair for job in jobs for pair in job.blocks()]
        for _, trace in blocks:
            out = None
            while not out:
                job = left[0] if left and not pause else None
                valid = job is not None and ahead >= early and self.rng.random() < share
                taken, out = await self.step(ctx, job, valid=valid, ready=self.rng.random() < hurry)
                pause = max(0, pause - 1)
                ahead = (ahead + 1) * (job is not None)
                if taken:
                    left.pop(0)
                    pause, ahead = between, 0
            self.traced = trace
        for _ in range(4):
            assert await self.step(ctx) == (False, None)
            assert not self.offered
        return blocks


def compare(bench, blocks):
    """What was taken against what was expected, all that means something."""
    assert len(bench.taken) == len(blocks)
    for (_, found), (wanted, _) in zip(bench.taken, blocks, strict=True):
        assert {name: found[name] for name in wanted} == wanted


def run(config, seed, jobs, **options):
    """Hand over jobs and compare all blocks; returns the cycles in which each was taken."""
    bench = Bench(config, random.Random(seed))

    async def drive(ctx, reset):
        compare(bench, await bench.play(ctx, jobs, **options))

    simulate(bench.block, drive)
    return [cycle for cycle, _ in bench.taken]


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("hurry", [1, 0.4], ids=["free", "slow"])
def test_blocks_are_those_of_plain_loops(name, hurry):
    """Random loops, steps of any sign and size, whole segments, a rest or both."""
    config = CONFIGS[name]
    rng = random.Random(91)
    jobs = [Job(rng, config) for _ in range(14)]
    assert {(job.co >= job.segment, job.co % job.segment > 0) for job in jobs} == {
        (True, False), (False, True), (True, True)
    }  # fmt: skip
    run(config, 92, jobs, hurry=hurry, share=hurry, between=2)


def test_the_blocks_of_the_readme():
    """11 channels in segments of 4, twice: offsets of input and output, worked out by hand."""
    job = Job(random.Random(103), CONFIGS["tiny"], (1, 2), whole=2, rest=1)
    job.segment, job.co, job.repeats = 4, 11, (1, 2, 3)
    job.start = {side: {"lane": 0, "offset": 0} for side in SIDES}
    job.steps = [
        {side: dict(zip(UNITS, step, strict=True)) for side, step in zip(SIDES, steps, strict=True)}
        for steps in (((0, 0), (0, 0)), ((0, 100), (0, 64)), ((4, 0), (0, 16)))
    ]
    bench = Bench(CONFIGS["tiny"], random.Random(104))

    async def drive(ctx, reset):
        await bench.play(ctx, [job])

    simulate(bench.block, drive)
    found = [
        (block["segment"], *(tuple(block["start"][side].values()) for side in SIDES))
        for _, block in bench.taken
    ]
    assert found == [
        (4, (0, 0), (0, 0)), (4, (4, 0), (0, 16)), (3, (8, 0), (0, 32)),
        (4, (0, 100), (0, 64)), (4, (4, 100), (0, 80)), (3, (8, 100), (0, 96)),
    ]  # fmt: skip


@pytest.mark.parametrize("repeats", [(1, 1), (3, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("segments", [(1, 0), (0, 1), (3, 0), (3, 1)], ids=str)
def test_every_shape_of_loops(repeats, segments):
    """Loops that run once, and those that do not, in any place; a block a cycle."""
    config = CONFIGS["tiny"]
    whole, rest = segments
    job = Job(random.Random(93), config, repeats, whole=whole, rest=rest)
    cycles = run(config, 94, [job])
    number = repeats[0] * repeats[1] * (whole + rest)
    # One cycle after `prepare`, and then in every one.
    assert cycles == list(range(1, 1 + number))


def test_long_loops():
    """More than eight bits of each."""
    config = CONFIGS["one cell"]
    for repeats, whole in (((1, 1), 260), ((1, 260), 0), ((260, 1), 0)):
        run(config, 95, [Job(random.Random(96), config, repeats, whole=whole, rest=1)])


@pytest.mark.parametrize("blocks", [3, 4, 6])
def test_no_gap_between_two_instructions(blocks):
    """The next one, prepared by the time the last block goes, follows at once."""
    config = CONFIGS["tiny"]
    rng = random.Random(97)
    jobs = [Job(rng, config, (1, 1), whole=blocks, rest=0) for _ in range(4)]
    cycles = run(config, 98, jobs, early=0)
    assert cycles == list(range(1, 1 + 4 * blocks))


@pytest.mark.parametrize("wait", range(5))
def test_a_job_that_is_valid_later(wait):
    """Its first block is offered with it, and stands until it is taken."""
    config = CONFIGS["tiny"]
    bench = Bench(config, random.Random(99))
    job = Job(bench.rng, config, (2, 1), whole=2, rest=1)

    async def drive(ctx, reset):
        for _ in range(1 + wait):
            assert await bench.step(ctx, job) == (False, None)
            assert not bench.offered
        for _ in range(3):
            assert await bench.step(ctx, job, valid=1, ready=0) == (False, None)
            assert bench.offered
        taken, _ = await bench.step(ctx, job, valid=1)
        assert taken
        for _ in range(5):
            await bench.step(ctx)
        compare(bench, list(job.blocks()))

    simulate(bench.block, drive)


def test_valid_with_prepare():
    """Where both rise in one cycle the block comes in the next."""
    config = CONFIGS["tiny"]
    job = Job(random.Random(100), config, (1, 1), whole=3, rest=0)
    assert run(config, 101, [job], early=0) == [1, 2, 3]


@pytest.mark.parametrize("stood", range(1, 5))
def test_a_rejected_instruction_leaves_nothing(stood):
    """`prepare` falls without a valid job, idle or behind blocks; the next one is whole."""
    config = CONFIGS["tiny"]
    bench = Bench(config, random.Random(102))
    rng = bench.rng
    ahead, rejected, behind = (Job(rng, config, (2, 2), whole=1, rest=0) for _ in range(3))

    async def drive(ctx, reset):
        for _ in range(stood):
            assert await bench.step(ctx, rejected) == (False, None)
        await bench.step(ctx)
        blocks = []
        for _ in range(2):
            await bench.step(ctx, ahead)
            await bench.step(ctx, ahead, valid=1)
            await bench.step(ctx)
            for _ in range(stood):  # from among its blocks until behind them
                await bench.step(ctx, rejected)
            for _ in range(4):
                await bench.step(ctx)
            blocks += ahead.blocks()
        compare(bench, blocks)
        bench.taken.clear()
        bench.traced = None
        compare(bench, await bench.play(ctx, [behind]))

    simulate(bench.block, drive)


@pytest.mark.parametrize("after", range(7))
def test_kill(after):
    """No further block of the instruction that runs; the next is whole, prepared or not."""
    config = CONFIGS["tiny"]
    bench = Bench(config, random.Random(103))
    ended = Job(bench.rng, config, (1, 2), whole=2, rest=1)
    behind = Job(bench.rng, config, (1, 2), whole=2, rest=0)
    wanted = list(ended.blocks())

    async def drive(ctx, reset):
        await bench.step(ctx, ended)
        await bench.step(ctx, ended, valid=1)
        for _ in range(after):
            await bench.step(ctx)
        # The one that is offered may be taken; whether it is or not, there is no other.
        await bench.step(ctx, behind, ready=after % 2, kill=1)
        for _ in range(3):
            before = len(bench.taken)
            await bench.step(ctx, behind)
            assert len(bench.taken) == before
        number = min(len(wanted), 1 + after + after % 2)
        compare(bench, wanted[:number])
        bench.taken.clear()
        compare(bench, await bench.play(ctx, [behind]))

    simulate(bench.block, drive)


@pytest.mark.parametrize("early", range(3))
def test_kill_while_the_next_one_begins(early):
    """In the cycle in which its first block is taken, and in those before: it is spared."""
    config = CONFIGS["tiny"]
    bench = Bench(config, random.Random(104))
    ended, behind = (Job(bench.rng, config, (1, 1), whole=3, rest=0) for _ in range(2))

    async def drive(ctx, reset):
        await bench.step(ctx, ended)
        await bench.step(ctx, ended, valid=1)
        await bench.step(ctx)
        await bench.step(ctx, behind, kill=early == 2)
        await bench.step(ctx, behind, kill=early == 1)
        await bench.step(ctx, behind, valid=1, kill=early == 0)
        for _ in range(4):
            await bench.step(ctx)
        compare(bench, [*ended.blocks(), *behind.blocks()])

    simulate(bench.block, drive)


@pytest.mark.parametrize("after", range(6))
def test_flush_drops_everything(after):
    """Before the first block, between blocks, and while the next one stands prepared."""
    config = CONFIGS["tiny"]
    bench = Bench(config, random.Random(105))
    dropped, behind = (Job(bench.rng, config, (2, 1), whole=2, rest=0) for _ in range(2))

    async def drive(ctx, reset):
        for cycle in range(after):
            await bench.step(ctx, dropped if cycle != 2 else None, valid=cycle == 1)
        await bench.step(ctx, flush=1)
        bench.taken.clear()
        for _ in range(3):
            assert await bench.step(ctx) == (False, None)
            assert not bench.offered
        compare(bench, await bench.play(ctx, [behind]))

    simulate(bench.block, drive)


def test_back_pressure_changes_only_the_time():
    """What is offered stands until it is taken."""
    config = CONFIGS["wide"]
    bench = Bench(config, random.Random(106))
    job = Job(bench.rng, config, (2, 2), whole=1, rest=1)

    async def drive(ctx, reset):
        await bench.step(ctx, job)
        await bench.step(ctx, job, valid=1)
        for wanted, trace in list(job.blocks())[1:]:
            for _ in range(4):
                await bench.step(ctx, ready=0)
                assert bench.offered
                found = plain(ctx.get(bench.block.o_block.payload))
                assert {name: found[name] for name in wanted} == wanted
            await bench.step(ctx)
            assert plain(ctx.get(bench.block.trace)) == trace
        await bench.step(ctx)
        assert not bench.offered

    simulate(bench.block, drive)
