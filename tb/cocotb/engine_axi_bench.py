"""Inside the simulator: a host and a memory of cocotbext-axi at the pins of the SoC top.

The host knows registers and memory only. Both buses stall at random, and the host waits for the
interrupt; at the end the records must be there, in order, and nothing left over.
"""

import itertools
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cornerturn.fields import Status
from cornerturn.registers import DESCRIPTOR_BYTES, RECORD_BYTES, REGISTERS
from cornerturn_model.instruction import Across, Along, Digit, Fence, Halt, Swap, Tile

WATCHDOG_US = 2000
RING, RECORDS, SIZE = 0x2F00, 0x1000, 5
BAD = 3  # a descriptor without a version

PROGRAM = [
    Tile(Across(0, 0), Along(0, 128), 4, (Digit(8, (0, 4), (0, 4)), Digit(4, (0, 1), (1, 0)))),
    Swap(0, 128, 4),
    BAD,
    Tile(Along(1, 130), Across(0, 40), 4, (Digit(3, (0, 4), (0, 1)),)),
    Fence(),
    Halt(),
    Swap(0, 129, 3),
]
EXPECTED = [Status.VERSION if item is BAD else Status.OK for item in PROGRAM]


class Bench:
    """The top with its clock, host and memory."""

    def __init__(self, dut, seed, stalls):
        self.dut = dut
        self.rng = random.Random(seed)
        Clock(dut.aclk, 10, "ns").start()
        reset = {"reset": dut.aresetn, "reset_active_level": False}
        self.host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.aclk, **reset)
        self.memory = AxiRam(AxiBus.from_prefix(dut, "m_axi"), dut.aclk, size=1 << 15, **reset)
        if stalls:
            write, read = self.memory.write_if, self.memory.read_if
            mine = (self.host.write_if, self.host.read_if)
            for channel in (
                write.aw_channel, write.w_channel, write.b_channel, read.ar_channel,
                read.r_channel, *(part.b_channel for part in mine[:1]),
                *(part.r_channel for part in mine[1:]),
            ):  # fmt: skip
                channel.set_pause_generator(self._pauses(stalls))

    def _pauses(self, chance):
        return (self.rng.random() < chance for _ in itertools.count())

    @classmethod
    async def start(cls, dut, **options):
        """A bench after some cycles of reset, which begins before the clock does."""
        for name in ("aresetn", "lane_read_valid", "lane_read_word", "lane_write_valid",
                     "lane_write_word", "lane_write_mask", "lane_write_data"):  # fmt: skip
            getattr(dut, name).value = 0
        await Timer(1, "ns")
        bench = cls(dut, **options)
        await bench.reset()
        return bench

    async def reset(self):
        """Four cycles of reset."""
        self.dut.aresetn.value = 0
        await ClockCycles(self.dut.aclk, 4)
        self.dut.aresetn.value = 1
        await ClockCycles(self.dut.aclk, 2)

    async def write(self, name, value):
        """Write a register."""
        await self.host.write_dword(REGISTERS[name].offset, value)

    async def read(self, name):
        """Read a register."""
        return await self.host.read_dword(REGISTERS[name].offset)

    async def irq(self):
        """Wait for the interrupt, and clear its causes."""
        if not self.dut.irq.value:
            await First(RisingEdge(self.dut.irq), Timer(WATCHDOG_US, "us"))
        causes = await self.read("irq_status")
        await self.write("irq_status", causes)
        return causes

    def put(self, number):
        """A descriptor of the program into its entry."""
        item = PROGRAM[number]
        descriptor = item if isinstance(item, int) else item.encode()
        place = RING + number % SIZE * DESCRIPTOR_BYTES
        self.memory.write(place, descriptor.to_bytes(DESCRIPTOR_BYTES, "little"))

    def record(self, number):
        """(index, status, phase) of an entry's record."""
        raw = self.memory.read(RECORDS + number % SIZE * RECORD_BYTES, RECORD_BYTES)
        record = int.from_bytes(raw, "little")
        return record & 0xFFFFFFFF, record >> 32 & 0xFF, record >> 63 & 1


@cocotb.test(timeout_time=WATCHDOG_US, timeout_unit="us")
@cocotb.parametrize(stalls=[0.0, 0.5])
async def program_in_a_ring(dut, stalls):
    """Around the ring, through a rejection and a HALT, on interrupts alone."""
    bench = await Bench.start(dut, seed=3, stalls=stalls)
    assert await bench.read("id") == int.from_bytes(b"CTRN", "little")
    for name, value in {
        "ring_base": RING, "completion_base": RECORDS, "ring_size": SIZE, "irq_enable": 0x7F,
        "control": 1,
    }.items():  # fmt: skip
        await bench.write(name, value)
    submitted = done = 0
    while done < len(PROGRAM):
        while submitted < len(PROGRAM) and submitted - done < SIZE - 1:
            bench.put(submitted)
            submitted += 1
            await bench.write("ring_tail", submitted % SIZE)
        await bench.irq()
        head = await bench.read("ring_head")
        while done % SIZE != head:
            expected = (done, EXPECTED[done], 1 - done // SIZE % 2)
            assert bench.record(done) == expected
            done += 1
        if await bench.read("status") & 0b1110:  # it stands
            await bench.write("command", 1)
    await ClockCycles(dut.aclk, 50)
    status = await bench.read("status")
    assert status & 0xFF == 0
    assert status >> 16 == Status.VERSION
    assert await bench.read("status_index") == PROGRAM.index(BAD)
    assert await bench.read("counter_instructions") == len(PROGRAM) - 1
