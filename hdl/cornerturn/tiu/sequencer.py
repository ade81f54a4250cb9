"""sequencer: cuts rows into slots, one a cycle: generates the read, and determines the write.

A slot reads at most one beat and writes at most one. Its read micro-op leaves at once; its write
half goes to the aligner and launches `write_delay` cycles later::

                   +--> o_read --> chain
    i_row --> [row]
                   +--> o_slot --> aligner

    slot of a row     0     1     2          of a held row    0     1 ..  K     K+1
    read (nr = 2)     r0    r1    -                           r0    r1    ..
    write (nw = 3)    w0    w1    w2                          -     -     w0    w1

A row of a SWAP takes two slots a word: across -> along, then along -> across (`back`). Both use the
same positions in the beat, so nothing is rotated.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Sequencer"]

_EVENTS = (
    "issued",
    "halt_issued",
    "row",
    "block",
    "read",
    "write",
    "stall_completion",
    "stall_fence",
    "stall_hazard",
    "stall_port",
)


class Sequencer(wiring.Component):
    """Issues slots, and waits where section 4 of the specification says so.

    Latency: a row taken in cycle t issues its first slot in cycle t + 1 if nothing holds it; the
    read micro-op is on the chain one cycle after its slot.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_row : In(stream of row)
    hold : In(1)
        No instruction issues (the engine stops, or stands).
    blocked : In(1)
        The next instruction reads what is still to be written.
    drained : In(1)
        Everything issued has completed.
    room : In(1)
        There is room for one more completion.
    abort : In(1)
        End the instruction at issue.
    flush : In(1)
        Drop everything.
    early, early_lane_high, launched : In
        From the aligner.
    o_read : Out(read_op)
    o_slot : Out(slot_write)
    kill : Out(1)
        To the row generator: the instruction at issue ends here.
    issued, halt_issued : Out(1)
        An instruction (a HALT) issues in this cycle.
    row, block, read, write, stall_* : Out(1)
        Events for the performance counters.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_row": In(stream.Signature(isa.row(config))),
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
                "o_slot": Out(isa.slot_write(config)),
                "kill": Out(1),
            }
            | dict.fromkeys(_EVENTS, Out(1))
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        bits = config.offset_bits
        top = config.beat_cells - 1

        # --- the row at issue, and what is left of it
        row = Signal(isa.row(config), reset_less=True)
        valid = Signal()
        begin = Signal(reset_less=True)  # its first slot is still to come
        begin_write = Signal(reset_less=True)  # its first write is
        back = Signal(reset_less=True)  # second slot of a word of a SWAP: the sides are exchanged
        slots = Signal.like(row.read_beats, reset_less=True)
        wait = Signal(range(config.hold_beats + 1), reset_less=True)  # slots to its first write
        tail = Signal(bits, reset_less=True)  # last cell of the source's last beat
        tail_out = Signal(bits, reset_less=True)
        rotate = Signal(bits, reset_less=True)
        late = Signal(reset_less=True)
        held = Signal(reset_less=True)
        advance = Signal(config.lane_bits, reset_less=True)  # lanes of a whole beat
        advance_out = Signal(config.lane_bits, reset_less=True)
        job, reads, writes = row.job, row.read_beats, row.write_beats
        swap = job.swap

        # --- what the slot does
        fire = Signal()
        reading = Signal()
        writing = Signal()
        last_write = Signal()  # of the row
        end = Signal()  # last slot of the row
        first = Signal(bits)  # cells of the destination's beat
        final = Signal(bits)
        final_in = Signal(bits)
        element_mask = Signal(bits)
        m.d.comb += [
            reading.eq(swap | (reads != 0)),
            writing.eq(swap | ((writes != 0) & (wait == 0))),
            last_write.eq(job.empty | ((writes == 1) & Mux(swap, back, wait == 0))),
            end.eq(Mux(swap, last_write, slots == 1)),
            first.eq(Mux(job.out_along & begin_write, row["out"].cell[:bits], 0)),
            final.eq(Mux(writes == 1, tail_out, top)),
            final_in.eq(Mux(swap, final, Mux(reads == 1, tail, top))),
            element_mask.eq(~((1 << job.code) - 1)),
        ]
        read = Signal(isa.read_op(config))
        slot = Signal(isa.slot_write(config))
        source, target = row["in"], row["out"]
        read_along = Mux(back, 1, job.in_along)
        m.d.comb += [
            read.along.eq(read_along),
            read.skip.eq(Mux(back, target.lane, source.lane)),
            read.step_m1.eq(job.in_step_m1),
            read.position.eq(Mux(swap & ~back, first, 0)),
            read.last_position.eq(Mux(read_along, 0, final_in & element_mask)),
            read.word.eq(Mux(back, target.cell, source.cell)[bits:]),
            read.offset.eq(source.cell[:bits]),
            read.code.eq(job.code),
            slot.swap_across.eq(back),
            slot.held.eq(held),
            slot.late.eq(late),
            slot.rotate.eq(rotate),
            slot.along.eq(Mux(back, 0, job.out_along)),
            slot.skip.eq(Mux(back, source.lane, target.lane)),
            slot.step_m1.eq(Mux(swap, 0, job.out_step_m1)),
            slot.first.eq(first),
            slot.final.eq(Mux(slot.along, final, final & element_mask)),
            slot.word.eq(Mux(back, source.cell, target.cell)[bits:]),
            slot.offset.eq(Mux(back, source.cell, target.cell)[:bits]),
            slot.code.eq(job.code),
        ]

        # --- what holds it: at most one cause counts
        starts = Signal()  # first slot of an instruction
        row_wait = Signal()  # the serial row before is still to launch its last write
        read_high = Signal(config.lane_bits)
        early = self.early
        span = read.last_position - read.position
        m.d.comb += [
            starts.eq(valid & begin & row.first),
            read_high.eq(read.skip + (span[:bits] >> job.code)),
        ]
        causes = {
            "stall_completion": starts & ~self.room,
            "stall_fence": starts & job.fence & ~self.drained,
            "stall_hazard": (starts & self.blocked & ~job.empty) | (begin & row_wait),
            # In the cycle in which the read would act, this write does: on the same word?
            "stall_port": (
                swap
                & early.valid
                & early.swap_across
                & (early.word == read.word)
                & (early.skip <= read_high)
                & (read.skip <= self.early_lane_high)
            ),
        }
        discard = Signal()  # rows of an instruction that was ended
        drop = Signal()
        begun = Signal()  # an instruction has issued, its marker has not
        terminate = Signal()
        m.d.comb += [
            terminate.eq(self.abort & begun),
            drop.eq(valid & ~starts & (self.abort | discard)),
        ]
        free = valid & ~drop & ~terminate & ~(starts & self.hold)
        for name, holds in causes.items():
            m.d.comb += getattr(self, name).eq(free & holds)
            free = free & ~holds
        leave = Signal()
        marker = Signal()
        m.d.comb += [
            fire.eq(free),
            leave.eq((fire & end) | drop | (terminate & valid)),
            marker.eq(fire & last_write & row.last),
            self.kill.eq(terminate),
            self.i_row.ready.eq(~valid | leave),
        ]

        # --- the slot leaves
        read_q = Signal(isa.read_op(config), reset_less=True)
        read_valid = Signal()
        m.d.sync += [read_q.eq(read), read_valid.eq(fire & reading)]
        m.d.comb += [
            self.o_read.eq(read_q),
            self.o_read.valid.eq(read_valid),
            self.o_slot.eq(slot),
            self.o_slot.valid.eq(fire & writing),
            self.o_slot.last.eq(marker | terminate),
            self.o_slot.row_end.eq(fire & last_write & job.serial & ~row.last),
            self.issued.eq(fire & starts),
            self.halt_issued.eq(fire & starts & job.halt),
            self.row.eq(fire & begin & ~job.empty),
            self.block.eq(fire & starts & ~job.empty),
            self.read.eq(fire & reading),
            self.write.eq(fire & writing),
        ]

        # --- what is left after it
        with m.If(fire):
            m.d.sync += [begin.eq(0), slots.eq(slots - 1), back.eq(swap & ~back)]
            with m.If(wait != 0):
                m.d.sync += wait.eq(wait - 1)
            with m.If(reads != 0):
                m.d.sync += reads.eq(reads - 1)
            with m.If(writing & (back | ~swap)):
                m.d.sync += [begin_write.eq(0), writes.eq(writes - 1)]
                with m.If(job.out_along):
                    m.d.sync += target.cell[bits:].eq(target.cell[bits:] + 1)
                with m.Else():
                    m.d.sync += target.lane.eq(target.lane + advance_out)
            with m.If(back):  # the elements of a word are as many lanes
                m.d.sync += source.lane.eq(source.lane + ((top - first) >> job.code) + 1)
            with m.Elif(~swap):
                with m.If(job.in_along):
                    m.d.sync += source.cell[bits:].eq(source.cell[bits:] + 1)
                with m.Else():
                    m.d.sync += source.lane.eq(source.lane + advance)
            with m.If(begin & job.serial & ~row.last):
                m.d.sync += row_wait.eq(1)
        with m.If(self.launched.row_end | terminate):
            m.d.sync += row_wait.eq(0)
        with m.If(fire & starts):
            m.d.sync += begun.eq(1)
        with m.If(marker | terminate):
            m.d.sync += begun.eq(0)
        with m.If(terminate):
            m.d.sync += discard.eq(1)
        with m.If(leave):
            m.d.sync += valid.eq(0)
            with m.If(row.last):
                m.d.sync += discard.eq(0)

        # --- the next row
        with m.If(self.i_row.valid & self.i_row.ready):
            new = self.i_row.payload
            offset_in = Mux(new.job.in_along, new["in"].cell[:bits], 0)
            offset_out = Mux(new.job.out_along, new["out"].cell[:bits], 0)
            beats = Mux(new.read_beats > new.write_beats, new.read_beats, new.write_beats)
            m.d.sync += [
                valid.eq(1),
                row.eq(new),
                begin.eq(1),
                begin_write.eq(1),
                back.eq(0),
                slots.eq(beats),
                wait.eq(0),
                held.eq(0),
                tail.eq(new.job.cells + offset_in - 1),
                tail_out.eq(new.job.cells + offset_out - 1),
                rotate.eq(Mux(new.job.swap, 0, offset_out - offset_in)),
                late.eq(~new.job.swap & (offset_out < offset_in)),
                advance.eq(((new.job.in_step_m1 + 1) << bits) >> new.job.code),
                advance_out.eq(((new.job.out_step_m1 + 1) << bits) >> new.job.code),
            ]
            if config.hold_beats:
                with m.If(new.job.serial & (new.read_beats > config.protected_beats)):
                    m.d.sync += [
                        held.eq(1),
                        wait.eq(config.hold_beats),
                        slots.eq(beats + config.hold_beats),
                    ]
            with m.If(new.job.empty):
                m.d.sync += [slots.eq(1), reads.eq(0), writes.eq(0)]
        with m.If(self.flush):
            m.d.sync += [valid.eq(0), begun.eq(0), discard.eq(0), row_wait.eq(0)]
        return m
