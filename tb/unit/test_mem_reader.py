"""The reader: every byte of every row, whatever the memory does, and at full rate."""

import itertools
import random

import pytest
from cornerturn.config import PRESETS
from cornerturn.soc.mem_reader import MemReader
from unit.memory_side import (
    BASE,
    CONFIGS,
    GAP,
    beats_of,
    neighbours,
    random_options,
    rows_at,
    run,
    some_rows,
    words_of,
)

each = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
DEFAULT = PRESETS["default"]
START = BASE + GAP
CHANNELS = ("ar", "r", "request", "beat")


def check(side, rows, out=None):
    """The beats are those of the rows, with the errors of their words."""
    config, memory = side.config, side.memory
    size = config.bus_width // 8
    expected = []
    for row in rows:
        at = row["address"]
        data = memory.data[at - BASE : at - BASE + row["bytes"]]
        for number, (value, bits) in enumerate(beats_of(config, data)):
            first = at + number * config.beat_width // 8
            final = at + (number * config.beat_width + bits - 1) // 8
            words = {first - first % size, final - final % size}
            expected.append((value, bits, bool(words & memory.errors)))
    got = [payload for _, payload in (side.out if out is None else out)]
    assert len(got) == len(expected)
    for payload, (value, bits, error) in zip(got, expected, strict=True):
        assert payload & ((1 << bits) - 1) == value
        assert payload >> config.beat_width == error


def read(config, rows, **options):
    """The side after it has read some rows."""
    sides = []

    async def scenario(new):
        side = new(**options)
        side.requests = [dict(row) for row in rows]
        await side.until_idle()
        sides.append(side)

    run(MemReader, config, scenario)
    check(sides[0], rows)
    return sides[0]


def fetched(side):
    """Addresses of the bus words that were read."""
    size = side.config.bus_width // 8
    return [b.address + k * size for b in side.rules.reads for k in range(b.length)]


def cycles_of(side):
    return [cycle for cycle, _ in side.out]


def check_random_rows(config, seeds, count):
    async def scenario(new):
        for seed in seeds:
            rng = random.Random(seed)
            rows = some_rows(config, rng, count)
            words = words_of(config, rows)
            errors = set(rng.sample(words, rng.choice((0, 0, 2))))
            side = new(seed=seed, errors=errors, **random_options(rng, *CHANNELS))
            side.requests = [dict(row) for row in rows]
            await side.until_idle()
            check(side, rows)
            assert set(fetched(side)) == set(words), f"seed {seed}"
            assert side.seen["error"] == bool(errors)
            if errors:
                first = next(word for word in fetched(side) if word in errors)
                assert side.seen["error_address"] == first
            side.flush = 1
            await side.step()

    run(MemReader, config, scenario)


@each
def test_rows_of_every_kind(config):
    check_random_rows(config, range(3), 40)


@pytest.mark.full
@each
def test_many_rows_of_every_kind(config):
    check_random_rows(config, range(100, 110), 100)


@each
def test_neighbours_share_words_and_bursts(config):
    """Each bus word once, in bursts as long as can be."""
    size = config.bus_width // 8
    rows = neighbours(config)
    side = read(config, rows, latency=3)
    words = fetched(side)
    assert words == words_of(config, rows)
    blocks = {word // (16 * size) for word in words}
    if config.beat_width == config.bus_width:  # else the rows wait longer than their words
        assert len(side.rules.reads) == len(blocks)


@each
def test_more_neighbours_in_a_burst_than_rows_may_wait(config):
    rows = rows_at(range(START + 1, START + 301), 1, last=False)
    side = read(config, rows, latency=50)
    assert fetched(side) == words_of(config, rows)


def test_long_rows_are_bursts_of_whole_blocks():
    side = read(DEFAULT, rows_at([0x3F01], 700))
    lengths = [(burst.address, burst.length) for burst in side.rules.reads]
    blocks = [(0x3F00 + 128 * k, 16) for k in range(5)]
    assert lengths == [*blocks, (0x4180, 8)]


# --- time ----------------------------------------------------------------------------------------


def test_latency():
    """Seven cycles to the bus, six back; in buffers of so many bits."""
    side = read(DEFAULT, rows_at([START], 8))
    rows = 4 + 3 + 27 + 3 + 2
    assert side.dut.buffer_bits == 128 * 65 + 128 * rows + 128 * 29
    assert side.rules.reads[0].cycle == side.sent[0][0] + 7
    assert cycles_of(side)[0] == side.rules.reads[0].beats[0][0] + 6


def test_latency_of_a_wide_bus():
    side = read(CONFIGS["wide"], rows_at([START], 128))
    assert side.rules.reads[0].cycle == side.sent[0][0] + 7
    assert cycles_of(side)[0] == side.rules.reads[0].beats[0][0] + 7


@pytest.mark.parametrize(
    ("starts", "length", "cycles"),
    [
        ([START], 2400, 300),  # one long row
        ([START + 3], 2400, 300),  # ... that is not aligned (its first word comes before)
        (range(START, START + 960, 3), 3, 320),  # neighbours shorter than a beat
        (range(START + 5, START + 3005, 10), 10, 600),  # ... and longer
        (range(START, START + 8000, 32), 8, 250),  # words that are not neighbours
        (range(START, START + 9600, 32), 5, 300),
        (range(START + 3, START + 9603, 64), 24, 3 * 150 + 149),  # one more for each first word
        (range(START + 5, START + 9605, 64), 8, 150 + 149),
        (range(START + 125, START + 9341, 128), 8, 72 + 71),  # ... in two blocks, so in two bursts
    ],
)
@pytest.mark.parametrize("latency", [0, 50])
def test_full_rate(starts, length, cycles, latency):
    """From the first beat to the last, as long as the bus delivers."""
    side = read(DEFAULT, rows_at(starts, length), latency=latency)
    taken = cycles_of(side)
    assert taken[-1] - taken[0] + 1 == cycles


@each
def test_full_rate_of_every_width(config):
    if config.memory_requests < 64:
        config = config.replace(memory_requests=64)
    side = read(config, rows_at([START], 2048 if config.bus_width > 32 else 300), latency=50)
    taken = cycles_of(side)
    assert taken == list(range(taken[0], taken[0] + len(taken)))


def test_a_row_that_is_not_last_is_read_after_a_while():
    """16 cycles of waiting, and one to see that they are over... and the next row opens again."""
    sides = []

    async def scenario(new):
        side = new()
        side.requests = rows_at([START], 3, last=False)
        await side.until_idle()
        side.requests = rows_at([START + 3], 2)
        await side.until_idle()
        sides.append(side)

    run(MemReader, DEFAULT, scenario)
    side = sides[0]
    assert side.rules.reads[0].cycle == side.sent[0][0] + 7 + 16
    assert side.rules.reads[1].cycle == side.sent[1][0] + 7
    check(side, [row for _, row in side.sent])


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("requests", [4, 16])
def test_outstanding_bursts_are_limited(requests):
    config = DEFAULT.replace(memory_requests=requests)
    side = read(config, rows_at(range(START, START + 3200, 64), 8), latency=200)
    first = side.rules.reads[0].beats[0][0]
    assert sum(burst.cycle < first for burst in side.rules.reads) == requests


@each
def test_greatest_row_and_address(config):
    """As many bytes as the field holds, and rows at the end of the address space."""
    top = 1 << config.address_bits
    size = config.bus_width // 8
    most = min((1 << 30) - 1, top - 5)

    async def scenario(new):
        side = new(anywhere=True)
        side.requests = [{"address": 5, "bytes": most, "last": 1}]
        for _ in range(500):
            await side.step()
        bursts = side.rules.reads
        assert bursts[0].address == 5 - 5 % size
        assert len(side.out) > 400
        assert all(b.address + b.length * size == c.address for b, c in itertools.pairwise(bursts))
        side.flush = 1
        await side.step()
        side.flush = 0
        await side.until_idle()
        side.out.clear()
        side.requests = rows_at(range(top - 30, top, 3), 3)
        await side.until_idle()
        assert len(side.out) == 10 * -(-24 // config.beat_width)

    run(MemReader, config, scenario)


# --- errors and flush ----------------------------------------------------------------------------


def test_first_error_is_kept_until_flush():
    async def scenario(new):
        side = new(errors={START + 16, START + 24, START + 160})
        rows = [{"address": START + 3, "bytes": 40, "last": 0}, *rows_at([START + 160], 8)]
        side.requests = list(rows)
        await side.until_idle()
        check(side, rows)
        assert [beat >> 64 for _, beat in side.out] == [0, 1, 1, 1, 0, 1]
        assert (side.seen["error"], side.seen["error_address"]) == (1, START + 16)
        side.flush = 1
        await side.step()
        side.flush = 0
        await side.step()
        assert not side.seen["error"]
        side.requests = rows_at([START + 157], 4)
        await side.until_idle()
        assert (side.seen["error"], side.seen["error_address"]) == (1, START + 160)

    run(MemReader, DEFAULT, scenario)


def test_the_address_is_there_when_the_beat_is():
    async def scenario(new):
        side = new(errors={START})
        side.requests = rows_at([START], 8)
        while not side.out:
            await side.step()
        assert (side.seen["error"], side.seen["error_address"]) == (1, START)

    run(MemReader, DEFAULT, scenario)


def test_error_address_after_a_flush_in_a_burst():
    async def scenario(new):
        side = new(errors={START + 2048})
        side.requests = rows_at([START], 2000)
        while sum(len(burst.beats) for burst in side.rules.reads) < 20:
            await side.step()
        side.flush = 1
        await side.step()
        side.flush = 0
        side.requests = rows_at([START + 2048], 8)
        await side.until_idle()
        assert (side.seen["error"], side.seen["error_address"]) == (1, START + 2048)

    run(MemReader, DEFAULT, scenario)


def check_flush(config, seeds):
    async def scenario(new):
        for seed in seeds:
            rng = random.Random(seed)
            side = new(seed=seed, **random_options(rng, *CHANNELS))
            side.requests = some_rows(config, rng, 60)
            for _ in range(rng.randint(1, 150)):
                await side.step()
            side.flush = 1
            for _ in range(rng.choice((1, 1, 30))):
                await side.step()
                assert not side.idle[-1]
            side.flush = 0
            side.requests.clear()
            side.drop_offers()
            side.out.clear()
            rows = some_rows(config, rng, 20)
            words = words_of(config, rows)
            side.memory.errors = set(rng.sample(words, 2))
            side.requests = list(rows)
            asked = len(side.rules.reads)
            await side.step()
            left = [burst for burst in side.rules.reads if len(burst.beats) < burst.length]
            while left and len(left[-1].beats) < left[-1].length:
                await side.step()
                assert len(side.rules.reads) <= asked + 1, f"seed {seed}"  # the one on the bus
                assert not side.out
            await side.until_idle()
            check(side, rows)
            assert side.seen["error_address"] == next(w for w in words if w in side.memory.errors)

    run(MemReader, config, scenario)


@each
def test_flush_at_any_time(config):
    """What was asked for is waited for, nothing of it comes out, and what follows is right."""
    check_flush(config, range(3))


@pytest.mark.full
@each
def test_flush_at_many_times(config):
    check_flush(config, range(100, 120))
