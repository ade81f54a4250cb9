"""unpacker: cuts dense beats out of bus words, at any alignment.

::

    i_word ---+----------------> [merge ] --> [rotator] --> [slice] --> o_beat
              +--> [word before]-> units     position
    i_place ----------------------- below `position` come from the new word

A beat needs at most one word that is not yet there: it is in the word before, in the new one, or in
both. Only a beat that opens a row and lies in two new words takes a cycle more, to get the first.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.slice import Slice
from .rotator import Rotator
from .shapes import Sizes, place

__all__ = ["Unpacker", "bus_word"]


def bus_word(config):
    """A bus word that was read, and whether with an error."""
    return data.StructLayout({"data": config.bus_width, "error": 1})


class Unpacker(wiring.Component):
    """From bus words to beats.

    Latency: 2 cycles and those of the rotator, from the last word a beat needs. A beat every cycle,
    but two for one that opens a row and lies in two words.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_place : In(stream of place)
    i_word : In(stream of bus_word)
        Every word once, in order.
    o_beat : Out(stream of memory_beat)
    o_final : Out(1)
        The beat offered is the last of its row.
    flush : In(1)
        Drop what is inside.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_place": In(stream.Signature(place(config))),
                "i_word": In(stream.Signature(bus_word(config))),
                "o_beat": Out(stream.Signature(isa.memory_beat(config))),
                "o_final": Out(1),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sizes = Sizes(self._config)
        where, new = self.i_place.payload, self.i_word.payload
        tagged = data.StructLayout({"beat": isa.memory_beat(self._config), "final": 1})
        m.submodules.slice = outlet = Slice(tagged)
        m.submodules.rotator = rotator = Rotator(sizes.bus_units, sizes.unit)

        # --- which words
        go = outlet.i.ready  # a register
        before = Signal(bus_word(self._config), reset_less=True)
        primed = Signal()  # the first of two new words is there
        fresh = Signal()  # the beat begins in the new word
        primes = Signal()
        takes = Signal()
        acts = Signal()
        m.d.comb += [
            fresh.eq((where.opens | (where.position == 0)) & ~primed),
            primes.eq(where.opens & where.crosses & ~primed),
            takes.eq(fresh | where.crosses),
            acts.eq(go & self.i_place.valid & (self.i_word.valid | ~takes)),
            self.i_place.ready.eq(acts & ~primes),
            self.i_word.ready.eq(acts & takes),
        ]
        with m.If(acts):
            m.d.sync += primed.eq(primes)
        with m.If(acts & takes):
            m.d.sync += before.eq(new)

        # --- units of both
        merged = Signal(len(new.data), reset_less=True)
        amount = Signal(sizes.place_bits, reset_less=True)
        with m.If(go):
            m.d.sync += amount.eq(where.position)
            for unit in range(sizes.bus_units):
                bits = slice(unit * sizes.unit, (unit + 1) * sizes.unit)
                source = Mux(fresh | (where.position > unit), new.data[bits], before.data[bits])
                m.d.sync += merged[bits].eq(source)
        m.d.comb += [rotator.enable.eq(go), rotator.i.eq(merged), rotator.amount.eq(amount)]

        # --- what goes with them
        tags = data.StructLayout({"valid": 1, "error": 1, "final": 1})
        tag = Signal(tags, name="tag_in")
        m.d.comb += [
            tag.valid.eq(acts & ~primes),
            tag.error.eq((takes & new.error) | (~fresh & before.error)),
            tag.final.eq(where.final),
        ]
        for stage in range(rotator.stages + 1):
            later = Signal(tags, name=f"tag{stage}")
            with m.If(go):
                m.d.sync += later.eq(tag)
            with m.If(self.flush):
                m.d.sync += later.valid.eq(0)
            tag = later
        m.d.comb += [
            outlet.flush.eq(self.flush),
            outlet.i.valid.eq(tag.valid),
            outlet.i.payload.beat.beat.eq(rotator.o),
            outlet.i.payload.beat.error.eq(tag.error),
            outlet.i.payload.final.eq(tag.final),
            self.o_beat.valid.eq(outlet.o.valid),
            self.o_beat.payload.eq(outlet.o.payload.beat),
            self.o_final.eq(outlet.o.payload.final),
            outlet.o.ready.eq(self.o_beat.ready),
        ]
        with m.If(self.flush):
            m.d.sync += primed.eq(0)
        return m
