"""walk: the beats of rows, one by one, and where each lies in its bus words.

::

    i_row --> [ beat: position, index, beats left ] --> [out] --> o_place
                     | next: position + beat, or the next row

A beat covers `beat_units` units (the last of a row only what is left). Where beats are as wide as
the bus all beats of a row have one position, and where they are narrower they walk through words.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .shapes import Sizes, place, row_places

__all__ = ["Walk"]


class Walk(wiring.Component):
    """From rows to the places of their beats. Latency: 2 cycles; a beat every cycle.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_row : In(stream of row_places)
    o_place : Out(stream of place)
    flush : In(1)
        Drop what is inside.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_row": In(stream.Signature(row_places(config))),
                "o_place": Out(stream.Signature(place(config))),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sizes = Sizes(self._config)
        layout = place(self._config)
        row = Signal(row_places(self._config), reset_less=True)  # `beats_m1`: still to come
        valid = Signal()
        first = Signal(reset_less=True)
        final = Signal(reset_less=True)
        out_valid = Signal()
        out = Signal(layout, reset_less=True)

        end = Signal(layout["end"].shape)
        moves = ~out_valid | self.o_place.ready
        m.d.comb += [
            end.eq(row.position + Mux(final, row.tail_m1 + 1, sizes.beat_units)),
            self.i_row.ready.eq(~valid | (moves & final)),
            self.o_place.valid.eq(out_valid),
            self.o_place.payload.eq(out),
        ]
        with m.If(moves):
            m.d.sync += [
                out_valid.eq(valid),
                out.index.eq(row.index),
                out.position.eq(row.position),
                out.end.eq(end),
                out.crosses.eq(end > sizes.bus_units),
                out.opens.eq(row.opens & first),
                out.closes.eq(row.closes & final),
                out.final.eq(final),
                first.eq(0),
                final.eq(row.beats_m1 == 1),
                row.beats_m1.eq(row.beats_m1 - 1),
                row.position.eq(end),
                row.index.eq(row.index + end[-1]),
            ]
        with m.If(self.i_row.ready):
            m.d.sync += [
                valid.eq(self.i_row.valid),
                row.eq(self.i_row.payload),
                first.eq(1),
                final.eq(self.i_row.payload.beats_m1 == 0),
            ]
        with m.If(self.flush):
            m.d.sync += [valid.eq(0), out_valid.eq(0)]
        return m
