"""mem_writer: dense beats to rows of system memory, over AXI4.

::

    i_request --> bursts --o_burst--> [waiting] --------------> [all data here?] --> AW
                     |o_row                                          ^    | address
                     v                                               |    v
                  [rows] --> walk --> packer --> [words: WORDS_BEHIND] -->|--> W
    i_beat ----------------------------^                                  v
                                      o_answer <-- [first error] <-- [unanswered] <-- B

A burst is announced when all of its data is in the buffer, so a memory that has taken an address
never waits for data, whatever that data waits for (a read of the same memory, say), and a flush can
always end what is announced. Bus words that merged rows fill together are written once.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..tiu.fifo import Fifo
from ..tiu.slice import Slice
from . import axi
from .bursts import Bursts
from .packer import Packer, bus_word
from .shapes import BURST_WORDS, ROWS_AHEAD, ROWS_ELSEWHERE, Sizes, burst, row_places
from .walk import Walk

__all__ = ["WORDS_BEHIND", "MemWriter"]

WORDS_BEHIND = 4 * BURST_WORDS
"""Bus words between the beats and the bus: bursts that fill up while others leave."""


class MemWriter(wiring.Component):
    """Writes rows. A beat every cycle; one that closes a row and lies in two bus words takes two.

    Latency: 13 cycles from a request that is `last`, or 4 from the last beat of a burst (5 above 16
    units a word), to the address on the bus; its words follow in the next cycles, as soon as those
    before them are sent; 2 from a response to its answer. A request that is not `last` waits for
    the next one to be merged with it, `GIVE_UP_CYCLES` cycles at most. Beats may come any time.

    Rows are merged if the one behind starts where the one before ends. Bursts are INCR, at most
    `BURST_WORDS` long, and stay in aligned blocks of that size.

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
    i_beat : In(stream of beat_width)
        The dense beats of all rows, in order.
    o_answer : Out(stream of memory_answer)
        To each request that was `last`, when everything up to it is answered. With an error: the
        address of the first burst since the answer before that was answered with one.
    axi : Out(Axi4, write)
    flush : In(1)
        Drop what is inside and, while it is high, what comes. Bursts that were announced are ended,
        without strobes but for a word that was already on the bus, and waited for; nothing is
        answered. Requests of later cycles are served when that is done.
    idle : Out(1)
        Nothing is inside, or outstanding, and no answer waits to be taken.
    sent : Out(1)
        A bus word goes: counted as mem_write_beats.
    """

    def __init__(self, config, *, bus_id=0, id_bits=1):
        if not 0 <= bus_id < 1 << id_bits:
            raise ValueError(f"bus_id must be 0 to {(1 << id_bits) - 1}, not {bus_id!r}")
        self._config = config
        self._bus_id = bus_id
        super().__init__(
            {
                "i_request": In(stream.Signature(isa.memory_request(config))),
                "i_beat": In(stream.Signature(config.beat_width)),
                "o_answer": Out(stream.Signature(isa.memory_answer(config))),
                "axi": Out(
                    axi.Axi4(
                        address_bits=config.address_bits,
                        data_width=config.bus_width,
                        id_bits=id_bits,
                        read=False,
                    )
                ),
                "flush": In(1),
                "idle": Out(1),
                "sent": Out(1),
            }
        )

    @property
    def buffer_bits(self):
        config = self._config
        return (
            WORDS_BEHIND * bus_word(config).size
            + ROWS_AHEAD * (row_places(config).size + burst(config).size)
            + config.memory_requests * (Sizes(config).word_bits + 1)
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        bus = self.axi
        m.submodules.bursts = bursts = Bursts(config)
        m.submodules.rows = rows = Fifo(row_places(config), ROWS_AHEAD)
        m.submodules.walk = walk = Walk(config)
        m.submodules.packer = packer = Packer(config)
        m.submodules.waiting = waiting = Fifo(burst(config), ROWS_AHEAD)
        m.submodules.words = words = Fifo(bus_word(config), WORDS_BEHIND)
        wiring.connect(m, wiring.flipped(self.i_request), bursts.i_request)
        wiring.connect(m, wiring.flipped(self.i_beat), packer.i_beat)
        wiring.connect(m, rows.o, walk.i_row)
        wiring.connect(m, walk.o_place, packer.i_place)
        wiring.connect(m, packer.o_word, words.i)

        draining = Signal()  # after `flush`, until nothing is outstanding
        drop = Signal()
        inside = Signal(range(ROWS_AHEAD + ROWS_ELSEWHERE + 1))  # rows with words to come
        kept = Signal(range(WORDS_BEHIND + 4))  # words from the packer to the bus
        outstanding = Signal(range(config.memory_requests + 1))
        quiet = Signal()
        m.d.comb += [
            drop.eq(self.flush | draining),
            quiet.eq(outstanding == 0),
            self.idle.eq(
                ~drop
                & (inside == 0)
                & ~packer.o_word.valid
                & (kept == 0)
                & quiet
                & ~self.o_answer.valid
            ),
            bursts.flush.eq(self.flush),
            words.flush.eq(draining & quiet),
            self.sent.eq(bus.wvalid & bus.wready),
        ]
        # What comes behind a flush waits in front of the buffers.
        for source, sink in ((bursts.o_row, rows.i), (bursts.o_burst, waiting.i)):
            m.d.comb += [
                sink.valid.eq(source.valid & ~draining),
                sink.payload.eq(source.payload),
                source.ready.eq(sink.ready & ~draining),
            ]
        for block in (rows, walk, packer, waiting):
            m.d.comb += block.flush.eq(drop)
        asked = self.i_request.valid & self.i_request.ready
        filled = words.i.valid & words.i.ready
        m.d.sync += [
            inside.eq(inside + asked - packer.finished),
            kept.eq(kept + filled - self.sent),
        ]
        with m.If(self.flush):
            m.d.sync += [draining.eq(1), inside.eq(0)]
        with m.Elif(quiet):
            m.d.sync += draining.eq(0)
        with m.If(words.flush):
            m.d.sync += kept.eq(0)

        full = Signal()  # as many outstanding as may be
        fires = self._announce(m, waiting.o, filled & words.i.payload.last, full, drop)
        self._send(m, words.o, fires, drop)
        answered = self._answer(m, waiting.o.payload, fires, drop)
        most = config.memory_requests
        m.d.sync += [
            outstanding.eq(outstanding + fires - answered),
            full.eq(~answered & ((outstanding == most) | ((outstanding == most - 1) & fires))),
        ]
        return m

    def _announce(self, m, waiting, complete, full, drop):
        """The AW channel; return the cycles in which a burst enters its register."""
        config = self._config
        bus = self.axi
        byte_bits = Sizes(config).byte_bits
        ready = Signal(range(WORDS_BEHIND + 4))  # bursts with all their data, not announced
        some = Signal()  # ... there are
        fires = Signal()
        address = Signal(config.address_bits, reset_less=True)
        words_m1 = Signal(len(waiting.payload.words_m1), reset_less=True)
        m.d.comb += [
            waiting.ready.eq(some & ~full & ~drop & (~bus.awvalid | bus.awready)),
            fires.eq(waiting.valid & waiting.ready),
            bus.awid.eq(self._bus_id),
            bus.awaddr.eq(address),
            bus.awlen.eq(words_m1),
            bus.awsize.eq(byte_bits),
            bus.awburst.eq(axi.Burst.INCR),
            bus.awcache.eq(axi.Cache.BUFFERABLE | axi.Cache.MODIFIABLE),
        ]
        m.d.sync += [
            ready.eq(ready + complete - fires),
            some.eq(complete | Mux(fires, ready > 1, ready != 0)),
        ]
        with m.If(drop):
            m.d.sync += [ready.eq(0), some.eq(0)]
        with m.If(~bus.awvalid | bus.awready):
            m.d.sync += bus.awvalid.eq(fires)
        with m.If(fires):
            m.d.sync += [
                address.eq(Cat(Const(0, byte_bits), waiting.payload.word)),
                words_m1.eq(waiting.payload.words_m1),
            ]
        return fires

    def _send(self, m, words, fires, drop):
        """The W channel: the words of announced bursts are the next in the buffer."""
        bus = self.axi
        announced = Signal(range(WORDS_BEHIND + 4))  # bursts whose last word is not sent
        off = Signal()
        goes = bus.wvalid & bus.wready
        m.d.comb += [
            bus.wvalid.eq(words.valid & (announced != 0)),
            words.ready.eq(bus.wready & (announced != 0)),
            bus.wdata.eq(words.payload.data),
            bus.wstrb.eq(Mux(off, 0, words.payload.strobes)),
            bus.wlast.eq(words.payload.last),
        ]
        m.d.sync += announced.eq(announced + fires - (goes & bus.wlast))
        # What is on the bus stays as it is.
        with m.If(~drop):
            m.d.sync += off.eq(0)
        with m.Elif(~bus.wvalid | bus.wready):
            m.d.sync += off.eq(1)

    def _answer(self, m, burst, fires, drop):
        """The B channel and the answers; return the cycles in which a burst's response is used."""
        config = self._config
        bus = self.axi
        sizes = Sizes(config)
        layout = data.StructLayout({"word": sizes.word_bits, "last": 1})
        m.submodules.unanswered = unanswered = Fifo(layout, config.memory_requests)
        m.submodules.response = response = Slice(1)
        m.submodules.answer = answer = Slice(isa.memory_answer(config))
        failed = Signal()
        address = Signal(config.address_bits, reset_less=True)
        answered = Signal()
        here = unanswered.o.payload
        m.d.comb += [
            unanswered.i.valid.eq(fires),
            unanswered.i.payload.word.eq(burst.word),
            unanswered.i.payload.last.eq(burst.last),
            bus.bready.eq(response.i.ready),
            response.i.valid.eq(bus.bvalid),
            response.i.payload.eq(axi.is_error(bus.bresp)),
            answered.eq(
                response.o.valid & unanswered.o.valid & (~here.last | answer.i.ready | drop)
            ),
            response.o.ready.eq(answered),
            unanswered.o.ready.eq(answered),
            answer.flush.eq(drop),
            answer.i.valid.eq(answered & here.last),
            answer.i.payload.error.eq(failed | response.o.payload),
            answer.i.payload.address.eq(
                Mux(failed, address, Cat(Const(0, sizes.byte_bits), here.word))
            ),
        ]
        wiring.connect(m, answer.o, wiring.flipped(self.o_answer))
        with m.If(answered):
            m.d.sync += failed.eq((failed | response.o.payload) & ~here.last)
            with m.If(~failed):
                m.d.sync += address.eq(answer.i.payload.address)
        with m.If(drop):
            m.d.sync += failed.eq(0)
        return answered
