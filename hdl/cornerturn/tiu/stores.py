"""stores: beats on their way to memory, from their launch to the writer, and the rows they make.

::

    slot goes --begins--> [requests] --(serial: all of the row is here)--> o_request
        |  ^                                                                         --> mem_writer
        |  +--room-- [credits] <--------one back--------------+
        +--write_delay--> launch --> [beats: `depth`] --------+----------> o_beat

The chain never stalls, so a slot takes its place in the queue when it goes: a credit. A slot may go
if two credits were left in the cycle before; the last one is never used.
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .fifo import Fifo

__all__ = ["Stores", "depth"]

_REQUESTS = 8  # rows that may wait: the round trip of their own credits, at a row a cycle
_ROUND_TRIP = 8  # cycles from a beat in the queue to its credit at a slot, and some


def depth(config):
    """Beats of the queue: a round trip of the chain; all of a row whose tile is serial."""
    return 1 << max(config.write_delay + _ROUND_TRIP - 1, config.longest_serial_row).bit_length()


class Stores(wiring.Component):
    """The queue between the launches and the writer.

    Latency: 3 cycles from a launch to its beat, and from a row's first slot to its request; at full
    rate, with a writer that takes everything, for slots of up to `Config.write_delay` cycles from
    issue to launch.

    Parameters
    ----------
    config : Config

    Members
    -------
    room : Out(1)
        A slot that writes to memory may go in this cycle, also as the first of its row.
    begins : In(1), request : In(memory_request)
        The first slot of a row goes. The beats of all rows come in this order.
    serial : In(1)
        At `begins`: the row is read whole before any of it is written; it has at most
        `Config.longest_serial_row` beats, and the next row begins when this one is settled.
    fires : In(1)
        A slot that writes goes.
    launches : In(1), beat : In(beat_width)
        Its beat is here.
    row_ends : In(1)
        With the last launch of a serial row.
    writer_idle : In(1)
        `MemWriter.idle`.
    settled : Out(1)
        Nothing is on its way: what has begun is written, and answered.
    o_request : Out(stream of memory_request), o_beat : Out(stream of beat_width)
        To the writer.
    flush : In(1)
        Drop everything. No slot may be on its way to its launch.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "room": Out(1),
                "begins": In(1),
                "request": In(isa.memory_request(config)),
                "serial": In(1),
                "fires": In(1),
                "launches": In(1),
                "beat": In(config.beat_width),
                "row_ends": In(1),
                "writer_idle": In(1),
                "settled": Out(1),
                "o_request": Out(stream.Signature(isa.memory_request(config))),
                "o_beat": Out(stream.Signature(config.beat_width)),
                "flush": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        most = depth(self._config)
        entry = data.StructLayout({"request": isa.memory_request(self._config), "serial": 1})
        m.submodules.requests = requests = Fifo(entry, _REQUESTS)
        m.submodules.beats = beats = Fifo(self._config.beat_width, most)
        wiring.connect(m, beats.o, wiring.flipped(self.o_beat))

        credits = Signal(range(most + 1), init=most)
        waiting = Signal(range(_REQUESTS + 1))  # rows whose request is not taken
        room = Signal(init=1)
        whole = Signal()  # all beats of the serial row have launched
        gate = Signal()
        asked = self.o_request.valid & self.o_request.ready
        m.d.comb += [
            self.room.eq(room),
            requests.i.valid.eq(self.begins),
            requests.i.payload.request.eq(self.request),
            requests.i.payload.serial.eq(self.serial),
            gate.eq(~requests.o.payload.serial | whole),
            self.o_request.valid.eq(requests.o.valid & gate),
            self.o_request.payload.eq(requests.o.payload.request),
            requests.o.ready.eq(self.o_request.ready & gate),
            beats.i.valid.eq(self.launches),
            beats.i.payload.eq(self.beat),
            requests.flush.eq(self.flush),
            beats.flush.eq(self.flush),
            self.settled.eq((credits == most) & (waiting == 0) & self.writer_idle),
        ]
        m.d.sync += [
            credits.eq(credits - self.fires + (beats.o.valid & beats.o.ready)),
            waiting.eq(waiting + self.begins - asked),
            # Of the cycle before: what goes in this one is not counted yet.
            room.eq((credits >= 2) & (waiting <= _REQUESTS - 2)),
        ]
        with m.If(self.row_ends):
            m.d.sync += whole.eq(1)
        with m.Elif(asked):
            m.d.sync += whole.eq(0)
        with m.If(self.flush):
            m.d.sync += [credits.eq(most), waiting.eq(0), whole.eq(0)]
        return m
