"""The SoC top as software sees it: registers, a ring and records in memory, an interrupt."""

import random

import numpy as np
import pytest
from amaranth.lib.wiring import In
from cornerturn.config import PRESETS
from cornerturn.fields import Opcode, Status, pack
from cornerturn.registers import DESCRIPTOR_BYTES, INTERRUPTS, RECORD_BYTES, REGISTERS
from cornerturn.soc.engine_axi import EngineAxi
from cornerturn_model import golden
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Segment,
    Swap,
    Tile,
)
from unit.axi import Host, Memory
from unit.bench import poke, simulate

CONFIG = PRESETS["tiny"]
RING, RECORDS, SIZE, MEMORY = 0x1300, 0x3F80, 11, 0x8000
NOP = pack({"version": 1, "opcode": Opcode.NOP})
PROGRAM = [
    Tile(Across(0, 0), Along(0, 128), 4, (Digit(8, (0, 4), (0, 4)), Digit(4, (0, 1), (1, 0)))),
    Swap(0, 128, 4),
    Fence(),
    Tile(Along(1, 130), Across(0, 40), 4, (Digit(3, (0, 4), (0, 1)),)),
]


class Bench:
    """The top, the software that drives it, and system memory."""

    def __init__(self, *, seed=0, go=1.0, latency=(1, 1)):
        self.top = EngineAxi(CONFIG)
        self.host = Host(self.top.s_axil, seed=seed, go=go)
        self.memory = Memory(self.top.m_axi, MEMORY, seed=seed, go=go, latency=latency)
        self.rng = random.Random(seed)
        self.tail = 0

    def run(self, play, cycles=50_000):
        """Run `play(ctx, reset)` after a set-up; nothing may be left over."""

        async def drive(ctx, reset):
            await self.start(ctx)
            await play(ctx, reset)
            assert self.memory.quiet

        simulate(self.top, drive, *self.host.benches, *self.memory.benches, cycles=cycles)

    async def start(self, ctx):
        """Set the ring up, and enable every interrupt."""
        settings = {"ring_base": RING, "completion_base": RECORDS, "ring_size": SIZE}
        settings |= {"irq_enable": (1 << len(INTERRUPTS)) - 1, "control": 1}
        for name, value in settings.items():
            await self.write(ctx, name, value)
        self.tail = 0

    async def write(self, ctx, name, value):
        """Write a register."""
        assert await self.host.write(ctx, REGISTERS[name].offset, value) == 0

    async def read(self, ctx, name):
        """Read a register; its fields, or its value if it is one."""
        value, response = await self.host.read(ctx, REGISTERS[name].offset)
        assert response == 0
        found = {
            bits.name: value >> bits.low & ((1 << bits.width) - 1)
            for bits in REGISTERS[name].fields
        }
        return found.get("value", found)

    async def events(self, ctx):
        """Wait for the interrupt; clear and return its causes."""
        while not ctx.get(self.top.irq):
            await ctx.tick()
        causes = {name for name, flag in (await self.read(ctx, "irq_status")).items() if flag}
        mask = sum(1 << bit for bit, name in enumerate(INTERRUPTS) if name in causes)
        await self.write(ctx, "irq_status", mask)
        return causes

    async def until(self, ctx, cause):
        """Wait until a cause was raised; returns all until then."""
        causes = set()
        while cause not in causes:
            causes |= await self.events(ctx)
        return causes

    async def submit(self, ctx, *descriptors):
        """Put descriptors into the ring, and ring."""
        for item in descriptors:
            descriptor = item if isinstance(item, int) else item.encode()
            place = RING + DESCRIPTOR_BYTES * self.tail
            self.memory.data[place : place + 256] = descriptor.to_bytes(256, "little")
            self.tail = (self.tail + 1) % SIZE
        await self.write(ctx, "ring_tail", self.tail)

    async def idle(self, ctx):
        """Poll until nothing is going on."""
        while (await self.read(ctx, "status"))["busy"]:
            pass

    def records(self, count):
        """(index, status) of the first records."""
        found = []
        for number in range(count):
            place = RECORDS + RECORD_BYTES * number
            record = int.from_bytes(self.memory.data[place : place + RECORD_BYTES], "little")
            assert record >> 63 & 1  # the first pass
            found.append((record & 0xFFFFFFFF, Status(record >> 32 & 0xFF)))
        return found

    async def load(self, ctx, lmem):
        """Write all lanes' words through their ports."""
        top = self.top
        poke(ctx, top.lane_write_valid, (1 << CONFIG.lanes) - 1)
        poke(ctx, top.lane_write_mask, (1 << CONFIG.lanes * CONFIG.beat_cells) - 1)
        words = lmem.reshape(CONFIG.lanes, CONFIG.words, CONFIG.beat_cells)
        for word in range(CONFIG.words):
            poke(ctx, top.lane_write_word, self._everywhere(word))
            data = words[:, word].astype(np.uint8).tobytes()
            poke(ctx, top.lane_write_data, int.from_bytes(data, "little"))
            await ctx.tick()
        poke(ctx, top.lane_write_valid, 0)

    async def dump(self, ctx):
        """Read all lanes' words through their ports."""
        top, words = self.top, []
        poke(ctx, top.lane_read_valid, (1 << CONFIG.lanes) - 1)
        size = CONFIG.lanes * CONFIG.beat_cells
        for word in range(CONFIG.words):
            poke(ctx, top.lane_read_word, self._everywhere(word))
            await ctx.tick()
            await ctx.tick()
            words.append(ctx.get(top.lane_read_data.as_value()).to_bytes(size, "little"))
        poke(ctx, top.lane_read_valid, 0)
        cells = np.frombuffer(b"".join(words), np.uint8)
        cells = cells.reshape(CONFIG.words, CONFIG.lanes, CONFIG.beat_cells).transpose(1, 0, 2)
        return cells.reshape(CONFIG.lanes, CONFIG.cells)

    @staticmethod
    def _everywhere(word):
        return sum(word << lane * CONFIG.word_bits for lane in range(CONFIG.lanes))


@pytest.mark.parametrize(("go", "latency"), [(1.0, (1, 1)), (0.4, (0, 60))], ids=["free", "stalls"])
def test_a_program_end_to_end(go, latency):
    """Data, records, counters and the interrupt."""
    bench = Bench(seed=2, go=go, latency=latency)
    lmem = np.random.default_rng(2).integers(0, 256, (CONFIG.lanes, CONFIG.cells), np.uint8)
    model = golden.run(CONFIG, lmem, PROGRAM)

    async def play(ctx, reset):
        await bench.load(ctx, lmem)
        await bench.submit(ctx, *PROGRAM)
        causes = await bench.until(ctx, "empty")
        assert causes == {"completion", "empty"}
        assert not ctx.get(bench.top.irq)
        assert await bench.read(ctx, "ring_head") == len(PROGRAM)
        assert bench.records(len(PROGRAM)) == model.completions
        assert await bench.read(ctx, "counter_instructions") == len(PROGRAM)
        status = await bench.read(ctx, "status")
        assert not any(status.values())
        np.testing.assert_array_equal(await bench.dump(ctx), model.lmem)

    bench.run(play)


def test_identity_and_shape():
    bench = Bench()

    async def play(ctx, reset):
        assert (await bench.read(ctx, "id")).to_bytes(4, "little") == b"CTRN"
        assert (await bench.read(ctx, "shape_lanes"))["lanes"] == CONFIG.lanes
        assert (await bench.read(ctx, "shape_memory"))["bus_width"] == CONFIG.bus_width

    bench.run(play)


@pytest.mark.parametrize("stop", ["rejected", "halted"])
def test_a_stop_interrupts_once_its_record_is_written(stop):
    """Nothing behind it runs until software clears."""
    bench = Bench(seed=3, latency=(30, 30))
    code = {"rejected": Status.VERSION, "halted": Status.OK}[stop]
    bad = {"rejected": 3, "halted": Halt()}[stop]

    async def play(ctx, reset):
        await bench.submit(ctx, NOP, NOP, bad, NOP)
        causes = await bench.until(ctx, stop)
        assert causes == {"completion", stop}
        expected = [(0, Status.OK), (1, Status.OK), (2, code), (3, Status.OK)]
        assert bench.records(3) == expected[:3]
        for _ in range(300):
            await ctx.tick()
        assert await bench.read(ctx, "ring_head") == 3
        status = await bench.read(ctx, "status")
        assert status[stop]
        if stop == "rejected":
            assert (status["code"], await bench.read(ctx, "status_index")) == (code, 2)
        await bench.write(ctx, "command", 1)
        assert await bench.until(ctx, "empty") == {"completion", "empty"}
        assert bench.records(4) == expected

    bench.run(play)


def test_a_row_outside_the_array():
    """Its place is in its record and in a register; the block it is in can be read, too."""
    bench = Bench(seed=5)
    # Block (w, k) = (1, 1) reads lane 1 from cell 200 + 64 on, which is not there.
    segment = Segment(7, 4, (0, 64), (0, 1))
    wo = Digit(2, (1, 200), (0, 8))
    tile = Tile(Along(0, 0), Across(0, 140), segment, wo=wo, limits=Limits(ho=1))

    async def play(ctx, reset):
        await bench.submit(ctx, NOP, tile)
        assert "rejected" in await bench.until(ctx, "rejected")
        assert bench.records(2) == [(0, Status.OK), (1, Status.RANGE)]
        record = RECORDS + RECORD_BYTES + 8
        place = bench.memory.data[record : record + 8]
        assert int.from_bytes(place, "little") == (1 << 32) + 264
        expected = {
            "fault_address": 264, "fault_address_high": 1, "block_h": 0, "block_w": 1, "block_k": 1,
            "repeat_co": 2, "in_offset": 264, "in_offset_high": 1, "out_offset": 9,
            "out_offset_high": 0,
        }  # fmt: skip
        assert {name: await bench.read(ctx, name) for name in expected} == expected

    bench.run(play)


def test_abort():
    """What was not issued runs after the clear."""
    bench = Bench(seed=4)
    long = Tile(Along(0, 0), Along(1, 0), 1, (Digit(3000, (0, 0), (0, 0)),))

    async def play(ctx, reset):
        await bench.submit(ctx, long, NOP)
        while not await bench.read(ctx, "counter_instructions"):
            pass
        await bench.write(ctx, "command", 2)
        assert "aborted" in await bench.until(ctx, "aborted")
        assert bench.records(1) == [(0, Status.ABORTED)]
        await bench.write(ctx, "command", 1)
        await bench.until(ctx, "empty")
        assert bench.records(2) == [(0, Status.ABORTED), (1, Status.OK)]

    bench.run(play)


@pytest.mark.parametrize(
    ("go", "step"), [(1.0, 61), (0.5, 149), pytest.param(1.0, 7, marks=pytest.mark.full)]
)
def test_soft_reset_at_any_time(go, step):
    """Everything is forgotten, and the next job runs as the first."""
    bench = Bench(seed=5, go=go, latency=(0, 20))
    long = Tile(Along(0, 0), Along(1, 0), 1, (Digit(60, (0, 0), (0, 0)),))

    async def play(ctx, reset):
        for cycles in range(0, 300, step):
            await bench.submit(ctx, long, 3, long, long)
            if cycles % 2:
                await bench.write(ctx, "command", 1)
            for _ in range(cycles):
                await ctx.tick()
            await bench.write(ctx, "command", 4)
            await bench.idle(ctx)
            assert bench.memory.quiet
            assert await bench.read(ctx, "ring_head") == 0
            assert await bench.read(ctx, "counter_cycles") == 0
            assert await bench.read(ctx, "ring_base") == 0
            assert not any((await bench.read(ctx, "irq_status")).values())
            await bench.start(ctx)
            await bench.submit(ctx, NOP, long)
            await bench.until(ctx, "empty")
            assert bench.records(2) == [(0, Status.OK), (1, Status.OK)]
            await bench.write(ctx, "command", 4)
            await bench.idle(ctx)
            await bench.start(ctx)

    bench.run(play, cycles=100_000)


def test_errors_of_the_ring_interrupt():
    bench = Bench(seed=6)

    async def play(ctx, reset):
        bench.memory.read_errors = {RING + 256 + 8}
        bench.memory.write_errors = {RECORDS + 4}
        await bench.submit(ctx, NOP, NOP)
        seen = {}
        while len(seen) < 2:
            await bench.until(ctx, "ring_error")
            status = await bench.read(ctx, "status")
            errors = {"fetch_error": "read_errors", "record_error": "write_errors"}
            for name, memory_errors in errors.items():
                if status[name]:
                    seen[name] = await bench.read(ctx, "ring_fault_address")
                    setattr(bench.memory, memory_errors, set())
            await bench.write(ctx, "command", 1)
        await bench.until(ctx, "empty")
        assert bench.records(2) == [(0, Status.OK), (1, Status.OK)]
        await bench.write(ctx, "ring_tail", SIZE)
        assert await bench.until(ctx, "ring_error") == {"ring_error"}
        assert (await bench.read(ctx, "status"))["doorbell_error"]
        assert not (await bench.read(ctx, "status"))["busy"]

    bench.run(play)


def test_a_bus_that_does_not_answer():
    """Hung until reset, whatever software tries; then as new."""
    bench = Bench(seed=7)

    async def play(ctx, reset):
        await bench.write(ctx, "watchdog", 40)
        bench.memory.silent = True
        await bench.submit(ctx, NOP)
        assert await bench.until(ctx, "bus_hung") == {"bus_hung"}
        for command in (1, 2, 4, 4):
            await bench.write(ctx, "command", command)
            assert (await bench.read(ctx, "status"))["bus_hung"]
            assert (await bench.read(ctx, "status"))["busy"]
            assert ctx.get(bench.top.m_axi.arvalid)
        assert not any((await bench.read(ctx, "irq_status")).values())
        bench.memory.silent = False
        ctx.set(reset, 1)
        await ctx.tick()
        await ctx.tick()
        ctx.set(reset, 0)
        assert not any((await bench.read(ctx, "status")).values())
        await bench.start(ctx)
        await bench.submit(ctx, NOP)
        await bench.until(ctx, "empty")
        assert bench.records(1) == [(0, Status.OK)]

    bench.run(play)


def test_no_input_of_a_bus_leads_to_an_output_in_the_same_cycle():
    """AXI demands it; whatever comes in, even what no bus would send."""
    top = EngineAxi(CONFIG)
    rng = random.Random(8)
    inputs, outputs = [], []
    for path, member, port in top.signature.flatten(top):
        if not path[0].startswith("lane_"):
            (inputs if member.flow is In else outputs).append(port)
    assert len(inputs) > 20
    assert len(outputs) > 30

    async def drive(ctx, reset):
        for _ in range(300):
            seen = set()
            for _ in range(3):
                for port in inputs:
                    ctx.set(port, rng.getrandbits(len(port)))
                seen.add(tuple(ctx.get(port) for port in outputs))
            assert len(seen) == 1
            await ctx.tick()

    simulate(top, drive)
