"""The check of descriptors: every rule, the order of the rules, and what it makes of a valid one.

What is expected is worked out here from the fields with integers of any size.
"""

import itertools
import random

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import (
    DIGITS,
    FIELDS,
    RECORDS,
    USED,
    Mode,
    Opcode,
    Pair,
    Status,
    named_mask,
    pack,
    unpack,
)
from cornerturn.tiu.check import Check
from cornerturn_model import checks
from cornerturn_model.instruction import Across, Along, Digit, Fence, Halt, Nop, Swap, Tile
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import instructions
from unit.bench import CONFIGS, each_config, plain, poke, simulate

LATENCY = 15
PREPARED = 10  # cycles until what the tiler wants stands
PASSES = 7  # cycles from an issue until the next instruction may pass
LOOPS = ("ho", "wo", "co")
UNITS = ("lane", "cell")
TINY = PRESETS["tiny"]  # 4 lanes, 256 cells, 4 cells a word, elements up to 4 cells
LONG = Config(lanes=2, cells=65536, beat_cells=1)
OTHER = Config(lanes=5, cells=32, beat_cells=8, max_element_cells=2, address_bits=20)


# --- what is expected ----------------------------------------------------------------------------


def parts(f):
    """(first k, counts of loops and digits, row length): of the whole segments, and of the rest."""
    if f["co_align"] == 0:
        return
    whole, rest = divmod(f["co"], f["co_align"])
    for first, number, s in ((0, whole, f["co_align"]), (whole, 1, rest)):
        counts = {digit: f[f"{digit}_count"] for digit in DIGITS}
        counts |= {"ho": f["repeat_ho"], "wo": f["repeat_wo"], "co": number}
        n = s
        if f["segment_is_digit"]:
            n, counts["d0"] = f["n"], s
        if n and s and all(counts.values()):
            yield first, counts, n


def is_empty(f):
    """No rows."""
    return not list(parts(f))


def is_limited(f):
    """Rows are judged as they run."""
    return any(f[f"limit_{name}"] for name in LOOPS) and not is_empty(f)


def longest_row(f):
    """Elements of it."""
    return max((n for *_, n in parts(f)), default=0)


def box(f, side):
    """Lowest and highest lane, lowest and highest cell of a side of a tile that is not empty."""
    g = 1 << f["element"]
    bounds = []
    for unit in UNITS:
        across = f[f"{side}_mode"] == Mode.ACROSS
        element_step = {"lane": f[f"{side}_lane_step"] * across, "cell": g * (not across)}[unit]
        lows, highs = [], []
        for first, counts, n in parts(f):
            ways = [(n - 1) * element_step]
            ways += [(counts[name] - 1) * f[f"{name}_{side}_{unit}"] for name in RECORDS]
            start = f[f"{side}_{unit}"] + first * f[f"co_{side}_{unit}"]
            lows.append(start + sum(way for way in ways if way < 0))
            highs.append(start + sum(way for way in ways if way > 0) + (unit == "cell") * (g - 1))
        bounds += [min(lows), max(highs)]
    return bounds


def goes_far(config, f, side):
    """What is left of RANGE with limits: a start, a loop, a digit, the step to a rest, alone."""
    ends = {"lane": 1 << config.lane_bits + 4, "cell": 1 << config.address_bits}
    for unit, end in ends.items():
        if f[f"{side}_{unit}"] >= end:
            return True
        ways = [
            (counts[name] - 1) * f[f"{name}_{side}_{unit}"]
            for _, counts, _ in parts(f)
            for name in RECORDS
        ]
        if len(list(parts(f))) == 2:
            ways.append(f[f"co_{side}_{unit}"])
        if any(not -end <= way < end for way in ways):
            return True
    return False


def swap_box(f):
    """The same of a SWAP."""
    lane, cell, n = f["in_lane"], f["in_cell"], f["n"]
    return lane, lane + n - 1, cell, cell + (n << f["element"]) - 1


def region(config, f):
    """The regions read and written, clipped, or None."""
    if f["opcode"] == Opcode.SWAP and f["n"] > 1:
        boxes = [swap_box(f)] * 2
    elif f["opcode"] == Opcode.TILE and not is_empty(f):
        boxes = [box(f, "in"), box(f, "out")]
    else:
        return None, None
    tops = [(1 << config.lane_bits) - 1] * 2 + [config.cells - 1] * 2
    boxes = [
        [min(max(bound, 0), top) for bound, top in zip(bounds, tops, strict=True)]
        for bounds in boxes
    ]
    return tuple(
        (low, high, first // config.beat_cells, last // config.beat_cells)
        for low, high, first, last in boxes
    )


def meet(one, two):
    """Whether two regions share a word."""
    return one is not None and all(
        one[i] <= two[i + 1] and two[i] <= one[i + 1] for i in (0, 2)
    )  # fmt: skip


def outside(config, bounds):
    """Whether a box is not within the array."""
    lane_low, lane_high, cell_low, cell_high = bounds
    return lane_low < 0 or lane_high >= config.lanes or cell_low < 0 or cell_high >= config.cells


def broken_rules(config, descriptor):
    """Every rule that a descriptor breaks, in their order."""
    f = unpack(descriptor)
    opcode, g = f["opcode"], 1 << f["element"]
    known = opcode in list(Opcode)
    if f["version"] != 1:
        yield Status.VERSION
    if descriptor & ~named_mask(USED[opcode] if known else FIELDS):
        yield Status.RESERVED
    if not known:
        yield Status.OPCODE
    if opcode == Opcode.SWAP:
        if g > config.max_element_cells:
            yield Status.ELEMENT
        if f["in_cell"] % g:
            yield Status.ALIGN
        start = (f["in_lane"], f["in_lane"], f["in_cell"], f["in_cell"])
        if outside(config, start) or (f["n"] and outside(config, swap_box(f))):
            yield Status.RANGE
    if opcode != Opcode.TILE:
        return
    modes = {side: f[f"{side}_mode"] for side in ("in", "out")}
    if 3 in (*modes.values(), f["pair"]):
        yield Status.MODE
    if Mode.MEM in modes.values() or f["pair"] != Pair.NONE:
        yield Status.UNSUPPORTED
    if g > config.max_element_cells:
        yield Status.ELEMENT
    fits = 1 <= f["co_align"] < 1 << (16 if f["segment_is_digit"] else 24)
    if not fits or (f["co"] + f["co_align"] - 1) // f["co_align"] > (1 << 16) - 1:
        yield Status.COUNT
    cells = ["in_cell", "out_cell"]
    cells += [f"{record}_{side}_cell" for record in RECORDS for side in modes]
    if any(f[name] % g for name in cells):
        yield Status.ALIGN
    for side, mode in modes.items():
        start = (f[f"{side}_lane"],) * 2 + (f[f"{side}_cell"],) * 2
        step_fits = mode != Mode.ACROSS or 1 <= f[f"{side}_lane_step"] < config.lanes
        if is_limited(f):
            fits = not goes_far(config, f, side)
        else:
            fits = not outside(config, start if is_empty(f) else box(f, side))
        if not (step_fits and fits):
            yield Status.RANGE
    if meet(*region(config, f)) and longest_row(f) > config.lanes:
        yield Status.OVERLAP


def verdict(config, descriptor):
    """The status a descriptor deserves."""
    return next(broken_rules(config, descriptor), Status.OK)


def compare_job(config, descriptor, job):
    """The instruction made of an accepted descriptor: all that the blocks behind may look at."""
    f = unpack(descriptor)
    opcode = f["opcode"]
    reads, writes = region(config, f)
    walk = job["walk"]
    flags = {
        "empty": reads is None,
        "swap": opcode == Opcode.SWAP and reads is not None,
        "fence": opcode in (Opcode.FENCE, Opcode.HALT),
        "halt": opcode == Opcode.HALT,
    }
    assert {name: walk["job"][name] for name in flags} == flags
    if reads is None:
        assert job["repeat_m1"] == [0, 0, 0]  # one block, of one row
        return
    assert walk["job"]["code"] == f["element"]
    if opcode == Opcode.SWAP:
        compare_swap(f, job)
    else:
        compare_tile(f, job, serial=meet(reads, writes))


def compare_swap(f, job):
    """Row i of a block: n - 1 - i elements right of the diagonal, and those below it."""
    lane, cell, n, g = f["in_lane"], f["in_cell"], f["n"], 1 << f["element"]
    walk = job["walk"]
    assert job["start"] == {
        "in": {"lane": lane + 1, "offset": cell}, "out": {"lane": lane, "offset": cell + g}
    }  # fmt: skip
    assert job["repeat_m1"] == [0, 0, 0]
    assert (job["segment"], job["rest"], walk["segment_is_digit"]) == (n - 1, 0, 0)
    assert walk["count_m1"] == [0] * 5 + [n - 2]
    if n > 2:
        assert walk["jump"][5] == {side: {"lane": 1, "offset": g} for side in ("in", "out")}
    assert walk["limits"]["any"] == 0
    assert walk["limits"]["limit"] == [0, 0, 0]
    expected = {"serial": 0, "in_along": 0, "out_along": 1, "in_step_m1": 0, "out_step_m1": 0}
    assert {name: walk["job"][name] for name in expected} == expected


def compare_tile(f, job, *, serial):
    """Loops, segments, digits and limits. What is counted once has no step, and no jump."""
    walk = job["walk"]
    whole, rest = divmod(f["co"], f["co_align"])
    repeats = [f["repeat_ho"], f["repeat_wo"], whole + (rest > 0)]
    assert job["repeat_m1"] == [count - 1 for count in repeats]
    assert job["rest"] == rest
    if whole:
        assert job["segment"] == f["co_align"]
    assert walk["segment_is_digit"] == f["segment_is_digit"]
    if f["segment_is_digit"]:
        assert walk["elements"] == f["n"]
    counted = range(f["segment_is_digit"], len(DIGITS))
    assert [walk["count_m1"][d] for d in counted] == [f[f"d{d}_count"] - 1 for d in counted]
    assert walk["limits"] == {
        "any": is_limited(f),
        "limit": [f[f"limit_{name}"] for name in LOOPS],
        "row_tag": f["row_tag"],
        "tag": [f[f"{name}_tag"] for name in RECORDS],
        "multiplier": [f[f"{name}_multiplier"] for name in RECORDS],
    }
    expected = {"serial": serial}
    for side in ("in", "out"):
        along = f[f"{side}_mode"] == Mode.ALONG
        expected[f"{side}_along"] = along
        if not along:
            expected[f"{side}_step_m1"] = f[f"{side}_lane_step"] - 1
    assert {name: walk["job"][name] for name in expected} == expected
    for side, (unit, its) in itertools.product(
        ("in", "out"), zip(UNITS, ("lane", "offset"), strict=True)
    ):
        assert job["start"][side][its] == f[f"{side}_{unit}"]
        for index, name in enumerate(LOOPS):
            if repeats[index] > 1:
                assert job["step"][index][side][its] == f[f"{name}_{side}_{unit}"]
        for index, digit in enumerate(DIGITS):
            if max(counts[digit] for _, counts, _ in parts(f)) > 1:
                jump = f[f"{digit}_{side}_{unit}"] - sum(
                    (f[f"{name}_count"] - 1) * f[f"{name}_{side}_{unit}"]
                    for name in DIGITS[index + 1 :]
                )
                assert walk["jump"][index][side][its] == jump


# --- the bench -----------------------------------------------------------------------------------


def for_the_tiler(job):
    """What has to stand while the job is prepared."""
    names = ("start", "step", "repeat_m1", "segment", "rest")
    return {name: job[name] for name in names}


async def judge(ctx, block, descriptor):
    """Offer a descriptor to the idle check: (status, cycles, job, reads, writes)."""
    poke(ctx, block.i_cmd.payload, descriptor)
    ctx.set(block.i_cmd.valid, 1)
    cycles = 0
    prepared = None
    while not (ctx.get(block.o_job.valid) or ctx.get(block.o_code.valid)):
        assert not ctx.get(block.i_cmd.ready)
        assert ctx.get(block.prepare) == (cycles >= PREPARED)
        if cycles == PREPARED:
            prepared = for_the_tiler(plain(ctx.get(block.o_job.payload)))
        await ctx.tick()
        cycles += 1
    assert ctx.get(block.i_cmd.ready)
    assert ctx.get(block.prepare)
    accepted = ctx.get(block.o_job.valid)
    assert accepted != ctx.get(block.o_code.valid)
    status = Status.OK if accepted else Status(ctx.get(block.o_code.payload))
    job = plain(ctx.get(block.o_job.payload)) if accepted else None
    assert not accepted or for_the_tiler(job) == prepared
    await ctx.tick()
    ctx.set(block.i_cmd.valid, 0)
    assert ctx.get(block.busy) == accepted
    assert not ctx.get(block.prepare)
    regions = [plain(ctx.get(port)) for port in (block.reads, block.writes)]
    if accepted:
        # The descriptor is gone, the regions stand until the issue.
        poke(ctx, block.i_cmd.payload, 0)
        ctx.set(block.issued, 1)
        assert [plain(ctx.get(port)) for port in (block.reads, block.writes)] == regions
        await ctx.tick()
        ctx.set(block.issued, 0)
        assert not ctx.get(block.busy)
    return status, cycles, job, regions


def open_all(ctx, block):
    """Everything ready."""
    for port in (block.enable, block.o_job.ready, block.o_code.ready):
        ctx.set(port, 1)


def judge_all(config, descriptors):
    """The statuses of descriptors; everything else about them is compared on the way."""
    block = Check(config)
    statuses = []

    async def bench(ctx, reset):
        open_all(ctx, block)
        for descriptor in descriptors:
            status, cycles, job, regions = await judge(ctx, block, descriptor)
            statuses.append(status)
            assert cycles == LATENCY
            if status == Status.OK and verdict(config, descriptor) == Status.OK:
                compare_job(config, descriptor, job)
                for found, wanted in zip(regions, region(config, unpack(descriptor)), strict=True):
                    assert found["valid"] == (wanted is not None)
                    names = ("lane_low", "lane_high", "word_low", "word_high")
                    assert not wanted or tuple(found[name] for name in names) == wanted

    simulate(block, bench)
    return statuses


# --- the rules -----------------------------------------------------------------------------------

ROW = unpack(Tile(Across(0, 0), Along(0, 8), 4).encode())
ONE = unpack(Tile(Along(0, 0), Along(1, 0), 1).encode())  # one element, in lane 0 and lane 1
SWAP = unpack(Swap(0, 0, 4).encode())
RESERVED_BIT = FIELDS["row_tag"].offset + FIELDS["row_tag"].width

BREAK = {
    Status.VERSION: {"version": 0},
    Status.RESERVED: {},  # and RESERVED_BIT
    Status.OPCODE: {"opcode": 9},
    Status.MODE: {"pair": 3},
    Status.UNSUPPORTED: {"pair": 1},
    Status.ELEMENT: {"element": 3},
    Status.COUNT: {"co_align": 1 << 24},
    Status.ALIGN: {"element": 1, "d3_in_cell": 1},
    Status.RANGE: {"d2_count": 2, "d2_in_cell": 256},
    Status.OVERLAP: {"in_mode": 1, "out_cell": 4, "co": 5, "co_align": 5},
}
"""How to break one rule of ROW."""


def broken(*statuses):
    """ROW with these rules broken."""
    changes = {}
    for status in statuses:
        changes = BREAK[status] | changes  # of two for one field, the first
    if Status.COUNT in statuses:
        changes["co_align"] = 1 << 24
    return pack(ROW | changes) | (Status.RESERVED in statuses) << RESERVED_BIT


def test_every_rule_alone_and_before_all_later_ones():
    """Of two broken rules the first gives the code, for all pairs."""
    pairs = list(itertools.combinations(BREAK, 2))
    cases = [(status,) for status in BREAK] + pairs + [tuple(BREAK)]
    descriptors = [broken(*case) for case in cases]
    for case, descriptor in zip(cases, descriptors, strict=True):
        # An unknown opcode has no rules after it.
        assert Status.OPCODE in case or set(case) <= set(broken_rules(TINY, descriptor))
    for case, status in zip(cases, judge_all(TINY, descriptors), strict=True):
        assert status == case[0]


def cases_of_single_fields():
    """(fields, changes, status): both sides of every limit of the rules that sum nothing."""
    ok = Status.OK
    for version in (0, 2, 3, 8, 15):
        yield ROW, {"version": version}, Status.VERSION
    for opcode in range(5, 16):
        yield ROW, {"opcode": opcode}, Status.OPCODE
    for name in ("in_mode", "out_mode", "pair"):
        yield ROW, {name: 3}, Status.MODE
        yield ROW, {name: 2}, Status.UNSUPPORTED
    yield ROW, {"pair": 1}, Status.UNSUPPORTED
    for name, count in itertools.product(("repeat_ho", "repeat_wo"), (0, 1, 2, 65535)):
        yield ROW, {name: count}, ok
    for name, value in itertools.product(("limit_ho", "limit_wo", "limit_co"), (1, 1 << 31)):
        yield ROW, {name: value}, ok
    most = (1 << 16) - 1  # segments
    for co, co_align, status in (
        (4, 4, ok), (4, 5, ok), (5, 4, ok), ((1 << 32) - 1, 4, Status.COUNT),
        (most * 4 - 1, 4, ok), (most * 4, 4, ok), (most * 4 + 1, 4, Status.COUNT),
        (most, 1, ok), (most + 1, 1, Status.COUNT), (1 << 31, 1, Status.COUNT),
        (4, 0, Status.COUNT), (0, 0, Status.COUNT), (0, 1, ok), (4, (1 << 24) - 1, ok),
        (4, 1 << 24, Status.COUNT), (4, (1 << 32) - 1, Status.COUNT),
        (0, 1 << 24, Status.COUNT), ((1 << 24) + 4, (1 << 24) + 4, Status.COUNT),
    ):  # fmt: skip
        yield ROW, {"co": co, "co_align": co_align}, status
    for co in (most, most + 1):  # of an empty tile, too
        segments = {"segment_is_digit": 1, "n": 0, "co": co, "co_align": 1}
        yield ROW, segments, Status.COUNT if co > most else ok
    for co_align, status in (((1 << 16) - 1, ok), (1 << 16, Status.COUNT), (0, Status.COUNT)):
        yield ROW, {"segment_is_digit": 1, "n": 4, "co": 1, "co_align": co_align}, status
    ignored = {"row_tag": 3, "d5_tag": 2, "half_cells": 7, "co_multiplier": 9, "d2_multiplier": 8}
    yield ROW, ignored | {"n": (1 << 24) - 1, "co_in_lane": -1, "ho_out_lane": -32768}, ok
    for element, status in ((0, ok), (1, ok), (2, ok), (3, Status.ELEMENT)):
        yield ONE, {"element": element}, status
        yield SWAP, {"element": element}, status
    for record, side in itertools.product(RECORDS, ("in", "out")):
        name = f"{record}_{side}_cell"
        for value in (4, -4, 6, 1, -1, -(1 << 31)):
            yield ONE, {"element": 2, name: value}, Status.ALIGN if value % 4 else ok
        yield ONE, {"element": 1, name: 6}, ok
    for side in ("in", "out"):
        for value, status in ((252, ok), (254, Status.ALIGN), (255, Status.ALIGN)):
            yield ONE, {"element": 2, f"{side}_cell": value}, status
    for value, status in ((0, ok), (2, Status.ALIGN), (4, ok)):
        yield SWAP, {"element": 2, "in_cell": value}, status
    # Empty tiles are checked as usual.
    yield ONE, {"d4_count": 0, "element": 1, "d1_in_cell": 1}, Status.ALIGN
    yield ONE, {"d4_count": 0, "element": 3}, Status.ELEMENT


def run_table(config, table):
    """Compare every row of a table of (fields, changes, status)."""
    descriptors = [pack(base | changes) for base, changes, _ in table]
    for (_, changes, status), descriptor in zip(table, descriptors, strict=True):
        assert verdict(config, descriptor) == status, changes
        assert checks.check(config, descriptor) == status, changes
    for (_, changes, status), found in zip(table, judge_all(config, descriptors), strict=True):
        assert found == status, changes


def test_limits_of_single_fields():
    """Both sides of each."""
    run_table(TINY, list(cases_of_single_fields()))


def test_every_reserved_bit():
    """Each bit alone: all that no field has, and for the plain opcodes some of every word."""
    free = ~named_mask(FIELDS)
    bits = [bit for bit in range(2048) if free >> bit & 1]
    assert bits
    rng = random.Random(21)
    # One of the reserved bits of each word, and all edges of the gaps.
    chosen = {
        rng.choice([bit for bit in bits if bit // 32 == word]) for word in {b // 32 for b in bits}
    }
    chosen |= {bit for bit in bits if bit - 1 not in bits or bit + 1 not in bits}
    cases = [pack(ROW) | 1 << bit for bit in chosen]
    for item in (Nop(), Fence(), Halt(), Swap(0, 0, 2)):
        opcode = unpack(item.encode())["opcode"]
        for name, field in FIELDS.items():
            if name not in USED[opcode] and rng.random() < 0.2:
                cases.append(item.encode() | 1 << rng.randrange(field.width) + field.offset)
    assert set(judge_all(TINY, cases)) == {Status.RESERVED}
    # An unknown opcode is not asked which fields it uses.
    unknown = pack(dict.fromkeys(FIELDS, 1) | {"opcode": 12})
    found = judge_all(TINY, [unknown, unknown | 1 << bits[0]])
    assert found == [Status.OPCODE, Status.RESERVED]


def cases_of_ranges(config):
    """(fields, changes, status): boxes that just fit, and just do not."""
    ok, bad = Status.OK, Status.RANGE
    lanes, cells, g_max = config.lanes, config.cells, config.max_element_cells
    lots = (1 << 16, 1 << 31, (1 << 32) - 1)
    for side, other in (("in", "out"), ("out", "in")):
        base = ONE | {f"{other}_lane": 1, f"{side}_lane": 0}
        lane, cell = f"{side}_lane", f"{side}_cell"
        for value in (lanes, lanes + 1, *lots):
            yield base, {lane: value}, bad
            yield base, {lane: value, "co": 0}, bad
            yield base, {lane: value, "d2_count": 0}, bad
        for value in (cells, *lots):
            yield base, {cell: value}, bad
            yield base, {cell: value, "repeat_wo": 0}, bad
        yield base, {lane: lanes - 1, cell: cells - 1, f"{other}_lane": 0}, ok
        yield base, {cell: cells - g_max, "element": g_max.bit_length() - 1}, ok
        # Loops and digits: down from the start, and up. The co loop counts segments of one element.
        counts = {name: f"repeat_{name}" for name in ("ho", "wo")} | {"co": "co"}
        for name in ("ho", "wo", "co", "d0", "d5"):
            count, step = counts.get(name, f"{name}_count"), f"{name}_{side}"
            moved = {lane: lanes - 1, f"{other}_lane": 0}
            if lanes > 2:
                yield base, moved | {count: 2, f"{step}_lane": 1 - lanes, f"{other}_cell": 1}, ok
            yield base, {count: 2, f"{step}_lane": -1}, bad
            yield base, moved | {count: 2, f"{step}_lane": 1}, bad
            yield base, moved | {count: 2, f"{step}_lane": -lanes}, bad
            yield base, {count: cells, f"{step}_cell": 1}, ok
            yield base, {count: 2, f"{step}_cell": cells - 1}, ok
            yield base, {count: 2, f"{step}_cell": cells}, bad
            yield base, {cell: 1, count: 2, f"{step}_cell": cells - 1}, bad
            yield base, {cell: cells - 1, count: 2, f"{step}_cell": 1 - cells}, ok
            yield base, {cell: cells - 2, count: 2, f"{step}_cell": 1 - cells}, bad
            yield base, {cell: cells - 1, count: 2, f"{step}_cell": -cells}, bad
            # Products that are zero modulo the address space, or modulo 2**32.
            for huge in (1 << 16, -(1 << 31), (1 << 31) - 1, -cells):
                yield base, {count: 2, f"{step}_cell": huge}, bad
                yield base, {count: 65535, f"{step}_cell": huge}, bad
                yield base, {count: 1, f"{step}_cell": huge}, ok
                yield base, {count: 0, f"{step}_cell": huge}, ok
            yield base, {count: 65535, f"{step}_cell": 1}, ok if cells >= 65535 else bad
            yield base, {count: 65535, f"{step}_lane": -32768}, bad
            yield base, {count: 65535}, ok
        # Upwards and downwards do not cancel out.
        both = {"d1_count": 2, "d4_count": 2, f"d4_{side}_cell": -1}
        yield base, both | {f"d1_{side}_cell": 1}, bad
        yield base, both | {cell: 1, f"d1_{side}_cell": cells - 2}, ok
        yield base, both | {cell: 1, f"d1_{side}_cell": cells - 1}, bad
        # A rest is shorter, and only its own last place has to be inside: of a row, or a digit.
        for rest, far in ((1, cells - 1), (2, cells - 2)):
            segments = {"co": 4 + rest, "co_align": 4, f"co_{side}_cell": far}
            yield base, segments, ok
            yield base, segments | {f"co_{side}_cell": far + 1}, bad
            digit = {"segment_is_digit": 1, "n": 1, f"d0_{side}_cell": 1}
            yield base, segments | digit, ok
            yield base, segments | digit | {f"co_{side}_cell": far + 1}, bad
            back = {cell: far, f"co_{side}_cell": -far} | {f"{other}_cell": 0}
            yield base, segments | back, ok if far + 3 < cells else bad
        # Two whole segments and a rest, one behind the other, up to the last cell; and downwards.
        row = {"co": 10, "co_align": 4, f"co_{side}_cell": 4}
        yield base, row | {cell: cells - 10}, ok
        yield base, row | {cell: cells - 9}, bad
        yield base, row | {cell: 8, f"co_{side}_cell": -4}, ok
        yield base, row | {cell: 7, f"co_{side}_cell": -4}, bad
        # Only the rest there is: the step that would lead to it is not taken.
        yield base, {"co": 3, "co_align": 4, cell: cells - 3, f"co_{side}_cell": 1 << 20}, ok
        yield base, {"co": 4, "co_align": 4, cell: cells - 4, f"co_{side}_cell": 1 << 20}, ok
        # Seven terms at once: all the cells there are, and one more.
        part = (cells - 1) // 7
        rest = cells - 1 - 6 * part
        digits = {f"{digit}_count": 2 for digit in DIGITS}
        digits |= {f"{digit}_{side}_cell": part for digit in DIGITS}
        row = {"co": rest + 1, "co_align": rest + 1, f"{other}_cell": 0}
        yield base, digits | row, ok
        yield base, digits | row | {cell: 1}, bad
        # Lane steps.
        across = base | {f"{side}_mode": 0, cell: 8}
        for step, status in ((0, bad), (1, ok), (lanes - 1, ok), (lanes, bad), (65535, bad)):
            yield across, {f"{side}_lane_step": step}, status
            yield across, {f"{side}_lane_step": step, "co": 0}, status
            yield across, {f"{side}_lane_step": step, f"{side}_mode": 1}, ok
        for n, step, status in (
            (lanes, 1, ok), (lanes + 1, 1, bad), (2, lanes - 1, ok), (3, lanes - 1, bad),
            (65535, 1, bad), (65536, lanes - 1, bad), (65537, 1, bad), ((1 << 24) - 1, 1, bad),
        ):  # fmt: skip
            yield across, {"co": n, "co_align": n, f"{side}_lane_step": step}, status
    swap = SWAP | {"n": min(lanes, cells)}
    n = swap["n"]
    yield swap, {}, ok
    yield swap, {"in_lane": 1}, bad
    yield swap, {"n": lanes + 1}, bad
    yield swap, {"n": (1 << 24) - 1}, bad
    yield swap, {"n": 1 << 16}, bad
    yield swap, {"n": (1 << 16) + 1}, bad
    yield swap, {"in_cell": cells - n}, ok
    yield swap, {"in_cell": cells - n + 1}, bad
    for n in (0, 1):
        yield swap, {"n": n, "in_lane": lanes - 1, "in_cell": cells - 1}, ok
        yield swap, {"n": n, "in_lane": lanes}, bad
        yield swap, {"n": n, "in_cell": cells}, bad
        yield swap, {"n": n, "in_lane": 1 << 31}, bad
        yield swap, {"n": n, "in_cell": 1 << 31}, bad


@pytest.mark.parametrize("config", [TINY, OTHER], ids=["tiny", "other"])
def test_limits_of_boxes(config):
    """Each on both sides of the limit."""
    run_table(config, list(cases_of_ranges(config)))


def test_rows_of_more_elements_than_a_count_holds():
    """Rows of 2**16 elements, one less and one more; segments of digits too."""
    base = unpack(Tile(Along(0, 0), Along(1, 0), 1).encode())
    table = []
    for n, status in ((65535, Status.OK), (65536, Status.OK), (65537, Status.RANGE),
                      (1 << 17, Status.RANGE), ((1 << 24) - 1, Status.RANGE)):  # fmt: skip
        table.append((base, {"co": n, "co_align": n}, status))
        table.append((base, {"segment_is_digit": 1, "n": n}, status))
        # What the segment replaces is ignored, and an empty tile moves nothing.
        table.append((base, {"n": n}, Status.OK))
        table.append((base, {"co": n, "co_align": n, "d0_count": 0}, Status.OK))
    digit = {"segment_is_digit": 1, "n": 1, "d0_count": 9, "d0_in_cell": 1, "d0_out_cell": 1}
    for co in (0, 1, 65534, 65535):
        table.append((base, digit | {"co": co, "co_align": 65535}, Status.OK))
    table.append((base, digit | {"co": 65535, "co_align": 65535, "in_cell": 2}, Status.RANGE))
    run_table(LONG, table)


def test_overlap():
    """Regions are whole words; rows up to M elements may meet."""
    lanes = TINY.lanes
    ok, bad = Status.OK, Status.OVERLAP
    table = []
    for n, cell, lane, status in (
        (lanes, 0, 0, ok), (lanes + 1, 0, 0, bad), (lanes + 1, 0, 1, ok), (lanes + 1, 7, 0, bad),
        (lanes + 1, 8, 0, ok), (lanes, 7, 0, ok), (200, 100, 0, Status.RANGE), (200, 50, 0, bad),
        (128, 128, 0, ok), (128, 127, 0, bad),
    ):  # fmt: skip
        base = unpack(Tile(Along(0, 0), Along(lane, cell), n).encode())
        table.append((base, {}, status))
        table.append((base, {"d5_count": 0}, Status.OK))
        segment = {"segment_is_digit": 1, "n": n, "co": 1, "co_align": 1}
        table.append((base, segment, status))
    # Boxes meet, though no row does: the first digit jumps over the other side.
    jump = unpack(Tile(Along(0, 0), Along(0, 16), 5, (Digit(2, (0, 32), (0, 0)),)).encode())
    table.append((jump, {}, bad))
    table.append((jump, {"co": 4}, ok))
    # The longest row counts: of the whole segments, if there are any.
    for co, co_align, status in ((10, 5, bad), (9, 5, bad), (9, 4, ok), (4, 5, ok), (5, 9, bad)):
        base = unpack(Tile(Along(0, 0), Along(0, 4), 1).encode())
        base |= {"co_in_cell": 5, "co_out_cell": 5, "co": co, "co_align": co_align}
        table.append((base, {}, status))
    # Only the rest reaches the other side.
    base = unpack(Tile(Along(0, 0), Along(0, 24), 1).encode())
    base |= {"co": 13, "co_align": 6, "co_in_cell": 12, "co_out_cell": 12}
    table += [(base, {}, bad), (base, {"co": 12}, ok), (base, {"co_in_cell": 11}, ok)]
    run_table(TINY, table)


def cases_of_limits(config):
    """(fields, changes, status) with a limit: what lies outside is left to the rows."""
    ok, bad = Status.OK, Status.RANGE
    ends = {"lane": 1 << config.lane_bits + 4, "cell": 1 << config.address_bits}
    for side, other in (("in", "out"), ("out", "in")):
        base = ONE | {f"{other}_lane": 1, f"{side}_lane": 0, "limit_wo": 7}
        for unit, end in ends.items():
            start = f"{side}_{unit}"
            for value in {0, end - 1, end, (1 << 32) - 1} - {1 << 32}:
                yield base, {start: value}, ok if value < end else bad
            step_end = 1 << (15 if unit == "lane" else 31)
            counts = {name: f"repeat_{name}" for name in ("ho", "wo")} | {"co": "co"}
            for name in ("ho", "wo", "co", "d0", "d4"):
                count, step = counts.get(name, f"{name}_count"), f"{name}_{side}_{unit}"
                for value, status in ((end - 1, ok), (-end, ok), (end, bad), (-end - 1, bad)):
                    if -step_end <= value < step_end:
                        yield base, {count: 2, step: value}, status
                    value //= 4
                    if -step_end <= value < step_end:
                        # Four steps are there, and a fifth.
                        status = ok if -end <= 4 * value < end else bad
                        yield base, {count: 5, step: value}, status
                        status = ok if -end <= 5 * value < end else bad
                        yield base, {count: 6, step: value}, status
                if end < step_end:
                    yield base, {count: 1, step: end}, ok
                    yield base, {count: 65535, step: -end}, bad
                yield base, {count: 0, step: step_end - 1}, ok
            # The step on to the rest, and the way over the whole segments, each by itself.
            step = f"co_{side}_{unit}"
            for value, status in ((end - 1, ok), (-end, ok), (end, bad), (-end - 1, bad)):
                if -step_end <= value < step_end:
                    yield base, {"co": 5, "co_align": 4, step: value}, status
                    yield base, {"co": 3, "co_align": 4, step: value}, ok
                    yield base, {"co": 4, "co_align": 4, step: value}, ok
            for value, status in ((end // 2 - 1, ok), (-end // 2, ok), (end // 2, bad)):
                if value < step_end:
                    yield base, {"co": 13, "co_align": 4, step: value}, status
            # Together they may go further.
            if end <= step_end:
                both = {"d1_count": 2, "d4_count": 2, "repeat_ho": 2, start: end - 1}
                yield (
                    base,
                    both | {f"{name}_{side}_{unit}": end - 1 for name in ("d1", "d4", "ho")},
                    ok,
                )
                yield (
                    base,
                    both | {f"{name}_{side}_{unit}": -end for name in ("d1", "d4", "ho")},
                    ok,
                )
        # A row may reach as far as it likes, but not step over lanes that are not there.
        far = {"co": (1 << 24) - 1, "co_align": (1 << 24) - 1}
        yield base, far, ok
        across = {f"{side}_mode": 0, f"{side}_lane_step": 1, f"{other}_cell": 16}
        yield base, across | far, ok
        yield base, across | far | {f"{side}_lane_step": config.lanes - 1}, ok
        for step in (0, config.lanes, 65535):
            yield base, across | {f"{side}_lane_step": step}, bad
        # Without rows nothing can be judged as it runs.
        yield base, {f"{side}_lane": config.lanes, "d3_count": 0}, bad
        yield base, {f"{side}_cell": config.cells, "repeat_ho": 0}, bad
        yield base, {f"{side}_lane": config.lanes - 1, "d3_count": 0}, ok
    for name in LOOPS:
        outside_now = {"in_cell": config.cells, "limit_wo": 0}
        yield base, outside_now, bad
        yield base, outside_now | {f"limit_{name}": 1}, ok


@pytest.mark.parametrize("config", [TINY, OTHER], ids=["tiny", "other"])
def test_what_limits_leave_of_the_boxes(config):
    """Only what could not be added up is rejected; regions are clipped."""
    table = []
    for base, changes, status in cases_of_limits(config):
        # Rows of more than M elements whose regions meet are another rule.
        f = base | changes
        if status != Status.OK or not meet(*region(config, f)) or longest_row(f) <= config.lanes:
            table.append((base, changes, status))
    assert len(table) > 100
    run_table(config, table)


@each_config
def test_random_boxes_at_the_limits(config):
    """Random steps and counts; the start such that one bound is at its limit, or one beyond."""
    rng = random.Random(22)
    descriptors = []
    for _ in range(120):
        g = 1 << rng.randrange(config.element_codes)
        f = dict(
            ONE, element=g.bit_length() - 1, in_mode=rng.randrange(2), out_mode=rng.randrange(2)
        )
        n = rng.choice([1, 2, config.lanes, config.lanes + 1, rng.randint(1, config.cells // g)])
        f |= {"co": n, "co_align": n, "in_lane_step": 1, "out_lane_step": 1}
        if rng.random() < 0.5:  # several segments, of rows or of a digit
            f |= {"co_align": rng.randint(1, n), "co": n * rng.randint(1, 2)}
        if rng.random() < 0.3:
            f |= {"segment_is_digit": 1, "n": n, "co_align": 2, "co": rng.randint(1, 5)}
        counts = {"ho": "repeat_ho", "wo": "repeat_wo"}
        for name in rng.sample(("ho", "wo", "co", *DIGITS), rng.randint(0, 4)):
            if name != "co":
                f[counts.get(name, f"{name}_count")] = rng.choice([1, 2, 3])
            for side in ("in", "out"):
                f[f"{name}_{side}_lane"] = rng.randint(-1, 1)
                f[f"{name}_{side}_cell"] = g * rng.choice([0, 0, 1, -1, rng.randint(-9, 9)])
        for name in RECORDS:
            f |= {f"{name}_tag": rng.randrange(4), f"{name}_multiplier": rng.getrandbits(16)}
        if rng.random() < 0.2:
            f |= {"limit_co": rng.getrandbits(32), "row_tag": rng.randrange(4)}
        for side in ("in", "out"):
            f |= {f"{side}_lane": 0, f"{side}_cell": 0}
            lane_low, lane_high, cell_low, cell_high = box(f, side)
            lanes = [-lane_low, config.lanes - 1 - lane_high]
            cells = [-cell_low, config.cells - 1 - cell_high]
            miss = rng.choice([(0, 0), (0, 0), (0, 0), (1, 0), (0, g), (-1, 0), (0, -g)])
            f[f"{side}_lane"] = max(0, rng.choice(lanes) + miss[0])
            f[f"{side}_cell"] = max(0, rng.choice(cells) + miss[1])
        descriptors.append(pack(f))
    expected = [verdict(config, descriptor) for descriptor in descriptors]
    assert [checks.check(config, descriptor) for descriptor in descriptors] == expected
    assert judge_all(config, descriptors) == expected
    assert {Status.OK, Status.RANGE} <= set(expected)


@settings(max_examples=4)
@given(data=st.data())
@pytest.mark.parametrize("config", [TINY, CONFIGS["wide"]], ids=["tiny", "wide"])
def test_random_programs(config, data):
    """As the model judges them."""
    program = data.draw(st.lists(instructions(config, loops=True), min_size=25, max_size=25))
    descriptors = [item if isinstance(item, int) else item.encode() for item in program]
    expected = [checks.check(config, descriptor) for descriptor in descriptors]
    assert [verdict(config, descriptor) for descriptor in descriptors] == expected
    assert judge_all(config, descriptors) == expected


# --- the streams ---------------------------------------------------------------------------------


def test_waits_for_the_row_generator_and_for_the_issue():
    """A verdict stands until it is taken; the next one is passed on once the instruction issued."""
    block = Check(TINY)
    good, next_good = pack(ROW), pack(ROW | {"in_cell": 1})
    rejected = pack(ROW | {"version": 2})

    async def bench(ctx, reset):
        ctx.set(block.enable, 1)
        poke(ctx, block.i_cmd.payload, good)
        ctx.set(block.i_cmd.valid, 1)
        await ctx.tick().repeat(LATENCY)
        for _ in range(7):
            assert ctx.get(block.o_job.valid)
            assert not ctx.get(block.i_cmd.ready)
            compare_job(TINY, good, plain(ctx.get(block.o_job.payload)))
            await ctx.tick()
        ctx.set(block.o_job.ready, 1)
        assert ctx.get(block.i_cmd.ready)
        await ctx.tick()
        poke(ctx, block.i_cmd.payload, next_good)
        regions = [plain(ctx.get(port)) for port in (block.reads, block.writes)]
        for cycle in range(25):  # not issued: the next one is checked, and waits
            assert not ctx.get(block.o_job.valid)
            assert not ctx.get(block.i_cmd.ready)
            assert ctx.get(block.busy)
            assert ctx.get(block.prepare) == (cycle >= PREPARED)
            assert [plain(ctx.get(port)) for port in (block.reads, block.writes)] == regions
            await ctx.tick()
        ctx.set(block.issued, 1)
        await ctx.tick()
        ctx.set(block.issued, 0)
        for cycle in range(1, PASSES + 1):
            assert ctx.get(block.o_job.valid) == (cycle == PASSES)
            await ctx.tick()
        # A rejection waits for the issue, too, but no longer.
        poke(ctx, block.i_cmd.payload, rejected)
        for _ in range(LATENCY + 5):
            assert not ctx.get(block.o_code.valid)
            assert not ctx.get(block.i_cmd.ready)
            await ctx.tick()
        ctx.set(block.issued, 1)
        await ctx.tick()
        ctx.set(block.issued, 0)
        for _ in range(5):  # it stands until it is taken
            assert ctx.get(block.o_code.valid)
            assert ctx.get(block.o_code.payload) == Status.VERSION
            assert ctx.get(block.prepare)
            assert not ctx.get(block.o_job.valid)
            assert not ctx.get(block.i_cmd.ready)
            await ctx.tick()
        ctx.set(block.o_code.ready, 1)
        assert ctx.get(block.i_cmd.ready)
        await ctx.tick()
        poke(ctx, block.i_cmd.payload, good)
        await ctx.tick().repeat(LATENCY)
        assert ctx.get(block.o_job.valid)

    simulate(block, bench)


def test_no_check_starts_while_it_is_not_enabled():
    """One that has started goes on."""
    block = Check(TINY)

    async def bench(ctx, reset):
        open_all(ctx, block)
        ctx.set(block.enable, 0)
        poke(ctx, block.i_cmd.payload, pack(ROW))
        ctx.set(block.i_cmd.valid, 1)
        for _ in range(2 * LATENCY):
            assert not ctx.get(block.o_job.valid)
            assert ctx.get(block.busy)
            await ctx.tick()
        ctx.set(block.enable, 1)
        await ctx.tick()
        ctx.set(block.enable, 0)
        await ctx.tick().repeat(LATENCY - 1)
        assert ctx.get(block.o_job.valid)

    simulate(block, bench)


def test_flush_at_every_step():
    """What is accepted is forgotten, what is offered is checked again from the start."""
    block = Check(TINY)

    async def bench(ctx, reset):
        open_all(ctx, block)
        for steps in range(1, LATENCY + 4):
            poke(ctx, block.i_cmd.payload, pack(ROW))
            ctx.set(block.i_cmd.valid, 1)
            for _ in range(steps):
                taken = ctx.get(block.i_cmd.ready)
                await ctx.tick()
                if taken:
                    ctx.set(block.i_cmd.valid, 0)
            ctx.set(block.flush, 1)
            await ctx.tick()
            ctx.set(block.flush, 0)
            ctx.set(block.i_cmd.valid, 0)
            assert not ctx.get(block.busy)
            status, cycles, job, _ = await judge(ctx, block, pack(ROW | {"out_cell": 16}))
            assert (status, cycles) == (Status.OK, LATENCY)
            compare_job(TINY, pack(ROW | {"out_cell": 16}), job)

    simulate(block, bench)
