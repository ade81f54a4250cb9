"""issue: lets a slot go, or makes it wait; and ends an instruction that is aborted.

The read half of a slot leaves at once as a micro-op; its write half goes to the aligner and
launches `write_delay` cycles later::

    i_slot --> [ may it? ] --+--> [read] --> o_read --> chain
                  ^          +--> o_write --> aligner
                  |
    blocked, drained, room, hold, early, launched
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Issue"]

_EVENTS = (
    "issued",
    "halt_issued",
    "fault_issued",
    "row",
    "block",
    "read",
    "write",
    "stall_completion",
    "stall_fence",
    "stall_hazard",
    "stall_port",
)


class Issue(wiring.Component):
    """Issues slots, and waits where section 4 of the specification says so.

    Latency: a slot issues in the cycle in which it is offered, if nothing holds it; its read
    micro-op is on the chain one cycle later.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_slot : In(stream of slot)
        Taken as it issues, or is dropped.
    hold : In(1)
        No instruction issues (the engine stops, or stands).
    blocked : In(1)
        The next instruction reads what is still to be written.
    drained : In(1)
        Everything issued has completed.
    room : In(1)
        There is room for one more completion.
    abort : In(1)
        End the instruction at issue; what is left of it is dropped.
    flush : In(1)
        Forget that an instruction is at issue.
    early, early_lane_high, launched : In
        From the aligner.
    o_read : Out(read_op)
    o_write : Out(slot_write)
    kill : Out(1)
        To the row generator: the instruction at issue ends here.
    discarding : Out(1)
        What is left of it is being dropped.
    issued, halt_issued : Out(1)
        An instruction (a HALT) issues in this cycle.
    fault_issued : Out(1)
        A row outside the array ends its instruction in this cycle.
    resume : Out(1)
        The slot of such a row is gone, issued or dropped.
    row, block, read, write, stall_* : Out(1)
        Events for the performance counters.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_slot": In(stream.Signature(isa.slot(config))),
                "hold": In(1),
                "blocked": In(1),
                "drained": In(1),
                "room": In(1),
                "abort": In(1),
                "flush": In(1),
                "early": In(isa.slot_write(config)),
                "early_lane_high": In(config.lane_bits),
                "launched": In(isa.slot_write(config)),
                "o_read": Out(isa.read_op(config)),
                "o_write": Out(isa.slot_write(config)),
                "kill": Out(1),
                "discarding": Out(1),
                "resume": Out(1),
            }
            | dict.fromkeys(_EVENTS, Out(1))
        )

    def elaborate(self, platform):
        m = Module()
        slot = self.i_slot.payload
        read, early = slot.read, self.early
        starts = Signal()  # first slot of an instruction
        fire = Signal()
        drop = Signal()
        row_wait = Signal()  # the serial row before is still to launch its last write
        begun = Signal()  # an instruction has issued, its marker has not
        discard = Signal()  # what is left of an instruction that was ended
        terminate = Signal()
        fault = Signal()  # the instruction ends with this slot, which is not its last
        m.d.comb += [
            starts.eq(self.i_slot.valid & slot.starts),
            terminate.eq(self.abort & begun),
            drop.eq(self.i_slot.valid & ~slot.starts & (self.abort | discard)),
            self.i_slot.ready.eq(fire | drop),
            fault.eq(fire & slot.fault & ~slot.ends),
            self.kill.eq(terminate | fault),
            self.discarding.eq(discard),
            self.resume.eq((fire | drop) & slot.fault),
            self.fault_issued.eq(fire & slot.fault),
        ]

        # At most one cause counts.
        causes = {
            "stall_completion": starts & ~self.room,
            "stall_fence": starts & slot.fence & ~self.drained,
            "stall_hazard": (starts & self.blocked & ~slot.empty) | (slot.begin & row_wait),
            # In the cycle in which the read would act, this write does: on the same word?
            "stall_port": (
                slot.swap
                & early.valid
                & early.swap_across
                & (early.word == read.word)
                & (early.skip <= slot.read_lane_high)
                & (read.skip <= self.early_lane_high)
            ),
        }
        free = self.i_slot.valid & ~drop & ~(starts & self.hold)
        m.d.comb += fire.eq(free & ~Cat(causes.values()).any())
        for name, holds in causes.items():
            m.d.comb += getattr(self, name).eq(free & holds)
            free = free & ~holds

        read_q = Signal(read.shape(), reset_less=True)
        read_valid = Signal()
        m.d.sync += [read_q.eq(read), read_valid.eq(fire & read.valid)]
        m.d.comb += [
            self.o_read.eq(read_q),
            self.o_read.valid.eq(read_valid),
            self.o_write.eq(slot.write),
            self.o_write.valid.eq(fire & slot.write.valid),
            self.o_write.fresh.eq(fire & slot.write.fresh),
            self.o_write.last.eq((fire & slot.write.last) | terminate),
            self.o_write.row_end.eq(fire & slot.write.row_end),
            self.issued.eq(fire & starts),
            self.halt_issued.eq(fire & starts & slot.halt),
            self.row.eq(fire & slot.begin & ~slot.void),
            self.block.eq(fire & slot.block & ~slot.empty),
            self.read.eq(fire & read.valid),
            self.write.eq(fire & slot.write.valid),
        ]

        with m.If(fire & slot.begin & slot.serial & slot.more_rows & ~slot.void):
            m.d.sync += row_wait.eq(1)
        with m.If(self.launched.row_end | terminate | self.flush):
            m.d.sync += row_wait.eq(0)
        with m.If(fire & starts):
            m.d.sync += begun.eq(1)
        with m.If((fire & slot.write.last) | terminate | self.flush):
            m.d.sync += begun.eq(0)
        with m.If(terminate | fault):
            m.d.sync += discard.eq(1)
        with m.If((drop & slot.ends) | self.flush):
            m.d.sync += discard.eq(0)
        return m
