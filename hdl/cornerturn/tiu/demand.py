"""demand: issues instructions whose source is memory, and asks for their rows as they are made.

::

    i_row --> [ may it? ] --+--> o_request --> mem_reader
                  ^         +--> o_row ------> queue, until the beats are there
                  |
    go (first row), settled (serial), end

An instruction issues with its first row. Rows behind one that is outside of the array or the window
wait until the instruction has ended; then all that is left of it is dropped.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Demand"]

_ROWS_BITS = 8  # of the number of rows between here and their last slot: more than the queue holds


class Demand(wiring.Component):
    """Asks for rows in memory. Latency: 0 cycles; a row a cycle, one at a time if it is serial.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_row : In(stream of row)
        Taken when it goes on, or is dropped.
    go : In(1)
        An instruction may issue.
    settled : In(1)
        What has begun to be written to memory is written and answered.
    landed : In(1)
        The last slot of a row goes; from the next cycle on `settled` knows of it.
    end : In(1)
        The instruction that issued last ends here.
    flush : In(1)
        Drop everything.
    issued : Out(1)
        An instruction issues in this cycle.
    job : Out(job)
        Of the instruction that issued last, from the cycle behind it on.
    fault_address : Out(64)
        Of the row that ends it: lane * 2**32 + cell, or bytes.
    o_row : Out(stream of awaited_row)
    o_request : Out(stream of memory_request)
        Of every row that moves something, in the same cycle.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_row": In(stream.Signature(isa.row(config))),
                "go": In(1),
                "settled": In(1),
                "landed": In(1),
                "end": In(1),
                "flush": In(1),
                "issued": Out(1),
                "job": Out(isa.job(config)),
                "fault_address": Out(64),
                "o_row": Out(stream.Signature(isa.awaited_row(config))),
                "o_request": Out(stream.Signature(isa.memory_request(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        row, out, request = self.i_row.payload, self.o_row.payload, self.o_request.payload
        job = Signal(isa.job(config), reset_less=True)
        cell = Signal(signed(32), reset_less=True)
        lane = Signal(signed(32), reset_less=True)
        rows_left = Signal()  # of the instruction that issued last
        discard = Signal()  # ... all of them
        faulted = Signal()
        under_way = Signal(_ROWS_BITS)
        may = Signal()
        fire = Signal()
        drop = Signal()
        starts = row.first
        silent = row.void  # a row that ends its instruction is void, too
        m.d.comb += [
            drop.eq(self.i_row.valid & ~starts & (discard | self.end)),
            may.eq(
                self.i_row.valid
                & ~drop
                & ~faulted
                & Mux(starts, self.go, ~row.job.serial | ((under_way == 0) & self.settled))
            ),
            fire.eq(may & self.o_row.ready & (silent | self.o_request.ready)),
            self.i_row.ready.eq(fire | drop),
            # Neither `ready` waits for the other.
            self.o_row.valid.eq(may & (silent | self.o_request.ready)),
            self.o_request.valid.eq(may & ~silent & self.o_row.ready),
            *(out[name].eq(row[name]) for name in ("first", "last", "begin", "void", "fault")),
            out.lane.eq(row["out"].lane),
            out.offset.eq(row["out"].offset),
            out.cells.eq(row.cells),
            request.address.eq(row["in"].offset),
            request.bytes.eq((row.cells * config.cell_width) >> 3),
            request.last.eq(row.last),
            self.issued.eq(fire & starts),
            self.job.eq(job),
            self.fault_address.eq(Cat(cell, lane)),
        ]
        m.d.sync += under_way.eq(under_way + fire - self.landed)
        with m.If(fire):
            m.d.sync += [rows_left.eq(~row.last), faulted.eq(row.fault)]
            with m.If(row.fault):
                m.d.sync += [
                    cell.eq(Mux(row.fault_out, row["out"].offset, row["in"].offset)),
                    lane.eq(Mux(row.fault_out, row["out"].lane, row["in"].lane)),
                ]
        with m.If(self.issued):
            m.d.sync += job.eq(row.job)
        with m.If(self.end):
            m.d.sync += [discard.eq(rows_left), faulted.eq(0), under_way.eq(0)]
        with m.If(drop & row.last):
            m.d.sync += [rows_left.eq(0), discard.eq(0)]
        with m.If(self.flush):
            m.d.sync += [rows_left.eq(0), discard.eq(0), faulted.eq(0), under_way.eq(0)]
        return m
