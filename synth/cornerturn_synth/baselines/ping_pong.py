"""ping_pong: two tiles of N x N registers; one takes rows while the other gives columns::

i (a row) --> [ tile 0: row `fill` ]    [ tile 0 ] --+
              [ tile 1             ]    [ tile 1 ] --+--> column `drain` --> o
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["PingPong"]


class PingPong(wiring.Component):
    """Transposes blocks of N x N elements.

    Latency: the first column of a block is offered in the cycle after its last row. Input and
    output may stall; neither waits for the other while a tile is free and one is full.

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
        full = Signal(2)
        sides = {}
        for name, moves in (
            ("fill", self.i.valid & self.i.ready),
            ("drain", self.o.valid & self.o.ready),
        ):
            tile = Signal(name=f"{name}_tile")
            count = Signal(range(size), name=f"{name}_count")
            ends = moves & (count == size - 1)
            with m.If(moves):
                m.d.sync += [count.eq(Mux(ends, 0, count + 1)), tile.eq(tile ^ ends)]
            with m.If(ends):
                m.d.sync += full.bit_select(tile, 1).eq(name == "fill")
            sides[name] = tile, count
        (fill, row), (drain, column) = sides["fill"], sides["drain"]
        m.d.comb += [
            self.i.ready.eq(~full.bit_select(fill, 1)),
            self.o.valid.eq(full.bit_select(drain, 1)),
        ]
        columns = []
        for tile in range(2):
            rows = [
                Signal(data.ArrayLayout(self.width, size), name=f"row_{tile}_{y}", reset_less=True)
                for y in range(size)
            ]
            for y in range(size):
                with m.If(self.i.valid & self.i.ready & (fill == tile) & (row == y)):
                    m.d.sync += rows[y].eq(self.i.payload)
            columns.append(Array(Cat(rows[y][x] for y in range(size)) for x in range(size))[column])
        m.d.comb += self.o.payload.eq(Mux(drain, columns[1], columns[0]))
        return m
