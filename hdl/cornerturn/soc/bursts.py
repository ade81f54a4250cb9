"""bursts: from requests to bursts of whole bus words, and where the rows lie in them.

::

    i_request --> neighbours --+--> o_row      a row's place in its bus words
                               +--> [slice] --> [open] --> o_burst
                              block, first word | last block, last word

The words from the first that is not yet in a burst to the end of the last row are *open*. A burst
is what they have in one block. It leaves when they go on in a later block, when the row that ends
them closes, or after `patience` cycles. Merged rows move the end, one a cycle, while bursts leave.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.slice import Slice
from .neighbours import Neighbours
from .shapes import BURST_WORDS, Sizes, burst, row_places, row_words

__all__ = ["Bursts"]


class Bursts(wiring.Component):
    """Makes bursts. INCR bursts in aligned blocks of `BURST_WORDS`, so none crosses 4 KiB.

    Latency: 4 cycles to `o_row`, 6 to `o_burst` (and what `Neighbours` waits). A row, and a burst,
    every cycle; a row in two blocks that is not merged takes two.

    No word is in two bursts because of rows that are merged.

    A row comes out before its last burst does, whatever becomes of `o_burst`, as far as `o_row` is
    taken: so what waits for data before it takes a burst gets the rows that they belong to.

    Parameters
    ----------
    config : Config
    patience : int or None
        Cycles until open words leave even if their burst may become longer; ``None``: any number.

    Members
    -------
    i_request : In(stream of memory_request)
    o_row : Out(stream of row_places)
    o_burst : Out(stream of burst)
    flush : In(1)
        Drop what is inside, and what comes.
    """

    def __init__(self, config, *, patience=None):
        self._config = config
        self._patience = patience
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
        m.submodules.slice = inlet = Slice(row_words(self._config))
        wiring.connect(m, wiring.flipped(self.i_request), neighbours.i_request)
        both = self.o_row.ready & inlet.i.ready
        m.d.comb += [
            neighbours.flush.eq(self.flush),
            inlet.flush.eq(self.flush),
            self.o_row.valid.eq(neighbours.o_row.valid & inlet.i.ready),
            self.o_row.payload.eq(neighbours.o_row.payload.places),
            inlet.i.valid.eq(neighbours.o_row.valid & self.o_row.ready),
            inlet.i.payload.eq(neighbours.o_row.payload.words),
            neighbours.o_row.ready.eq(both),
        ]
        row = inlet.o.payload

        is_open = Signal()
        closed = Signal()  # nothing will be merged with it any more
        crosses = Signal()  # there are words in later blocks, too
        last = Signal(reset_less=True)
        block = Signal(sizes.block_bits, reset_less=True)
        following = Signal(sizes.block_bits, reset_less=True)  # block + 1
        index = Signal(sizes.index_bits, reset_less=True)  # first word in the block
        spent = Signal()  # ... and that one is in a burst already
        final_block = Signal(sizes.block_bits, reset_less=True)
        final_index = Signal(sizes.index_bits, reset_less=True)

        end = Mux(crosses, BURST_WORDS - 1, final_index)
        first = Signal(sizes.index_bits)
        nothing = Signal()  # no word of this block is left
        ends = Signal()  # nothing will be added to what is in this block
        aged = Signal()
        leaves = Signal()
        m.d.comb += [
            nothing.eq(spent & (index == end)),
            ends.eq(is_open & (crosses | closed)),
            self.o_burst.valid.eq((ends | aged) & ~nothing),
            first.eq(index + spent),
            self.o_burst.payload.word.eq(Cat(first, block)),
            self.o_burst.payload.words_m1.eq(end - first),
            self.o_burst.payload.last.eq(last & closed & ~crosses),
            leaves.eq(ends & (nothing | self.o_burst.ready)),
        ]

        # A row that opens waits for the last burst of what is open; a merged one does not, but for
        # a burst that is offered as it is.
        settled = (is_open & closed) | aged
        accept = Signal()
        m.d.comb += [
            inlet.o.ready.eq(~settled | (~crosses & (nothing | self.o_burst.ready))),
            accept.eq(inlet.o.valid & inlet.o.ready),
        ]
        with m.If(leaves & crosses):
            m.d.sync += [
                index.eq(0),
                spent.eq(0),
                block.eq(following),
                following.eq(following + 1),
                crosses.eq((following != final_block) | (accept & row.crosses)),
            ]
        with m.Elif(leaves):
            m.d.sync += is_open.eq(0)
        with m.Elif(accept & row.crosses):
            m.d.sync += crosses.eq(1)
        if self._patience is not None:
            self._age(m, is_open & ~nothing & ~ends, aged, self.o_burst.ready, leaves & crosses)
            with m.If(aged & self.o_burst.ready):
                m.d.sync += [index.eq(final_index), spent.eq(1)]
        with m.If(accept):
            m.d.sync += [
                is_open.eq(1),
                closed.eq(row.closes),
                last.eq(row.last),
                final_block.eq(row.final_block),
                final_index.eq(row.final_index),
            ]
            with m.If(row.opens):
                m.d.sync += [
                    index.eq(row.index),
                    spent.eq(0),
                    block.eq(row.block),
                    following.eq(row.block + 1),
                    crosses.eq(row.crosses),
                ]
        with m.If(self.flush):
            m.d.sync += is_open.eq(0)
        return m

    def _age(self, m, waits, aged, taken, goes_on):
        """Set `aged` when words have waited long enough, as long as they wait.

        Those of the next block (`goes_on`) have waited a cycle already, for this one to leave.
        """
        age = Signal(range(self._patience + 1))
        full = age == self._patience
        m.d.comb += aged.eq(waits & full)
        with m.If(~waits | (full & taken)):
            m.d.sync += age.eq(goes_on)
        with m.Elif(~full):
            m.d.sync += age.eq(age + 1)
