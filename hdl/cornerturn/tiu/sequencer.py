"""sequencer: cuts rows into slots, one a cycle: generates the read, and determines the write.

A slot reads at most one beat and writes at most one::

    i_row --> [row, what is left of it] --> [slot] --> o_slot

    slot of a row     0     1     2          of a held row    0     1 ..  K     K+1
    read (nr = 2)     r0    r1    -                           r0    r1    ..
    write (nw = 3)    w0    w1    w2                          -     -     w0    w1

A row that goes to memory from an offset in a word is written a slot later than it is read: so no
slot needs the beat of the one behind it, and any of them may wait::

    read (nr = 3)     r0    r1    r2
    write (nw = 2)    -     w0    w1

A row of a SWAP takes two slots a word: across -> along, then along -> across (`back`). Both use the
same positions in the beat, so nothing is rotated.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .. import isa
from .slice import Slice

__all__ = ["Sequencer"]


class Sequencer(wiring.Component):
    """From rows to slots (section 3 of the specification).

    Latency: a row taken in cycle t gives its first slot in cycle t + 2; a slot a cycle, and none is
    lost between rows.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_row : In(stream of row)
    o_slot : Out(stream of slot)
    flush : In(1)
        Drop everything.
    issued : In(1)
        The first slot of an instruction issues.
    skip : In(1)
        What is left of the instruction that issued last is dropped: a slot for each row will do.
    resume : In(1)
        The slot of a row that ended its instruction is gone; until then no row is taken behind it.
    fault_address : Out(64)
        Where such a row starts: lane * 2**32 + cell.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_row": In(stream.Signature(isa.row(config))),
                "o_slot": Out(stream.Signature(isa.slot(config))),
                "flush": In(1),
                "issued": In(1),
                "skip": In(1),
                "resume": In(1),
                "fault_address": Out(64),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        bits = config.offset_bits
        top = config.beat_cells - 1

        # --- the row, and what is left of it
        row = Signal(isa.row(config), reset_less=True)
        source = Signal(isa.address(config), reset_less=True)
        target = Signal(isa.address(config), reset_less=True)
        cell = Signal(signed(32), reset_less=True)  # of a fault
        lane = Signal(signed(32), reset_less=True)
        valid = Signal()
        ahead = Signal()  # the row is of the instruction behind the one that issued last
        faulted = Signal()  # the row ends its instruction, and waits until that is done
        begin = Signal(reset_less=True)  # its first slot is still to come
        begin_write = Signal(reset_less=True)  # its first write is
        back = Signal(reset_less=True)  # second slot of a word of a SWAP: the sides are exchanged
        slots = Signal.like(row.read_beats, reset_less=True)
        # What the counters say, as registers: slots, reads and writes are short of time.
        final_slot = Signal(reset_less=True)
        final_read = Signal(reset_less=True)
        final_write = Signal(reset_less=True)
        reading = Signal(reset_less=True)
        more_writes = Signal(reset_less=True)
        # Slots to its first write.
        wait = Signal(range(max(config.hold_beats, 1) + 1), reset_less=True)
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
        writing = Signal()
        last_write = Signal()  # of the row
        end = Signal()  # last slot of the row
        first = Signal(bits)  # cells of the destination's beat
        final = Signal(bits)
        final_in = Signal(bits)
        element_mask = Signal(bits)
        m.d.comb += [
            writing.eq(swap | (more_writes & (wait == 0))),
            last_write.eq(row.void | (final_write & Mux(swap, back, wait == 0))),
            end.eq(Mux(swap, last_write, final_slot) | (self.skip & ~ahead)),
            first.eq(Mux(job.out_along & begin_write, target.cell[:bits], 0)),
            final.eq(Mux(final_write, tail_out, top)),
            final_in.eq(Mux(swap, final, Mux(final_read, tail, top))),
            element_mask.eq(~((1 << job.code) - 1)),
        ]
        slot = Signal(isa.slot(config))
        read, write = slot.read, slot.write
        read_along = Mux(back, 1, job.in_along)
        span = (final & element_mask) - first  # of a SWAP
        m.d.comb += [
            slot.starts.eq(begin & row.first),
            slot.ends.eq(end & row.last),
            slot.begin.eq(begin),
            slot.end.eq(end),
            slot.block.eq(begin & row.begin),
            slot.more_rows.eq(~row.last),
            slot.empty.eq(job.empty),
            slot.void.eq(row.void),
            slot.fault.eq(row.fault),
            slot.swap.eq(swap),
            slot.fence.eq(job.fence),
            slot.halt.eq(job.halt),
            slot.serial.eq(job.serial),
            slot.read_lane_high.eq(Mux(back, target.lane, source.lane + (span[:bits] >> job.code))),
            read.valid.eq(swap | reading),
            read.along.eq(read_along),
            read.skip.eq(Mux(back, target.lane, source.lane)),
            read.step_m1.eq(job.in_step_m1),
            read.position.eq(Mux(swap & ~back, first, 0)),
            read.last_position.eq(Mux(read_along, 0, final_in & element_mask)),
            read.word.eq(Mux(back, target.cell, source.cell)[bits:]),
            read.offset.eq(source.cell[:bits]),
            read.code.eq(job.code),
            write.valid.eq(writing),
            write.fresh.eq(reading | ~job.out_memory),
            write.memory.eq(job.out_memory),
            write.last.eq(last_write & (row.last | row.fault)),
            write.row_end.eq(last_write & job.serial & ~row.last & ~row.void),
            write.swap_across.eq(back),
            write.held.eq(held),
            write.late.eq(late),
            write.rotate.eq(rotate),
            write.along.eq(Mux(back, 0, job.out_along)),
            write.skip.eq(Mux(back, source.lane, target.lane)),
            write.step_m1.eq(job.out_step_m1),
            write.first.eq(first),
            write.final.eq(Mux(write.along, final, final & element_mask)),
            write.word.eq(Mux(back, source.cell, target.cell)[bits:]),
            write.offset.eq(Mux(back, source.cell, target.cell)[:bits]),
            write.code.eq(job.code),
        ]

        # --- it leaves
        m.submodules.out = out = Slice(isa.slot(config))
        goes = Signal()
        row_faults = Signal()
        connect(m, out.o, flipped(self.o_slot))
        m.d.comb += [
            out.i.payload.eq(slot),
            out.i.valid.eq(valid),
            out.flush.eq(self.flush),
            goes.eq(valid & out.i.ready),
            self.i_row.ready.eq((~valid | (goes & end)) & ~row_faults & ~faulted),
        ]
        # The address of a fault stands until the engine has stopped for it.
        m.d.comb += [row_faults.eq(valid & row.fault), self.fault_address.eq(Cat(cell, lane))]
        with m.If(goes & row.fault):
            m.d.sync += faulted.eq(1)
        with m.If(self.resume | self.flush):
            m.d.sync += faulted.eq(0)

        # --- what is left after it
        with m.If(self.issued):
            m.d.sync += ahead.eq(0)
        with m.If(goes):
            m.d.sync += [
                valid.eq(~end),
                begin.eq(0),
                slots.eq(slots - 1),
                final_slot.eq(slots == 2),
                reads.eq(reads - 1),
                final_read.eq(reads == 2),
                reading.eq(reading & ~final_read),
                back.eq(swap & ~back),
            ]
            with m.If(wait != 0):
                m.d.sync += wait.eq(wait - 1)
            with m.If(writing & (back | ~swap)):
                m.d.sync += [
                    begin_write.eq(0),
                    writes.eq(writes - 1),
                    final_write.eq(writes == 2),
                    more_writes.eq(~final_write),
                ]
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

        # --- the next row
        with m.If(self.i_row.valid & self.i_row.ready):
            new = self.i_row.payload
            offset_in = Mux(new.job.in_along, new["in"].offset[:bits], 0)
            offset_out = Mux(new.job.out_along, new["out"].offset[:bits], 0)
            beats = Mux(new.read_beats > new.write_beats, new.read_beats, new.write_beats)
            m.d.sync += [
                valid.eq(1),
                ahead.eq(new.first | (ahead & ~self.issued)),
                row.eq(new),
                source.lane.eq(new["in"].lane),
                source.cell.eq(new["in"].offset),
                target.lane.eq(new["out"].lane),
                target.cell.eq(new["out"].offset),
                cell.eq(Mux(new.fault_out, new["out"].offset, new["in"].offset)),
                lane.eq(Mux(new.fault_out, new["out"].lane, new["in"].lane)),
                begin.eq(1),
                begin_write.eq(1),
                back.eq(0),
                slots.eq(beats),
                final_slot.eq(beats == 1),
                final_read.eq(new.read_beats == 1),
                final_write.eq(new.write_beats == 1),
                reading.eq(1),
                more_writes.eq(1),
                wait.eq(0),
                held.eq(0),
                tail.eq(new.cells + offset_in - 1),
                tail_out.eq(new.cells + offset_out - 1),
                rotate.eq(Mux(new.job.swap, 0, offset_out - offset_in)),
                late.eq((offset_out < offset_in) & ~new.job.out_memory),
                advance.eq(((new.job.in_step_m1 + 1) << bits) >> new.job.code),
                advance_out.eq(((new.job.out_step_m1 + 1) << bits) >> new.job.code),
            ]
            with m.If(new.job.out_memory & (offset_in != 0)):
                m.d.sync += [wait.eq(1), slots.eq(new.write_beats + 1), final_slot.eq(0)]
            if config.hold_beats:
                with m.If(new.job.serial & ~new.void & (new.read_beats > config.protected_beats)):
                    m.d.sync += [
                        held.eq(1),
                        wait.eq(config.hold_beats),
                        slots.eq(beats + config.hold_beats),
                        final_slot.eq(0),
                    ]
            with m.If(new.void):
                m.d.sync += [final_slot.eq(1), reading.eq(0), more_writes.eq(0), final_write.eq(0)]
        with m.If(self.flush):
            m.d.sync += valid.eq(0)
        return m
