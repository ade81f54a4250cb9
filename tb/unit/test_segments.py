"""Whole segments and what is left of them, against the divisions of Python."""

import random

from cornerturn.tiu.segments import Segments
from unit.bench import simulate, trace

LATENCY = 9
WHOLE = (1 << 16) - 1  # the largest number there may be, the rest included
ALIGN = (1 << 24) - 1
CO = (1 << 32) - 1


def divide(cases):
    """(whole, rest, over) of each (co, co_align), LATENCY cycles after it was loaded."""
    block = Segments()
    found = []

    async def bench(ctx, reset):
        for co, co_align in cases:
            ctx.set(block.load, 1)
            ctx.set(block.co, co)
            ctx.set(block.co_align, co_align)
            await ctx.tick()
            ctx.set(block.load, 0)
            ctx.set(block.co, 0)
            ctx.set(block.co_align, 1)
            await ctx.tick().repeat(LATENCY - 1)
            found.append([ctx.get(port) for port in (block.whole, block.rest, block.over)])

    simulate(block, bench)
    return found


def compare(cases):
    """Against `divmod`, where it is allowed to be; returns how many were not."""
    over = 0
    for (co, co_align), found in zip(cases, divide(cases), strict=True):
        whole, rest = divmod(co, co_align)
        if whole + (rest > 0) > WHOLE:
            assert found[2] == 1, (co, co_align)
            over += 1
        else:
            assert found == [whole, rest, 0], (co, co_align)
    return over


def test_all_small_numbers():
    """Every remainder of every small segment."""
    assert compare([(co, align) for align in range(1, 13) for co in range(3 * align + 2)]) == 0


def test_all_numbers_of_digits():
    """Of random numbers of up to 32 bits by up to 24 bits, and their neighbours."""
    rng = random.Random(81)
    cases = []
    for _ in range(300):
        align = rng.randint(1, (1 << rng.randint(1, 24)) - 1)
        whole = rng.getrandbits(rng.randint(1, 16))
        co = whole * align + rng.choice([0, 1, align - 1, rng.randrange(align), -1])
        cases.append((min(max(co, 0), CO), align))
    cases += [(rng.getrandbits(32), rng.getrandbits(24) | 1) for _ in range(60)]
    over = compare(cases)
    assert over < len(cases) / 10


def test_too_many_segments():
    """Both sides of the limit, with a rest and without."""
    cases = []
    for align in (1, 2, 3, 5, 255, 256, 257, 32768, 65535, 65536, 65537, 1 << 23, ALIGN):
        most = WHOLE * align  # with one more element there is a rest, too many
        near = [most - align, most - 1, most, most + 1, most + align - 1, most + align, CO]
        cases += [(co, align) for co in near if co <= CO]
    assert compare(cases) > 10
    assert [found[2] for found in divide([(WHOLE, 1), (WHOLE + 1, 1), (CO, 1), (CO, ALIGN)])] == [
        0, 1, 1, 0,
    ]  # fmt: skip
    # 65534 whole segments and a rest are as many as may be; 65535 and a rest are not.
    assert [found[2] for found in divide([(WHOLE * 7 - 1, 7), (WHOLE * 7 + 1, 7)])] == [0, 1]


def test_the_last_load_counts_and_its_results_stand():
    """However long it was loaded; a load in the middle starts again."""
    load = [{"load": 1, "co": 9, "co_align": 2}, {"load": 1, "co": 1000, "co_align": 7}]
    again = [{"load": 1, "co": 65536, "co_align": 3}]
    outputs = ["whole", "rest", "over"]
    stimulus = [*load, *load, *[{}] * (LATENCY + 5), *again, *[{}] * 4, *load, *[{}] * LATENCY]
    seen = [tuple(record.values()) for record in trace(Segments(), stimulus, outputs)]
    first = len(load) * 2 - 1 + LATENCY
    assert seen[first : first + 6] == [(142, 6, 0)] * 6
    assert seen[first - 1] != (142, 6, 0)  # and not before
    assert seen[-1] == (142, 6, 0)
