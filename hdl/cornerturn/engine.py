"""engine: the stream-level top, a TIU and its lanes::

    cmd --> [ tiu ] --read, write--> [ chain of M lanes ] <--> lane ports
    rsp <--         <--beat, done---

Embed it in an Amaranth design as it is; no bus is needed.
"""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from . import isa
from .config import LANE_PORT_BITS
from .interconnect.chain import Chain, lane_port_members
from .tiu.tiu import Tiu

__all__ = ["Engine"]


class Engine(wiring.Component):
    """The tensor re-layout engine.

    Latency: sections 3 and 4 of the specification; `Config.check_cycles` from a command offered to
    the idle engine to its issue. Commands and completions may stall at any time.

    Parameters
    ----------
    config : Config
    test_access : bool
        For simulation: lane ports even where the configuration has none, and `collision`.

    Members
    -------
    cmd : In(stream of descriptor)
        Commands, 2048 bits each (`fields.py`).
    rsp : Out(stream of completion)
        One completion for each, in order.
    clear, abort, soft_reset : In(1)
        Pulses: leave a stop; stop now; stop, and forget.
    irq : Out(1)
        High while the engine stands (rejection, HALT, abort).
    status : Out(engine_status)
    counters : Out(counters)
    block : Out(block_trace)
        The block begun last: its indices, and its offsets from the starts.
    lane_read_valid, lane_read_word, lane_read_ready, lane_read_data
        Read access to each lane's lmem, lane 0 lowest: done where valid and ready; data two cycles
        later.
    lane_write_valid, lane_write_word, lane_write_mask, lane_write_data, lane_write_ready
        Write access, under a mask of cells: done where valid and ready.
    collision : Out(1)
        Some word was read and written in one cycle, some time since reset.

    Raises
    ------
    ValueError
        If the lane ports that `test_access` needs are more than can be built.
    """

    def __init__(self, config, *, test_access=False):
        if test_access and config.lanes * config.beat_width > LANE_PORT_BITS:
            raise ValueError(
                "lanes * beat_cells * cell_width must be at most "
                f"{LANE_PORT_BITS} for simulation, not {config.lanes * config.beat_width}"
            )
        self.config = config
        self._ports = config.lane_ports or test_access
        self._watch = test_access
        members = {
            "cmd": In(stream.Signature(isa.descriptor())),
            "rsp": Out(stream.Signature(isa.completion())),
            "clear": In(1),
            "abort": In(1),
            "soft_reset": In(1),
            "irq": Out(1),
            "status": Out(isa.engine_status()),
            "counters": Out(isa.counters()),
            "block": Out(isa.block_trace(config)),
        }
        if self._ports:
            members |= lane_port_members(config, config.lanes)
        if self._watch:
            members["collision"] = Out(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.tiu = tiu = Tiu(self.config)
        m.submodules.chain = chain = Chain(self.config, port=self._ports, watch=self._watch)
        connect(m, flipped(self.cmd), tiu.cmd)
        connect(m, tiu.rsp, flipped(self.rsp))
        m.d.comb += [
            chain.i_read.eq(tiu.o_read),
            chain.i_write.eq(tiu.o_write),
            tiu.beat.eq(chain.o_beat),
            tiu.done.eq(chain.done),
            tiu.clear.eq(self.clear),
            tiu.abort.eq(self.abort),
            tiu.soft_reset.eq(self.soft_reset),
            self.irq.eq(tiu.irq),
            self.status.eq(tiu.status),
            self.counters.eq(tiu.counters),
            self.block.eq(tiu.block),
        ]
        if self._ports:
            for name, member in lane_port_members(self.config, self.config.lanes).items():
                mine, its = getattr(self, name), getattr(chain, name)
                m.d.comb += its.eq(mine) if member.flow is In else mine.eq(its)
        if self._watch:
            collision = Signal()
            m.d.sync += collision.eq(collision | chain.collision)
            m.d.comb += self.collision.eq(collision)
        return m
