"""segments: how many whole segments the segmented axis has, and what is left of it.

A division, two bits of the quotient a cycle; `load` may stay high, the last such cycle counts::

    cycle      0        1      ...      8        9
    load --> [co] --> [step 1]  ...  [step 8] -> whole, rest, over stand until the next load
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Segments"]

_QUOTIENT_BITS = 16
_ALIGN_BITS = 24
_STEPS = _QUOTIENT_BITS // 2


class Segments(wiring.Component):
    """whole = co // co_align, rest = co % co_align. Latency: 9 cycles.

    Members
    -------
    load : In(1)
    co : In(32), co_align : In(24)
        Taken at `load`; with a `co_align` of 0 the results mean nothing.
    whole : Out(16), rest : Out(24)
    over : Out(1)
        There are more than 2**16 - 1 segments, the rest included; `whole` means nothing.
    """

    def __init__(self):
        super().__init__(
            {
                "load": In(1),
                "co": In(32),
                "co_align": In(_ALIGN_BITS),
                "whole": Out(_QUOTIENT_BITS),
                "rest": Out(_ALIGN_BITS),
                "over": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rest = Signal(_ALIGN_BITS, reset_less=True)
        digits = Signal(_QUOTIENT_BITS, reset_less=True)  # of co above, of the quotient below
        once = Signal(_ALIGN_BITS, reset_less=True)
        thrice = Signal(_ALIGN_BITS + 2, reset_less=True)
        large = Signal(reset_less=True)
        left = Signal(range(_STEPS + 1))

        wide = Cat(digits[-2:], rest)
        differences = [wide - factor for factor in (once, once << 1, thrice)]
        fits = [difference >= 0 for difference in differences]
        with m.If(left != 0):
            m.d.sync += [
                left.eq(left - 1),
                digits.eq(
                    Cat((fits[0] & ~fits[1]) | fits[2], fits[1], digits[:-2]),
                ),
                rest.eq(
                    Mux(
                        fits[1],
                        Mux(fits[2], differences[2], differences[1]),
                        Mux(fits[0], differences[0], wide),
                    )
                ),
            ]
        with m.If(self.load):
            m.d.sync += [
                rest.eq(self.co[_QUOTIENT_BITS:]),
                digits.eq(self.co[:_QUOTIENT_BITS]),
                once.eq(self.co_align),
                thrice.eq(self.co_align + (self.co_align << 1)),
                large.eq(self.co[_QUOTIENT_BITS:] >= self.co_align),
                left.eq(_STEPS),
            ]
        m.d.comb += [
            self.whole.eq(digits),
            self.rest.eq(rest),
            self.over.eq(large | (digits.all() & (rest != 0))),
        ]
        return m
