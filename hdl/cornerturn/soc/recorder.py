"""recorder: writes a record for every completion, in order, into an array in memory.

::

    i_rsp --> [queue of QUEUE records] --AW, W--> memory --B--> head, written
                taken     sent                     acknowledged

    i_rsp   ==x
    queue     ==read==
    aw, w             ==x                   w: one beat, two at 64 bits, four at 32
    b                       ...  ==x
    head                           ==x      one record further, `written` is high

A record stays in the queue until its write is answered. After an error, what is behind it is not
counted, and `clear` sends all of it again, from the record that failed.
"""

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..registers import RECORD, RECORD_BYTES
from .axi import Axi4, Burst, Cache, is_error
from .fetch import ENTRY_BITS, following

__all__ = ["QUEUE", "Recorder"]

QUEUE = 4
"""Records that are not written yet: a power of two."""

_SHIFT = RECORD_BYTES.bit_length() - 1
_WIDTH = 8 * RECORD_BYTES


class Recorder(wiring.Component):
    """Writes completion records.

    Latency: a record's address and first beat are offered 2 cycles after the completion is taken;
    `head` follows the response by one cycle. The array's base and size stand still unless `reset`
    is high.

    Parameters
    ----------
    config : Config

    Members
    -------
    base : In(address_bits)
        Of the array, a multiple of 16 (the low bits are taken as zero).
    size : In(16)
        Records of the array.
    hold : In(1)
        Start no write.
    clear : In(1)
        Pulse: go on after an error.
    reset : In(1)
        Write nothing, drop everything (completions, too); until `idle`.
    i_rsp : In(stream of completion)
    i_address : In(64)
        The fault's address, beside `i_rsp`.
    bus : Out(Axi4)
    head : Out(16)
        The entry behind the last record that is written.
    written : Out(1)
        A record has been written: high in the first cycle of the new `head`.
    failed : Out(1)
        Stands after a bus error; `fault` is the address of the record.
    fault : Out(address_bits)
    empty : Out(1)
        Every completion taken is recorded.
    idle : Out(1)
        No write is under way.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "size": In(ENTRY_BITS),
                "hold": In(1),
                "clear": In(1),
                "reset": In(1),
                "i_rsp": In(stream.Signature(isa.completion())),
                "i_address": In(64),
                "bus": Out(
                    Axi4(address_bits=config.address_bits, data_width=config.bus_width, read=False)
                ),
                "head": Out(ENTRY_BITS),
                "written": Out(1),
                "failed": Out(1),
                "fault": Out(config.address_bits),
                "empty": Out(1),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        taken = Signal(range(2 * QUEUE))
        sent = Signal.like(taken)
        acknowledged = Signal.like(taken)
        outstanding = Signal(range(QUEUE + 1))  # begun, and not answered
        entry = Signal(ENTRY_BITS)  # of the record to be sent
        phase = Signal(init=1)  # of the record to be sent
        head_phase = Signal(init=1)
        drop, restart, clearing = Signal(), Signal(), Signal()
        starts, answered = Signal(), Signal()

        m.submodules.queue = queue = memory.Memory(
            shape=32 + isa.STATUS_BITS + 64, depth=QUEUE, init=[],
            attrs={"no_rw_check": 1},
        )  # fmt: skip
        write, read = queue.write_port(), queue.read_port()
        m.d.comb += [
            self.i_rsp.ready.eq(self.reset | ((taken - acknowledged)[: len(taken)] != QUEUE)),
            write.addr.eq(taken[:-1]),
            write.data.eq(Cat(self.i_rsp.payload.index, self.i_rsp.payload.status, self.i_address)),
            write.en.eq(self.i_rsp.valid & self.i_rsp.ready & ~self.reset),
            self.empty.eq(taken == acknowledged),
            self.idle.eq(outstanding == 0),
            drop.eq(self.failed | self.reset),
            restart.eq(self.failed & clearing & self.idle),
            starts.eq((sent != taken) & ~bus.awvalid & ~bus.wvalid & ~drop & ~self.hold),
            read.addr.eq(sent[:-1]),
            read.en.eq(starts),
        ]
        with m.If(write.en):
            m.d.sync += taken.eq(taken + 1)
        with m.If(starts):
            m.d.sync += [sent.eq(sent + 1), entry.eq(following(entry, self.size))]
            with m.If(following(entry, self.size) == 0):
                m.d.sync += phase.eq(~phase)
        self._send(m, starts, entry, phase, read.data)

        # --- responses
        m.d.comb += [bus.bready.eq(1), answered.eq(bus.bvalid & ~drop)]
        m.d.sync += [
            outstanding.eq(outstanding + starts - bus.bvalid),
            self.written.eq(answered & ~is_error(bus.bresp)),
        ]
        with m.If(answered & is_error(bus.bresp)):
            m.d.sync += [self.failed.eq(1), self.fault.eq(self._address(self.head))]
        with m.Elif(answered):
            m.d.sync += [
                acknowledged.eq(acknowledged + 1),
                self.head.eq(following(self.head, self.size)),
            ]
            with m.If(following(self.head, self.size) == 0):
                m.d.sync += head_phase.eq(~head_phase)

        # --- after an error, and from the beginning
        with m.If(self.clear & self.failed):
            m.d.sync += clearing.eq(1)
        with m.If(restart):
            m.d.sync += [
                self.failed.eq(0),
                clearing.eq(0),
                sent.eq(acknowledged),
                entry.eq(self.head),
                phase.eq(head_phase),
            ]
        with m.If(self.reset):
            m.d.sync += [
                self.failed.eq(0),
                clearing.eq(0),
                taken.eq(0),
                sent.eq(0),
                acknowledged.eq(0),
                entry.eq(0),
                phase.eq(1),
                self.head.eq(0),
                head_phase.eq(1),
            ]
        return m

    def _send(self, m, starts, entry, phase, queued):
        """One burst: `queued` is the record from the cycle behind `starts` on."""
        bus, width = self.bus, self._config.bus_width
        beats = max(1, _WIDTH // width)
        stamp = Signal(reset_less=True)
        record = Signal(_WIDTH)
        count = Signal(range(max(2, beats)), reset_less=True)
        values = {
            "index": queued[:32],
            "status": queued[32 : 32 + isa.STATUS_BITS],
            "phase": stamp,
            "address": queued[32 + isa.STATUS_BITS :],
        }
        for name, value in values.items():
            field = RECORD[name]
            m.d.comb += record[field.offset : field.offset + field.width].eq(value)
        m.d.comb += [
            bus.awlen.eq(beats - 1),
            bus.awsize.eq((width // 8).bit_length() - 1),
            bus.awburst.eq(Burst.INCR),
            bus.awcache.eq(Cache.BUFFERABLE | Cache.MODIFIABLE),
            bus.wlast.eq(count == beats - 1),
        ]
        if beats > 1:
            m.d.comb += [bus.wdata.eq(record.word_select(count, width)), bus.wstrb.eq(~0)]
        else:  # wherever in the beat the record is
            copies = width // _WIDTH
            lane = (bus.awaddr[_SHIFT:])[: (copies - 1).bit_length()]
            strobe = Const((1 << RECORD_BYTES) - 1, width // 8)
            m.d.comb += [
                bus.wdata.eq(record.replicate(copies)),
                bus.wstrb.eq(strobe << (lane << _SHIFT)),
            ]
        with m.If(bus.awready):
            m.d.sync += bus.awvalid.eq(0)
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [count.eq(count + 1), bus.wvalid.eq(~bus.wlast)]
        with m.If(starts):
            m.d.sync += [
                bus.awvalid.eq(1),
                bus.wvalid.eq(1),
                bus.awaddr.eq(self._address(entry)),
                stamp.eq(phase),
                count.eq(0),
            ]

    def _address(self, entry):
        """Address of a record."""
        place = (self.base[_SHIFT:] + entry)[: len(self.base) - _SHIFT]
        return Cat(Const(0, _SHIFT), place)
