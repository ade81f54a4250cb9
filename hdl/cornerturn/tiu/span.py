"""span: how far an instruction reaches in one coordinate of one side, and how to walk it.

A row and six digits each add (count - 1) * step to the start, upwards or downwards. They come one a
cycle, the row first, then the digits from the innermost on; each passes two registers::

    cycle    t         t+1                  t+2
    step --> [factor] --> [x count_m1] --> [+ low | high, run, jump]      add is high in t+2
                                             ^ start, at clear

`low` and `high` are exact unless `spill`: then some term alone leaves the address space, and the
sums mean nothing. `jump` of a digit is its step less the way that the digits inside it went.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fields import DIGITS

__all__ = ["Span"]

_COUNT_BITS = 16
_ROOM = 4  # bits that a start, seven terms and a sign need above an address


class Span(wiring.Component):
    """One coordinate of a box. Latency: 3 cycles from a step to the sums that contain it.

    Parameters
    ----------
    width : int
        Bits of the coordinate.

    Members
    -------
    start : In(32)
        Where the first element starts.
    extent : In(width)
        What an element adds above its start; the start is aligned to it.
    step : In(signed(32))
        Of the next term.
    count_m1 : In(16)
        Of the term whose `step` came a cycle before.
    clear : In(1)
        Take `start`; forget the terms before.
    add : In(1)
        Add the term whose `step` came two cycles before.
    digit : In(1)
        It belongs to a digit.
    ignore : In(1)
        Nothing moves: the box is the start.
    low, high : Out(signed(width + 4))
    spill : Out(1)
    jump : Out(array of width, outermost digit first)
    """

    def __init__(self, width):
        self._width = width
        super().__init__(
            {
                "start": In(32),
                "extent": In(width),
                "step": In(signed(32)),
                "count_m1": In(_COUNT_BITS),
                "clear": In(1),
                "add": In(1),
                "digit": In(1),
                "ignore": In(1),
                "low": Out(signed(width + _ROOM)),
                "high": Out(signed(width + _ROOM)),
                "spill": Out(1),
                "jump": Out(data.ArrayLayout(width, len(DIGITS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self._width
        factor = Signal(signed(width + 1), reset_less=True)
        factor_q = Signal(width, reset_less=True)
        large = Signal(reset_less=True)  # the step alone leaves the address space
        large_q = Signal(reset_less=True)
        product = Signal(signed(width + 1 + _COUNT_BITS + 1), reset_less=True)
        m.d.sync += [
            factor.eq(self.step),
            large.eq((self.step >> width) != (self.step >> 31)),
            factor_q.eq(factor),
            product.eq(factor * self.count_m1),
            large_q.eq(large & (self.count_m1 != 0)),
        ]
        over = large_q | ((product >> width) != (product >> len(product) - 1))

        term = Signal(signed(width + 1))
        low = Signal.like(self.low, reset_less=True)
        high = Signal.like(self.high, reset_less=True)
        spill = Signal(reset_less=True)
        run = Signal(width, reset_less=True)  # way of the digits so far
        jump = Signal(self.jump.shape(), reset_less=True)
        m.d.comb += [
            term.eq(Mux(self.ignore, 0, product)),
            self.low.eq(low),
            self.high.eq(high),
            self.spill.eq(spill),
            self.jump.eq(jump),
        ]
        with m.If(self.clear):
            m.d.sync += [
                low.eq(self.start[:width]),
                high.eq(self.start[:width] | self.extent),
                spill.eq((self.start >> width) != 0),
                run.eq(0),
            ]
        with m.Elif(self.add):
            with m.If(term[-1]):
                m.d.sync += low.eq(low + term)
            with m.Else():
                m.d.sync += high.eq(high + term)
            m.d.sync += spill.eq(spill | (over & ~self.ignore))
            with m.If(self.digit):
                m.d.sync += [
                    run.eq(run + term),
                    # The innermost digit comes first, and ends up last.
                    jump.eq(Cat((factor_q - run)[:width], jump.as_value()[:-width])),
                ]
        return m
