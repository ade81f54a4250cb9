"""The writer: every byte of every row and no other, whatever the memory does, and at full rate."""

import itertools
import random

import pytest
from cornerturn.config import PRESETS
from cornerturn.soc.mem_writer import MemWriter
from unit.memory_side import (
    BASE,
    CONFIGS,
    GAP,
    beats_of,
    bytes_of,
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
CHANNELS = ("aw", "w", "b", "request", "beat", "answer")


class Rows:
    """Rows, their bytes and beats (noise behind the end of a row), and what the memory becomes."""

    def __init__(self, config, rows, rng=None):
        rng = rng or random.Random(1)
        self.config, self.rows = config, rows
        self.data = [rng.randbytes(row["bytes"]) for row in rows]
        self.beats = []
        for data in self.data:
            for value, bits in beats_of(config, data):
                noise = rng.getrandbits(config.beat_width) >> bits << bits
                self.beats.append(value | noise)

    def offer(self, side):
        side.requests += [dict(row) for row in self.rows]
        side.offer += self.beats

    def check(self, side, before):
        """The memory holds the rows, and what it held where there are none."""
        after = bytearray(before)
        for row, data in zip(self.rows, self.data, strict=True):
            at = row["address"] - BASE
            after[at : at + len(data)] = data
        assert side.memory.data == after
        # Each byte once for each row, in order.
        assert [address for address, _ in side.memory.stores] == bytes_of(self.rows)


def write(config, rows, **options):
    """The side after it has written some rows."""
    sides = []

    async def scenario(new):
        side = new(**options)
        before = bytes(side.memory.data)
        job = Rows(config, rows)
        job.offer(side)
        await side.until_idle()
        job.check(side, before)
        sides.append(side)

    run(MemWriter, config, scenario)
    return sides[0]


def sent(side):
    """Addresses of the bus words that were written."""
    size = side.config.bus_width // 8
    return [b.address + k * size for b in side.rules.writes for k in range(b.length)]


def cycles_of(side):
    """Cycles of all bus words."""
    return [beat[0] for burst in side.rules.writes for beat in burst.beats]


def check_answers(side, rows):
    """One for each `last`, after all responses up to it, with the first error."""
    size = side.config.bus_width // 8
    answers = list(side.out)
    bursts = iter(side.memory.answered)
    error = address = None
    expected = []
    # The bytes of the rows up to a `last` end exactly where a burst does.
    left = 0
    for row in rows:
        left += row["bytes"]
        if not row["last"]:
            continue
        error, address, cycle = 0, None, None
        while left:
            cycle, burst, response = next(bursts)
            if response and not error:
                error, address = 1, burst.address
            left -= sum(beat[2].bit_count() for beat in burst.beats)
            assert left >= 0, "a burst has rows of two answers"
        expected.append((cycle, error, address))
    assert len(answers) == len(expected)
    for (cycle, payload), (answered, error, address) in zip(answers, expected, strict=True):
        assert cycle > answered
        assert payload & 1 == error
        if error:
            assert payload >> 1 == address
            assert address % size == 0


def check_random_rows(config, seeds, count):
    async def scenario(new):
        for seed in seeds:
            rng = random.Random(seed)
            rows = some_rows(config, rng, count)
            words = words_of(config, rows)
            errors = set(rng.sample(words, rng.choice((0, 0, 3))))
            side = new(seed=seed, errors=errors, **random_options(rng, *CHANNELS))
            before = bytes(side.memory.data)
            job = Rows(config, rows, rng)
            job.offer(side)
            await side.until_idle()
            job.check(side, before)
            check_answers(side, rows)

    run(MemWriter, config, scenario)


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
    rows[-1]["last"] = 1
    side = write(config, rows, latency=3)
    assert sent(side) == words_of(config, rows)
    assert len(side.rules.writes) == len({word // (16 * size) for word in sent(side)})
    strobes = [beat[2] for burst in side.rules.writes for beat in burst.beats]
    assert all(strobe == (1 << size) - 1 for strobe in strobes[1:-1])


@each
def test_more_neighbours_in_a_burst_than_rows_may_wait(config):
    rows = rows_at(range(START + 1, START + 301), 1)
    side = write(config, rows, latency=50)
    assert sent(side) == words_of(config, rows)


def test_long_rows_are_bursts_of_whole_blocks():
    side = write(DEFAULT, rows_at([0x3F01], 700))
    lengths = [(burst.address, burst.length) for burst in side.rules.writes]
    blocks = [(0x3F00 + 128 * k, 16) for k in range(5)]
    assert lengths == [*blocks, (0x4180, 8)]


def test_data_may_come_much_later_and_nothing_is_announced_before():
    """One beat is missing, so nothing is on the bus but the burst before it."""

    async def scenario(new):
        side = new()
        before = bytes(side.memory.data)
        job = Rows(DEFAULT, rows_at([START], 256))
        job.offer(side)
        side.offer, late = side.offer[:31], side.offer[31:]
        for _ in range(300):
            await side.step()
        assert len(side.rules.writes) == 1
        assert not side.idle[-1]
        side.offer += late
        await side.until_idle()
        job.check(side, before)
        assert len(side.rules.writes) == 2

    run(MemWriter, DEFAULT, scenario)


# --- time ----------------------------------------------------------------------------------------


def test_latency():
    """From a row of one beat to its answer; in buffers of so many bits."""
    side = write(DEFAULT, rows_at([START], 8))
    burst = side.rules.writes[0]
    assert burst.cycle == side.sent[0][0] + 13
    assert burst.beats[0][0] == burst.cycle + 1
    assert side.out[0][0] == side.memory.answered[0][0] + 2
    rows, bursts = 4 + 3 + 27 + 3 + 2, 29 + 4 + 1
    assert side.dut.buffer_bits == 64 * 73 + 128 * (rows + bursts) + 64 * 30


@pytest.mark.parametrize(("name", "cycles"), [("default", 4), ("wide", 5)])
def test_latency_from_the_last_beat_to_the_bus(name, cycles):
    config = CONFIGS[name]

    async def scenario(new):
        side = new()
        Rows(config, rows_at([START], 2 * config.bus_width // 8)).offer(side)
        last, side.offer = side.offer[1:], side.offer[:1]
        for _ in range(40):
            await side.step()
        side.offer += last
        await side.until_idle()
        assert side.rules.writes[0].cycle == side.offered[-1][0] + cycles

    run(MemWriter, config, scenario)


@pytest.mark.parametrize(
    ("starts", "length", "cycles"),
    [
        ([START], 2400, 300),  # one long row
        ([START + 3], 2400, 301),  # ... that is not aligned: a word more
        (range(START, START + 960, 3), 3, 320),  # neighbours shorter than a beat
        (range(START + 5, START + 3005, 10), 10, 600),  # ... and longer
        (range(START, START + 8000, 32), 8, 250),  # words that are not neighbours
        (range(START, START + 9600, 32), 5, 300),
        (range(START + 3, START + 9603, 64), 24, 4 * 150),  # one more for each last word
        (range(START + 5, START + 9605, 64), 8, 2 * 150),
        (range(START + 125, START + 9341, 128), 8, 2 * 72),  # ... in two blocks, so in two bursts
    ],
)
@pytest.mark.parametrize("latency", [0, 50])
def test_full_rate(starts, length, cycles, latency):
    """From the first beat taken to the last word that leaves: `cycles`, and those of a burst."""
    rows = rows_at(starts, length)
    side = write(DEFAULT, rows, latency=latency)
    taken = [cycle for cycle, _ in side.offered]
    # What the last beat leaves behind is one word at most.
    assert cycles - 1 <= taken[-1] - taken[0] + 1 <= cycles
    burst = side.rules.writes[-1]
    assert burst.cycle - taken[-1] <= 10
    assert burst.beats[-1][0] - burst.cycle <= 16 + burst.length


@each
def test_full_rate_of_every_width(config):
    if config.memory_requests < 64:
        config = config.replace(memory_requests=64)
    side = write(config, rows_at([START], 2048 if config.bus_width > 32 else 300), latency=50)
    taken = [cycle for cycle, _ in side.offered]
    assert taken == list(range(taken[0], taken[0] + len(taken)))


def test_a_row_that_is_not_last_is_written_after_a_while():
    async def scenario(new):
        side = new()
        before = bytes(side.memory.data)
        job = Rows(DEFAULT, [*rows_at([START], 3, last=False), *rows_at([START + 3], 2)])
        job.offer(side)
        side.requests, late = side.requests[:1], side.requests[1:]
        side.offer, late_beats = side.offer[:1], side.offer[1:]
        await side.until_idle()
        assert not side.out
        assert side.rules.writes[0].cycle == side.sent[0][0] + 13 + 16
        side.requests, side.offer = late, late_beats
        await side.until_idle()
        job.check(side, before)
        check_answers(side, job.rows)

    run(MemWriter, DEFAULT, scenario)


# --- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("requests", [4, 16])
def test_outstanding_bursts_are_limited(requests):
    config = DEFAULT.replace(memory_requests=requests)
    side = write(config, rows_at(range(START, START + 3200, 64), 8), latency=200)
    first = side.memory.answered[0][0]
    assert sum(burst.cycle <= first for burst in side.rules.writes) == requests


@each
def test_greatest_row_and_address(config):
    """As many bytes as the field holds, and rows at the end of the address space."""
    top = 1 << config.address_bits
    size = config.bus_width // 8
    most = min((1 << 30) - 1, top - 5)

    async def scenario(new):
        side = new(anywhere=True)
        side.requests = [{"address": 5, "bytes": most, "last": 1}]
        side.offer = [0] * 500
        for _ in range(500):
            await side.step()
        bursts = side.rules.writes
        assert bursts[0].address == 5 - 5 % size
        assert len(bursts) >= 400 // (16 * config.bus_width // config.beat_width)
        assert all(b.address + b.length * size == c.address for b, c in itertools.pairwise(bursts))
        side.offer.clear()
        side.drop_offers()
        side.flush = 1
        await side.step()
        side.flush = 0
        await side.until_idle()
        side.memory.stores.clear()
        rows = rows_at(range(top - 30, top, 3), 3)
        Rows(config, rows).offer(side)
        await side.until_idle()
        assert [address for address, _ in side.memory.stores] == bytes_of(rows)

    run(MemWriter, config, scenario)


# --- errors and flush ----------------------------------------------------------------------------


def test_first_error_is_in_the_answer_to_it_and_only_there():
    async def scenario(new):
        side = new(errors={START + 16, START + 128, START + 512})
        rows = [
            *rows_at([START], 8),
            *rows_at([START + 8, START + 128, START + 256], 16),
            *rows_at([START + 256], 8),
            *rows_at([START + 504], 16),
        ]
        job = Rows(DEFAULT, rows)
        job.offer(side)
        await side.until_idle()
        check_answers(side, rows)
        answers = [(payload & 1, payload >> 1) for _, payload in side.out]
        assert answers[1] == (1, START + 8)
        assert answers[3] == (1, START + 512)
        assert not answers[0][0]
        assert not answers[2][0]

    run(MemWriter, DEFAULT, scenario)


def check_flush(config, seeds):
    async def scenario(new):
        for seed in seeds:
            rng = random.Random(seed)
            side = new(seed=seed, **random_options(rng, *CHANNELS))
            before = bytes(side.memory.data)
            job = Rows(config, some_rows(config, rng, 60), rng)
            job.offer(side)
            for _ in range(rng.randint(1, 150)):
                await side.step()
            side.flush = 1
            pending = side.seen["wvalid"] and not side.seen["wready"]  # may go as it is
            stores = len(side.memory.stores)
            announced = len(side.rules.writes)
            for _ in range(rng.choice((1, 1, 30))):
                await side.step()
                assert not side.idle[-1]
            side.flush = 0
            side.requests.clear()
            side.offer.clear()
            side.drop_offers()
            while side.rules.unanswered:
                await side.step()
            size = config.bus_width // 8
            assert len(side.memory.stores) <= stores + 2 * size, f"seed {seed}"
            assert len(side.rules.writes) <= announced + 1, f"seed {seed}"
            assert pending or len(side.memory.stores) <= stores + size
            done = side.memory.stores
            assert [address for address, _ in done] == bytes_of(job.rows)[: len(done)]
            expected = bytearray(before)
            for address, byte in done:
                expected[address - BASE] = byte
            assert side.memory.data == expected
            done.clear()
            side.out.clear()
            answered = len(side.memory.answered)
            job = Rows(config, some_rows(config, rng, 20), rng)
            job.offer(side)
            await side.until_idle()
            job.check(side, bytes(expected))
            del side.memory.answered[:answered]
            check_answers(side, job.rows)

    run(MemWriter, config, scenario)


@each
def test_flush_at_any_time(config):
    """Announced bursts end, without strobes; nothing else is written; what follows is right."""
    check_flush(config, range(3))


@pytest.mark.full
@each
def test_flush_at_many_times(config):
    check_flush(config, range(100, 120))
