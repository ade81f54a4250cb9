"""delay_line: a value, a fixed number of cycles later, in a RAM instead of a shift register::

    i --> [ RAM, `cycles` rows ] --> o        o(t) = i(t - cycles), 0 until then

One pointer: each cycle writes a row and reads the next, which is the oldest.
"""

from amaranth import Module, Mux, Signal, unsigned
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["DelayLine"]

_SHORTEST_RAM = 4


class DelayLine(wiring.Component):
    """A delay of a constant number of cycles.

    Parameters
    ----------
    width : int
        Bits.
    cycles : int
        The latency; a few cycles are registers, more are a RAM.

    Members
    -------
    i : In(width), o : Out(width)
        `o` is `i` of `cycles` cycles ago; 0 in the first `cycles` cycles after reset.
    """

    def __init__(self, width, cycles):
        self.cycles = cycles
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        if self.cycles < _SHORTEST_RAM:
            value = self.i
            for index in range(self.cycles):
                delayed = Signal(self.i.shape(), name=f"stage{index}")
                m.d.sync += delayed.eq(value)
                value = delayed
            m.d.comb += self.o.eq(value)
            return m

        # Row written in cycle t, read in cycle t + cycles - 1, at the output one later.
        m.submodules.ram = ram = memory.Memory(
            shape=unsigned(len(self.i)), depth=self.cycles, init=[], attrs={"no_rw_check": 1}
        )
        write, read = ram.write_port(), ram.read_port()
        pointer = Signal(range(self.cycles))
        following = Signal.like(pointer)
        filled = Signal()
        last = pointer == self.cycles - 1
        m.d.comb += following.eq(Mux(last, 0, pointer + 1))
        m.d.sync += [pointer.eq(following), filled.eq(filled | last)]
        m.d.comb += [
            write.en.eq(1),
            write.addr.eq(pointer),
            write.data.eq(self.i),
            read.en.eq(1),
            read.addr.eq(following),
            # A row that was never written (after power-up or reset) reads as nothing.
            self.o.eq(Mux(filled, read.data, 0)),
        ]
        return m
