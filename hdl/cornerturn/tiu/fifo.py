"""fifo: a queue in a RAM whose output is registered once more (block RAM is slow to answer)::

    i --> [ RAM, `depth` rows ] --> [RAM's register] --> [slice] --> o      latency: 3 cycles

A row is read in a later cycle than it was written in, and written only when it is free, so the RAM
never reads and writes one row in the same cycle. Neither side's `ready` waits for the other's.
"""

from amaranth import Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .slice import Slice

__all__ = ["Fifo"]


class Fifo(wiring.Component):
    """A first-in first-out queue. Latency: 3 cycles; a transfer every cycle.

    Parameters
    ----------
    shape : shape-like
        Of the payload.
    depth : int
        Rows of the RAM, a power of two; three more fit into the registers behind it.

    Members
    -------
    i : In(stream), o : Out(stream)
    flush : In(1)
        Drop what is inside, and what comes.
    """

    def __init__(self, shape, depth):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(f"depth must be a power of two, at least 2, not {depth!r}")
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = self.i.payload.shape()
        m.submodules.ram = ram = memory.Memory(
            shape=shape, depth=self.depth, init=[], attrs={"no_rw_check": 1}
        )
        write, read = ram.write_port(), ram.read_port()
        level = Signal(range(self.depth + 1))  # rows written, not read
        read_valid = Signal()
        m.submodules.slice = outlet = Slice(shape)
        wiring.connect(m, outlet.o, wiring.flipped(self.o))
        push = self.i.valid & self.i.ready
        moves = ~read_valid | outlet.i.ready
        m.d.comb += [
            self.i.ready.eq(~level[-1]),
            write.en.eq(push),
            write.data.eq(self.i.payload),
            read.en.eq((level != 0) & moves),
            outlet.i.valid.eq(read_valid),
            outlet.i.payload.eq(read.data),
            outlet.flush.eq(self.flush),
        ]
        m.d.sync += [
            write.addr.eq(write.addr + push),
            read.addr.eq(read.addr + read.en),
            level.eq(level + push - read.en),
        ]
        with m.If(moves):
            m.d.sync += read_valid.eq(read.en)
        with m.If(self.flush):
            m.d.sync += [write.addr.eq(0), read.addr.eq(0), level.eq(0), read_valid.eq(0)]
        return m
