"""lane_port: a compute unit's own access to the lmem, in the cycles the chain leaves free.

Never a read and a write of one word in one cycle::

    chain read  ------> [ first  ] --> lmem.read      read ready:  no chain read, and the word is
    port read   ------> [ second ]                                 not being written
    chain write ------> [ first  ] --> lmem.write     write ready: no chain write, and the word is
    port write  ------> [ second ]                                 not being read by the chain

Of a port's own read and write of one word, the write goes first.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["LanePort"]


class LanePort(wiring.Component):
    """Arbiter of a lane's lmem. Latency: 0 cycles.

    Parameters
    ----------
    config : Config

    Members
    -------
    chain_read : In(lane_read), chain_write : In(lane_write)
        The chain's accesses; always served.
    read : In(lane_read), write : In(lane_write)
        The port's accesses; each is done in the cycle in which its ready is high.
    read_ready, write_ready : Out(1)
    lmem_read : Out(lane_read), lmem_write : Out(lane_write)
        To the lmem.
    """

    def __init__(self, config):
        super().__init__(
            {
                "chain_read": In(isa.lane_read(config)),
                "chain_write": In(isa.lane_write(config)),
                "read": In(isa.lane_read(config)),
                "write": In(isa.lane_write(config)),
                "read_ready": Out(1),
                "write_ready": Out(1),
                "lmem_read": Out(isa.lane_read(config)),
                "lmem_write": Out(isa.lane_write(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.write_ready.eq(
            ~self.chain_write.valid
            & ~(self.chain_read.valid & (self.chain_read.word == self.write.word))
        )
        m.d.comb += self.lmem_write.eq(self.chain_write)
        with m.If(~self.chain_write.valid):
            m.d.comb += [
                self.lmem_write.eq(self.write),
                self.lmem_write.valid.eq(self.write.valid & self.write_ready),
            ]

        written = self.lmem_write.valid & (self.lmem_write.word == self.read.word)
        m.d.comb += self.read_ready.eq(~self.chain_read.valid & ~written)
        m.d.comb += self.lmem_read.eq(self.chain_read)
        with m.If(~self.chain_read.valid):
            m.d.comb += [
                self.lmem_read.eq(self.read),
                self.lmem_read.valid.eq(self.read.valid & self.read_ready),
            ]
        return m
