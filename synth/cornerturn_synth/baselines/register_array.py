"""register_array: N x N registers that shift, rows in and columns out, at full rate::

i (a row) --> o o o        blocks enter from above and leave to the right,
              o o o        the next one enters from the left and leaves below,
              o o o --> o  and so on: each enters while the one before leaves
              |
              v  o (a column)
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RegisterArray"]


class RegisterArray(wiring.Component):
    """Transposes blocks of N x N elements.

    Latency: the first column of a block is offered when the block is complete. Input and output
    may stall; a block that has begun to enter holds the one before until it goes on.

    Parameters
    ----------
    size : int
        N, at least 2.
    width : int
        Bits of an element.

    Members
    -------
    i, o : streams of N elements
    """

    def __init__(self, size, width):
        self.size = size
        self.width = width
        vector = data.ArrayLayout(width, size)
        super().__init__({"i": In(stream.Signature(vector)), "o": Out(stream.Signature(vector))})

    @staticmethod
    def cycles(size, rows, columns):
        """From the first row in to the last column out of a matrix, padded to whole blocks."""
        return (-(-rows // size) * -(-columns // size) + 1) * size

    def elaborate(self, platform):
        m = Module()
        size = self.size
        last = size - 1
        cells = [
            [Signal(self.width, name=f"cell_{y}_{x}", reset_less=True) for x in range(size)]
            for y in range(size)
        ]
        count = Signal(range(size))
        sideways = Signal()
        held = Signal()  # a block is complete
        filling = Signal()  # a block enters, since the first step of these `size`
        fills = Signal()
        step = Signal()
        m.d.comb += [
            fills.eq(Mux(count == 0, self.i.valid, filling)),
            step.eq((held | fills) & (~held | self.o.ready) & (~fills | self.i.valid)),
            self.i.ready.eq(fills & (~held | self.o.ready)),
            self.o.valid.eq(held & (~fills | self.i.valid)),
        ]
        for index in range(size):
            column, row = cells[last - index][last], cells[last][last - index]
            m.d.comb += self.o.payload[index].eq(Mux(sideways, column, row))
        with m.If(step):
            m.d.sync += [
                filling.eq(fills),
                count.eq(Mux(count == last, 0, count + 1)),
            ]
            for y in range(size):
                for x in range(size):
                    above = cells[y - 1][x] if y else self.i.payload[last - x]
                    left = cells[y][x - 1] if x else self.i.payload[last - y]
                    m.d.sync += cells[y][x].eq(Mux(sideways, left, above))
            with m.If(count == last):
                m.d.sync += [held.eq(fills), sideways.eq(~sideways)]
        return m
