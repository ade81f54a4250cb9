"""Reader and writer in Verilog, on one bus with a memory that others have written."""

import importlib.util

import pytest
from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from cocotb_run import run_bench
from cornerturn import isa
from cornerturn.config import PRESETS
from cornerturn.soc.axi import Axi4
from cornerturn.soc.mem_reader import MemReader
from cornerturn.soc.mem_writer import MemWriter
from cornerturn.verilog import rtlil_text, rtlil_to_verilog


class MemorySide(wiring.Component):
    """A reader and a writer that share a bus, each with its half."""

    def __init__(self, config):
        self._config = config
        request = stream.Signature(isa.memory_request(config))
        super().__init__(
            {
                "i_read": In(request),
                "o_beat": Out(stream.Signature(isa.memory_beat(config))),
                "i_write": In(request),
                "i_beat": In(stream.Signature(config.beat_width)),
                "o_answer": Out(stream.Signature(isa.memory_answer(config))),
                "m_axi": Out(Axi4(address_bits=config.address_bits, data_width=config.bus_width)),
                "flush": In(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = MemReader(self._config, bus_id=1)
        m.submodules.writer = writer = MemWriter(self._config)
        wiring.connect(m, wiring.flipped(self.i_read), reader.i_request)
        wiring.connect(m, wiring.flipped(self.i_write), writer.i_request)
        wiring.connect(m, wiring.flipped(self.i_beat), writer.i_beat)
        wiring.connect(m, reader.o_beat, wiring.flipped(self.o_beat))
        wiring.connect(m, writer.o_answer, wiring.flipped(self.o_answer))
        for half in (reader, writer):
            for name, member in half.axi.signature.members.items():
                ours, theirs = getattr(self.m_axi, name), getattr(half.axi, name)
                m.d.comb += ours.eq(theirs) if member.flow is Out else theirs.eq(ours)
            m.d.comb += half.flush.eq(self.flush)
        m.d.comb += self.idle.eq(reader.idle & writer.idle)
        return m


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.full)])
def test_with_a_memory_of_others(simulator, tmp_path):
    if importlib.util.find_spec("cocotbext") is None:
        pytest.skip("cocotbext-axi is not installed: pip install 'cornerturn[dev]'")
    source = tmp_path / "memory.v"
    source.write_text(rtlil_to_verilog(rtlil_text(MemorySide(PRESETS["tiny"]), "memory_side")))
    run_bench(simulator, tmp_path, source, top="memory_side", bench="memory_bench", passes=5)
