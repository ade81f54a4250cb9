"""rotator: turns the units of a word downwards; the shifter of both directions.

::

    i, amount --> [ upper bits of the amount ] --> [ lower bits ] --> o      o[k] = i[k + amount]
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Rotator"]

_BITS_A_STAGE = 4


class Rotator(wiring.Component):
    """A barrel rotator. Latency: `stages` cycles with `enable`.

    Parameters
    ----------
    units : int
        A power of two.
    unit : int
        Bits of a unit.

    Attributes
    ----------
    stages : int

    Members
    -------
    enable : In(1)
        Everything moves on.
    i : In(units * unit), amount : In(log2 of units)
    o : Out(units * unit)
        Unit k is unit k + `amount` of `i`, modulo `units`.
    """

    def __init__(self, units, unit):
        self.unit = unit
        bits = units.bit_length() - 1
        self.stages = -(-bits // _BITS_A_STAGE)
        super().__init__(
            {
                "enable": In(1),
                "i": In(units * unit),
                "amount": In(bits),
                "o": Out(units * unit),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = list(reversed(range(len(self.amount))))
        share = -(-len(bits) // self.stages)
        value, amount = self.i, self.amount
        for stage in range(self.stages):
            for bit in bits[stage * share : (stage + 1) * share]:
                distance = self.unit << bit
                value = Mux(amount[bit], Cat(value[distance:], value[:distance]), value)
            turned = Signal(len(self.i), name=f"turned{stage}", reset_less=True)
            kept = Signal(len(self.amount), name=f"amount{stage}", reset_less=True)
            with m.If(self.enable):
                m.d.sync += [turned.eq(value), kept.eq(amount)]
            value, amount = turned, kept
        m.d.comb += self.o.eq(value)
        return m
