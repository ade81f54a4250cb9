"""completions: counts what is in flight, answers every command in order, and stops the engine.

::

    issued, done --> [outstanding] --> drained
               done --> [pending] --> o_rsp {index, status}
    i_code (rejection), fault --> [ stop: halted | rejected | aborted ] --> irq, status
    abort, soft_reset, clear -->

An instruction that completes is OK, unless an abort is going on; so counters stand for a queue of
statuses: those pending from before the abort, then the aborted ones, then a rejection (or what a
row outside the array ended: nothing issues behind it). A stop ends only when all of them are taken.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..fields import Status

__all__ = ["Completions"]


class Completions(wiring.Component):
    """Completion stream, stop conditions and control of the engine.

    Latency: a completion is offered one cycle after its marker is back (`done`); `drained` follows
    the last completion's offer by one cycle.

    Parameters
    ----------
    config : Config

    Members
    -------
    issued, halt_issued, done : In(1)
        An instruction (a HALT) issues; the marker of the oldest one is back.
    fault_issued : In(1), fault_address : In(64)
        The instruction issued last ends in this cycle, by a row outside the array.
    i_code : In(stream of status)
        A rejection; taken when everything before it is done.
    o_rsp : Out(stream of completion)
    clear, abort, soft_reset : In(1)
        Pulses, section 6 of the specification.
    hold : Out(1)
        No instruction issues.
    drained : Out(1)
        Nothing is outstanding, as of the cycle before.
    room : Out(1)
        Completions are taken fast enough.
    aborting : Out(1)
        The instruction at issue is to end.
    flush : Out(1)
        Soft reset: drop what is accepted but not issued, and the counters.
    stopped : Out(1)
        The engine stands until `clear`.
    idle : Out(1)
        Nothing is outstanding, and no completion waits to be taken.
    status : Out(engine_status)
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "issued": In(1),
                "halt_issued": In(1),
                "done": In(1),
                "fault_issued": In(1),
                "fault_address": In(64),
                "i_code": In(stream.Signature(isa.STATUS_BITS)),
                "o_rsp": Out(stream.Signature(isa.completion())),
                "clear": In(1),
                "abort": In(1),
                "soft_reset": In(1),
                "hold": Out(1),
                "drained": Out(1),
                "room": Out(1),
                "aborting": Out(1),
                "flush": Out(1),
                "stopped": Out(1),
                "idle": Out(1),
                "status": Out(isa.engine_status()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        capacity = self._config.outstanding
        outstanding = Signal(range(capacity + 1))
        untaken = Signal(range(capacity + 1))  # issued, completion not taken
        pending = Signal(range(capacity + 1))  # completed OK, not taken
        pending_aborted = Signal(range(capacity + 1))
        rejection = Signal()  # a rejection's completion is to be taken
        index = Signal(32)
        status = Signal(isa.engine_status())
        halting = Signal()
        faulting = Signal()
        aborting = Signal()
        resetting = Signal()
        clearing = Signal()
        stopped = Signal()
        hold = Signal()  # stopped, halting or aborting, as a register of its own
        drained = Signal()
        room = Signal()
        idle = Signal()  # nothing outstanding or pending
        ended = Signal()  # what a fault ended is done

        m.d.comb += [
            stopped.eq(status.halted | status.rejected | status.aborted),
            self.stopped.eq(stopped),
            self.status.eq(status),
            self.idle.eq(idle),
            self.hold.eq(hold),
            self.aborting.eq(aborting),
            self.drained.eq(drained),
            self.room.eq(room),
            idle.eq((outstanding == 0) & (pending == 0) & (pending_aborted == 0) & ~rejection),
            self.flush.eq(resetting & idle),
            ended.eq(faulting & self.done & (outstanding == 1) & ~aborting),
        ]
        m.d.sync += [drained.eq(outstanding == 0), room.eq(untaken < capacity)]

        # --- completions
        rsp = self.o_rsp
        taken = rsp.valid & rsp.ready
        m.d.comb += [
            rsp.valid.eq((pending != 0) | (pending_aborted != 0) | rejection),
            rsp.payload.index.eq(index),
            rsp.payload.status.eq(
                Mux(pending != 0, Status.OK, Mux(pending_aborted != 0, Status.ABORTED, status.code))
            ),
        ]
        take_ok = taken & (pending != 0)
        take_aborted = taken & (pending == 0) & (pending_aborted != 0)
        m.d.sync += [
            outstanding.eq(outstanding + self.issued - self.done),
            untaken.eq(untaken + self.issued - (take_ok | take_aborted) - ended),
            pending.eq(pending + (self.done & ~aborting & ~ended) - take_ok),
            pending_aborted.eq(pending_aborted + (self.done & aborting) - take_aborted),
            index.eq(index + taken),
        ]
        with m.If(taken & ~take_ok & ~take_aborted):
            m.d.sync += rejection.eq(0)

        # --- stops
        with m.If(self.halt_issued):
            m.d.sync += [halting.eq(1), hold.eq(1)]
        with m.If(halting & (outstanding == 0) & ~aborting):
            m.d.sync += [halting.eq(0), status.halted.eq(1)]
        m.d.comb += self.i_code.ready.eq((outstanding == 0) & ~stopped & ~halting & ~aborting)
        rejected = self.i_code.valid & self.i_code.ready
        with m.If(self.fault_issued):
            m.d.sync += [faulting.eq(1), hold.eq(1), status.address.eq(self.fault_address)]
        with m.If(rejected):
            m.d.sync += status.address.eq(0)
        with m.If(rejected | ended):
            m.d.sync += [
                hold.eq(1),
                faulting.eq(0),
                rejection.eq(1),
                status.rejected.eq(1),
                status.code.eq(Mux(ended, Status.RANGE, self.i_code.payload)),
                # Of what is still to be taken, the rejection is the last.
                status.index.eq(index + pending + pending_aborted),
            ]
        with m.If(self.abort & ~stopped):
            m.d.sync += [aborting.eq(1), hold.eq(1)]
        with m.If(aborting & (outstanding == 0) & ~resetting):
            m.d.sync += [aborting.eq(0), halting.eq(0), faulting.eq(0), status.aborted.eq(1)]
        with m.If(self.clear & stopped):
            m.d.sync += clearing.eq(1)
        with m.If(clearing & idle):
            m.d.sync += [
                hold.eq(0),
                clearing.eq(0),
                status.halted.eq(0),
                status.rejected.eq(0),
                status.aborted.eq(0),
            ]
        # A stop that is being cleared goes on.
        with m.If(self.abort & stopped & (clearing | self.clear)):
            m.d.sync += [hold.eq(1), clearing.eq(0), status.aborted.eq(1)]
        with m.If(self.soft_reset):
            m.d.sync += [aborting.eq(1), resetting.eq(1), hold.eq(1)]
        with m.If(self.flush):
            m.d.sync += [
                hold.eq(0),
                aborting.eq(0),
                halting.eq(0),
                faulting.eq(0),
                resetting.eq(0),
                clearing.eq(0),
                index.eq(0),
                status.eq(0),
            ]
        return m
