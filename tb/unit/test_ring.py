"""The ring: every descriptor once and in order, a record for each, nothing lost to any error."""

import random
from collections import deque

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import Status
from cornerturn.registers import DESCRIPTOR_BYTES, RECORD, RECORD_BYTES
from cornerturn.soc.fetch import PREFETCH
from cornerturn.soc.ring import Ring
from unit.axi import Memory, Pins
from unit.bench import simulate

CONFIGS = {
    "32 bits": PRESETS["tiny"],
    "64 bits": PRESETS["default"].replace(address_bits=40),
    "128 bits": PRESETS["npu64"],
    "256 bits": PRESETS["wide"].replace(address_bits=20),
    "1024 bits": Config(beat_cells=32, cell_width=32, address_bits=48, lane_ports=False),
}
BASE, RECORDS, MEMORY = 0x2E00, 0x1F70, 0x8000
TINY = PRESETS["tiny"]


class Engine:
    """Stands in for the engine: takes commands, completes them in order, knows soft resets."""

    def __init__(self, ring, rng, pace):
        self.ring = ring
        self.rng = rng
        self.pace = pace
        self.taken = []  # descriptors
        self.queue = deque()  # [cycle, index, status, address]
        self.stalled = False  # takes no command

    async def run(self, ctx):
        ring, cycle, index, aborting = self.ring, 0, 0, False
        pins, offers = Pins(ring), False

        def drive():
            nonlocal offers
            offers = bool(self.queue) and self.queue[0][0] <= cycle
            ready = not aborting and not self.stalled and len(self.queue) < 6
            ctx.set(ring.cmd.ready, ready and self.rng.random() < self.pace)
            ctx.set(ring.rsp.valid, offers)
            if offers:
                _, number, status, address = self.queue[0]
                ctx.set(ring.rsp.payload.index, number)
                ctx.set(ring.rsp.payload.status, status)
                pins.set(ctx, rsp_address=address)
            pins.set(ctx, engine_busy=bool(self.queue) or aborting)

        drive()
        async for _, _, taken, offered, answered, reset in ctx.tick().sample(
            ring.cmd.valid & ring.cmd.ready, ring.cmd.payload.as_value(), ring.rsp.ready,
            ring.soft_reset,
        ):  # fmt: skip
            cycle += 1
            if offers and answered:
                self.queue.popleft()
            if taken:
                self.taken.append(offered)
                delay = self.rng.randrange(1 + int(20 / self.pace))
                address = offered >> 64 & ((1 << len(ring.base)) - 1)
                self.queue.append([cycle + delay, index, offered >> 40 & 31, address])
                index += 1
            if aborting and not self.queue:
                aborting, index = False, 0
            if reset:
                aborting = True
                for entry in self.queue:
                    entry[0], entry[2] = cycle, int(Status.ABORTED)
            drive()


class Bench:
    """A ring, its memory, an engine, and the software that uses them."""

    def __init__(self, config=TINY, *, size=7, seed=0, go=1.0, latency=(1, 1), pace=1.0):
        self.config = config
        self.size = size
        self.rng = random.Random(seed)
        self.ring = ring = Ring(config)
        self.reads = Memory(ring.read, MEMORY, seed=seed, go=go, latency=latency)
        self.writes = Memory(ring.write, MEMORY, seed=seed + 1, go=go, latency=latency)
        self.memory = self.writes.data = self.reads.data
        self.memory[:] = self.rng.randbytes(MEMORY)
        self.before = bytes(self.memory)
        self.engine = Engine(ring, self.rng, pace)
        self.submitted = []  # descriptors
        self.tail = 0
        self.events = dict.fromkeys(("recorded", "emptied", "failed"), 0)

    def run(self, play, *others, cycles=50_000):
        """Run `play(ctx)` after the set-up, beside others; nothing may be left over."""
        ring = self.ring

        async def drive(ctx, reset):
            ctx.set(ring.base, BASE | self.rng.randrange(256))
            ctx.set(ring.completion_base, RECORDS | self.rng.randrange(16))
            ctx.set(ring.size, self.size)
            ctx.set(ring.enable, 1)
            await play(ctx)
            for _ in range(4):
                await ctx.tick()
            assert self.reads.quiet
            assert self.writes.quiet

        async def count(ctx):
            signals = (getattr(ring, name) for name in self.events)
            async for _, _, *values in ctx.tick().sample(*signals):
                for name, value in zip(self.events, values, strict=True):
                    self.events[name] += value

        benches = (*self.reads.benches, *self.writes.benches, self.engine.run, count, *others)
        simulate(ring, drive, *benches, cycles=cycles)

    def put(self, descriptor=None):
        """A descriptor into the next entry; a random one, if it is not given."""
        descriptor = self.rng.getrandbits(2048) if descriptor is None else descriptor
        place = BASE + DESCRIPTOR_BYTES * self.tail
        self.memory[place : place + DESCRIPTOR_BYTES] = descriptor.to_bytes(256, "little")
        self.submitted.append(descriptor)
        self.tail = (self.tail + 1) % self.size

    def room(self, ctx):
        """Entries that are free."""
        return (ctx.get(self.ring.head) - self.tail - 1) % self.size

    async def doorbell(self, ctx, tail=None):
        """Write the tail."""
        await self.pulse(ctx, "tail_written", tail=self.tail if tail is None else tail)

    async def pulse(self, ctx, name, **values):
        """An input that is high for a cycle."""
        for other, value in values.items():
            ctx.set(getattr(self.ring, other), value)
        ctx.set(getattr(self.ring, name), 1)
        await ctx.tick()
        ctx.set(getattr(self.ring, name), 0)

    async def until(self, ctx, condition):
        """Wait."""
        while not condition():
            await ctx.tick()

    async def idle(self, ctx):
        """Wait until all is done."""
        await self.until(ctx, lambda: not ctx.get(self.ring.busy))

    def record(self, number):
        """What the record of the number-th descriptor must be, and where."""
        descriptor = self.submitted[number]
        address = descriptor >> 64 & ((1 << self.config.address_bits) - 1)
        phase = 1 - number // self.size % 2
        values = {
            "index": number,
            "status": descriptor >> 40 & 31,
            "phase": phase,
            "address": address,
        }
        bits = sum(value << RECORD[name].offset for name, value in values.items())
        place = RECORDS + number % self.size * RECORD_BYTES
        return place, bits.to_bytes(RECORD_BYTES, "little")

    def check_records(self, first, last):
        """The records of some descriptors."""
        for number in range(first, last):
            place, record = self.record(number)
            assert self.memory[place : place + RECORD_BYTES] == record, number

    def check_guards(self):
        """Nothing but records was written."""
        assert self.memory[:RECORDS] == self.before[:RECORDS]
        end = RECORDS + self.size * RECORD_BYTES
        assert self.memory[end:BASE] == self.before[end:BASE]


async def program(bench, ctx, total, *, ring_for=3, pause=0.0):
    """Submit `total` descriptors, up to `ring_for` at a time; returns when all are recorded."""
    first = len(bench.submitted)
    while len(bench.submitted) < first + total:
        left = first + total - len(bench.submitted)
        for _ in range(min(bench.room(ctx), bench.rng.randint(1, ring_for), left)):
            bench.put()
        await bench.doorbell(ctx)
        while bench.room(ctx) == 0 or bench.rng.random() < pause:
            await ctx.tick()
    await bench.idle(ctx)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_latencies(config):
    """Of the ring and of its two parts, as their docstrings say."""
    bench = Bench(config, seed=1)
    ring, seen = bench.ring, {}
    events = {
        "bell": ring.tail_written,
        "ar": ring.read.arvalid,
        "last": ring.read.rvalid & ring.read.rlast,
        "cmd": ring.cmd.valid,
        "rsp": ring.rsp.valid,
        "aw": ring.write.awvalid,
        "w": ring.write.wvalid,
        "b": ring.write.bvalid,
        "head": ring.head == 1,
        "recorded": ring.recorded,
        "emptied": ring.emptied,
    }

    async def monitor(ctx):
        cycle = 0
        async for _, _, *values in ctx.tick().sample(*events.values()):
            for name, value in zip(events, values, strict=True):
                if value:
                    seen.setdefault(name, cycle)
            cycle += 1

    bench.run(lambda ctx: program(bench, ctx, 1), monitor)
    assert seen["ar"] == seen["bell"] + 2
    assert seen["cmd"] == seen["last"] + 3
    assert seen["aw"] == seen["w"] == seen["rsp"] + 2
    assert seen["head"] == seen["recorded"] == seen["emptied"] == seen["b"] + 1


@pytest.mark.parametrize(
    ("config", "size"), list(zip(CONFIGS.values(), (2, 7, 3, 5, 2), strict=True)), ids=CONFIGS
)
@pytest.mark.parametrize(
    ("go", "latency", "pace"),
    [(1.0, (1, 1), 1.0), (0.3, (0, 30), 0.3), (0.8, (0, 200), 0.05)],
    ids=["free", "stalls", "slow"],
)
def test_every_descriptor_once_and_in_order(config, size, go, latency, pace):
    """Whatever the bus and the engine do; several times round the ring."""
    total = 3 * size
    bench = Bench(config, size=size, seed=size, go=go, latency=latency, pace=pace)

    async def check_head(ctx):
        async for _, _, head in ctx.tick().sample(bench.ring.head):
            # Nobody sees a head whose record is not there.
            number = bench.events["recorded"]
            if number and len(bench.submitted) - number < size and head == number % size:
                bench.check_records(number - 1, number)

    bench.run(lambda ctx: program(bench, ctx, total, pause=0.9), check_head)
    assert bench.engine.taken == bench.submitted
    assert bench.events["recorded"] == total
    assert 1 <= bench.events["emptied"] <= total
    assert not bench.events["failed"]
    bench.check_records(max(0, total - size), total)
    bench.check_guards()


def test_descriptors_are_fetched_ahead():
    """While one waits in front of the engine, the next PREFETCH are read, and no more."""
    bench = Bench(size=12)

    async def play(ctx):
        bench.engine.stalled = True
        for _ in range(11):
            bench.put()
        await bench.doorbell(ctx)
        for _ in range(12 * 70):
            await ctx.tick()
        assert len(bench.reads.reads) == PREFETCH + 1
        assert not bench.engine.taken
        bench.engine.stalled = False
        await bench.idle(ctx)

    bench.run(play)
    assert bench.engine.taken == bench.submitted


@pytest.mark.parametrize("config", [CONFIGS["64 bits"], CONFIGS["1024 bits"]], ids=["64", "1024"])
def test_descriptors_at_the_rate_of_the_bus(config):
    """A memory latency of 50 cycles is paid once."""
    bench = Bench(config, size=12, latency=(50, 50))
    beats = 2048 // config.bus_width
    cycles = 0

    async def play(ctx):
        nonlocal cycles
        for _ in range(11):
            bench.put()
        await bench.doorbell(ctx)
        while len(bench.engine.taken) < 11:
            await ctx.tick()
            cycles += 1
        await bench.idle(ctx)

    bench.run(play)
    assert cycles <= 60 + max(beats + 2, -(-(50 + 2 * beats) // PREFETCH)) * 11


def test_no_fetch_while_disabled():
    bench = Bench()

    async def play(ctx):
        ctx.set(bench.ring.enable, 0)
        bench.put()
        await bench.doorbell(ctx)
        for _ in range(100):
            await ctx.tick()
            assert not ctx.get(bench.ring.read.arvalid)
        assert ctx.get(bench.ring.busy)
        ctx.set(bench.ring.enable, 1)
        await bench.idle(ctx)

    bench.run(play)
    bench.check_records(0, 1)


@pytest.mark.parametrize("config", [TINY, CONFIGS["256 bits"]], ids=["32", "256"])
@pytest.mark.parametrize("stalls", [False, True])
def test_fetch_errors_on_any_beat(config, stalls):
    """What came before is run; the address is shown; after a clear nothing is lost or doubled."""
    options = {"go": 0.5, "latency": (0, 40), "pace": 0.2} if stalls else {}
    bench = Bench(config, size=9, seed=3, **options)
    ring, width = bench.ring, config.bus_width // 8
    beats = DESCRIPTOR_BYTES // width

    async def play(ctx):
        chosen = {0, 1, beats - 1, *bench.rng.sample(range(beats), min(4, beats))}
        for turn, beat in enumerate(sorted(chosen)):
            count = bench.rng.randrange(1, 8)
            bad = bench.rng.randrange(count)
            entry = (bench.tail + bad) % bench.size
            address = BASE + DESCRIPTOR_BYTES * entry + width * beat
            bench.reads.read_errors = {address + bench.rng.randrange(width)}
            if bench.rng.random() < 0.5:  # only the first error of a burst is shown
                bench.reads.read_errors.add(BASE + DESCRIPTOR_BYTES * (entry + 1) - 1)
            before = len(bench.submitted)
            for _ in range(count):
                bench.put()
            await bench.doorbell(ctx)
            await bench.until(ctx, lambda: ctx.get(ring.fetch_error))
            assert ctx.get(ring.fault) == address
            assert bench.events["failed"] == turn + (not ctx.get(ring.failed))
            if bench.rng.random() < 0.5:
                while len(bench.engine.taken) < before + bad:
                    await ctx.tick()
                for _ in range(bench.rng.randrange(200)):
                    await ctx.tick()
            assert len(bench.engine.taken) <= before + bad
            bench.reads.read_errors = set()
            await bench.pulse(ctx, "clear")
            await bench.idle(ctx)
            assert not ctx.get(ring.fetch_error)
            bench.check_records(before, before + count)
            assert bench.engine.taken == bench.submitted

    bench.run(play)
    bench.check_guards()


def test_nothing_more_is_asked_for_after_a_fetch_error():
    bench = Bench(CONFIGS["1024 bits"], size=12, latency=(20, 20))

    async def play(ctx):
        bench.reads.read_errors = {BASE}
        for _ in range(11):
            bench.put()
        await bench.doorbell(ctx)
        for _ in range(200):
            await ctx.tick()
        assert len(bench.reads.reads) == PREFETCH
        assert not ctx.get(bench.ring.read.arvalid)
        bench.reads.read_errors = set()
        await bench.pulse(ctx, "clear")
        await bench.idle(ctx)

    bench.run(play)
    assert bench.engine.taken == bench.submitted


def test_a_fetch_error_that_stays_is_raised_again():
    bench = Bench()

    async def play(ctx):
        bench.reads.read_errors = {BASE}
        bench.put()
        await bench.doorbell(ctx)
        for turn in range(3):
            await bench.until(ctx, lambda: ctx.get(bench.ring.fetch_error))
            if turn == 2:
                bench.reads.read_errors = set()
            await bench.pulse(ctx, "clear")
            await bench.until(ctx, lambda: not ctx.get(bench.ring.fetch_error))
        await bench.idle(ctx)

    bench.run(play)
    assert bench.events["failed"] == 3
    assert bench.engine.taken == bench.submitted


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("stalls", [False, True])
def test_record_errors(config, stalls):
    """The head stays before the record that is not written; after a clear it is written again."""
    options = {"go": 0.5, "latency": (0, 60), "pace": 0.3} if stalls else {"latency": (20, 20)}
    bench = Bench(config, size=9, seed=4, **options)
    ring, granule = bench.ring, max(RECORD_BYTES, config.bus_width // 8)

    async def play(ctx):
        for turn in range(9):
            count = bench.rng.randrange(1, 9)
            bad = bench.rng.randrange(count)
            entry = (bench.tail + bad) % bench.size
            address = RECORDS + RECORD_BYTES * entry
            bench.writes.write_errors = {address + bench.rng.randrange(RECORD_BYTES)}
            if config.bus_width > 128:  # one beat can hold several records
                bench.writes.write_errors = {address}
            before = len(bench.submitted)
            for _ in range(count):
                bench.put()
            await bench.doorbell(ctx)
            await bench.until(ctx, lambda: ctx.get(ring.record_error))
            # The first record, in order, of those in the beat.
            assert ctx.get(ring.fault) // granule == address // granule
            assert ctx.get(ring.head) == (ctx.get(ring.fault) - RECORDS) // RECORD_BYTES
            assert bench.events["failed"] == turn + (not ctx.get(ring.failed))
            for _ in range(bench.rng.choice([0, 3, 300])):
                await ctx.tick()
            assert ctx.get(ring.head) == (ctx.get(ring.fault) - RECORDS) // RECORD_BYTES
            bench.writes.write_errors = set()
            await bench.pulse(ctx, "clear")
            await bench.idle(ctx)
            assert not ctx.get(ring.record_error)
            bench.check_records(before, before + count)

    bench.run(play)
    assert bench.events["recorded"] == len(bench.submitted)
    assert bench.engine.taken == bench.submitted
    bench.check_guards()


@pytest.mark.parametrize("tail", [7, 8, 0xFFFF])
def test_doorbells_beyond_the_ring_are_ignored(tail):
    bench = Bench(size=7)
    ring = bench.ring

    async def play(ctx):
        bench.put()
        await bench.doorbell(ctx)
        await bench.doorbell(ctx, tail)
        assert ctx.get(ring.doorbell_error)
        await bench.idle(ctx)
        assert bench.events["failed"] == 1
        assert len(bench.engine.taken) == 1
        await bench.pulse(ctx, "clear")
        assert not ctx.get(ring.doorbell_error)
        bench.put()
        await bench.doorbell(ctx)
        await bench.idle(ctx)

    bench.run(play)
    assert bench.engine.taken == bench.submitted


def test_doorbells_at_any_time():
    """Every cycle a doorbell, most of them with the tail it has already."""
    bench = Bench(size=5, seed=6, go=0.7, latency=(0, 8))

    async def play(ctx):
        while len(bench.submitted) < 25:
            if bench.room(ctx) and bench.rng.random() < 0.05:
                bench.put()
            await bench.doorbell(ctx)
        await bench.idle(ctx)

    bench.run(play)
    assert bench.engine.taken == bench.submitted
    bench.check_records(20, 25)


@pytest.mark.parametrize("fault", ["none", "fetch", "record"])
@pytest.mark.parametrize("go", [1.0, 0.4])
def test_soft_reset_at_any_cycle(fault, go):
    """Bursts end as they began, everything is forgotten, and the ring runs from entry 0."""
    bench = Bench(CONFIGS["256 bits"], size=5, seed=8, go=go, latency=(0, 9), pace=0.3)
    ring = bench.ring

    async def play(ctx):
        for cycle in range(0, 150, 2 if go == 1.0 else 5):
            bench.submitted, bench.engine.taken, bench.tail = [], [], 0
            for _ in range(bench.rng.randint(1, 4)):
                bench.put()
            if fault == "fetch":
                bench.reads.read_errors = {BASE + 256 + 32}
            if fault == "record":
                bench.writes.write_errors = {RECORDS + 16}
            await bench.doorbell(ctx)
            for _ in range(cycle):
                await ctx.tick()
            await bench.pulse(ctx, "soft_reset")
            assert ctx.get(ring.busy)
            while ctx.get(ring.busy):
                assert not ctx.get(ring.cmd.valid)
                assert not ctx.get(ring.recorded | ring.emptied | ring.failed)
                await ctx.tick()
            assert bench.reads.quiet
            assert bench.writes.quiet
            assert ctx.get(ring.head) == 0
            assert not ctx.get(ring.fetch_error | ring.record_error)
            assert bench.engine.taken == bench.submitted[: len(bench.engine.taken)]
            bench.reads.read_errors = bench.writes.write_errors = set()
            bench.submitted, bench.engine.taken, bench.tail = [], [], 0
            bench.put()
            bench.put()
            await bench.doorbell(ctx)
            await bench.idle(ctx)
            assert bench.engine.taken == bench.submitted
            bench.check_records(0, 2)
            await bench.pulse(ctx, "soft_reset")
            await bench.idle(ctx)

    bench.run(play, cycles=100_000)
    bench.check_guards()


def test_a_doorbell_during_a_reset_is_lost():
    bench = Bench(size=7, latency=(30, 30))

    async def play(ctx):
        bench.put()
        await bench.doorbell(ctx)
        for _ in range(10):
            await ctx.tick()
        await bench.pulse(ctx, "soft_reset")
        await bench.doorbell(ctx)
        assert ctx.get(bench.ring.resetting)
        await bench.idle(ctx)
        for _ in range(100):
            await ctx.tick()
            assert not ctx.get(bench.ring.busy)

    bench.run(play)
    assert not bench.engine.taken


def test_nothing_begins_once_the_bus_is_hung():
    """What is offered stays on offer."""
    bench = Bench(size=7)
    ring = bench.ring

    async def play(ctx):
        bench.reads.silent = True
        for _ in range(4):
            bench.put()
        await bench.doorbell(ctx)
        for _ in range(10):
            await ctx.tick()
        ctx.set(ring.hung, 1)
        await bench.pulse(ctx, "soft_reset")
        for _ in range(50):
            await ctx.tick()
            assert ctx.get(ring.read.arvalid)
            assert ctx.get(ring.read.araddr) == BASE
            assert ctx.get(ring.busy)
        bench.reads.silent = False
        await bench.idle(ctx)
        assert len(bench.reads.reads) == 1  # a bus that comes back is left in order
        bench.tail = 0
        bench.put()
        await bench.doorbell(ctx)
        for _ in range(50):
            await ctx.tick()
            assert not ctx.get(ring.read.arvalid)

    bench.run(play)
