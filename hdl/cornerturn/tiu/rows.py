"""rows: walks the digits of an instruction and works out each row's addresses and beats.

Four registers deep and elastic; a row a cycle, and none is lost between two instructions::

    i_job --> [walk] --> [jump] --> [place] --> [measure] --> o_row
              digits     which      address     beats of
              left       jump       += jump     each side

An address moves by one jump a row: that of the innermost digit that still counts, which undoes the
digits inside it.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .. import isa
from ..fields import DIGITS
from .slice import Slice

__all__ = ["Rows"]

_SIDES = ("in", "out")


class Rows(wiring.Component):
    """Row generator of the loops over the digits.

    Latency: an instruction taken in cycle t gives its first row in cycle t + 4.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_job : In(stream of instruction)
        Taken when the one ahead has been walked.
    o_row : Out(stream of row)
    kill : In(1)
        End the instruction being issued early: no row after the next is made of it.
    flush : In(1)
        Drop everything.
    issued : In(1)
        The first row of an instruction is taken from `o_row` (its walk is the older one).
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_job": In(stream.Signature(isa.instruction(config))),
                "o_row": Out(stream.Signature(isa.row(config))),
                "kill": In(1),
                "flush": In(1),
                "issued": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        sides = data.StructLayout({"in": isa.address(config), "out": isa.address(config)})

        # A stage takes what is before it when it is empty or being emptied.
        m.submodules.measure = measure = Slice(isa.row(config))
        names = ("walk", "jump", "place")
        valid = {name: Signal(name=f"{name}_valid") for name in names}
        ready = {name: Signal(name=f"{name}_ready") for name in names}
        taken = [*(ready[name] for name in names[1:]), measure.i.ready]
        for name, after in zip(names, taken, strict=True):
            m.d.comb += ready[name].eq(~valid[name] | after)

        # walk: the row that leaves is described by `first`, `last` and the jump that leads to it.
        job = self.i_job.payload
        loaded = Signal.like(job, name="loaded", reset_less=True)
        left = [Signal(16, name=f"left_{name}", reset_less=True) for name in DIGITS]
        done = [Signal(name=f"done_{name}", reset_less=True) for name in DIGITS]
        first = Signal(reset_less=True)
        chosen = Signal(range(len(DIGITS)), reset_less=True)
        last = Signal()
        killed = Signal(reset_less=True)
        leaves = Signal()
        take = Signal()
        m.d.comb += [
            last.eq(Cat(done).all() | killed),
            leaves.eq(valid["walk"] & ready["jump"]),
            self.i_job.ready.eq(~valid["walk"] | (leaves & last)),
            take.eq(self.i_job.valid & self.i_job.ready),
        ]
        with m.If(leaves):
            m.d.sync += [first.eq(0), valid["walk"].eq(~last)]
            inner_done = 1
            for index in reversed(range(len(DIGITS))):
                count_m1 = loaded.count_m1[index]
                with m.If(inner_done & ~done[index]):
                    m.d.sync += [
                        chosen.eq(index),
                        left[index].eq(left[index] - 1),
                        done[index].eq(left[index] == 1),
                    ]
                with m.Elif(inner_done & done[index]):
                    m.d.sync += [left[index].eq(count_m1), done[index].eq(count_m1 == 0)]
                inner_done = inner_done & done[index]
        # `ahead`: the walk is already of the instruction behind the one that issues.
        ahead = Signal()
        with m.If(self.issued):
            m.d.sync += ahead.eq(0)
        with m.If(self.kill & ~ahead):
            m.d.sync += killed.eq(1)
        with m.If(take):
            m.d.sync += [
                loaded.eq(job),
                first.eq(1),
                valid["walk"].eq(1),
                ahead.eq(1),
                killed.eq(0),
            ]
            for index in range(len(DIGITS)):
                count_m1 = Mux(job.job.empty, 0, job.count_m1[index])
                m.d.sync += [left[index].eq(count_m1), done[index].eq(count_m1 == 0)]

        # jump
        jump = Signal(sides, reset_less=True)
        jump_flags = Signal(2, reset_less=True)
        with m.If(ready["jump"]):
            m.d.sync += [
                valid["jump"].eq(valid["walk"]),
                jump.eq(loaded.jump[chosen]),
                jump_flags.eq(Cat(first, last)),
            ]

        # place: `loaded` is still of this instruction when its first row comes by, for the next is
        # taken only after this one has issued.
        place = Signal(sides, reset_less=True)
        place_flags = Signal(2, reset_less=True)
        place_job = Signal(isa.job(config), reset_less=True)
        with m.If(ready["place"]):
            m.d.sync += [valid["place"].eq(valid["jump"]), place_flags.eq(jump_flags)]
        with m.If(ready["place"] & valid["jump"]):
            with m.If(jump_flags[0]):
                m.d.sync += [place.eq(loaded.start), place_job.eq(loaded.job)]
            with m.Else():
                for side in _SIDES:
                    for unit in ("lane", "cell"):
                        m.d.sync += place[side][unit].eq(place[side][unit] + jump[side][unit])
                with m.If(place_job.swap):  # one element less, row by row
                    m.d.sync += place_job.cells.eq(place_job.cells - (1 << place_job.code))

        # measure: the beats of each side (an along side starts within a word)
        row = measure.i.payload
        m.d.comb += [
            measure.i.valid.eq(valid["place"]),
            Cat(row.first, row.last).eq(place_flags),
            row.job.eq(place_job),
            row["in"].eq(place["in"]),
            row["out"].eq(place["out"]),
            measure.flush.eq(self.flush),
        ]
        for side, beats in (("in", row.read_beats), ("out", row.write_beats)):
            offset = Mux(place_job[f"{side}_along"], place[side].cell[: config.offset_bits], 0)
            ceiling = place_job.cells + offset + (config.beat_cells - 1)
            m.d.comb += beats.eq(ceiling >> config.offset_bits)
        connect(m, measure.o, flipped(self.o_row))

        with m.If(self.flush):
            m.d.sync += [bit.eq(0) for bit in (*valid.values(), ahead)]
        return m
