"""span: how far an instruction reaches in one coordinate of one side, and how to walk it.

A row, six digits and three loops each add (count - 1) * step to the start, upwards or downwards.
Two boxes are summed side by side, that of the whole segments and that of the rest; most terms are
of both. A term a cycle comes, and passes two registers::

    cycle    t         t+1                  t+2                                   finish
    step --> [factor] --> [x count_m1] --> [+ low | high of whole, of rest] ... --> [union]
                                             ^ start, at clear

`jump` of a digit is its step less the way that the digits inside it went: the innermost comes
first.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fields import DIGITS
from ..isa import PLACE_ROOM

__all__ = ["Span", "term"]

_COUNT_BITS = 16
_STEP_BITS = 48


def term():
    """What the term is that is added in this cycle (all zero: none)."""
    return data.StructLayout(
        {
            "whole": 1,  # it belongs to the box of the whole segments
            "rest": 1,  # to that of the rest
            "loop": 1,  # the rest is beyond all of it: its box moves, and grows not
            "digit": 1,
            "row": 1,  # its way is never negative
        }
    )


class Span(wiring.Component):
    """One coordinate of a box.

    Latency: 3 cycles from a step to the sums that contain it; 1 from `finish` to the outputs.

    Parameters
    ----------
    width : int
        A start of 2**width or more, or a term but the row's that goes so far, is a `spill`.
    bits : int
        Bits of the coordinate; bounds beyond are clipped, and reported.

    Members
    -------
    start : In(64)
        Where the first element starts.
    onward : In(signed(48))
        Step of the segmented axis' loop.
    step : In(signed(48))
        Of the next term.
    count_m1 : In(16), long : In(1)
        Of the term whose `step` came a cycle before; whether its count has more bits.
    clear : In(1)
        Take `start` (the rest: and `onward`, if there are whole segments); forget what was before.
    term : In(term)
        The term whose `step` came two cycles before.
    finish : In(1)
        Make `low`, `high`, `outside` and `spill`; nothing is added any more.
    no_whole, no_rest : In(1)
        There is no such segment. `no_whole` is wanted at `clear` and `finish`, `no_rest` at
        `finish` only.
    ignore : In(1)
        Nothing moves: the box is the start.
    low, high : Out(bits)
    outside : Out(1)
        A bound was clipped.
    spill : Out(1)
        The sums mean nothing.
    jump : Out(array of signed(width + 5), outermost digit first)
    """

    def __init__(self, width, bits):
        self._width = width
        self._bits = bits
        super().__init__(
            {
                "start": In(64),
                "onward": In(signed(_STEP_BITS)),
                "step": In(signed(_STEP_BITS)),
                "count_m1": In(_COUNT_BITS),
                "long": In(1),
                "clear": In(1),
                "term": In(term()),
                "finish": In(1),
                "no_whole": In(1),
                "no_rest": In(1),
                "ignore": In(1),
                "low": Out(bits),
                "high": Out(bits),
                "outside": Out(1),
                "spill": Out(1),
                "jump": Out(data.ArrayLayout(signed(width + PLACE_ROOM), len(DIGITS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self._width
        place = signed(width + PLACE_ROOM)

        def large(value):
            return (value >> width) != (value >> _STEP_BITS - 1)

        factor = Signal(signed(width + 1), reset_less=True)
        factor_q = Signal.like(factor)
        far = Signal(reset_less=True)  # a step alone goes too far
        far_q = Signal(reset_less=True)
        long_q = Signal(reset_less=True)
        product = Signal(signed(width + 1 + _COUNT_BITS + 1), reset_less=True)
        m.d.sync += [
            factor.eq(self.step),
            far.eq(large(self.step)),
            factor_q.eq(factor),
            product.eq(factor * self.count_m1),
            far_q.eq(far & (self.count_m1 != 0)),
            long_q.eq(self.long),
        ]
        over = Signal()
        way = Signal(signed(width + 1))
        m.d.comb += [
            over.eq(
                (far_q | ((product >> width) != (product >> len(product) - 1)))
                | (self.term.row & long_q)
            ),
            way.eq(product),
        ]

        start_spill = Signal(reset_less=True)
        boxes = {}
        for name in ("whole", "rest"):
            low = Signal(place, name=f"low_{name}", reset_less=True)
            high = Signal(place, name=f"high_{name}", reset_less=True)
            spill = Signal(name=f"spill_{name}", reset_less=True)
            reach = Signal(name=f"reach_{name}", reset_less=True)  # a row goes beyond every bound
            boxes[name] = low, high, spill, reach
            moves = self.term.loop if name == "rest" else 0
            with m.If(self.term[name] & ~self.ignore):
                with m.If(over & self.term.row):
                    m.d.sync += reach.eq(1)
                with m.Elif(over):
                    m.d.sync += spill.eq(1)
                with m.Else():
                    with m.If(way[-1] | moves):
                        m.d.sync += low.eq(low + way)
                    with m.If(~way[-1] | moves):
                        m.d.sync += high.eq(high + way)
            with m.If(self.clear):
                first, beyond = self.start[:width], 0
                if name == "rest":
                    steps = ~self.no_whole
                    first = first + Mux(steps, self.onward[: width + 1].as_signed(), 0)
                    beyond = steps & large(self.onward)
                m.d.sync += [low.eq(first), high.eq(first), spill.eq(beyond), reach.eq(0)]
        with m.If(self.clear):
            m.d.sync += start_spill.eq((self.start >> width) != 0)

        # The union, each bound clipped.
        clipped = {}
        for name, (low, high, spill, reach) in boxes.items():
            clips, bounds = [], []
            for bound in (low, high):
                above = ~bound[-1] & (bound[self._bits : -1] != 0)
                clips += [bound[-1], above]
                inside = Mux(bound[-1], 0, bound[: self._bits] | above.replicate(self._bits))
                bounds.append(inside)
            bounds[1] = bounds[1] | reach.replicate(self._bits)
            clipped[name] = (*bounds, Cat(clips, reach).any(), spill)
        low_whole, high_whole, outside_whole, spill_whole = clipped["whole"]
        low_rest, high_rest, outside_rest, spill_rest = clipped["rest"]
        use_whole, use_rest = ~self.no_whole | self.ignore, ~self.no_rest & ~self.ignore
        results = {
            name: Signal.like(getattr(self, name), name=f"{name}_q", reset_less=True)
            for name in ("low", "high", "outside", "spill")
        }
        with m.If(self.finish):
            m.d.sync += [
                results["low"].eq(
                    Mux(use_rest & (~use_whole | (low_rest < low_whole)), low_rest, low_whole)
                ),
                results["high"].eq(
                    Mux(use_rest & (~use_whole | (high_rest > high_whole)), high_rest, high_whole)
                ),
                results["outside"].eq((use_whole & outside_whole) | (use_rest & outside_rest)),
                results["spill"].eq(
                    start_spill | (use_whole & spill_whole) | (use_rest & spill_rest)
                ),
            ]
        m.d.comb += [getattr(self, name).eq(value) for name, value in results.items()]

        run = Signal(place, reset_less=True)  # way of the digits so far
        jump = Signal(self.jump.shape(), reset_less=True)
        m.d.comb += self.jump.eq(jump)
        with m.If(self.clear):
            m.d.sync += run.eq(0)
        with m.Elif(self.term.digit):
            m.d.sync += [
                run.eq(run + way),
                # The innermost digit comes first, and ends up last.
                jump.eq(Cat((factor_q - run)[: place.width], jump.as_value()[: -place.width])),
            ]
        return m
