"""serial: two address generators that read a matrix by columns and write it by rows::

i --> [ column, row ] --> read_address --> SRAM --> read_data --+
           |                                                    v
           +--(1 cycle)-> write_address ------------------> write_data
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Serial"]


class Serial(wiring.Component):
    """Transposes a matrix of single elements from one place of a memory to another.

    Latency: the first read in the cycle after a command, an element a cycle; a read has its data
    one cycle later, when it is written.

    Parameters
    ----------
    address_bits : int
        Of the memory.
    width : int
        Bits of an element.

    Members
    -------
    i : In(stream of rows_m1, columns_m1, source, destination)
        A matrix, rows one behind the other. Taken when the one before has been read.
    read_valid, read_address, read_data
        The memory's read port.
    write_valid, write_address, write_data
        Its write port.
    """

    def __init__(self, address_bits, width):
        self.address_bits = address_bits
        self.width = width
        command = data.StructLayout(
            dict.fromkeys(("rows_m1", "columns_m1", "source", "destination"), address_bits)
        )
        super().__init__(
            {
                "i": In(stream.Signature(command)),
                "read_valid": Out(1),
                "read_address": Out(address_bits),
                "read_data": In(width),
                "write_valid": Out(1),
                "write_address": Out(address_bits),
                "write_data": Out(width),
            }
        )

    @staticmethod
    def cycles(rows, columns):
        """From a command to the last write of a matrix."""
        return rows * columns + 2

    def elaborate(self, platform):
        m = Module()
        busy = Signal()
        command = Signal.like(self.i.payload)
        row = Signal(self.address_bits)
        column = Signal(self.address_bits)
        read = Signal(self.address_bits)
        top = Signal(self.address_bits)  # first element of the column
        write = Signal(self.address_bits)
        bottom, final = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(~busy | (bottom & final)),
            self.read_valid.eq(busy),
            self.read_address.eq(read),
            self.write_address.eq(write),
            self.write_data.eq(self.read_data),
            bottom.eq(row == command.rows_m1),
            final.eq(column == command.columns_m1),
        ]
        following = Signal(self.address_bits)
        m.d.sync += [self.write_valid.eq(busy), write.eq(following)]
        with m.If(busy):
            m.d.sync += [
                row.eq(row + 1),
                read.eq(read + command.columns_m1 + 1),
                following.eq(following + 1),
            ]
            with m.If(bottom):
                m.d.sync += [
                    row.eq(0),
                    column.eq(column + 1),
                    top.eq(top + 1),
                    read.eq(top + 1),
                    busy.eq(~final),
                ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                busy.eq(1),
                command.eq(self.i.payload),
                row.eq(0),
                column.eq(0),
                top.eq(self.i.payload.source),
                read.eq(self.i.payload.source),
                following.eq(self.i.payload.destination),
            ]
        return m
