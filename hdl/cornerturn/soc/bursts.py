"""bursts: from requests to bursts of whole bus words, and where the rows lie in them.

::

    i_request --> neighbours --+--> o_row      a row's place in its bus words
                               +--> [open] --> [slice] --> o_burst
                     block, first word | last block, last word

The words from the first that is not yet in a burst to the end of the last row are *open*. A burst
is what they have in one block. It leaves when they go on in a later block, or when the row
that ends them closes. Merged rows move the end, one a cycle, while bursts leave.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.slice import Slice
from .neighbours import Neighbours
from .shapes import BURST_WORDS, Sizes, burst, row_places

__all__ = ["Bursts"]


class Bursts(wiring.Component):
    """Makes bursts. INCR bursts in aligned blocks of `BURST_WORDS`, so none crosses 4 KiB.

    Latency: 4 cycles to `o_row`, 6 to `o_burst` (and what `Neighbours` waits). A row, and a burst,
    every cycle; a row in two blocks that is not merged takes two.

    A row comes out before its last burst does, whatever becomes of `o_burst`, as far as `o_row` is
    taken: so what waits for data before it takes a burst gets the rows that they belong to.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_request : In(stream of memory_request)
    o_row : Out(stream of row_places)
    o_burst : Out(stream of burst)
    flush : In(1)
        Drop what is inside, and what comes.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_request": In(stream.Signature(isa.memory_request(config))),
                "o_row": Out(stream.Signature(row_places(config))),
                "o_burst": Out(stream.Signature(burst(config))),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sizes = Sizes(self._config)
        m.submodules.neighbours = neighbours = Neighbours(self._config)
        m.submodules.slice = outlet = Slice(burst(self._config))
        wiring.connect(m, wiring.flipped(self.i_request), neighbours.i_request)
        wiring.connect(m, outlet.o, wiring.flipped(self.o_burst))
        m.d.comb += [neighbours.flush.eq(self.flush), outlet.flush.eq(self.flush)]
        row = neighbours.o_row.payload

        is_open = Signal()
        closed = Signal()  # nothing will be merged with it any more
        crosses = Signal()  # there are words in later blocks, too
        last = Signal(reset_less=True)
        block = Signal(sizes.block_bits, reset_less=True)
        following = Signal(sizes.block_bits, reset_less=True)  # block + 1
        index = Signal(sizes.index_bits, reset_less=True)  # first word in the block
        final_block = Signal(sizes.block_bits, reset_less=True)
        final_index = Signal(sizes.index_bits, reset_less=True)

        # A row that opens waits for the last burst of what is open; a merged one never waits.
        room = ~(is_open & closed) | (~crosses & outlet.i.ready)
        accept = Signal()
        m.d.comb += [
            self.o_row.valid.eq(neighbours.o_row.valid & room),
            self.o_row.payload.eq(row.places),
            neighbours.o_row.ready.eq(self.o_row.ready & room),
            accept.eq(neighbours.o_row.valid & self.o_row.ready & room),
            outlet.i.valid.eq(is_open & (crosses | closed)),
            outlet.i.payload.word.eq(Cat(index, block)),
            outlet.i.payload.words_m1.eq(Mux(crosses, BURST_WORDS - 1, final_index) - index),
            outlet.i.payload.last.eq(last & closed & ~crosses),
        ]
        with m.If(outlet.i.valid & outlet.i.ready):
            m.d.sync += [
                index.eq(0),
                block.eq(following),
                following.eq(following + 1),
                crosses.eq((following != final_block) | (accept & row.crosses)),
            ]
            with m.If(~crosses):
                m.d.sync += is_open.eq(0)
        with m.Elif(accept & row.crosses):
            m.d.sync += crosses.eq(1)
        with m.If(accept):
            m.d.sync += [
                is_open.eq(1),
                closed.eq(row.places.closes),
                last.eq(row.last),
                final_block.eq(row.final_block),
                final_index.eq(row.final_index),
            ]
            with m.If(row.places.opens):
                m.d.sync += [
                    index.eq(row.places.index),
                    block.eq(row.block),
                    following.eq(row.block + 1),
                    crosses.eq(row.crosses),
                ]
        with m.If(self.flush):
            m.d.sync += [is_open.eq(0), crosses.eq(0)]
        return m
