"""tiler: the control circuit of the loops: ho outermost, then wo, then co; a block a turn.

Before every block it sets the offsets of input and output from what has been processed::

    cycle        0                 1                      2
    prepare --> [ load ] --> block 0: offsets 0     block 1 ready, if block 0 was taken in 1
                             o_block.valid with i_job.valid

                 base      step           a base is the offset at which a loop
    co goes on:  offset  + step_co        last stood with all loops inside it at 0
    wo goes on:  at_wo   + step_wo
    ho goes on:  at_ho   + step_ho

Whole segments come first, the rest is the last turn of the co loop.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..isa import LOOPS

__all__ = ["Tiler"]

_SIDES = ("in", "out")
_HO, _WO, _CO = range(len(LOOPS))


class Tiler(wiring.Component):
    """Blocks of an instruction, and their offsets.

    Latency: the first block is offered one cycle after `prepare`; a block a cycle, and none is lost
    between two instructions.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_job : In(stream of instruction)
        Taken with its first block.
    prepare : In(1)
        The payload of `i_job` stands, whether it is valid yet or not; low between two instructions.
    o_block : Out(stream of block)
    kill : In(1)
        No further block of the instruction whose first block was taken last, before this cycle.
    flush : In(1)
        Drop everything.
    trace : Out(block_trace)
        The block taken last.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_job": In(stream.Signature(isa.instruction(config))),
                "prepare": In(1),
                "o_block": Out(stream.Signature(isa.block(config))),
                "kill": In(1),
                "flush": In(1),
                "trace": Out(isa.block_trace(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sides = data.StructLayout(dict.fromkeys(_SIDES, isa.place(self._config)))
        job, block = self.i_job.payload, self.o_block.payload

        loaded = Signal()  # block 0 is to be taken
        running = Signal()  # it was, and others are to be
        start = Signal(sides, reset_less=True)
        steps = Signal(job.step.shape(), reset_less=True)
        repeat_m1 = Signal(job.repeat_m1.shape(), reset_less=True)
        segment = Signal(job.segment.shape(), reset_less=True)
        rest = Signal(job.rest.shape(), reset_less=True)

        index = Signal(job.repeat_m1.shape(), reset_less=True)
        final = [Signal(name=f"final_{name}", reset_less=True) for name in LOOPS]
        advanced = Signal(range(len(LOOPS)), reset_less=True)
        offset = Signal(sides, reset_less=True)
        at_wo = Signal(sides, reset_less=True)
        at_ho = Signal(sides, reset_less=True)

        last = Signal()
        taken = Signal()
        load = Signal()
        m.d.comb += [
            last.eq(final[_HO] & final[_WO] & final[_CO]),
            taken.eq(self.o_block.valid & self.o_block.ready),
            load.eq(self.prepare & ~loaded & (~running | (taken & last))),
            self.i_job.ready.eq(self.o_block.ready & loaded),
            self.o_block.valid.eq(running | (loaded & self.i_job.valid)),
            block.first.eq(loaded),
            block.last.eq(last),
            block.advanced.eq(advanced),
            block.segment.eq(Mux(final[_CO] & (rest != 0), rest, segment)),
            block.walk.eq(job.walk),
        ]
        for side in _SIDES:
            for unit in ("lane", "offset"):
                m.d.comb += block.start[side][unit].eq(start[side][unit] + offset[side][unit])

        # --- the next block
        # Which loop goes on, and from where: the loops inside it start again.
        goes_on = Signal(range(len(LOOPS)))
        base = Signal(sides)
        m.d.comb += [goes_on.eq(_CO), base.eq(offset)]
        with m.If(final[_CO]):
            m.d.comb += [goes_on.eq(_WO), base.eq(at_wo)]
            with m.If(final[_WO]):
                m.d.comb += [goes_on.eq(_HO), base.eq(at_ho)]
        following = Signal(sides)
        step = Signal(sides)
        m.d.comb += step.eq(steps[goes_on])
        for side in _SIDES:
            for unit in ("lane", "offset"):
                m.d.comb += following[side][unit].eq(base[side][unit] + step[side][unit])
        with m.If(taken):
            m.d.sync += [
                loaded.eq(0),
                running.eq(~last),
                advanced.eq(goes_on),
                offset.eq(following),
            ]
            for level in (_HO, _WO, _CO):
                with m.If(goes_on == level):
                    m.d.sync += [
                        index[level].eq(index[level] + 1),
                        final[level].eq(index[level] + 1 == repeat_m1[level]),
                    ]
                with m.Elif(goes_on < level):
                    m.d.sync += [index[level].eq(0), final[level].eq(repeat_m1[level] == 0)]
            with m.If(goes_on != _CO):
                m.d.sync += at_wo.eq(following)
            with m.If(goes_on == _HO):
                m.d.sync += at_ho.eq(following)

        # --- the next instruction
        with m.If(load):
            m.d.sync += [
                loaded.eq(1),
                running.eq(0),
                start.eq(job.start),
                steps.eq(job.step),
                repeat_m1.eq(job.repeat_m1),
                segment.eq(job.segment),
                rest.eq(job.rest),
                index.eq(0),
                *(value.eq(0) for value in (offset, at_wo, at_ho)),
                *(final[level].eq(job.repeat_m1[level] == 0) for level in (_HO, _WO, _CO)),
            ]
        with m.If(~self.prepare):  # rejected
            m.d.sync += loaded.eq(0)
        with m.If(self.kill & ~(taken & loaded)):  # it is of the instruction before
            m.d.sync += running.eq(0)
        with m.If(self.flush):
            m.d.sync += [loaded.eq(0), running.eq(0)]

        trace = Signal.like(self.trace)
        m.d.comb += self.trace.eq(trace)
        with m.If(taken):
            m.d.sync += [
                trace.index.eq(index),
                trace.repeat_co_m1.eq(repeat_m1[_CO]),
                trace.segment.eq(block.segment),
                trace.offset.eq(offset),
            ]
        return m
