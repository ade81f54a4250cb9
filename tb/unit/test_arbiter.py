"""Two managers at one port: everybody gets what is theirs, and bursts are never mixed."""

import random
from collections import deque

import pytest
from cornerturn.soc.arbiter import ORDER, ReadArbiter, WriteArbiter
from unit.axi import Memory
from unit.bench import simulate

ADDRESS, WIDTH, IDS = 16, 64, 2
BYTES = WIDTH // 8
SIZE = 1 << 14
SHAPE = {"address_width": ADDRESS, "data_width": WIDTH, "id_width": IDS}
OPTIONS = {
    "free": {"go": 1.0, "latency": (1, 1)},
    "stalls": {"go": 0.4, "latency": (0, 20)},
    "late": {"go": 0.9, "latency": (0, 200)},
}
paces = pytest.mark.parametrize("pace", [1.0, 0.4, 0.1], ids=["fast", "some", "seldom"])
memories = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def bursts(rng, count, base=0, span=SIZE):
    """Random (id, address, beats) within a part of the memory and within 4 KiB."""
    found = []
    while len(found) < count:
        address = base + rng.randrange(span // BYTES) * BYTES
        beats = rng.choice([1, 1, 2, 5, 16, 40])
        if address // 4096 == (address + beats * BYTES - 1) // 4096:
            found.append((rng.randrange(1 << IDS), address, beats))
    return found


def show(ctx, port, channel, request):
    """Offer an address, or none."""
    ctx.set(getattr(port, f"{channel}valid"), request is not None)
    for name, value in zip(("id", "addr", "len"), request or (0, 0, 1), strict=True):
        ctx.set(getattr(port, channel + name), value - (name == "len"))
    ctx.set(getattr(port, f"{channel}size"), BYTES.bit_length() - 1)
    ctx.set(getattr(port, f"{channel}burst"), 1)


async def reader(ctx, port, work, memory, rng, pace):
    """Ask for bursts, and check what comes, which is in order for each ID."""
    work, due, beat, request = deque(work), {}, {}, None
    signals = (port.arready, port.rvalid, port.rready, port.rid, port.rdata, port.rlast, port.rresp)
    while work or request or any(due.values()):
        if request is None and work and rng.random() < pace:
            request = work.popleft()
            show(ctx, port, "ar", request)
        ctx.set(port.rready, rng.random() < pace**0.5)
        _, _, ready, valid, taken, identity, data, last, resp = await ctx.tick().sample(*signals)
        if request is not None and ready:
            due.setdefault(request[0], deque()).append(request)
            request = None
            show(ctx, port, "ar", None)
        if valid and taken:
            _, address, beats = due[identity][0]
            number = beat.get(identity, 0)
            low = address + number * BYTES
            assert data == int.from_bytes(memory.data[low : low + BYTES], "little")
            assert last == (number == beats - 1)
            assert resp == (2 if low in memory.read_errors else 0)
            beat[identity] = 0 if last else number + 1
            if last:
                due[identity].popleft()


async def writer(ctx, port, work, contents, errors, rng, pace):
    """Write bursts, data at any time from their address on; collect the answers' errors."""
    work, to_send, due, request = deque(work), deque(), [], None
    signals = (port.awready, port.wvalid, port.wready, port.bvalid, port.bready, port.bid)
    beat = None
    while work or request or to_send or beat or due:
        if request is None and work and rng.random() < pace:
            request = work.popleft()
            show(ctx, port, "aw", request)
            identity, address, beats = request
            due.append((identity, address))
            for number in range(beats):
                to_send.append((address + number * BYTES, number == beats - 1))
        if beat is None and to_send and rng.random() < pace**0.5:
            beat = to_send.popleft()
        ctx.set(port.wvalid, beat is not None)
        low, last = beat or (0, 0)
        ctx.set(port.wdata, int.from_bytes(contents[low : low + BYTES], "little"))
        ctx.set(port.wstrb, 0xFF)
        ctx.set(port.wlast, last)
        ctx.set(port.bready, rng.random() < pace**0.5)
        _, _, *values = await ctx.tick().sample(*signals, port.bresp)
        if request is not None and values[0]:
            request = None
            show(ctx, port, "aw", None)
        if values[1] and values[2]:
            beat = None
        if values[3] and values[4]:
            entry = next(entry for entry in due if entry[0] == values[5])
            due.remove(entry)
            if values[6]:
                errors.append(entry[1])


def both(arbiter, memory, play):
    """Run `play(ctx, port, number)` at both sources until both are done."""
    done = []

    def source(number):
        async def run(ctx):
            port = getattr(arbiter, f"i{number}")
            await play(ctx, port, number)
            for name in ("rready", "bready"):
                if hasattr(port, name):
                    ctx.set(getattr(port, name), 1)
            done.append(number)

        return run

    async def drive(ctx, reset):
        while len(done) < 2:
            await ctx.tick()
        for _ in range(300):
            await ctx.tick()
        assert memory.quiet

    simulate(arbiter, drive, source(0), source(1), *memory.benches)


@memories
@paces
def test_reads(options, pace):
    rng = random.Random(5)
    arbiter = ReadArbiter(**SHAPE)
    memory = Memory(arbiter.o, SIZE, seed=6, reorder=True, **options)
    memory.data[:] = rng.randbytes(SIZE)
    work = [bursts(rng, 12), bursts(rng, 12)]
    memory.read_errors = {work[0][0][1], work[1][3][1] + BYTES * (work[1][3][2] - 1)}

    async def play(ctx, port, number):
        await reader(ctx, port, work[number], memory, rng, pace)

    both(arbiter, memory, play)
    expected = [
        (number << IDS | identity, address, beats)
        for number in range(2)
        for identity, address, beats in work[number]
    ]
    assert sorted(memory.reads) == sorted(expected)


@memories
@paces
def test_writes(options, pace):
    rng = random.Random(7)
    arbiter = WriteArbiter(**SHAPE)
    memory = Memory(arbiter.o, SIZE, seed=8, reorder=True, **options)
    contents = rng.randbytes(SIZE)
    work = [bursts(rng, 12, number * SIZE // 2, SIZE // 2) for number in range(2)]
    bad = [work[0][2][1], work[1][5][1]]
    memory.write_errors = set(bad)
    errors = [[], []]

    async def play(ctx, port, number):
        await writer(ctx, port, work[number], contents, errors[number], rng, pace)

    both(arbiter, memory, play)
    touched = {
        address + byte: any(address <= error < address + beats * BYTES for error in bad)
        for part in work
        for _, address, beats in part
        for byte in range(beats * BYTES)
    }
    for place in range(SIZE):
        if place not in touched:
            assert memory.data[place] == 0
        elif not touched[place]:
            assert memory.data[place] == contents[place]
    assert len(memory.writes) == 24
    for number in range(2):
        assert bad[number] in errors[number]


def test_source_0_goes_first():
    arbiter = ReadArbiter(**SHAPE)
    seen = []

    async def drive(ctx, reset):
        ctx.set(arbiter.i0.arvalid, 1)
        ctx.set(arbiter.i1.arvalid, 1)
        ctx.set(arbiter.o.arready, 1)
        for cycle in range(8):
            if cycle == 4:
                ctx.set(arbiter.i0.arvalid, 0)
            _, _, valid, identity = await ctx.tick().sample(arbiter.o.arvalid, arbiter.o.arid)
            seen.append((valid, identity >> IDS))

    simulate(arbiter, drive)
    assert seen[1:] == [(1, 0)] * 4 + [(1, 1)] * 3
    assert not seen[0][0]


def test_writes_at_full_rate():
    """A beat every cycle, behind the one cycle of the address, whoever it is from."""
    arbiter = WriteArbiter(**SHAPE)
    seen = []

    async def drive(ctx, reset):
        ctx.set(arbiter.o.awready, 1)
        ctx.set(arbiter.o.wready, 1)
        for port in (arbiter.i0, arbiter.i1):
            show(ctx, port, "aw", (0, 0, 1))
            ctx.set(port.wvalid, 1)
            ctx.set(port.wlast, 1)
        for cycle in range(20):
            ctx.set(arbiter.i0.awvalid, cycle % 2)
            seen.append((await ctx.tick().sample(arbiter.o.wvalid))[2])

    simulate(arbiter, drive)
    assert seen == [0] + [1] * 19


def test_addresses_are_few_ahead_of_their_data():
    arbiter = WriteArbiter(**SHAPE)
    goes = 0

    async def drive(ctx, reset):
        nonlocal goes
        ctx.set(arbiter.o.awready, 1)
        show(ctx, arbiter.i1, "aw", (0, 0, 1))
        for _ in range(20):
            goes += (await ctx.tick().sample(arbiter.i1.awready))[2]

    simulate(arbiter, drive)
    assert goes == ORDER
