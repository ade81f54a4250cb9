"""Coordinates and limits against plain sums over the loops and digits."""

import itertools
import random

import pytest
from cornerturn.fields import RECORDS, Tag
from cornerturn.tiu.bounds import Bounds
from unit.bench import poke, simulate

COORDINATES = (Tag.HO, Tag.WO, Tag.CO)
STAGES = ("turned", "placed", "left", "trimmed")
LONGEST = (1 << 24) - 1


class Loops:
    """Loops and digits around rows, and where their coordinates end."""

    def __init__(self, rng, *, rows=40, row_tag=None, wild=False):
        self.counts = [1] * len(RECORDS)
        for index in rng.sample(range(len(RECORDS)), rng.randint(1, 5)):
            count = rng.choice([2, 2, 3, 4])
            if count * len(list(self.indexes())) <= rows:
                self.counts[index] = count
        self.tags = [rng.choice([Tag.NONE, *COORDINATES, *COORDINATES]) for _ in RECORDS]
        large = (1 << 16) - 1 if wild else 4
        self.multipliers = [rng.choice([0, 1, rng.randint(0, large)]) for _ in RECORDS]
        self.row_tag = rng.choice(list(Tag)) if row_tag is None else row_tag
        self.elements = [rng.choice([1, 2, rng.randint(1, 2 * large), LONGEST])
                         for _ in self.indexes()]  # fmt: skip
        self.limits = {}
        for tag in COORDINATES:
            far = max(self.coordinate(index, tag) for index in self.indexes())
            near = rng.choice([0, 1, far, far + 1, far + rng.randint(1, 9), rng.randint(0, far)])
            self.limits[tag] = rng.choice([near, near, near, rng.getrandbits(32)])

    def indexes(self):
        """Of every row, in order."""
        return itertools.product(*map(range, self.counts))

    def coordinate(self, index, tag):
        """Of the loops and digits with this tag."""
        return sum(
            i * multiplier
            for i, multiplier, of in zip(index, self.multipliers, self.tags, strict=True)
            if of == tag
        )

    def fields(self):
        """The limits as the hardware has them."""
        return {
            "any": any(self.limits.values()), "limit": [self.limits[tag] for tag in COORDINATES],
            "row_tag": self.row_tag, "tag": self.tags, "multiplier": self.multipliers,
        }  # fmt: skip

    def rows(self):
        """(first, level, elements, elements left, limited) of every row."""
        before = None
        for index, n in zip(self.indexes(), self.elements, strict=True):
            level = 0
            if before is not None:
                level = [a == b for a, b in zip(before, index, strict=True)].index(False)
            left = n
            for tag, limit in self.limits.items():
                room = limit - self.coordinate(index, tag)
                if limit and tag == self.row_tag:
                    left = min(left, max(0, room))
                elif limit and room <= 0:
                    left = 0
            yield before is None, level, n, left, any(self.limits.values())
            before = index


async def run(ctx, block, items, rng, *, hurry=1, share=1):
    """Rows through an elastic row generator; returns (elements left, limited) of each.

    `hurry` is the share of cycles in which a row is taken at the end, `share` that in which one
    is there at the beginning.
    """
    coming = [(item, row) for item in items for row in item.rows()]
    total = len(coming)
    inside = dict.fromkeys(STAGES)  # (item, row) of each stage
    found = []
    while len(found) < total:
        takes = rng.random() < hurry
        if inside["trimmed"] is not None and takes:
            left = 0 if ctx.get(block.empty) else ctx.get(block.trimmed)
            found.append((left, ctx.get(block.limited)))
        ready = {}
        for name in reversed(STAGES):
            ready[name] = takes = inside[name] is None or takes
        row = coming[0] if coming and rng.random() < share else None
        turned = inside["turned"]
        if row and turned and turned[1][0] and turned[0] is not row[0]:
            row = None  # the limits stand until the first row is placed
        if row:
            item, (first, level, *_) = row
            poke(ctx, block.limits, item.fields())
            ctx.set(block.first, first)
            ctx.set(block.level, rng.randrange(len(RECORDS)) if first else level)
        turns = bool(row and ready["turned"])
        ctx.set(block.turn, turns)
        ctx.set(block.place, ready["placed"] and turned is not None)
        ctx.set(block.leave, ready["left"])
        ctx.set(block.trim, ready["trimmed"])
        elements = inside["left"][1][2] if inside["left"] else rng.getrandbits(24)
        ctx.set(block.elements, elements)
        await ctx.tick()
        for before, name in reversed(list(itertools.pairwise(STAGES))):
            if ready[name]:
                inside[name] = inside[before]
        if ready["turned"]:
            inside["turned"] = coming.pop(0) if turns else None
    return found


def compare(items, **options):
    """Against plain sums; returns what was left of each row, and what it had."""
    block = Bounds()
    rows = [row for item in items for row in item.rows()]

    async def bench(ctx, reset):
        found = await run(ctx, block, items, random.Random(111), **options)
        assert found == [(left, limited) for *_, left, limited in rows]

    simulate(block, bench)
    return [(left, n) for _, _, n, left, _ in rows]


@pytest.mark.parametrize("wild", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("hurry", [1, 0.5], ids=["free", "slow"])
def test_rows_are_trimmed_as_by_plain_sums(wild, hurry):
    """Random loops, tags and multipliers, limits on both sides of what they reach."""
    rng = random.Random(112)
    items = [Loops(rng, wild=wild, rows=25) for _ in range(100)]
    left = compare(items, hurry=hurry, share=hurry)
    assert sum(number == 0 for number, _ in left) > 20
    assert sum(0 < number < n for number, n in left) > 20
    assert sum(number == n for number, n in left) > 20


@pytest.mark.parametrize("row_tag", list(Tag))
@pytest.mark.parametrize("tag", list(Tag))
def test_every_tag(row_tag, tag):
    """Of the row and of each loop or digit: trimmed, suppressed, or neither."""
    rng = random.Random(113)
    items = []
    for record in range(len(RECORDS)):
        item = Loops(rng, rows=1, row_tag=row_tag)
        item.counts = [1] * len(RECORDS)
        item.counts[record] = 5
        item.tags = [Tag.NONE] * len(RECORDS)
        item.tags[record] = tag
        item.multipliers = [2] * len(RECORDS)
        item.limits = dict.fromkeys(COORDINATES, 6)
        item.elements = [5] * 5
        items.append(item)
    left = [number for number, _ in compare(items)]
    wanted = [5] * 5
    if row_tag != Tag.NONE and row_tag == tag:
        wanted = [5, 4, 2, 0, 0]  # what is left of 6 from 0, 2, 4, 6 and 8 on
    elif tag != Tag.NONE:
        wanted = [5, 5, 5, 0, 0]
    assert left == wanted * len(RECORDS)


def test_limits_that_are_not_there():
    """0 is no limit, of one coordinate or of all."""
    rng = random.Random(114)
    items = []
    for limited in itertools.product([0, 1], repeat=3):
        item = Loops(rng, wild=True)
        item.limits = {
            tag: here and (1 << 32) - 1 for tag, here in zip(COORDINATES, limited, strict=True)
        }
        items.append(item)
    assert all(number == n for number, n in compare(items))


@pytest.mark.parametrize("last", [65541, pytest.param(131080, marks=pytest.mark.full)])
def test_coordinates_beyond_all_limits(last):
    """They saturate, above 2**32 and above 2**33, and an outer loop starts them again."""
    block = Bounds()
    limit, multiplier, elements = (1 << 32) - 1, (1 << 16) - 1, 7
    latency = len(STAGES) - 1  # from a turn to its row, a row a cycle

    async def bench(ctx, reset):
        row = 0

        async def look(number):
            """Turn rows up to the one with this number; nothing follows it."""
            nonlocal row
            await ctx.tick().repeat(number - row)
            row = number
            coordinate = number * multiplier
            assert ctx.get(block.empty) == (coordinate >= limit), number
            if coordinate < limit:
                assert ctx.get(block.trimmed) == min(elements, limit - coordinate), number

        poke(ctx, block.limits, {
            "any": 1, "limit": [0, limit, 0], "row_tag": Tag.WO,
            "tag": [Tag.WO] * len(RECORDS), "multiplier": [multiplier] * len(RECORDS),
        })  # fmt: skip
        ctx.set(block.elements, elements)
        for port in (block.turn, block.first, block.place, block.leave, block.trim):
            ctx.set(port, 1)
        await ctx.tick()
        ctx.set(block.first, 0)
        ctx.set(block.level, len(RECORDS) - 1)
        await ctx.tick().repeat(latency)
        assert 65537 * multiplier == limit
        assert 131075 * multiplier > 1 << 33
        for number in (1, 2, 65535, 65536, 65537, 65538, 131073, 131074, 131075, 131076, last):
            if row < number <= last:
                await look(number)
        # The digit outside it goes on from the first row.
        ctx.set(block.level, len(RECORDS) - 2)
        await ctx.tick().repeat(latency + 1)
        assert not ctx.get(block.empty)
        assert ctx.get(block.trimmed) == elements

    simulate(block, bench, cycles=200_000)


def test_the_row_that_reaches_its_limit_exactly():
    """The last element before a limit of 2**32 - 1 is still there."""
    rng = random.Random(115)
    item = Loops(rng, rows=1, row_tag=Tag.CO)
    item.tags = [Tag.CO] * len(RECORDS)
    item.multipliers = [65535] * len(RECORDS)
    item.counts = [1] * len(RECORDS)
    item.counts[4] = 8
    item.elements = [LONGEST] * 8
    item.limits = {Tag.HO: 0, Tag.WO: 0, Tag.CO: 5 * 65535 + 1}
    left = [number for number, _ in compare([item])]
    assert left == [5 * 65535 + 1 - i * 65535 for i in range(6)] + [0, 0]
