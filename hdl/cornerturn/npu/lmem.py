"""lmem: the SRAM of one lane, `words` rows of W cells, one read and one write port::

    read_word  --> [      ] --> data (next cycle)
    write_word --> [ SRAM ]
    mask, beat --> [      ]

The engine never reads and writes one word in one cycle (`docs/specification.md`, section 3; every
simulation watches it), and `no_rw_check` tells synthesis so: the memory is then block RAM and
nothing else. With `lmem = "blackbox"` the SRAM is an instance of `cornerturn_sram`.
"""

from amaranth import ClockSignal, Instance, Module, unsigned
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Lmem"]


class Lmem(wiring.Component):
    """One lane's memory. Latency of a read: 1 cycle.

    Parameters
    ----------
    config : Config

    Members
    -------
    read : In(lane_read)
        Read request; always accepted.
    data : Out(beat_width)
        The word, in the cycle after the request.
    write : In(lane_write)
        Written at the end of the cycle where `mask` is set.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "read": In(isa.lane_read(config)),
                "data": Out(config.beat_width),
                "write": In(isa.lane_write(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        enables = self.write.mask & self.write.valid.replicate(config.beat_cells)
        if config.lmem == "blackbox":
            m.submodules.sram = Instance(
                "cornerturn_sram",
                p_WIDTH=config.beat_width,
                p_DEPTH=config.words,
                p_CELL_WIDTH=config.cell_width,
                i_clk=ClockSignal(),
                i_read_enable=self.read.valid,
                i_read_word=self.read.word,
                o_read_data=self.data,
                i_write_enable=enables,
                i_write_word=self.write.word,
                i_write_data=self.write.beat,
            )
            return m
        m.submodules.sram = sram = memory.Memory(
            shape=unsigned(config.beat_width), depth=config.words, init=[], attrs={"no_rw_check": 1}
        )
        read = sram.read_port()
        write = sram.write_port(granularity=config.cell_width)
        m.d.comb += [
            read.en.eq(self.read.valid),
            read.addr.eq(self.read.word),
            self.data.eq(read.data),
            write.en.eq(enables),
            write.addr.eq(self.write.word),
            write.data.eq(self.write.beat),
        ]
        return m
