"""Inside the simulator: a host at the pins of the shipped engine, with idle and back-pressure.

Everything that crosses the streams is checked against the rules of a stream: what is offered stays,
unchanged, until it is taken. At the end nothing may be left over.
"""

import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, ReadOnly, RisingEdge, Timer
from cornerturn.config import PRESETS
from cornerturn_model import golden
from cornerturn_model.instruction import Across, Along, Digit, Fence, Swap, Tile

CONFIG = PRESETS["tiny"]
WATCHDOG_US = 2000

PROGRAM = [
    Tile(Across(0, 0), Along(0, 128), 4, (Digit(8, (0, 4), (0, 4)), Digit(4, (0, 1), (1, 0)))),
    Swap(0, 128, 4),
    3,  # no version: rejected
    Tile(Along(1, 130), Across(0, 40), 4, (Digit(3, (0, 4), (0, 1)),)),
    Fence(),
    Swap(0, 129, 3),
]


class Bench:
    """A clocked engine with a driver for commands, a checker for completions, and lane ports."""

    def __init__(self, dut, seed):
        self.dut = dut
        self.rng = random.Random(seed)
        self.completions = []
        Clock(dut.clk, 10, "ns").start()

    async def reset(self):
        """Two cycles of reset, all inputs low."""
        for name in ("cmd__valid", "cmd__payload", "rsp__ready", "clear", "abort", "soft_reset",
                     "lane_read_valid", "lane_read_word", "lane_write_valid", "lane_write_word",
                     "lane_write_mask", "lane_write_data"):  # fmt: skip
            getattr(self.dut, name).value = 0
        self.dut.rst.value = 1
        await ClockCycles(self.dut.clk, 2)
        self.dut.rst.value = 0

    async def offer(self, commands, chance):
        """Offer commands; between two, each cycle is idle by chance."""
        dut = self.dut
        for command in commands:
            while self.rng.random() >= chance:
                await RisingEdge(dut.clk)
            dut.cmd__payload.value = command
            dut.cmd__valid.value = 1
            await RisingEdge(dut.clk)
            while not dut.cmd__ready.value:
                await RisingEdge(dut.clk)
            dut.cmd__valid.value = 0

    async def take(self, count, chance):
        """Take completions by chance, check that a waiting one stays as it is; clear stops."""
        dut = self.dut
        waiting = None
        while len(self.completions) < count:
            dut.rsp__ready.value = ready = int(self.rng.random() < chance)
            dut.clear.value = int(bool(dut.irq.value))
            await RisingEdge(dut.clk)
            valid = bool(dut.rsp__valid.value)
            payload = int(dut.rsp__payload.value) if valid else None
            assert waiting in (None, payload), "a completion changed while it waited"
            waiting = payload if valid and not ready else None
            if valid and ready:
                self.completions.append((payload & 0xFFFFFFFF, payload >> 32))
        dut.rsp__ready.value = 0
        dut.clear.value = 0

    async def load(self, lmem):
        """Write all words, every lane at once."""
        dut, words = self.dut, lmem.reshape(CONFIG.lanes, CONFIG.words, CONFIG.beat_cells)
        for word in range(CONFIG.words):
            dut.lane_write_valid.value = (1 << CONFIG.lanes) - 1
            dut.lane_write_word.value = self._all_lanes(word)
            dut.lane_write_mask.value = (1 << CONFIG.lanes * CONFIG.beat_cells) - 1
            dut.lane_write_data.value = int.from_bytes(words[:, word].tobytes(), "little")
            await RisingEdge(dut.clk)
        dut.lane_write_valid.value = 0

    async def read(self):
        """Read all words; the data is there two cycles after the request."""
        dut, words = self.dut, []
        for cycle in range(CONFIG.words + 2):
            reading = cycle < CONFIG.words
            dut.lane_read_valid.value = (1 << CONFIG.lanes) - 1 if reading else 0
            dut.lane_read_word.value = self._all_lanes(cycle % CONFIG.words)
            await RisingEdge(dut.clk)
            if cycle >= 2:
                words.append(int(dut.lane_read_data.value))
        size = CONFIG.lanes * CONFIG.beat_cells
        flat = b"".join(word.to_bytes(size, "little") for word in words)
        return np.frombuffer(flat, np.uint8).reshape(
            CONFIG.words, CONFIG.lanes, CONFIG.beat_cells
        ).transpose(1, 0, 2).reshape(CONFIG.lanes, CONFIG.cells)  # fmt: skip

    async def finish(self):
        """Nothing may come any more, nor be going on."""
        await ClockCycles(self.dut.clk, 100)
        await ReadOnly()
        assert not self.dut.rsp__valid.value
        assert not self.dut.irq.value
        assert not int(self.dut.status.value) & 1

    @staticmethod
    def _all_lanes(word):
        return sum(word << (lane * CONFIG.word_bits) for lane in range(CONFIG.lanes))


@cocotb.test(timeout_time=WATCHDOG_US, timeout_unit="us")
@cocotb.parametrize(offer=[1.0, 0.05], take=[1.0, 0.05])
async def program_with_idle_and_back_pressure(dut, offer, take):
    """Results are the model's, and completions in order, however slow the host is."""
    bench = Bench(dut, seed=7)
    await bench.reset()
    lmem = np.random.default_rng(7).integers(0, 256, (CONFIG.lanes, CONFIG.cells), np.uint8)
    await bench.load(lmem)
    model = golden.run(CONFIG, lmem, PROGRAM)
    commands = [item if isinstance(item, int) else item.encode() for item in PROGRAM]
    cocotb.start_soon(bench.offer(commands, offer))
    await bench.take(len(commands), take)
    assert bench.completions == model.completions
    np.testing.assert_array_equal(await bench.read(), model.lmem)
    if offer == take == 1.0:
        assert int(dut.counters.value) & 0xFFFFFFFF == model.cycles
    await bench.finish()


@cocotb.test(timeout_time=WATCHDOG_US, timeout_unit="us")
async def halt_raises_irq_until_cleared(dut):
    """The interrupt is a level, and nothing runs behind it."""
    bench = Bench(dut, seed=1)
    await bench.reset()
    halt = 1 | 4 << 4
    cocotb.start_soon(bench.offer([halt, 1], 1.0))
    dut.rsp__ready.value = 1
    await First(RisingEdge(dut.irq), Timer(5, "us"))
    await ClockCycles(dut.clk, 50)
    assert dut.irq.value
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    await ClockCycles(dut.clk, 60)
    assert not dut.irq.value
    assert int(dut.counters.value) >> 9 * 32 == 2
    await bench.finish()
