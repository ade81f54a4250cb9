"""mem_reader: rows of system memory as dense beats, over AXI4.

::

    i_request --> bursts --o_burst--> [credits] --> AR
                     |o_row              | reserves a buffer word for each beat
                     v                   +--> where errors are
                  [rows] --> walk --> unpacker --> o_beat
                                         ^
    R ----> [words: WORDS_AHEAD] --------+       rready is always 1

A bus word that two merged rows share is read once. The buffers are what a round trip of
`BUS_LATENCY` cycles needs at full rate.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.fifo import Fifo
from . import axi
from .bursts import Bursts
from .shapes import (
    BURST_WORDS,
    PATIENCE_CYCLES,
    ROWS_AHEAD,
    ROWS_ELSEWHERE,
    WORDS_AHEAD,
    Sizes,
    row_places,
)
from .unpacker import Unpacker, bus_word
from .walk import Walk

__all__ = ["MemReader"]

_ROOMY = 3 * BURST_WORDS
"""Free words with which a burst may be asked for: it, and those of the two cycles before, which are
not yet counted."""


class MemReader(wiring.Component):
    """Reads rows. A beat every cycle, but one that opens a row and lies in two bus words takes two.

    Latency: 7 cycles from a request that is `last` to its address on the bus, 6 from a word on the
    bus to its beat (7 above 16 units a word). A request that is not `last` waits for the next one
    to be merged with it, `GIVE_UP_CYCLES` cycles at most; with neighbours that keep coming its
    words wait for the rest of their burst, `PATIENCE_CYCLES` cycles at most.

    Rows are merged if the one behind starts where the one before ends. Bursts are INCR, at most
    `BURST_WORDS` long, and stay in aligned blocks of that size. One is asked for only when there is
    room for all of it.

    Parameters
    ----------
    config : Config
    bus_id : int
        ID of all bursts, so that they are answered in order.
    id_bits : int

    Attributes
    ----------
    buffer_bits : int
        Bits of all buffers.

    Members
    -------
    i_request : In(stream of memory_request)
    o_beat : Out(stream of memory_beat)
        Units behind the end of a row mean nothing.
    axi : Out(Axi4, read)
    flush : In(1)
        Drop what is inside and, while it is high, what comes. Bursts that were asked for are waited
        for, and dropped. Requests of later cycles are served when that is done.
    idle : Out(1)
        Nothing is inside, or outstanding.
    error_address : Out(address_bits)
        Of the first bus word since `flush` that came with an error, when its beat is offered.
    error : Out(1)
        There was one.
    received : Out(1)
        A bus word comes: counted as mem_read_beats.
    """

    def __init__(self, config, *, bus_id=0, id_bits=1):
        if not 0 <= bus_id < 1 << id_bits:
            raise ValueError(f"bus_id must be 0 to {(1 << id_bits) - 1}, not {bus_id!r}")
        self._config = config
        self._bus_id = bus_id
        super().__init__(
            {
                "i_request": In(stream.Signature(isa.memory_request(config))),
                "o_beat": Out(stream.Signature(isa.memory_beat(config))),
                "axi": Out(
                    axi.Axi4(
                        address_bits=config.address_bits,
                        data_width=config.bus_width,
                        id_bits=id_bits,
                        write=False,
                    )
                ),
                "flush": In(1),
                "idle": Out(1),
                "error": Out(1),
                "error_address": Out(config.address_bits),
                "received": Out(1),
            }
        )

    @property
    def buffer_bits(self):
        config = self._config
        return (
            WORDS_AHEAD * bus_word(config).size
            + ROWS_AHEAD * row_places(config).size
            + 2 * config.memory_requests * Sizes(config).word_bits
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        bus = self.axi
        m.submodules.bursts = bursts = Bursts(config, patience=PATIENCE_CYCLES)
        m.submodules.rows = rows = Fifo(row_places(config), ROWS_AHEAD)
        m.submodules.words = words = Fifo(bus_word(config), WORDS_AHEAD)
        m.submodules.walk = walk = Walk(config)
        m.submodules.unpacker = unpacker = Unpacker(config)
        wiring.connect(m, wiring.flipped(self.i_request), bursts.i_request)
        wiring.connect(m, rows.o, walk.i_row)
        wiring.connect(m, walk.o_place, unpacker.i_place)
        wiring.connect(m, words.o, unpacker.i_word)
        wiring.connect(m, unpacker.o_beat, wiring.flipped(self.o_beat))

        draining = Signal()  # after `flush`, until nothing is outstanding
        drop = Signal()
        inside = Signal(range(ROWS_AHEAD + ROWS_ELSEWHERE + 1))  # rows with beats to be taken
        outstanding = Signal(range(config.memory_requests + 1))
        quiet = Signal()
        m.d.comb += [
            drop.eq(self.flush | draining),
            quiet.eq((outstanding == 0) & ~bus.arvalid),
            self.idle.eq(~drop & quiet & (inside == 0)),
            # What comes behind a flush waits in front of the buffers.
            bursts.flush.eq(self.flush),
            rows.i.valid.eq(bursts.o_row.valid & ~draining),
            rows.i.payload.eq(bursts.o_row.payload),
            bursts.o_row.ready.eq(rows.i.ready & ~draining),
            bus.rready.eq(1),
            self.received.eq(bus.rvalid),
            words.i.valid.eq(bus.rvalid),
            words.i.payload.data.eq(bus.rdata),
            words.i.payload.error.eq(axi.is_error(bus.rresp)),
        ]
        for block in (rows, words, walk, unpacker):
            m.d.comb += block.flush.eq(drop)
        asked = self.i_request.valid & self.i_request.ready
        ended = self.o_beat.valid & self.o_beat.ready & unpacker.o_final
        m.d.sync += inside.eq(inside + asked - ended)
        with m.If(self.flush):
            m.d.sync += [draining.eq(1), inside.eq(0)]
        with m.Elif(quiet):
            m.d.sync += draining.eq(0)

        fires = self._ask(m, bursts.o_burst, words, outstanding, drop)
        self._watch(m, bursts.o_burst.payload.word, fires, drop)
        return m

    def _ask(self, m, bursts, words, outstanding, drop):
        """Credits and the AR channel; return the cycles in which a burst enters its register."""
        config = self._config
        bus = self.axi
        address = Signal(config.address_bits, reset_less=True)
        words_m1 = Signal(len(bursts.payload.words_m1), reset_less=True)
        free = Signal(range(WORDS_AHEAD + 1), init=WORDS_AHEAD)  # words not reserved
        reserved = Signal(range(BURST_WORDS + 1))  # ... by the burst of the cycle before
        roomy = Signal(init=1)
        full = Signal()  # as many outstanding as may be
        fires = Signal()
        done = Signal()
        m.d.comb += [
            bursts.ready.eq(roomy & ~full & ~drop & (~bus.arvalid | bus.arready)),
            fires.eq(bursts.valid & bursts.ready),
            done.eq(bus.rvalid & bus.rlast),
            bus.arid.eq(self._bus_id),
            bus.araddr.eq(address),
            bus.arlen.eq(words_m1),
            bus.arsize.eq(Sizes(config).byte_bits),
            bus.arburst.eq(axi.Burst.INCR),
            bus.arcache.eq(axi.Cache.BUFFERABLE | axi.Cache.MODIFIABLE),
        ]
        most = config.memory_requests
        m.d.sync += [
            reserved.eq(Mux(fires, bursts.payload.words_m1 + 1, 0)),
            free.eq(free - reserved + (words.o.valid & words.o.ready)),
            roomy.eq(free >= _ROOMY),
            outstanding.eq(outstanding + fires - done),
            full.eq(~done & ((outstanding == most) | ((outstanding == most - 1) & fires))),
        ]
        with m.If(drop):
            m.d.sync += [free.eq(WORDS_AHEAD), reserved.eq(0)]
        with m.If(~bus.arvalid | bus.arready):
            m.d.sync += bus.arvalid.eq(fires)
        with m.If(fires):
            m.d.sync += [
                address.eq(Cat(Const(0, Sizes(config).byte_bits), bursts.payload.word)),
                words_m1.eq(bursts.payload.words_m1),
            ]
        return fires

    def _watch(self, m, word, fires, drop):
        """Address of the first error: the words of outstanding bursts, in order."""
        sizes = Sizes(self._config)
        bus = self.axi
        m.submodules.addresses = addresses = Fifo(sizes.word_bits, 2 * self._config.memory_requests)
        event = Signal(data.StructLayout({"valid": 1, "last": 1, "error": 1}))
        index = Signal(sizes.index_bits)  # in the burst
        m.d.comb += [
            addresses.flush.eq(drop),
            addresses.i.valid.eq(fires),
            addresses.i.payload.eq(word),
            # A cycle after its first beat at the earliest, an address is there.
            addresses.o.ready.eq(event.valid & event.last),
        ]
        m.d.sync += [
            event.valid.eq(bus.rvalid & ~drop),
            event.last.eq(bus.rlast),
            event.error.eq(axi.is_error(bus.rresp)),
        ]
        with m.If(event.valid):
            m.d.sync += index.eq(Mux(event.last, 0, index + 1))
            with m.If(event.error & ~self.error):
                start = addresses.o.payload
                at = Cat((start + index)[: sizes.index_bits], start[sizes.index_bits :])
                m.d.sync += [
                    self.error.eq(1),
                    self.error_address.eq(Cat(Const(0, sizes.byte_bits), at)),
                ]
        with m.If(drop):
            m.d.sync += index.eq(0)
        with m.If(self.flush):
            m.d.sync += self.error.eq(0)
