"""npu: one lane. Two chains pass it, one for reading and one for writing::

    i_read  --> dp_r0 ----------------------> o_read
    i_beat  -->   | ^                    ---> o_beat
                  v |
                 xbar <-- lmem <-- dis_w
                            ^        ^
    i_write ------------ (port)   dp_w0 ----> o_write

All lanes are the same: a lane has no number.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .dis_w import DisW
from .dp_r0 import DpR0
from .dp_w0 import DpW0
from .lane_port import LanePort
from .lmem import Lmem
from .xbar import Xbar

__all__ = ["Npu"]


class Npu(wiring.Component):
    """A lane: lmem and its data paths.

    Latency: micro-op, beat and write pass in 0 cycles; a lane's data joins the beat that passes
    `Config.sram_latency` cycles behind its micro-op.

    Parameters
    ----------
    config : Config
    port : bool
        With a lane port.
    watch : bool
        With the output `collision`, for simulation.

    Members
    -------
    i_read, o_read : read_op
    i_beat, o_beat : beat_width
    i_write, o_write : write_op
    read, write, read_ready, write_ready
        The lane port, see `LanePort`.
    read_data : Out(beat_width)
        Of the lane port: valid 2 cycles after the read was done.
    collision : Out(1)
        A word is read and written in this cycle.
    """

    def __init__(self, config, *, port, watch):
        self._config = config
        self._port = port
        self._watch = watch
        members = {
            "i_read": In(isa.read_op(config)),
            "o_read": Out(isa.read_op(config)),
            "i_beat": In(config.beat_width),
            "o_beat": Out(config.beat_width),
            "i_write": In(isa.write_op(config)),
            "o_write": Out(isa.write_op(config)),
        }
        if port:
            members |= {
                "read": In(isa.lane_read(config)),
                "read_ready": Out(1),
                "read_data": Out(config.beat_width),
                "write": In(isa.lane_write(config)),
                "write_ready": Out(1),
            }
        if watch:
            members["collision"] = Out(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dp_r0 = dp_r0 = DpR0(self._config)
        m.submodules.xbar = xbar = Xbar(self._config)
        m.submodules.lmem = lmem = Lmem(self._config)
        m.submodules.dp_w0 = dp_w0 = DpW0(self._config)
        m.submodules.dis_w = dis_w = DisW(self._config)
        m.d.comb += [
            dp_r0.i_op.eq(self.i_read),
            self.o_read.eq(dp_r0.o_op),
            dp_r0.i_beat.eq(self.i_beat),
            self.o_beat.eq(dp_r0.o_beat),
            xbar.request.eq(dp_r0.request),
            xbar.data.eq(lmem.data),
            dp_r0.word.eq(xbar.word),
            dp_r0.element.eq(xbar.element),
            dp_r0.enable.eq(xbar.enable),
            dp_w0.i_op.eq(self.i_write),
            self.o_write.eq(dp_w0.o_op),
            dis_w.request.eq(dp_w0.request),
        ]
        if self._port:
            m.submodules.lane_port = port = LanePort(self._config)
            m.d.comb += [
                port.chain_read.valid.eq(dp_r0.request.valid),
                port.chain_read.word.eq(dp_r0.request.word),
                port.chain_write.eq(dis_w.write),
                port.read.eq(self.read),
                port.write.eq(self.write),
                self.read_ready.eq(port.read_ready),
                self.write_ready.eq(port.write_ready),
                lmem.read.eq(port.lmem_read),
                lmem.write.eq(port.lmem_write),
                self.read_data.eq(xbar.word_q),
            ]
        else:
            m.d.comb += [
                lmem.read.valid.eq(dp_r0.request.valid),
                lmem.read.word.eq(dp_r0.request.word),
                lmem.write.eq(dis_w.write),
            ]
        if self._watch:
            m.d.comb += self.collision.eq(
                lmem.read.valid & lmem.write.valid & (lmem.read.word == lmem.write.word)
            )
        return m
