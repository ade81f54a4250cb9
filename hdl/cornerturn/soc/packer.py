"""packer: puts dense beats together to bus words, at any alignment.

::

    i_beat  --> [rotator] --> rotated --+-------> [merge] --> [out] --> o_word
                 position               +--> [kept] --^        data, strobes, last
    i_place --> masks of this word and the next ------+

What a beat has in its word is merged with what is kept, and what it has in the next is kept. A word
leaves when it is full, or when a row closes. Only a beat that closes a row and lies in two words
takes a cycle more, for the second.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .rotator import Rotator
from .shapes import BURST_WORDS, Sizes, place

__all__ = ["Packer", "bus_word"]


def bus_word(config):
    """A bus word to be written, the bytes that count, and whether it is the last of its burst."""
    return data.StructLayout(
        {"data": config.bus_width, "strobes": config.bus_width // 8, "last": 1}
    )


class Packer(wiring.Component):
    """From beats to bus words.

    Latency: 1 cycle and those of the rotator. A beat every cycle, but two for one that closes a
    row and lies in two words.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_place : In(stream of place)
    i_beat : In(stream of beat_width)
    o_word : Out(stream of bus_word)
    finished : Out(1)
        A row has given its last word, or what is left of it waits for the row merged with it.
    flush : In(1)
        Drop what is inside.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_place": In(stream.Signature(place(config))),
                "i_beat": In(stream.Signature(config.beat_width)),
                "o_word": Out(stream.Signature(bus_word(config))),
                "finished": Out(1),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sizes = Sizes(self._config)
        where = self.i_place.payload
        m.submodules.rotator = rotator = Rotator(sizes.bus_units, sizes.unit)

        # --- beats, and the second words of those that close
        out_valid = Signal()
        go = Signal()
        beats = Signal()
        spills = Signal()  # the beat of the cycle before has a second word that nothing else fills
        step_layout = data.StructLayout(
            {
                "valid": 1,
                "emits": 1,  # a word leaves
                "last": 1,  # ... the last of its burst
                "finished": 1,
                "low": sizes.bus_units,  # units of this word
                "high": sizes.bus_units,  # and of the next
            }
        )
        step = Signal(step_layout, name="step_in")
        closing = where.closes & where.crosses
        m.d.comb += [
            go.eq(~out_valid | self.o_word.ready),
            beats.eq(go & ~spills & self.i_place.valid & self.i_beat.valid),
            self.i_place.ready.eq(go & ~spills & self.i_beat.valid),
            self.i_beat.ready.eq(go & ~spills & self.i_place.valid),
            step.valid.eq(beats | spills),
            step.emits.eq(spills | where.end[-1] | where.closes),
            step.last.eq(
                spills | (where.index == BURST_WORDS - 1) | (where.closes & ~where.crosses)
            ),
            step.finished.eq(spills | (where.final & ~closing)),
        ]
        for unit in range(sizes.bus_units):
            m.d.comb += [
                step.low[unit].eq(~spills & (where.position <= unit) & (where.end > unit)),
                step.high[unit].eq(~spills & (where.end > unit + sizes.bus_units)),
            ]
        m.d.comb += [
            rotator.enable.eq(go),
            rotator.i.eq(self.i_beat.payload),
            rotator.amount.eq(-where.position),
        ]
        with m.If(go):
            m.d.sync += spills.eq(beats & closing)
        for stage in range(rotator.stages):
            later = Signal(step_layout, name=f"step{stage}")
            with m.If(go):
                m.d.sync += later.eq(step)
            with m.If(self.flush):
                m.d.sync += later.valid.eq(0)
            step = later

        # --- this word and the next
        kept = Signal(self._config.bus_width, reset_less=True)
        kept_strobes = Signal(sizes.bus_bytes)
        out = Signal(bus_word(self._config), reset_less=True)
        acts = Signal()
        m.d.comb += [
            acts.eq(go & step.valid),
            self.finished.eq(acts & step.finished),
            self.o_word.valid.eq(out_valid),
            self.o_word.payload.eq(out),
        ]
        merged = Signal(len(kept))
        for unit in range(sizes.bus_units):
            bits = slice(unit * sizes.unit, (unit + 1) * sizes.unit)
            m.d.comb += merged[bits].eq(Mux(step.low[unit], rotator.o[bits], kept[bits]))
        strobes = kept_strobes | self._bytes(step.low)
        with m.If(acts):
            m.d.sync += [
                kept.eq(Mux(step.emits, rotator.o, merged)),
                kept_strobes.eq(Mux(step.emits, self._bytes(step.high), strobes)),
            ]
        with m.If(go):
            m.d.sync += [
                out_valid.eq(step.valid & step.emits),
                out.data.eq(merged),
                out.strobes.eq(strobes),
                out.last.eq(step.last),
            ]
        with m.If(self.flush):
            m.d.sync += [out_valid.eq(0), spills.eq(0), kept_strobes.eq(0)]
        return m

    def _bytes(self, units):
        """Bytes that have one of these units."""
        per_byte = len(units) // (self._config.bus_width // 8)
        return Cat(units[at : at + per_byte].any() for at in range(0, len(units), per_byte))
