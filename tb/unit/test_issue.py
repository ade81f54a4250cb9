"""Sequencer and issue: rows into slots, exactly those of the specification, when it says so."""

import random
from collections import Counter

import pytest
from amaranth import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped
from cornerturn import isa
from cornerturn.config import Config
from cornerturn.tiu.issue import Issue
from cornerturn.tiu.sequencer import Sequencer
from unit.bench import CONFIGS, draw, each_config, plain, poke, simulate

LATENCY = 2
"""From a row taken to its first slot."""

STALLS = ("stall_completion", "stall_fence", "stall_hazard", "stall_port")
EVENTS = ("row", "block", "read", "write", "issued", "halt_issued", "fault_issued", *STALLS)

HELD = Config(lanes=24, lanes_per_hop=24, cells=64, beat_cells=2)
"""Rows of M elements are longer than the chain protects."""


# --- what is expected ----------------------------------------------------------------------------


class Tile:
    """A tile's rows, by the words of the specification; each has its own addresses and length.

    Some are `trimmed`, some are void, with this probability; the one with the number `fault` ends
    the instruction.
    """

    def __init__(
        self, rng, config, *, rows=1, serial=False, n=None, code=None, trimmed=False, voids=0,
        fault=None, **modes,
    ):  # fmt: skip
        self.config = config
        self.serial = serial
        self.code = rng.randrange(config.element_codes) if code is None else code
        g = self.g = 1 << self.code
        self.along = {side: modes.get(side, rng.getrandbits(1)) for side in ("in", "out")}
        if n is None and all(self.along.values()) and not serial:
            n = rng.randint(1, config.cells // g)
        n = n or rng.choice([1, config.lanes, rng.randint(1, config.lanes)])
        self.n = min(n, config.cells // g)
        most = (config.lanes - 1) // max(1, self.n - 1)
        self.step = {
            side: rng.randint(1, max(1, min(most, config.lanes - 1))) for side in self.along
        }
        self.starts = [{side: self._start(rng, side) for side in self.along} for _ in range(rows)]
        self.lengths = [rng.randint(1, self.n) if trimmed else self.n for _ in range(rows)]
        self.fault = fault
        self.block_rows = rng.randint(1, rows)
        # The places and beats of a row that moves nothing can be anything.
        self.voids = {
            index: draw(rng, isa.row(config), void=1, fault=index == fault)
            for index in range(rows)
            if index == fault or rng.random() < voids
        }

    def _start(self, rng, side):
        config = self.config
        if self.along[side]:
            cell = rng.randrange(0, config.cells - self.n * self.g + 1, self.g)
            return {"lane": rng.randrange(config.lanes), "cell": cell}
        room = config.lanes - 1 - (self.n - 1) * self.step[side]
        return {
            "lane": rng.randint(0, room), "cell": rng.randrange(0, config.cells, self.g)
        }  # fmt: skip

    def _offsets(self, start):
        word = self.config.beat_cells
        return [start[side]["cell"] % word * self.along[side] for side in ("in", "out")]

    def beats(self, index):
        """Beats read and written of a row."""
        word, cells = self.config.beat_cells, self.lengths[index] * self.g
        return [-(-(offset + cells) // word) for offset in self._offsets(self.starts[index])]

    def part(self, index, side, beat):
        """Where a beat of an across side is: lanes and places, word, offset of the element."""
        word, start, n = self.config.beat_cells, self.starts[index], self.lengths[index]
        elements = range(beat * word // self.g, min((beat + 1) * word // self.g, n))
        lane, cell = start[side]["lane"], start[side]["cell"]
        places = [(lane + k * self.step[side], k * self.g % word) for k in elements]
        return places, cell // word, cell % word

    def held(self, index):
        """Whether the writes of this row are held back."""
        return self.serial and self.beats(index)[0] > self.config.protected_beats

    def slots(self, index):
        """(read, write) of each slot of a row; None for neither."""
        if index in self.voids:
            yield None, None
            return
        config, word, start = self.config, self.config.beat_cells, self.starts[index]
        reads, writes = self.beats(index)
        source, destination = self._offsets(start)
        delay = config.hold_beats if self.held(index) else 0
        for slot in range(max(reads, writes) + delay):
            read = write = None
            b = slot - delay
            if slot < reads:
                lane, cell = start["in"]["lane"], start["in"]["cell"]
                if self.along["in"]:
                    read = ("along", lane, cell // word + slot)
                else:
                    read = ("across", *self.part(index, "in", slot))
            if 0 <= b < writes:
                lane, cell = start["out"]["lane"], start["out"]["cell"]
                if self.along["out"]:
                    first = destination if b == 0 else 0
                    last = (destination + self.lengths[index] * self.g - 1) % word
                    final = last if b == writes - 1 else word - 1
                    write = ("along", lane, cell // word + b, first, final)
                else:
                    write = ("across", *self.part(index, "out", b))
                turn = {"rotate": (destination - source) % word, "late": destination < source}
                write = (write, turn | {"held": bool(delay), "swap_across": 0})
            yield read, write

    def rows(self):
        """What the row generator sends, and the slots of each row."""
        job = {
            "serial": self.serial, "in_along": self.along["in"], "out_along": self.along["out"],
            "in_step_m1": self.step["in"] - 1, "out_step_m1": self.step["out"] - 1,
            "code": self.code,
        }  # fmt: skip
        job = dict.fromkeys((name for name, _ in isa.job(self.config)), 0) | job
        for index, start in enumerate(self.starts):
            reads, writes = self.beats(index)
            marks = {
                "first": index == 0, "last": index == len(self.starts) - 1,
                "begin": index % self.block_rows == 0, "job": job,
            }  # fmt: skip
            row = {
                **{side: place(**start[side]) for side in self.along}, "void": 0, "fault": 0,
                "cells": self.lengths[index] * self.g, "read_beats": reads, "write_beats": writes,
            }  # fmt: skip
            yield self.voids.get(index, row) | marks, self.slots(index)

    def fault_address(self):
        """What the status reports."""
        row = self.voids[self.fault]
        place = row["out" if row["fault_out"] else "in"]
        return ((place["lane"] << 32) + place["offset"] % (1 << 32)) % (1 << 64)


def place(lane, cell):
    """A place as the hardware has it."""
    return {"lane": lane, "offset": cell}


class Swap:
    """A SWAP of at least two elements."""

    serial = False

    def __init__(self, rng, config, n=None, code=None):
        self.config = config
        self.code = rng.randrange(config.element_codes) if code is None else code
        g = self.g = 1 << self.code
        self.n = n or rng.randint(2, config.lanes)
        self.lane = rng.randint(0, config.lanes - self.n)
        self.cell = rng.randrange(0, config.cells - self.n * g + 1, g)

    def slots(self, i):
        """(read, write) of each slot of row i."""
        word, g, n = self.config.beat_cells, self.g, self.n
        along_cell = self.cell + (i + 1) * g
        across_word, offset = divmod(self.cell + i * g, word)
        o = along_cell % word
        for b in range(-(-(o + (n - 1 - i) * g) // word)):
            inside = [
                j for j in range(i + 1, n) if b * word <= o + (j - i - 1) * g < (b + 1) * word
            ]
            places = [(self.lane + j, (o + (j - i - 1) * g) % word) for j in inside]
            across = ("across", places, across_word, offset)
            first, final = places[0][1], places[-1][1] + g - 1
            along = ("along", self.lane + i, along_cell // word + b)
            still = {"rotate": 0, "late": 0, "held": 0}
            yield across, ((*along, first, final), still | {"swap_across": 0})
            yield along, (across, still | {"swap_across": 1})

    def rows(self):
        """What the row generator sends, and the slots of each row."""
        word = self.config.beat_cells
        for i in range(self.n - 1):
            cells = (self.n - 1 - i) * self.g
            start = {"lane": self.lane + i + 1, "cell": self.cell + i * self.g}
            target = {"lane": self.lane + i, "cell": self.cell + (i + 1) * self.g}
            job = dict.fromkeys((name for name, _ in isa.job(self.config)), 0)
            job |= {"swap": 1, "out_along": 1, "code": self.code}
            yield {
                "first": i == 0, "last": i == self.n - 2, "begin": i == 0, "void": 0, "fault": 0,
                "job": job, "in": place(**start), "out": place(**target),
                "cells": cells, "read_beats": -(-cells // word),
                "write_beats": -(-(target["cell"] % word + cells) // word),
            }, self.slots(i)  # fmt: skip


class Empty:
    """An instruction without rows."""

    serial = False

    def __init__(self, rng, config, *, fence=0, halt=0):
        # The addresses and beats of a row that is not there can be anything.
        self.row = draw(rng, isa.row(config), first=1, last=1, begin=1, void=1, fault=0)
        self.row["job"] |= {"empty": 1, "swap": 0, "serial": 0, "fence": fence, "halt": halt}

    def rows(self):
        """One row that touches nothing."""
        yield self.row, [(None, None)]


def collide(config, read, across_write):
    """Whether a read touches a word that an across write of a SWAP writes."""
    lanes = {read[1]} if read[0] == "along" else {lane for lane, _ in read[1]}
    return read[2] == across_write[2] and lanes & {lane for lane, _ in across_write[1]}


def schedule(config, instructions, cycle):
    """{cycle: (read, write, marks)} if rows are always there and nothing else holds them.

    `cycle` is that of the first slot. Ends with a row that ends its instruction. Returns the number
    of stalled cycles by cause, too.
    """
    slots, stalls = {}, Counter()
    # Also of the SWAP before: in the engine the interlock keeps the two apart, here nothing does.
    swap_writes = {}
    for instruction in instructions:
        free = cycle  # of hazards within the instruction
        for row, parts in instruction.rows():
            if free > cycle:
                stalls["stall_hazard"] += free - cycle
                cycle = free
            parts = list(parts)
            last_write = max([k for k, part in enumerate(parts) if part[1]], default=0)
            for k, (read, write) in enumerate(parts):
                blocker = isinstance(instruction, Swap)
                while blocker:
                    blocker = swap_writes.get(cycle + 1 - config.write_delay)
                    blocker = blocker and collide(config, read, blocker)
                    if blocker:
                        stalls["stall_port"] += 1
                        cycle += 1
                marks = {
                    "last": (row["last"] or row["fault"]) and k == last_write,
                    "row_end": bool(instruction.serial and not row["last"] and k == last_write
                                    and write),
                    "begins": k == 0, "first": row["first"], "block": row["begin"],
                    "void": row["void"], "fault": row["fault"],
                    "empty": row["job"].get("empty", 0), "halt": row["job"].get("halt", 0),
                }  # fmt: skip
                slots[cycle] = (read, write, marks)
                if row["fault"]:
                    return slots, stalls
                if write and write[1]["swap_across"]:
                    swap_writes[cycle] = write[0]
                if k == last_write and instruction.serial and write:
                    free = cycle + config.write_delay + config.raw_gap
                cycle += 1
    return slots, stalls


# --- what is seen --------------------------------------------------------------------------------


def seen_places(op, first, last):
    """Lanes and places of an across micro-op."""
    elements = range(first, last + 1, 1 << op["code"])
    return [(op["skip"] + k * (op["step_m1"] + 1), place) for k, place in enumerate(elements)]


def seen_read(op):
    """A read micro-op in the words of `Tile.slots`."""
    if not op["valid"]:
        return None
    if op["along"]:
        assert op["position"] == op["last_position"]  # it ends at its first hit
        return "along", op["skip"], op["word"]
    places = seen_places(op, op["position"], op["last_position"])
    return "across", places, op["word"], op["offset"]


def seen_write(slot):
    """A slot's write half in the words of `Tile.slots`."""
    if not slot["valid"]:
        return None
    if slot["along"]:
        write = ("along", slot["skip"], slot["word"], slot["first"], slot["final"])
    else:
        places = seen_places(slot, slot["first"], slot["final"])
        write = ("across", places, slot["word"], slot["offset"])
    return write, {name: slot[name] for name in ("rotate", "late", "held", "swap_across")}


class Pair(wiring.Component):
    """A sequencer and what issues its slots."""

    def __init__(self, config):
        self.sequencer, self.issue = Sequencer(config), Issue(config)
        members = dict(self.issue.signature.members) | {
            name: self.sequencer.signature.members[name] for name in ("i_row", "fault_address")
        }
        del members["i_slot"]
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer = self.sequencer
        m.submodules.issue = self.issue
        connect(m, flipped(self.i_row), self.sequencer.i_row)
        connect(m, self.sequencer.o_slot, self.issue.i_slot)
        m.d.comb += [
            self.sequencer.flush.eq(self.flush),
            self.sequencer.resume.eq(self.issue.resume),
            self.fault_address.eq(self.sequencer.fault_address),
        ]
        for name, member in self.issue.signature.members.items():
            if name != "i_slot":
                mine, its = getattr(self, name), getattr(self.issue, name)
                m.d.comb += its.eq(mine) if member.flow is wiring.In else mine.eq(its)
        return m


class Bench:
    """A sequencer and its issue, with the aligner's delays around them."""

    def __init__(self, config, **idle):
        self.config = config
        self.block = Pair(config)
        self.idle = {"drained": 1, "room": 1} | idle
        self.log = []  # of each cycle: read (a cycle later), slot, events

    async def cycle(self, ctx, row=None, **inputs):
        """One cycle with a row offered or none; returns whether the row was taken."""
        block, config, log = self.block, self.config, self.log
        ctx.set(block.i_row.valid, row is not None)
        if row is not None:
            poke(ctx, block.i_row.payload, row)
        controls = ("hold", "blocked", "drained", "room", "abort", "flush")
        for name in controls:
            ctx.set(getattr(block, name), inputs.get(name, self.idle.get(name, 0)))
        for port, delay in (
            (block.early, config.write_delay - 1),
            (block.launched, config.write_delay),
        ):
            poke(ctx, port, log[-delay]["raw"] if len(log) >= delay else 0)
        early = plain(ctx.get(block.early))
        lanes = (early["final"] - early["first"]) >> early["code"]
        high = (early["skip"] + lanes) % (1 << config.lane_bits)
        ctx.set(block.early_lane_high, high)
        slot = plain(ctx.get(block.o_write))
        log.append(
            {"raw": ctx.get(Value.cast(block.o_write)), "slot": slot, "kill": ctx.get(block.kill)}
        )
        log[-1] |= {name: ctx.get(getattr(block, name)) for name in (*EVENTS, "resume")}
        log[-1]["fault_address"] = ctx.get(block.fault_address)
        if len(log) > 1:
            log[-2]["o_read"] = seen_read(plain(ctx.get(block.o_read)))
        log[-1]["taken"] = taken = row is not None and ctx.get(block.i_row.ready)
        await ctx.tick()
        return taken

    async def play(self, ctx, rows, *, offer=lambda: True, tail=3, **inputs):
        """Offer rows, and wait until the last is surely over."""
        for row in rows:
            taken = False
            while not taken:
                taken = await self.cycle(ctx, row if offer() else None, **inputs)
        for _ in range(tail):
            await self.cycle(ctx, **inputs)

    def slots(self):
        """What issued, by cycle: (read, write, last, row_end)."""
        found = {}
        for cycle, entry in enumerate(self.log[:-1]):
            slot = entry["slot"]
            write = seen_write(slot)
            marks = (slot["last"], slot["row_end"])
            if write or entry["o_read"] or any(marks):
                found[cycle] = (entry["o_read"], write, *marks)
        return found

    def total(self, name):
        """How often an event happened."""
        return sum(entry[name] for entry in self.log)


def longest(config, instructions):
    """Cycles in which everything is surely over."""
    slots, _ = schedule(config, instructions, 0)
    return max(slots) + 2 * config.write_delay


def compare(bench, instructions, expected, stalls):
    """Everything that was seen against everything that is expected."""
    found = bench.slots()
    # A slot that neither reads nor writes nor marks cannot be seen.
    visible = {
        cycle: (read, write, marks["last"], marks["row_end"])
        for cycle, (read, write, marks) in expected.items()
        if read or write or marks["last"] or marks["row_end"]
    }
    assert found == visible
    for cycle, entry in enumerate(bench.log):
        read, write, marks = expected.get(cycle, (None, None, {}))
        begins = marks.get("begins", 0) and not marks["empty"]
        wanted = {
            "row": begins and not marks["void"],
            "block": begins and marks["block"],
            "read": read is not None,
            "write": write is not None,
            "issued": marks.get("begins", 0) and marks["first"],
            "halt_issued": marks.get("halt", 0),
            "fault_issued": marks.get("fault", 0),
            "resume": marks.get("fault", 0),
        }
        assert {name: entry[name] for name in wanted} == wanted, cycle
    assert {name: bench.total(name) for name in STALLS} == {n: stalls[n] for n in STALLS}


def run(config, instructions):
    """Play instructions without any outer cause to wait; compare every slot and its cycle."""
    bench = Bench(config)
    rows = [row for instruction in instructions for row, _ in instruction.rows()]
    expected, stalls = schedule(config, instructions, LATENCY)

    async def drive(ctx, reset):
        await bench.play(ctx, rows, tail=longest(config, instructions[-3:]) + 3)

    simulate(bench.block, drive)
    compare(bench, instructions, expected, stalls)
    return stalls


@each_config
def test_slots_of_tiles(config):
    """The first slot a cycle after the row was taken, then one a cycle: no gap between rows."""
    rng = random.Random(37)
    kinds = [lambda: Tile(rng, config, rows=rng.randint(1, 4))] * 6
    kinds += [lambda: Empty(rng, config), lambda: Empty(rng, config, fence=1, halt=1)]
    run(config, [rng.choice(kinds)() for _ in range(30)])


@each_config
def test_slots_of_swaps(config):
    """Every size, first lane and cell at random; a read waits while it would meet a write."""
    rng = random.Random(38)
    swaps = [Swap(rng, config) for _ in range(5)] + [Tile(rng, config)]
    swaps += [Swap(rng, config, n) for n in range(2, config.lanes + 1)]
    run(config, swaps)


def test_a_swap_waits_for_its_own_writes():
    """Long enough to meet them: the cycles it waits are those of the specification."""
    config = Config(lanes=14, lanes_per_hop=14, cells=64, beat_cells=4)
    rng = random.Random(39)
    stalls = run(config, [Swap(rng, config, n, code) for n in range(6, 15) for code in (0, 1)])
    assert stalls["stall_port"] > 10


@each_config
def test_serial_rows_wait_for_the_row_before(config):
    """D cycles after the last write of the row before has launched, and not a cycle more."""
    rng = random.Random(40)
    tiles = [Tile(rng, config, rows=3, serial=True) for _ in range(4)]
    tiles.insert(1, Tile(rng, config, rows=2))
    stalls = run(config, tiles)
    assert stalls["stall_hazard"] > config.write_delay


def test_held_rows():
    """The writes of a serial row longer than the chain protects are held back by K slots."""
    assert HELD.hold_beats > 0
    rng = random.Random(41)
    tiles = [Tile(rng, HELD, rows=2, serial=True) for _ in range(10)]
    held = [tile.held(index) for tile in tiles for index in range(2)]
    assert {True, False} == set(held)
    run(HELD, tiles)
    # The longest that is protected, and one beat more.
    for beats in (HELD.protected_beats, HELD.protected_beats + 1):
        cells = beats * HELD.beat_cells
        tiles = [Tile(rng, HELD, serial=True, n=cells, code=0, **{"in": 0})]
        assert tiles[0].held(0) == (beats > HELD.protected_beats)
        run(HELD, tiles)


@each_config
@pytest.mark.parametrize("serial", [False, True])
def test_rows_that_are_trimmed_or_void(config, serial):
    """A void row is a slot that does nothing, the marker but if it is the last; none waits for it.

    But a serial one waits itself, for the last row that wrote.
    """
    rng = random.Random(47)
    voids = [0, 0.5, 0.5, 0.8, 1]
    tiles = [
        Tile(rng, config, rows=rng.randint(1, 7), serial=serial, trimmed=True, voids=share)
        for share in voids * (2 if serial else 3)
    ]
    rows = [row for tile in tiles for row, _ in tile.rows()]
    assert any(row["void"] and row["last"] for row in rows)
    assert any(row["void"] and row["first"] for row in rows)
    assert any(row["begin"] and row["void"] and not row["first"] for row in rows)
    stalls = run(config, tiles)
    assert bool(stalls["stall_hazard"]) == serial


def test_void_rows_of_a_serial_tile_start_no_wait():
    """Row, void, void, row, void: three cycles more than two rows and their wait, not a wait."""
    config = CONFIGS["tiny"]
    rng = random.Random(48)
    tile = Tile(rng, config, rows=5, serial=True, n=1, code=0, **{"in": 0, "out": 0})
    void = draw(rng, isa.row(config), void=1, fault=0)
    tile.voids = {1: void, 2: void, 4: void}
    slots, stalls = schedule(config, [tile], 0)
    wait = config.write_delay + config.raw_gap
    assert list(slots) == [0, wait, wait + 1, wait + 2, 2 * wait + 2]
    assert stalls["stall_hazard"] == 2 * (wait - 1)
    run(config, [tile])


@pytest.mark.parametrize("name", ["tiny", "narrow"])
@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize("fault", [0, 2, 3])
def test_a_row_outside_the_array_ends_its_instruction(name, fault, serial):
    """Its slot is the marker; the rest is dropped up to its end, and what is behind runs whole."""
    config = CONFIGS[name]
    rng = random.Random(60 + fault)
    ended = Tile(rng, config, rows=4, fault=fault, serial=serial, trimmed=True, voids=0.3)
    ahead = Tile(rng, config, rows=2)
    behind = [Tile(rng, config, rows=2, serial=serial), Swap(rng, config)]
    bench = Bench(config)
    before, stalls = schedule(config, [ahead, ended], LATENCY)
    end = max(before)

    async def drive(ctx, reset):
        rows = [row for item in (ahead, ended, *behind) for row, _ in item.rows()]
        await bench.play(ctx, rows, tail=longest(config, behind))

    simulate(bench.block, drive)
    last = fault == 3
    assert [c for c, entry in enumerate(bench.log) if entry["fault_issued"]] == [end]
    assert [c for c, entry in enumerate(bench.log) if entry["resume"]] == [end]
    assert [c for c, entry in enumerate(bench.log) if entry["kill"]] == [end] * (not last)
    assert bench.log[end]["fault_address"] == ended.fault_address()
    found = bench.slots()
    assert found[end] == (None, None, 1, 0)
    # While it stands no row is taken behind it.
    taken = [cycle for cycle, entry in enumerate(bench.log) if entry["taken"]]
    assert taken[2 + fault] < end < taken[3 + fault]
    # Behind it.
    after, _ = schedule(config, behind, 0)
    after = [(read, write, m["last"], m["row_end"]) for read, write, m in after.values()]
    assert [entry for cycle, entry in found.items() if cycle > end] == [
        entry for entry in after if any(entry)
    ]
    assert bench.total("issued") == 4
    # And all of it, up to there, when it should be.
    bench.log = bench.log[: end + 2]
    compare(bench, [], before, stalls)


def test_a_row_that_ends_its_instruction_waits_like_any_other():
    """For room, as the first of its instruction; nothing is taken behind it while it stands."""
    config = CONFIGS["tiny"]
    rng = random.Random(65)
    bench = Bench(config)
    tile, behind = Tile(rng, config, rows=3, fault=0), Tile(rng, config)
    first, *rest = [row for item in (tile, behind) for row, _ in item.rows()]

    async def drive(ctx, reset):
        assert await bench.cycle(ctx, first, room=0)
        for _ in range(12):
            assert not await bench.cycle(ctx, rest[0], room=0)
            assert not bench.log[-1]["resume"]
            assert not bench.log[-1]["fault_issued"]
        assert not await bench.cycle(ctx, rest[0])
        assert bench.log[-1]["fault_issued"]
        assert bench.log[-1]["issued"]
        assert bench.log[-1]["fault_address"] == tile.fault_address()
        await bench.play(ctx, rest, tail=longest(config, [behind]))

    simulate(bench.block, drive)
    assert bench.total("issued") == 2
    assert bench.total("fault_issued") == bench.total("resume") == 1


@each_config
def test_rows_that_come_late(config):
    """Pauses before rows change nothing but the time."""
    rng = random.Random(42)
    kinds = [
        lambda: Tile(rng, config, rows=3),
        lambda: Tile(rng, config),
        lambda: Swap(rng, config),
    ]
    instructions = [rng.choice(kinds)() for _ in range(12)]
    bench = Bench(config)
    rows = [row for instruction in instructions for row, _ in instruction.rows()]

    async def drive(ctx, reset):
        tail = longest(config, instructions[-3:]) + 3
        await bench.play(ctx, rows, offer=lambda: rng.random() < 0.4, tail=tail)

    simulate(bench.block, drive)
    expected, _ = schedule(config, instructions, LATENCY)
    wanted = [(r, w, m["last"], m["row_end"]) for r, w, m in expected.values()]
    assert list(bench.slots().values()) == [entry for entry in wanted if any(entry)]
    assert bench.total("row") == len(rows)


@pytest.mark.parametrize("kind", ["tile", "fence", "empty", "halt"])
def test_what_holds_an_instruction(kind):
    """One cause a cycle, in the order completion, fence, hazard; none while the engine stands."""
    config = CONFIGS["tiny"]
    rng = random.Random(43)
    bench = Bench(config)
    names = ("hold", "blocked", "drained", "room")

    async def drive(ctx, reset):
        for _ in range(60):
            make = {
                "tile": lambda: Tile(rng, config, rows=2),
                "fence": lambda: Empty(rng, config, fence=1),
                "empty": lambda: Empty(rng, config),
                "halt": lambda: Empty(rng, config, fence=1, halt=1),
            }
            instruction = make[kind]()
            rows = [row for row, _ in instruction.rows()]
            assert await bench.cycle(ctx, rows[0])
            for _ in range(LATENCY - 1):
                await bench.cycle(ctx)
            fence = kind in ("fence", "halt")
            waits = True
            while waits:
                inputs = {name: rng.random() < 0.5 for name in names}
                await bench.cycle(ctx, **inputs)
                cause = None
                if not inputs["room"]:
                    cause = "stall_completion"
                elif fence and not inputs["drained"]:
                    cause = "stall_fence"
                elif inputs["blocked"] and kind == "tile":
                    cause = "stall_hazard"
                entry = bench.log[-1]
                waits = inputs["hold"] or cause is not None
                wanted = {name: name == cause and not inputs["hold"] for name in STALLS}
                wanted |= {"issued": not waits, "halt_issued": not waits and kind == "halt"}
                assert {name: entry[name] for name in wanted} == wanted
                assert entry["slot"]["last"] == (not waits and kind != "tile") or kind == "tile"
                assert not waits or not (entry["slot"]["valid"] or entry["slot"]["last"])
            if kind == "tile":
                # Within an instruction nothing from outside holds it.
                beside = {"hold": 1, "blocked": 1, "drained": 0, "room": 0}
                slots = [len(list(slots)) for _, slots in instruction.rows()]
                await bench.play(ctx, rows[1:], tail=sum(slots) + LATENCY, **beside)

    simulate(bench.block, drive)
    assert bench.total("issued") == 60
    if kind == "tile":
        assert bench.total("row") == 120
        assert sum(entry["slot"]["last"] for entry in bench.log) == 60


@pytest.mark.parametrize("when", range(12))
@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize("fault", [None, 1])
def test_abort_ends_the_instruction_at_issue(when, serial, fault):
    """It ends with the slot it has issued, and one marker; what is behind it runs whole.

    A row that would have ended it is dropped like any other, if it has not issued.
    """
    config = CONFIGS["tiny"]
    rng = random.Random(44 + when)
    # Four or five slots each.
    ended = Tile(rng, config, rows=3, serial=serial, n=config.lanes, code=2, fault=fault)
    behind = Tile(rng, config, rows=2)
    bench = Bench(config)
    rows = [row for row, _ in ended.rows()]
    whole, _ = schedule(config, [ended], LATENCY)
    abort = LATENCY + 1 + when
    drain = config.completion_delay

    async def drive(ctx, reset):
        left, killed = list(rows), False
        while len(bench.log) < abort + drain or left:
            stop = len(bench.log) >= abort
            inputs = {"abort": stop, "hold": stop}
            if await bench.cycle(ctx, left[0] if left else None, **inputs):
                left.pop(0)
            if bench.log[-1]["kill"] and not killed:
                killed = True  # the row generator's next row is the last
                if left:
                    left[-1]["last"] = 1
        await bench.play(ctx, [row for row, _ in behind.rows()], tail=longest(config, [behind]))

    simulate(bench.block, drive)
    found = bench.slots()
    end = abort + drain
    before = {
        cycle: (read, write, marks["last"], marks["row_end"])
        for cycle, (read, write, marks) in whole.items()
        if cycle < abort
    }
    complete = any(entry[2] for entry in before.values())
    kills = [cycle for cycle, entry in enumerate(bench.log) if entry["kill"]]
    faults = [cycle for cycle, (*_, marks) in whole.items() if marks["fault"] and cycle < abort]
    assert [cycle for cycle, entry in enumerate(bench.log) if entry["fault_issued"]] == faults
    assert bench.total("resume") == (fault is not None)
    assert kills == (faults if complete else [abort])
    if not complete:
        before[abort] = (None, None, 1, 0)  # nothing but the marker
    assert {cycle: entry for cycle, entry in found.items() if cycle < end} == before
    # Behind it.
    after = [entry for cycle, entry in found.items() if cycle >= end]
    expected, _ = schedule(config, [behind], 0)
    wanted = [(r, w, m["last"], m["row_end"]) for r, w, m in expected.values()]
    assert after == wanted
    assert bench.total("issued") == 2


def test_abort_behind_the_last_write():
    """The marker is on its way, but a read is left: it does not issue, and nothing is marked twice.

    Twelve cells from the last offset of a word to its first: 4 reads, 3 writes.
    """
    config = CONFIGS["tiny"]
    rng = random.Random(46)
    tile = Tile(rng, config, n=12, code=0, **{"in": 1, "out": 1})
    tile.starts = [{"in": {"lane": 0, "cell": 3}, "out": {"lane": 1, "cell": 8}}]
    behind = Tile(rng, config)
    bench = Bench(config)

    async def drive(ctx, reset):
        assert await bench.cycle(ctx, next(iter(tile.rows()))[0])
        for _ in range(LATENCY + 2):
            await bench.cycle(ctx)
        for _ in range(config.completion_delay):
            await bench.cycle(ctx, abort=1, hold=1)
        await bench.play(ctx, [row for row, _ in behind.rows()], tail=longest(config, [behind]))

    simulate(bench.block, drive)
    assert bench.total("kill") == 0
    assert bench.total("issued") == 2
    slots = [len(list(slots)) for _, slots in behind.rows()]
    assert len(bench.slots()) == 3 + slots[0]
    assert sum(entry["slot"]["last"] for entry in bench.log) == 2


def test_flush_drops_the_row():
    """One that waits, and no other."""
    config = CONFIGS["tiny"]
    rng = random.Random(45)
    bench = Bench(config)
    dropped, runs = Tile(rng, config), Tile(rng, config)

    async def drive(ctx, reset):
        await bench.cycle(ctx, next(iter(dropped.rows()))[0])
        await bench.cycle(ctx, hold=1)
        await bench.cycle(ctx, hold=1, flush=1)
        for _ in range(3):
            await bench.cycle(ctx)
        await bench.play(ctx, [row for row, _ in runs.rows()], tail=longest(config, [runs]))

    simulate(bench.block, drive)
    expected, stalls = schedule(config, [runs], 6 + LATENCY)
    compare(bench, [runs], expected, stalls)
