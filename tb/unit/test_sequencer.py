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
        lambda: Tile(rng, config, rows=3, trimmed=True, voids=0.4),
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
        rows = [(row, len(list(slots))) for row, slots in instruction.rows()]
        for row, size in rows:
            for slot in range(size):
                begin, end = slot == 0, slot == size - 1
                expected.append({
                    "starts": begin and row["first"], "ends": end and row["last"],
                    "begin": begin, "end": end,
                    "block": begin and row["begin"], "more_rows": not row["last"],
                    "void": row["void"], "fault": 0,
                })  # fmt: skip
    assert [{name: slot[name] for name in expected[0]} for _, slot in given] == expected


@pytest.mark.parametrize("name", CONFIGS)
def test_rows_to_memory(name):
    """Read from an offset they are written a slot later; no slot needs the beat behind it."""
    config = CONFIGS[name]
    rng = random.Random(55)
    word = config.beat_cells
    tiles, expected = [], []
    for _ in range(40):
        tile = Tile(rng, config)
        ((row, _),) = tile.rows()
        start = tile.starts[0]
        source = start["in"]["cell"] % word * tile.along["in"]
        cells = row["cells"]
        reads, writes = -(-(source + cells) // word), -(-cells // word)
        row["job"] |= {"out_memory": 1, "out_along": 0}
        row["out"] = {"lane": 0, "offset": rng.getrandbits(config.address_bits)}
        row["write_beats"] = writes
        later = int(source > 0)
        size = writes + later
        slots = [
            {"read": k < reads, "write": k >= later, "fresh": k < reads, "memory": 1, "late": 0,
             "rotate": -source % word, "last": k == size - 1, "end": k == size - 1}
            for k in range(size)
        ]  # fmt: skip
        assert size in (max(reads, writes), reads + 1)
        tiles.append(Fixed(row, slots))
        expected += slots
    _, given = play(config, tiles, take=0.7)
    for (_, slot), wanted in zip(given, expected, strict=True):
        write = slot["write"]
        found = {name: write[name] for name in ("fresh", "memory", "late", "rotate", "last")}
        found |= {"read": slot["read"]["valid"], "write": write["valid"], "end": slot["end"]}
        assert found == wanted


class Fixed:
    """One row, and its slots."""

    def __init__(self, row, slots):
        self._row, self._slots = row, slots

    def rows(self):
        yield self._row, self._slots


async def offer(ctx, block, row):
    """Hand over a row; returns the cycles it took."""
    cycles = 0
    ctx.set(block.i_row.valid, 1)
    poke(ctx, block.i_row.payload, row)
    while not ctx.get(block.i_row.ready):
        cycles += 1
        assert cycles < 20
        await ctx.tick()
    await ctx.tick()
    ctx.set(block.i_row.valid, 0)
    return cycles


@pytest.mark.parametrize("end", ["resume", "flush"])
@pytest.mark.parametrize("ready", [0, 1])
def test_holds_behind_a_row_that_ends_its_instruction(end, ready):
    """Whether its slot was taken or not; its address stands as long."""
    config = CONFIGS["tiny"]
    rng = random.Random(53)
    block = Sequencer(config)
    tile, behind = Tile(rng, config, rows=2, n=1, fault=1), Tile(rng, config)
    first, fault = (row for row, _ in tile.rows())
    sizes = [len(list(slots)) for _, slots in tile.rows()]
    ((after, _),) = behind.rows()

    async def bench(ctx, reset):
        ctx.set(block.o_slot.ready, 1)
        await offer(ctx, block, first)
        await offer(ctx, block, fault)
        await ctx.tick()  # its slot leaves the row register
        ctx.set(block.o_slot.ready, ready)
        ctx.set(block.i_row.valid, 1)
        poke(ctx, block.i_row.payload, after)
        for cycle in range(8):
            assert not ctx.get(block.i_row.ready)
            assert ctx.get(block.fault_address) == tile.fault_address()
            if ctx.get(block.o_slot.valid):
                slot = plain(ctx.get(block.o_slot.payload))
                marks = ("fault", "void", "begin", "ends")
                assert [slot[name] for name in marks] == [1] * 4
                assert not slot["read"]["valid"]
                assert not slot["write"]["valid"]
                assert slot["write"]["last"]
            assert ctx.get(block.o_slot.valid) == (cycle == 0 or not ready)
            await ctx.tick()
        ctx.set(block.o_slot.ready, 1)
        ctx.set(getattr(block, end), 1)
        assert not ctx.get(block.i_row.ready)
        await ctx.tick()
        ctx.set(getattr(block, end), 0)
        assert ctx.get(block.i_row.ready)
        await ctx.tick()
        ctx.set(block.i_row.valid, 0)
        assert not ctx.get(block.o_slot.valid)
        await ctx.tick()
        assert ctx.get(block.o_slot.valid)
        assert plain(ctx.get(block.o_slot.payload))["starts"]

    assert sizes[1] == 1
    simulate(block, bench)


@pytest.mark.parametrize("address_bits", [20, 32, 48])
def test_addresses_of_rows_outside_the_array(address_bits):
    """Lane and cell, each with its sign: lane * 2**32 + (cell modulo 2**32), signed by its lane."""
    config = CONFIGS["tiny"].replace(address_bits=address_bits)
    rng = random.Random(54)
    block = Sequencer(config)
    far = {"lane": 1 << config.lane_bits + 8, "offset": 1 << config.address_bits + 4}
    tile = Tile(rng, config, fault=0)

    async def bench(ctx, reset):
        ctx.set(block.o_slot.ready, 1)
        for _ in range(30):
            wrong = {
                side: {
                    unit: rng.choice([0, 1, -1, -end, end - 1, rng.randrange(-end, end)])
                    for unit, end in far.items()
                }
                for side in ("in", "out")
            }
            out = rng.getrandbits(1)
            tile.voids[0] |= wrong | {"fault_out": out}
            ((row, _),) = tile.rows()
            await offer(ctx, block, row)
            place = wrong["out" if out else "in"]
            address = (place["lane"] * 2**32 + place["offset"] % 2**32) % 2**64
            assert ctx.get(block.fault_address) == address == tile.fault_address()
            await ctx.tick().repeat(2)
            ctx.set(block.resume, 1)
            await ctx.tick()
            ctx.set(block.resume, 0)

    simulate(block, bench)
