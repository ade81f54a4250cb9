"""tiu: the tensor control unit, from descriptors to micro-ops and back to completions::

    i_cmd --> check --> tiler --> rows --> sequencer --> issue --o_read--> chain   (601, 602)
               |  |                                       ^ |
               |  +--> interlock -------------------------+ v
               |          ^ launched                     aligner <-- beat         (603)
               |          +---------------------------------+ o_write --> chain   (604, 605)
               v
          completions <-- done                                      --> o_rsp
          counters

The numbers are the seed's units of the TIU: generate, send, receive, determine, send. A read and
its write are decided in one slot, so the second address is there when the beat comes back.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .. import isa
from .aligner import Aligner
from .check import Check
from .completions import Completions
from .counters import Counters
from .interlock import Interlock
from .issue import Issue
from .rows import Rows
from .sequencer import Sequencer
from .tiler import Tiler

__all__ = ["Tiu"]


class Tiu(wiring.Component):
    """Drives the lanes.

    Latency: `Config.check_cycles` from a command offered to an idle engine to its issue, then
    section 4 of the specification.

    Parameters
    ----------
    config : Config

    Members
    -------
    cmd : In(stream of descriptor)
    rsp : Out(stream of completion)
    clear, abort, soft_reset : In(1)
    irq : Out(1)
        High while the engine stands.
    status : Out(engine_status)
    counters : Out(counters)
    block : Out(block_trace)
    o_read : Out(read_op), beat : In(beat_width)
        Read chain.
    o_write : Out(write_op), done : In(1)
        Write chain.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "cmd": In(stream.Signature(isa.descriptor())),
                "rsp": Out(stream.Signature(isa.completion())),
                "clear": In(1),
                "abort": In(1),
                "soft_reset": In(1),
                "irq": Out(1),
                "status": Out(isa.engine_status()),
                "counters": Out(isa.counters()),
                "block": Out(isa.block_trace(config)),
                "o_read": Out(isa.read_op(config)),
                "beat": In(config.beat_width),
                "o_write": Out(isa.write_op(config)),
                "done": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.check = check = Check(config)
        m.submodules.tiler = tiler = Tiler(config)
        m.submodules.rows = rows = Rows(config)
        m.submodules.sequencer = sequencer = Sequencer(config)
        m.submodules.issue = issue = Issue(config)
        m.submodules.interlock = interlock = Interlock(config)
        m.submodules.aligner = aligner = Aligner(config)
        m.submodules.completions = completions = Completions(config)
        m.submodules.counters = counters = Counters()

        connect(m, flipped(self.cmd), check.i_cmd)
        connect(m, check.o_job, tiler.i_job)
        connect(m, tiler.o_block, rows.i_block)
        connect(m, rows.o_row, sequencer.i_row)
        connect(m, sequencer.o_slot, issue.i_slot)
        connect(m, check.o_code, completions.i_code)
        connect(m, completions.o_rsp, flipped(self.rsp))
        m.d.comb += [
            check.enable.eq(~completions.stopped & ~completions.aborting),
            check.flush.eq(completions.flush),
            check.issued.eq(issue.issued),
            tiler.prepare.eq(check.prepare),
            tiler.kill.eq(rows.no_more_blocks),
            tiler.flush.eq(completions.flush),
            self.block.eq(tiler.trace),
            rows.flush.eq(completions.flush),
            rows.kill.eq(issue.kill),
            rows.issued.eq(issue.issued),
            interlock.reads.eq(check.reads),
            interlock.writes.eq(check.writes),
            interlock.issue.eq(issue.issued),
            interlock.launching.eq(aligner.early.last),
            issue.hold.eq(completions.hold),
            issue.blocked.eq(interlock.blocked),
            issue.drained.eq(completions.drained),
            issue.room.eq(completions.room),
            issue.abort.eq(completions.aborting),
            sequencer.flush.eq(completions.flush),
            sequencer.issued.eq(issue.issued),
            sequencer.skip.eq(issue.discarding),
            sequencer.resume.eq(issue.resume),
            issue.flush.eq(completions.flush),
            issue.early.eq(aligner.early),
            issue.early_lane_high.eq(aligner.early_lane_high),
            issue.launched.eq(aligner.launched),
            aligner.slot.eq(issue.o_write),
            aligner.beat.eq(self.beat),
            self.o_read.eq(issue.o_read),
            self.o_write.eq(aligner.o_op),
            completions.issued.eq(issue.issued),
            completions.halt_issued.eq(issue.halt_issued),
            completions.fault_issued.eq(issue.fault_issued),
            completions.fault_address.eq(sequencer.fault_address),
            completions.done.eq(self.done),
            completions.clear.eq(self.clear),
            completions.abort.eq(self.abort),
            completions.soft_reset.eq(self.soft_reset),
            self.irq.eq(completions.stopped),
            self.status.eq(completions.status),
            self.status.busy.eq(~completions.idle | (check.busy & ~completions.stopped)),
            counters.done.eq(self.done),
            counters.segment_end.eq(completions.stopped | (completions.idle & ~check.busy)),
            counters.flush.eq(completions.flush),
            self.counters.eq(counters.values),
        ]
        for event in (
            "issued",
            "row",
            "block",
            "read",
            "write",
            "stall_hazard",
            "stall_fence",
            "stall_port",
            "stall_completion",
        ):
            m.d.comb += getattr(counters, event).eq(getattr(issue, event))
        return m
