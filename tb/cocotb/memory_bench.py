"""Inside the simulator: rows written to and read from the memory of cocotbext-axi, both at once.

The bus is watched by the rules that the other benches use, too.
"""

import random

import cocotb
from axi_rules import CHANNELS, Rules
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiBus, AxiRam
from cornerturn import isa
from cornerturn.config import PRESETS

CONFIG = PRESETS["tiny"]  # as in test_memory
SIZE = 0x4000
WATCHDOG_US = 400
BEAT_BYTES = CONFIG.beat_width // 8


class Bench:
    """The memory side with a memory; drivers and checkers for its streams."""

    def __init__(self, dut, seed, chance):
        self.dut, self.chance = dut, chance
        self.rng = random.Random(seed)
        Clock(dut.clk, 10, "ns").start()
        self.ram = AxiRam(AxiBus.from_prefix(dut, "m_axi_"), dut.clk, dut.rst, size=SIZE)
        self.rules = Rules(
            bus_bytes=CONFIG.bus_width // 8, longest=16, outstanding=CONFIG.memory_requests
        )
        self.beats, self.answers = [], []

    async def reset(self):
        """Two cycles of reset; then the bus is watched, and the memory hesitates."""
        for name in ("i_read", "i_write", "i_beat"):
            getattr(self.dut, f"{name}__valid").value = 0
        for name in ("o_beat", "o_answer"):
            getattr(self.dut, f"{name}__ready").value = 0
        self.dut.flush.value = 0
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 2)
        self.dut.rst.value = 0
        await RisingEdge(self.dut.clk)
        if self.chance < 1:
            write, read = self.ram.write_if, self.ram.read_if
            for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel,
                            read.r_channel):  # fmt: skip
                channel.set_pause_generator(self._pauses())
        cocotb.start_soon(self._watch())
        cocotb.start_soon(self._take("o_beat", self.beats))
        cocotb.start_soon(self._take("o_answer", self.answers))

    def _pauses(self):
        while True:
            yield self.rng.random() >= self.chance

    async def _watch(self):
        pins = {
            channel: {
                f"{channel}{field}": getattr(self.dut, f"m_axi__{channel}{field}")
                for field in ("valid", "ready", *fields)
            }
            for channel, fields in CHANNELS.items()
        }
        while True:
            await RisingEdge(self.dut.clk)
            signals = {}
            for channel, group in pins.items():
                valid = int(group[f"{channel}valid"].value)
                # A payload that is not valid may be unknown.
                names = group if valid else (f"{channel}valid", f"{channel}ready")
                signals |= {name: int(group[name].value) for name in names}
            self.rules.cycle(signals)

    async def offer(self, name, payloads):
        """Offer what a stream is to take; between two, each cycle is idle by chance."""
        dut = self.dut
        valid, ready = getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__ready")
        for payload in payloads:
            while self.rng.random() >= self.chance:
                await RisingEdge(dut.clk)
            getattr(dut, f"{name}__payload").value = payload
            valid.value = 1
            await RisingEdge(dut.clk)
            while not ready.value:
                await RisingEdge(dut.clk)
            valid.value = 0

    async def _take(self, name, taken):
        dut = self.dut
        valid, ready = getattr(dut, f"{name}__valid"), getattr(dut, f"{name}__ready")
        while True:
            ready.value = takes = int(self.rng.random() < self.chance)
            await RisingEdge(dut.clk)
            if takes and valid.value:
                taken.append(int(getattr(dut, f"{name}__payload").value))

    async def finish(self):
        """Wait until all is done; nothing may be left over."""
        quiet = 0
        while quiet < 5:
            await RisingEdge(self.dut.clk)
            quiet = quiet + 1 if self.dut.idle.value else 0
        self.rules.finish()


def rows_in(rng, low, high, count):
    """Rows of all kinds in a part of the memory, half of them neighbours."""
    rows, at = [], low
    for _ in range(count):
        size = rng.choice((1, 2, 3, 4, 7, 16, rng.randint(1, 200)))
        if rng.random() < 0.5 or at + size > high:
            at = rng.randrange(low, high - 200)
        rows.append((at, size, int(rng.random() < 0.2)))
        at += size
    at, size, _ = rows[-1]
    return [*rows[:-1], (at, size, 1)]


def requests(rows):
    layout = isa.memory_request(CONFIG)
    return [
        layout.const({"address": at, "bytes": size, "last": last}).as_bits()
        for at, size, last in rows
    ]


def beats_of(data):
    """Dense beats; what is behind the end is not zero."""
    padded = data + b"\xa5" * (-len(data) % BEAT_BYTES)
    return [
        int.from_bytes(padded[k : k + BEAT_BYTES], "little")
        for k in range(0, len(padded), BEAT_BYTES)
    ]


@cocotb.test(timeout_time=WATCHDOG_US, timeout_unit="us")
@cocotb.parametrize(chance=[1.0, 0.6, 0.2], count=[40])
async def rows_both_ways(dut, chance, count):
    """The lower half is read while the upper half is written."""
    bench = Bench(dut, 3, chance)
    rng = bench.rng
    await bench.reset()
    content = bytearray(rng.randbytes(SIZE))
    bench.ram.write(0, bytes(content))
    reads = rows_in(rng, 64, SIZE // 2, count)
    writes = rows_in(rng, SIZE // 2, SIZE - 64, count)
    data = [rng.randbytes(size) for _, size, _ in writes]
    offers = [
        cocotb.start_soon(bench.offer(name, payloads))
        for name, payloads in (
            ("i_read", requests(reads)),
            ("i_write", requests(writes)),
            ("i_beat", [beat for piece in data for beat in beats_of(piece)]),
        )
    ]
    for offer in offers:
        await offer
    await bench.finish()

    expected = [
        (beat, min(BEAT_BYTES, size - k * BEAT_BYTES))
        for at, size, _ in reads
        for k, beat in enumerate(beats_of(bytes(content[at : at + size])))
    ]
    assert len(bench.beats) == len(expected)
    for got, (beat, size) in zip(bench.beats, expected, strict=True):
        mask = (1 << 8 * size) - 1
        assert got & mask == beat & mask
        assert not got >> CONFIG.beat_width
    for (at, size, _), piece in zip(writes, data, strict=True):
        content[at : at + size] = piece
    assert bench.ram.read(0, SIZE) == bytes(content)
    assert len(bench.answers) == sum(last for _, _, last in writes)
    assert not any(answer & 1 for answer in bench.answers)


@cocotb.test(timeout_time=WATCHDOG_US, timeout_unit="us")
@cocotb.parametrize(chance=[1.0, 0.4])
async def flush_in_the_middle(dut, chance):
    """What is written is a beginning of the rows; what follows is as ever."""
    bench = Bench(dut, 5, chance)
    await bench.reset()
    bench.ram.write(0, bytes(SIZE))
    tasks = [
        cocotb.start_soon(bench.offer("i_read", requests([(100, 4000, 0)]))),
        cocotb.start_soon(bench.offer("i_write", requests([(8195, 3000, 0)]))),
        cocotb.start_soon(bench.offer("i_beat", [0xFFFFFFFF] * 750)),
    ]
    await ClockCycles(dut.clk, 300)
    for task in tasks:
        task.cancel()
    for name in ("i_read", "i_write", "i_beat"):
        getattr(dut, f"{name}__valid").value = 0
    dut.flush.value = 1
    await RisingEdge(dut.clk)
    dut.flush.value = 0
    await bench.finish()
    content = bench.ram.read(0, SIZE)
    written = content.count(0xFF)
    assert 0 < written < 3000
    assert content[8195 : 8195 + written].count(0xFF) == written
    bench.beats.clear()
    await bench.offer("i_write", requests([(8195, 8, 1)]))
    await bench.offer("i_beat", [0x03020100, 0x07060504])
    await bench.offer("i_read", requests([(8194, 4, 1)]))
    await bench.finish()
    assert bench.ram.read(8195, 8) == bytes(range(8))
    assert len(bench.answers) == 1
