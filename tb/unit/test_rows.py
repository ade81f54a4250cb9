"""The row generator against plain loops over the digits of every block."""

import itertools
import random

import pytest
from amaranth import Value
from cornerturn import isa
from cornerturn.fields import DIGITS, RECORDS, Tag
from cornerturn.tiu.rows import Rows
from unit.bench import CONFIGS, draw, each_config, plain, poke, simulate

LATENCY = 7
SIDES = ("in", "out")
UNITS = ("lane", "offset")
COORDINATES = (Tag.HO, Tag.WO, Tag.CO)


class Tile:
    """Loops around blocks, digits around rows: counts, and steps on both sides.

    The segment is a digit or the row. With limits rows are trimmed, and judged; without, they may
    lie anywhere.
    """

    swap = empty = False

    def __init__(self, rng, config, *, loops=(1, 1), whole=1, rest=0, counts=None, limits=False):
        self.config, self.rng = config, rng
        self.limited = limits
        self.code = rng.randrange(config.element_codes)
        self.along = {side: rng.getrandbits(1) for side in SIDES}
        self.lane_step = {side: rng.randint(1, config.lanes - 1) for side in SIDES}
        small = [1, 1, 1, 2, 3, 4] if counts is None else counts
        self.counts = [rng.choice(small) for _ in DIGITS]
        self.segment_is_digit = rng.getrandbits(1)
        self.n = self._length()
        self.segment = rng.choice([1, 2, 3]) if self.segment_is_digit else self._length()
        self.segment += bool(rest and self.segment == 1)
        self.co = whole * self.segment + (rest and rng.randint(1, self.segment - 1))
        self.loops = (*loops, -(-self.co // self.segment))
        self.start = {side: self._place() for side in SIDES}
        self.steps = [
            {side: self._place(step=True) for side in SIDES} for _ in RECORDS
        ]  # fmt: skip
        self._limit()

    def _length(self):
        config = self.config
        most = max(1, config.cells >> self.code)
        far = [] if self.limited else [(1 << 24) - 1, 1 << 16]
        return self.rng.choice([1, config.lanes, self.rng.randint(1, most), *far])

    def _place(self, *, step=False):
        """Somewhere in the array, or a step; without limits anywhere where sums are exact."""
        config, rng = self.config, self.rng
        ends = {"lane": config.lane_bits + 4, "offset": config.address_bits}
        place = {}
        for unit, bits in ends.items():
            g = 1 << self.code if unit == "offset" else 1
            end = (1 << bits) // 4 if step else 1 << bits
            if self.limited or rng.random() < 0.5:
                end = config.lanes if unit == "lane" else config.cells
                end = min(end, 4 * g) if step else end
            low = -end if step else 0
            place[unit] = rng.choice([0, rng.randrange(low, end)]) // g * g
        return place

    def _limit(self):
        rng = self.rng
        self.tags = [rng.choice(list(Tag)) for _ in RECORDS]
        self.multipliers = [rng.choice([0, 1, 2, 5]) for _ in RECORDS]
        self.row_tag = rng.choice(list(Tag))
        self.limits = [self.limited and rng.choice([0, 2, 5, 12, 30]) for _ in COORDINATES]
        if self.limited and not any(self.limits):
            self.limits[0] = 1 << 20

    def job(self):
        """What stays the same for all rows."""
        return {name: 0 for name, _ in isa.job(self.config)} | {
            "empty": self.empty, "swap": self.swap, "code": self.code,
            "in_along": self.along["in"], "out_along": self.along["out"],
            "in_step_m1": self.lane_step["in"] - 1, "out_step_m1": self.lane_step["out"] - 1,
        }  # fmt: skip

    def walk(self):
        """The walk through a block, as the check makes it."""
        steps = self.steps[3:]
        jumps = []
        for index in range(len(DIGITS)):
            inner = range(index + 1, len(DIGITS))
            jumps.append({
                side: {
                    unit: steps[index][side][unit] - sum(
                        (self.counts[d] - 1) * steps[d][side][unit] for d in inner)
                    for unit in UNITS
                }
                for side in SIDES
            })  # fmt: skip
        return {
            "jump": jumps,
            "count_m1": [count - 1 for count in self.counts],
            "segment_is_digit": self.segment_is_digit,
            "elements": self.n,
            "limits": {
                "any": any(self.limits), "limit": self.limits, "row_tag": self.row_tag,
                "tag": self.tags, "multiplier": self.multipliers,
            },
            "job": self.job(),
        }  # fmt: skip

    def segment_of(self, k):
        """Whole, or what is left."""
        return min(self.segment, self.co - k * self.segment)

    def sums(self, index):
        """Where a row starts on each side."""
        steps = self.steps[: len(index)]
        return {
            side: {
                unit: self.start[side][unit]
                + sum(i * step[side][unit] for i, step in zip(index, steps, strict=True))
                for unit in UNITS
            }
            for side in SIDES
        }

    def blocks(self):
        """What the tiler hands over. Only the first walk of an instruction means something."""
        indexes = list(itertools.product(*map(range, self.loops)))
        for number, index in enumerate(indexes):
            advanced = self.rng.randrange(3)
            if number:
                before = indexes[number - 1]
                advanced = [a == b for a, b in zip(before, index, strict=True)].index(False)
            yield {
                "first": number == 0, "last": number == len(indexes) - 1, "advanced": advanced,
                "start": self.sums(index), "segment": self.segment_of(index[2]),
                "walk": self.walk() if number == 0 else draw(self.rng, isa.walk(self.config)),
            }  # fmt: skip

    def indexes(self):
        """Of every row, over loops and digits, and its length."""
        for loops in itertools.product(*map(range, self.loops)):
            segment = self.segment_of(loops[2])
            counts, n = list(self.counts), segment
            if self.segment_is_digit:
                counts[0], n = segment, self.n
            for digits in itertools.product(*map(range, counts)):
                yield (*loops, *digits), n

    def left(self, index, n):
        """Elements that the limits leave of a row."""
        for tag, limit in zip(COORDINATES, self.limits, strict=True):
            if limit == 0:
                continue
            coordinate = sum(
                i * multiplier
                for i, multiplier, of in zip(index, self.multipliers, self.tags, strict=True)
                if of == tag
            )
            if tag == self.row_tag:
                n = min(n, max(0, limit - coordinate))
            elif coordinate >= limit:
                n = 0
        return n

    def is_outside(self, side, place, n):
        """Whether n elements from a place on touch something that is not in the array."""
        g = 1 << self.code
        lanes = cells = 0
        if self.along[side]:
            cells = n * g - 1
        else:
            lanes, cells = (n - 1) * self.lane_step[side], g - 1
        lane, cell = place["lane"], place["offset"]
        config = self.config
        return lane < 0 or lane + lanes >= config.lanes or cell < 0 or cell + cells >= config.cells

    def rows(self):
        """Every row, by the loops; of a void one only what means something."""
        indexes = list(self.indexes())
        for number, (index, n) in enumerate(indexes):
            places = self.sums(index)
            n = self.left(index, n)
            row = {
                "first": number == 0, "last": number == len(indexes) - 1,
                "begin": not any(index[3:]), "fault": 0, "void": n == 0,
            }  # fmt: skip
            outside = [side for side in SIDES if n and self.is_outside(side, places[side], n)]
            if any(self.limits) and outside:
                row |= {"fault": 1, "void": 1, "fault_out": "in" not in outside}
                row[outside[0]] = places[outside[0]]
            elif n:
                row |= self.moves(places, n)
            yield row

    def moves(self, places, n):
        """What counts of a row that moves something."""
        word, cells = self.config.beat_cells, n << self.code
        offsets = [places[side]["offset"] % word * self.along[side] for side in SIDES]
        beats = [-(-(offset + cells) // word) for offset in offsets]
        return places | {"cells": cells, "read_beats": beats[0], "write_beats": beats[1]}


class Swap(Tile):
    """Row i of a SWAP of n elements: n - 1 - i of them, right of the diagonal and below it."""

    swap = True

    def __init__(self, rng, config):
        super().__init__(rng, config, counts=[1])
        g = 1 << self.code
        n = rng.randint(2, config.lanes)
        self.along = {"in": 0, "out": 1}
        self.segment_is_digit = 0
        self.co = self.segment = n - 1
        self.counts[-1] = n - 1
        lane, cell = rng.randint(0, config.lanes - n), rng.randrange(0, config.cells, g)
        self.start = {
            "in": {"lane": lane + 1, "offset": cell}, "out": {"lane": lane, "offset": cell + g}
        }  # fmt: skip
        self.steps[-1] = {side: {"lane": 1, "offset": g} for side in SIDES}

    def left(self, index, n):
        """One less, row by row."""
        return n - index[-1]


class Empty(Tile):
    """One row that touches nothing, whatever else the instruction says."""

    empty = True

    def __init__(self, rng, config):
        super().__init__(rng, config, limits=rng.getrandbits(1))

    def blocks(self):
        """One."""
        yield next(super().blocks()) | {"last": 1}

    def rows(self):
        """One."""
        yield {"first": 1, "last": 1, "begin": 1, "void": 1, "fault": 0}


class Bench:
    """A tiler in front of the row generator, and a sequencer behind it."""

    def __init__(self, config, rng, items):
        self.block, self.rng = Rows(config), rng
        self.items = items
        self.queue = [(i, block) for i, item in enumerate(items) for block in item.blocks()]
        self.cycle = 0
        self.issued = 0  # instructions
        self.pending = []  # cycles in which those whose first row was taken issue
        self.handed = []  # cycles in which first blocks were
        self.cycles = []  # in which rows were
        self.rows = []
        self.stood = None
        self.killed = False

    async def step(self, ctx, *, ready=1, offer=1, kill=0, flush=0, late=0):
        """One cycle: rows are taken if `ready`, a new instruction may begin if `offer`.

        It does once the one before has issued, `late` cycles after its first row was taken. Its
        other blocks are offered in every cycle, as the tiler does: a kill relies on it.
        """
        block = self.block
        offering = bool(self.queue)
        if offering and self.queue[0][1]["first"]:
            offering = bool(offer and self.issued >= self.queue[0][0])
        ctx.set(block.i_block.valid, offering)
        if offering:
            poke(ctx, block.i_block.payload, self.queue[0][1])
        ctx.set(block.o_row.ready, ready)
        ctx.set(block.flush, flush)
        offered = ctx.get(block.o_row.valid)
        self.offered = offered
        if offered:
            now = ctx.get(Value.cast(block.o_row.payload))
            assert self.stood in (None, now)  # what is offered stands
            self.stood = None if ready or flush else now
        else:
            assert self.stood is None
        if offered and ready:
            row = plain(ctx.get(block.o_row.payload))
            self.rows.append(row)
            self.cycles.append(self.cycle)
            if row["first"]:
                self.pending.append(self.cycle + late)
        issues = self.cycle in self.pending
        ctx.set(block.issued, issues)
        ctx.set(block.kill, kill)
        self.no_more_blocks = ctx.get(block.no_more_blocks)
        taken = offering and ctx.get(block.i_block.ready)
        self.taken = taken and self.queue[0]
        self.ready = ctx.get(block.i_block.ready)
        if taken:
            _, its = self.queue.pop(0)
            if its["first"]:
                self.handed.append(self.cycle)
        if self.no_more_blocks and not (taken and its["first"]):  # as the tiler does
            while self.queue and not self.queue[0][1]["first"]:
                self.queue.pop(0)
        self.issued += issues
        await ctx.tick()
        self.cycle += 1

    async def play(self, ctx, number, *, hurry=1, share=1, late=(0,)):
        """Until this many rows have been taken; then there are no others."""
        rng = self.rng
        while len(self.rows) < number:
            await self.step(
                ctx, ready=rng.random() < hurry, offer=rng.random() < share, late=rng.choice(late)
            )
            assert self.cycle < 20000
        for _ in range(2 * LATENCY):
            await self.step(ctx)
        assert len(self.rows) == number


def compare(rows, items, expected=None):
    """What was taken against the loops, all that means something."""
    expected = expected or [row for item in items for row in item.rows()]
    jobs = [item.job() for item in items for _ in item.rows()]
    assert len(rows) == len(expected)
    for row, job, wanted in zip(rows, jobs, expected, strict=False):
        assert {name: row[name] for name in wanted} == wanted
        assert row["job"] == job


def run(config, rng, items, **options):
    """All rows of these instructions; returns the bench."""
    bench = Bench(config, rng, items)
    expected = [row for item in items for row in item.rows()]

    async def drive(ctx, reset):
        await bench.play(ctx, len(expected), **options)
        compare(bench.rows, items)

    simulate(bench.block, drive)
    return bench, expected


def some(rng, config, number, most):
    """Instructions of every kind, of few rows each."""
    loops = {"loops": (2, 1), "whole": 1, "rest": 1}
    kinds = [
        lambda: Tile(rng, config),
        lambda: Tile(rng, config, loops=(1, 2), whole=2, counts=[1, 1, 2]),
        lambda: Tile(rng, config, **loops, counts=[1, 1, 1, 2]),
        lambda: Tile(rng, config, whole=3, rest=1, counts=[1]),
        lambda: Tile(rng, config, limits=True),
        lambda: Tile(rng, config, **loops, counts=[1, 1, 2, 3], limits=True),
        lambda: Tile(rng, config, loops=(2, 3), whole=0, rest=1, counts=[1, 2], limits=True),
        lambda: Swap(rng, config),
        lambda: Empty(rng, config),
    ]
    items = []
    while len(items) < number:
        item = kinds[len(items) % len(kinds)]()
        if sum(1 for _ in item.rows()) <= most:
            items.append(item)
    return items


@each_config
@pytest.mark.parametrize("hurry", [1, 0.4], ids=["free", "slow"])
def test_rows_are_those_of_plain_loops(config, hurry):
    """Digits and loops of any sign, SWAPs and empty instructions; nothing lost, nothing twice."""
    rng = random.Random(125)
    items = some(rng, config, 27, 60 * hurry)
    _, rows = run(config, rng, items, hurry=hurry, share=hurry, late=(0, 2, 5))
    assert len(rows) > 100


@each_config
def test_rows_outside_the_array(config):
    """With limits every row is judged, and only what is left of it; the source comes first."""
    rng = random.Random(126)
    items = [
        Tile(rng, config, loops=(2, 1), counts=[1, 1, 2, 3], limits=True)
        for _ in range(60)
    ]  # fmt: skip
    items = [item for item in items if sum(1 for _ in item.rows()) <= 30]
    _, rows = run(config, rng, items)
    assert sum(row["fault"] and not row["fault_out"] for row in rows) > 10
    assert sum(row["fault"] and row["fault_out"] for row in rows) > 10
    assert sum(row["void"] and not row["fault"] for row in rows) > 10
    assert sum(not row["void"] for row in rows) > 10


@each_config
@pytest.mark.parametrize("side", SIDES)
def test_the_edges_of_the_array(config, side):
    """Both sides of each, of a row of the longest that fits, and trimmed to fit."""
    rng = random.Random(127)
    items, wanted = [], []
    other = SIDES[side == "in"]
    for along, unit in itertools.product((0, 1), UNITS):
        for _ in range(2):
            item = Tile(rng, config, counts=[1], limits=True)
            g = 1 << item.code
            item.segment_is_digit = 0
            item.along = {side: along, other: 1}
            n = rng.randint(1, 3)
            item.co = item.segment = n
            reach = (n - 1) * item.lane_step[side] * (not along)
            if reach >= config.lanes:
                n = item.co = item.segment = 1
                reach = 0
            longest = n * g if along else g
            high = {"lane": config.lanes - 1 - reach, "offset": config.cells - longest}
            low = dict.fromkeys(UNITS, 0)
            size = {"lane": 1, "offset": g}[unit]
            item.limits = [1 << 31, 0, 0]
            item.row_tag = Tag.NONE
            for start, outside in ((low, 0), (high, 0), (low, -size), (high, size)):
                copy = Tile(rng, config, counts=[1], limits=True)
                vars(copy).update(vars(item))
                copy.start = {side: start | {unit: start[unit] + outside}, other: dict(low)}
                items.append(copy)
                wanted.append(bool(outside))
                if outside > 0 and n > 1 and (along == (unit == "offset")):
                    # What sticks out is trimmed away: by an element of its own direction.
                    last = Tile(rng, config, counts=[1], limits=True)
                    vars(last).update(vars(copy))
                    last.row_tag, last.limits = Tag.CO, [0, 0, n - 1]
                    items.append(last)
                    wanted.append(False)
    _, rows = run(config, rng, items)
    assert [bool(row["fault"]) for row in rows] == wanted
    assert all(row["fault_out"] == (side == "out") for row in rows if row["fault"])


def test_a_row_a_cycle():
    """The first seven cycles after its block was taken, then one in every cycle."""
    config = CONFIGS["tiny"]
    rng = random.Random(128)
    for options in (
        {"counts": [2, 3]}, {"counts": [1], "whole": 9}, {"counts": [1, 2], "loops": (2, 2)},
        {"counts": [1], "loops": (3, 3), "rest": 1}, {"counts": [2], "limits": True, "whole": 3},
    ):  # fmt: skip
        bench, rows = run(config, rng, [Tile(rng, config, **options)])
        first = bench.handed[0] + LATENCY
        assert bench.cycles == list(range(first, first + len(rows)))


def test_rows_are_made_ahead():
    """The first is there after seven cycles, taken or not; behind it, one for every register."""
    config = CONFIGS["tiny"]
    rng = random.Random(129)
    item = Tile(rng, config, counts=[1])
    item.segment_is_digit = 0
    item.counts[4] = LATENCY + 1  # the last leaves the walk in the cycle after the first is taken
    bench = Bench(config, rng, [item])

    async def drive(ctx, reset):
        for cycle in range(3 * LATENCY):
            await bench.step(ctx, ready=0)
            assert bench.offered == (cycle >= LATENCY)
            assert bench.ready == (cycle == 0)
        for index in range(LATENCY + 1):
            await bench.step(ctx)
            assert bench.ready == (index > 0)
        compare(bench.rows, [item])
        await bench.step(ctx)
        assert not bench.offered

    simulate(bench.block, drive)


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, 8])
def test_no_gap_between_two_instructions(rows, blocks):
    """The next one, taken while the one before is walked, follows it at once."""
    config = CONFIGS["tiny"]
    rng = random.Random(130)
    items = [Tile(rng, config, counts=[1], whole=blocks) for _ in range(3)]
    for item in items:
        item.segment_is_digit = 0
        item.counts[-1] = rows
    bench, _ = run(config, rng, items)
    total = rows * blocks
    assert len(bench.cycles) == 3 * total
    # The first row issues at LATENCY; the next instruction is offered a cycle later.
    gap = max(0, LATENCY + 1 - total)
    for index in range(1, 3):
        assert bench.cycles[index * total] - bench.cycles[index * total - 1] == 1 + gap


@pytest.mark.parametrize("digit", range(len(DIGITS)))
def test_many_counts(digit):
    """More than eight bits of any digit, around or within another; of a segment, too."""
    config = CONFIGS["one cell"]
    rng = random.Random(131)
    item = Tile(rng, config, counts=[1])
    item.segment_is_digit = digit == 0
    item.co = item.segment = 300 if digit == 0 else 1
    item.counts[digit] = 300
    item.counts[3 if digit == 5 else 5] = 2
    for side in SIDES:  # no further than may be, in 300 steps
        step = item.steps[3 + digit][side]
        item.steps[3 + digit][side] = {unit: step[unit] // 64 for unit in UNITS}
    run(config, rng, [item])


@pytest.mark.parametrize("shape", [(1, 1), (9, 1), (1, 30), (3, 10)], ids=str)
@pytest.mark.parametrize("after", [0, 1, 2, 6])
def test_kill_ends_the_instruction_at_issue(shape, after):
    """One more row than those that are on their way, marked last; the next instruction is whole."""
    config = CONFIGS["tiny"]
    rng = random.Random(132)
    per_block, blocks = shape
    first, second = (Tile(rng, config, counts=[1], whole=n) for n in (blocks, 2))
    first.segment_is_digit = 0
    first.counts[2] = per_block
    bench = Bench(config, rng, [first, second])
    expected = list(first.rows())
    # Seven have left the walk with the first to be taken, then one a cycle, and one more.
    number = min(len(expected), after + 1 + LATENCY + 1)

    async def drive(ctx, reset):
        while not bench.rows:
            await bench.step(ctx)
        waiting, bench.queue = bench.queue, [pair for pair in bench.queue if pair[0] == 0]
        for _ in range(after):
            await bench.step(ctx)
        await bench.step(ctx, kill=1)
        assert bench.no_more_blocks
        assert not bench.queue
        bench.queue = [pair for pair in waiting if pair[0] == 1]
        await bench.play(ctx, number + len(list(second.rows())))
        ended = bench.rows[:number]
        assert [row["last"] for row in ended] == [0] * (number - 1) + [1]
        wanted = [{name: row[name] for name in row if name != "last"} for row in expected]
        compare(ended, [first] * 1, wanted[:number])
        compare(bench.rows[number:], [second])

    simulate(bench.block, drive)


@pytest.mark.parametrize("seed", range(3))
def test_kill_at_any_time(seed):
    """With pauses on both sides: rows up to one that is the last, the next instruction whole."""
    config = CONFIGS["tiny"]
    rng = random.Random(140 + seed)
    items = [
        Tile(rng, config, counts=[1, 1, 2], whole=rng.choice([1, 3, 6]), loops=(2, 1))
        for _ in range(20)
    ]
    items = [item for item in items if sum(1 for _ in item.rows()) < 60]
    bench = Bench(config, rng, items)
    kills = []

    async def drive(ctx, reset):
        idle, open_first = 0, None  # the instruction at issue, if it may still be ended
        while idle < 40:
            issued = bench.issued
            # As the issue does: not before it has issued, and not once its last row is gone.
            kill = open_first is not None and rng.random() < 0.05
            before = len(bench.rows)
            await bench.step(
                ctx, ready=rng.random() < 0.6, offer=rng.random() < 0.8, kill=kill,
                late=rng.randrange(3),
            )  # fmt: skip
            if kill:
                kills.append(open_first)
                open_first = None
            if bench.issued > issued:
                open_first = bench.issued - 1
            if len(bench.rows) > before and bench.rows[-1]["last"]:
                open_first = None
            idle = 0 if bench.queue or len(bench.rows) > before else idle + 1
        # Cut what was seen into instructions.
        rows = iter(bench.rows)
        for number, item in enumerate(items):
            mine = []
            while not (mine and mine[-1]["last"]):
                mine.append(next(rows))
            wanted = list(item.rows())
            assert len(mine) == len(wanted) or number in kills
            assert len(mine) <= len(wanted)
            for row, its in zip(mine[:-1], wanted, strict=False):
                assert {name: row[name] for name in its} == its
            its = wanted[len(mine) - 1] | {"last": 1}
            assert {name: mine[-1][name] for name in its} == its
        assert next(rows, None) is None

    simulate(bench.block, drive)
    assert len(kills) > 5


@pytest.mark.parametrize("when", [0, 1, 2, 5])
def test_kill_spares_the_instruction_behind(when):
    """Once its first block is taken, or as it is, the one at issue has been walked already."""
    config = CONFIGS["tiny"]
    rng = random.Random(133)
    first, second = (Tile(rng, config, counts=[1], whole=12) for _ in range(2))
    first.segment_is_digit = second.segment_is_digit = 0
    bench = Bench(config, rng, [first, second])

    async def drive(ctx, reset):
        while len(bench.handed) < 2:
            # It is known a cycle ahead: the twelfth row leaves the walk, and the next is there.
            kill = when == 0 and bench.cycle == bench.handed[0] + 12 if bench.handed else 0
            await bench.step(ctx, kill=kill)
            assert bench.no_more_blocks == kill
        assert bench.handed[1] == bench.handed[0] + 12
        for cycle in range(1, 6):
            await bench.step(ctx, kill=cycle == when)
            assert not bench.no_more_blocks
        await bench.play(ctx, 24)
        compare(bench.rows, [first, second])

    simulate(bench.block, drive)


@pytest.mark.parametrize("after", range(LATENCY + 4))
def test_flush_drops_everything(after):
    """In any stage; what comes behind is whole."""
    config = CONFIGS["tiny"]
    rng = random.Random(134)
    first, second = (Tile(rng, config, counts=[1, 2], whole=n, limits=True) for n in (20, 2))
    bench = Bench(config, rng, [first, second])

    async def drive(ctx, reset):
        waiting, bench.queue = bench.queue, [pair for pair in bench.queue if pair[0] == 0]
        for _ in range(1 + after):
            await bench.step(ctx, ready=after % 2)
        await bench.step(ctx, offer=0, flush=1)
        bench.rows.clear()
        bench.stood = None
        bench.issued = 1
        bench.queue = [pair for pair in waiting if pair[0] == 1]
        await bench.step(ctx, offer=0)
        assert not bench.offered
        await bench.play(ctx, len(list(second.rows())))
        compare(bench.rows, [second])

    simulate(bench.block, drive)
