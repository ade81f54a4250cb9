"""chain: the lanes in series, TIU -> NPU 0 -> ... -> NPU M-1 -> TIU, a register after each hop.

A hop is H lanes in a row and the registers behind them. Micro-op, beat and write move one hop a
cycle; the beat of a read follows its micro-op L cycles later, so it meets each lane's data::

    cycle       t      t+1     ...  t+hops
    read    --> hop 0 --> hop 1 ... |            (ends here)
    beat (t+L)-> hop 0 --> hop 1 ... --> beat    at t + hops + L
    write   --> hop 0 --> hop 1 ...     --> done at t + hops: the marker `last`, whatever the lane

Nothing on the chain ever waits.
"""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..npu.npu import Npu

__all__ = ["Chain", "Hop", "lane_port_members"]


def lane_port_members(config, lanes):
    """The lane ports of `lanes` lanes as flat vectors, lane 0 lowest (for a signature)."""

    def vector(shape):
        return data.ArrayLayout(shape, lanes)

    return {
        "lane_read_valid": In(lanes),
        "lane_read_ready": Out(lanes),
        "lane_read_word": In(vector(config.word_bits)),
        "lane_read_data": Out(vector(config.beat_width)),
        "lane_write_valid": In(lanes),
        "lane_write_ready": Out(lanes),
        "lane_write_word": In(vector(config.word_bits)),
        "lane_write_mask": In(vector(config.beat_cells)),
        "lane_write_data": In(vector(config.beat_width)),
    }


def _members(config, lanes, port, watch):
    members = {
        "i_read": In(isa.read_op(config)),
        "i_write": In(isa.write_op(config)),
        "o_beat": Out(config.beat_width),
    }
    if port:
        members |= lane_port_members(config, lanes)
    if watch:
        members["collision"] = Out(1)
    return members


class Hop(wiring.Component):
    """`lanes` lanes in series, and the registers behind them. Latency: 1 cycle.

    Parameters
    ----------
    config : Config
    lanes : int
        Lanes of this hop (the last of a chain may have fewer than H).
    port, watch : bool
        See `Npu`.

    Members
    -------
    i_read, o_read : read_op
    i_beat, o_beat : beat_width
    i_write, o_write : write_op
    lane_* : see `lane_port_members`
    collision : Out(1)
        In some lane a word is read and written in this cycle.
    """

    def __init__(self, config, *, lanes, port, watch):
        self._config = config
        self._lanes = lanes
        self._port = port
        self._watch = watch
        super().__init__(
            _members(config, lanes, port, watch)
            | {
                "i_beat": In(config.beat_width),
                "o_read": Out(isa.read_op(config)),
                "o_write": Out(isa.write_op(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        read, beat, write = self.i_read, self.i_beat, self.i_write
        collisions = []
        for lane in range(self._lanes):
            npu = Npu(config, port=self._port, watch=self._watch)
            m.submodules[f"npu{lane}"] = npu
            m.d.comb += [npu.i_read.eq(read), npu.i_beat.eq(beat), npu.i_write.eq(write)]
            read, beat, write = npu.o_read, npu.o_beat, npu.o_write
            if self._port:
                m.d.comb += [
                    npu.read.valid.eq(self.lane_read_valid[lane]),
                    npu.read.word.eq(self.lane_read_word[lane]),
                    self.lane_read_ready[lane].eq(npu.read_ready),
                    self.lane_read_data[lane].eq(npu.read_data),
                    npu.write.valid.eq(self.lane_write_valid[lane]),
                    npu.write.word.eq(self.lane_write_word[lane]),
                    npu.write.mask.eq(self.lane_write_mask[lane]),
                    npu.write.beat.eq(self.lane_write_data[lane]),
                    self.lane_write_ready[lane].eq(npu.write_ready),
                ]
            if self._watch:
                collisions.append(npu.collision)
        if self._watch:
            m.d.comb += self.collision.eq(Cat(collisions).any())

        # Only what says that a micro-op is there needs a reset.
        read_q = Signal(isa.read_op(config), reset_less=True)
        write_q = Signal(isa.write_op(config), reset_less=True)
        beat_q = Signal(config.beat_width, reset_less=True)
        valid_q = Signal(3)
        m.d.sync += [
            read_q.eq(read),
            write_q.eq(write),
            beat_q.eq(beat),
            valid_q.eq(Cat(read.valid, write.valid, write.last)),
        ]
        m.d.comb += [
            self.o_read.eq(read_q),
            self.o_write.eq(write_q),
            self.o_beat.eq(beat_q),
            Cat(self.o_read.valid, self.o_write.valid, self.o_write.last).eq(valid_q),
        ]
        return m


class Chain(wiring.Component):
    """All lanes, behind the interface every interconnect has.

    Latency, with a micro-op at an input in cycle t: the beat of a read is back at t + hops + L, and
    the marker of a write at t + hops.

    Parameters
    ----------
    config : Config
    port, watch : bool
        With lane ports; with the output `collision`.

    Members
    -------
    i_read : In(read_op), o_beat : Out(beat_width)
    i_write : In(write_op), done : Out(1)
    lane_*, collision : as of `Hop`
    """

    def __init__(self, config, *, port, watch):
        self._config = config
        self._port = port
        self._watch = watch
        super().__init__(_members(config, config.lanes, port, watch) | {"done": Out(1)})

    def elaborate(self, platform):
        m = Module()
        config = self._config
        read, beat, write = self.i_read, 0, self.i_write
        collisions = []
        for index in range(config.hops):
            base = index * config.lanes_per_hop
            lanes = min(config.lanes_per_hop, config.lanes - base)
            hop = Hop(config, lanes=lanes, port=self._port, watch=self._watch)
            m.submodules[f"hop{index}"] = hop
            m.d.comb += [hop.i_read.eq(read), hop.i_beat.eq(beat), hop.i_write.eq(write)]
            read, beat, write = hop.o_read, hop.o_beat, hop.o_write
            if self._port:
                self._connect_ports(m, hop, base, lanes)
            if self._watch:
                collisions.append(hop.collision)
        m.d.comb += [self.o_beat.eq(beat), self.done.eq(write.last)]
        if self._watch:
            m.d.comb += self.collision.eq(Cat(collisions).any())
        return m

    def _connect_ports(self, m, hop, base, lanes):
        for name, member in lane_port_members(self._config, lanes).items():
            its = Value.cast(getattr(hop, name))
            width = len(its) // lanes
            mine = Value.cast(getattr(self, name))[base * width : (base + lanes) * width]
            m.d.comb += its.eq(mine) if member.flow is In else mine.eq(its)
