"""slice: a register in a stream that cuts its paths, so that neither side waits for the other::

i --+-------------> [out] --> o        i.ready is a register: "the spare place is empty"
    +--> [spare] -->
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Slice"]


class Slice(wiring.Component):
    """A register slice. Latency: 1 cycle; a transfer every cycle.

    Parameters
    ----------
    shape : shape-like
        Of the payload.

    Members
    -------
    i : In(stream), o : Out(stream)
    flush : In(1)
        Drop what is inside.
    """

    def __init__(self, shape):
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        out = Signal(self.o.payload.shape(), reset_less=True)
        spare = Signal(self.o.payload.shape(), reset_less=True)
        out_valid = Signal()
        spare_empty = Signal(init=1)
        moves = ~out_valid | self.o.ready
        m.d.comb += [
            self.i.ready.eq(spare_empty),
            self.o.valid.eq(out_valid),
            self.o.payload.eq(out),
        ]
        with m.If(spare_empty):
            m.d.sync += spare.eq(self.i.payload)
        with m.If(moves):
            m.d.sync += [
                out_valid.eq(self.i.valid | ~spare_empty),
                out.eq(Mux(spare_empty, self.i.payload, spare)),
                spare_empty.eq(1),
            ]
        with m.Elif(spare_empty):
            m.d.sync += spare_empty.eq(~self.i.valid)
        with m.If(self.flush):
            m.d.sync += [out_valid.eq(0), spare_empty.eq(1)]
        return m
