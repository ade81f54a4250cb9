"""neighbours: finds out which rows go on where the row before ended.

::

    i_request --> [slice] --> [ends] --> [compare] --> [held] --> o_row
                  address     first and   meets the     until the row behind is there,
                  bytes       last byte   row before?   or none is awaited any more

A row is held until its own end is settled: the row behind is there (it is merged with it, or not),
or it is `last`, or no request has come for `GIVE_UP_CYCLES` cycles. So a requester that waits for a
row before it asks for the next never hangs, and rows that come together share their bus words.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.slice import Slice
from .shapes import GIVE_UP_CYCLES, Sizes, row

__all__ = ["Neighbours"]


class Neighbours(wiring.Component):
    """From requests to rows that know their neighbours.

    Latency: 4 cycles if the row behind comes in the next cycle, or if the row is `last`, else that
    much after the row behind, at most 4 + `GIVE_UP_CYCLES`. A row every cycle.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_request : In(stream of memory_request)
    o_row : Out(stream of row)
    flush : In(1)
        Drop what is inside, and what comes.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_request": In(stream.Signature(isa.memory_request(config))),
                "o_row": Out(stream.Signature(row(config))),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        sizes = Sizes(config)
        address = data.StructLayout(
            {"byte": sizes.byte_bits, "index": sizes.index_bits, "block": sizes.block_bits}
        )
        passing = data.StructLayout(
            {
                "first": address,
                "final": address,
                "end": config.address_bits,  # behind its last byte
                "bytes_m1": isa.MEMORY_ROW_BITS,
                "last": 1,
            }
        )
        m.submodules.slice = inlet = Slice(isa.memory_request(config))
        request = inlet.o.payload
        ends = Signal(passing, reset_less=True)
        compared = Signal(passing, reset_less=True)
        meets = Signal(reset_less=True)  # `compared` goes on where the row before it ended
        crosses = Signal(reset_less=True)  # it ends in another block than it starts in
        advances = Signal(reset_less=True)  # ... than the row before it ended in
        ends_valid = Signal()
        compared_valid = Signal()
        held_valid = Signal()
        held = Signal(row(config), reset_less=True)
        waited = Signal(range(GIVE_UP_CYCLES))
        given_up = Signal()

        settled = held.words.last | given_up | compared_valid
        merges = ~(held.words.last | given_up) & meets
        leaves = self.o_row.valid & self.o_row.ready
        held_moves = ~held_valid | leaves
        compared_moves = ~compared_valid | held_moves
        m.d.comb += [
            inlet.flush.eq(self.flush),
            inlet.i.valid.eq(self.i_request.valid),
            inlet.i.payload.eq(self.i_request.payload),
            self.i_request.ready.eq(inlet.i.ready),
            inlet.o.ready.eq(compared_moves),
            self.o_row.valid.eq(held_valid & settled),
            self.o_row.payload.eq(held),
            self.o_row.payload.places.closes.eq(~merges),
            self.o_row.payload.words.closes.eq(~merges),
        ]

        with m.If(compared_moves):  # both stages at once
            m.d.sync += [
                ends_valid.eq(inlet.o.valid),
                ends.first.eq(request.address),
                ends.final.eq(request.address + request.bytes - 1),
                ends.end.eq(request.address + request.bytes),
                ends.bytes_m1.eq(request.bytes - 1),
                ends.last.eq(request.last),
            ]
        with m.If(compared_moves):
            m.d.sync += compared_valid.eq(ends_valid)
            with m.If(ends_valid):
                m.d.sync += [
                    compared.eq(ends),
                    meets.eq(ends.first.as_value() == compared.end),
                    crosses.eq(ends.final.block != ends.first.block),
                    advances.eq(ends.final.block != compared.final.block),
                ]
        units_m1 = compared.bytes_m1
        position = compared.first.byte
        if sizes.bus_units != sizes.bus_bytes:  # two units a byte
            units_m1 = Cat(Const(1, 1), units_m1)
            position = Cat(Const(0, 1), position)
        with m.If(held_moves):
            merged = held_valid & merges
            m.d.sync += [
                held_valid.eq(compared_valid),
                held.words.block.eq(compared.first.block),
                held.words.final_block.eq(compared.final.block),
                held.words.final_index.eq(compared.final.index),
                held.words.crosses.eq(Mux(merged, advances, crosses)),
                held.words.last.eq(compared.last),
                held.words.index.eq(compared.first.index),
                held.words.opens.eq(~merged),
                held.places.index.eq(compared.first.index),
                held.places.position.eq(position),
                held.places.beats_m1.eq(units_m1[sizes.beat_bits :]),
                held.places.tail_m1.eq(units_m1[: sizes.beat_bits]),
                held.places.opens.eq(~merged),
            ]
        with m.If(held_moves):
            m.d.sync += [waited.eq(0), given_up.eq(0)]
        with m.Elif(~settled):
            m.d.sync += [waited.eq(waited + 1), given_up.eq(waited == GIVE_UP_CYCLES - 1)]
        with m.If(self.flush):
            m.d.sync += [ends_valid.eq(0), compared_valid.eq(0), held_valid.eq(0)]
        return m
