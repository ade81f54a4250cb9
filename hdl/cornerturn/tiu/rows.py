"""rows: walks the digits of every block and works out each row's places and beats.

Elastic registers; a row a cycle, and none is lost between two blocks or instructions::

    i_block --> [walk] --> [turned] --> [placed] --> [left] --> [trimmed] --> [sized] --> [judged]
                digits     which        place        to the     elements      cells,      beats,
                left       jump         += jump      limits                   lanes       fault
                             +--- Bounds: coordinates, limits ------+                       +> o_row

A place moves by one jump a row: that of the innermost digit that still counts, which undoes the
digits inside it.
"""

import itertools

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .. import isa
from ..fields import DIGITS
from ..isa import LOOPS, ROW_CELL_BITS
from .bounds import Bounds
from .slice import Slice

__all__ = ["Rows"]

_SIDES = ("in", "out")
_STAGES = ("walk", "turned", "placed", "left", "trimmed", "sized")


class Rows(wiring.Component):
    """Row generator of the loops over the digits.

    Latency: a block taken in cycle t gives its first row in cycle t + 7.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_block : In(stream of block)
        Taken when the one ahead has been walked.
    o_row : Out(stream of row)
    kill : In(1)
        End the instruction being issued early: no row after the next is made of it.
    flush : In(1)
        Drop everything.
    issued : In(1)
        The first row of an instruction is taken from `o_row` (its walk is the older one).
    no_more_blocks : Out(1)
        `kill`, for the tiler: the instruction being issued has blocks to come.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_block": In(stream.Signature(isa.block(config))),
                "o_row": Out(stream.Signature(isa.row(config))),
                "kill": In(1),
                "flush": In(1),
                "issued": In(1),
                "no_more_blocks": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        m.submodules.bounds = bounds = Bounds()
        m.submodules.judged = judged = Slice(isa.row(config))

        # A stage takes what is before it when it is empty or being emptied.
        self._valid = valid = {name: Signal(name=f"{name}_valid") for name in _STAGES}
        self._ready = ready = {name: Signal(name=f"{name}_ready") for name in _STAGES}
        taken = [*(ready[name] for name in _STAGES[1:]), judged.i.ready]
        for name, after in zip(_STAGES, taken, strict=True):
            m.d.comb += ready[name].eq(~valid[name] | after)

        # What a row takes with it from stage to stage.
        token = data.StructLayout(
            {"first": 1, "last": 1, "begin": 1, "elements": 24, "job": isa.job(config)}
        )
        sides = data.StructLayout(dict.fromkeys(_SIDES, isa.place(config)))
        self._tokens = {name: Signal(token, name=name, reset_less=True) for name in _STAGES[1:]}
        self._places = {
            name: Signal(sides, name=f"{name}_place", reset_less=True) for name in _STAGES[1:]
        }
        jump = self._walk(m, bounds)
        self._place(m, jump)
        for before, name in itertools.pairwise(_STAGES[2:]):
            with m.If(ready[name]):
                m.d.sync += [
                    valid[name].eq(valid[before]),
                    self._tokens[name].eq(self._tokens[before]),
                    self._places[name].eq(self._places[before]),
                ]
        self._judge(m, bounds, judged.i)

        m.d.comb += [
            bounds.place.eq(ready["placed"] & valid["turned"]),
            bounds.leave.eq(ready["left"]),
            bounds.trim.eq(ready["trimmed"]),
            bounds.elements.eq(self._tokens["left"].elements),
            judged.flush.eq(self.flush),
        ]
        connect(m, judged.o, flipped(self.o_row))
        with m.If(self.flush):
            m.d.sync += [bit.eq(0) for bit in (*valid.values(), self._ahead)]
        return m

    def _walk(self, m, bounds):
        """The digits' state: `walk` describes the row that leaves. Returns the jump to it."""
        valid, ready = self._valid, self._ready
        block = self.i_block.payload
        loaded = Signal.like(block, name="loaded", reset_less=True)
        walk = loaded.walk
        left = [Signal(16, name=f"left_{name}", reset_less=True) for name in DIGITS]
        done = [Signal(name=f"done_{name}", reset_less=True) for name in DIGITS]
        begin = Signal(reset_less=True)
        chosen = Signal(range(len(DIGITS)), reset_less=True)
        last_of_block = Signal()
        last = Signal()
        killed = Signal(reset_less=True)
        leaves = Signal()
        take = Signal()
        m.d.comb += [
            last_of_block.eq(Cat(done).all()),
            last.eq((last_of_block & loaded.last) | killed),
            leaves.eq(valid["walk"] & ready["turned"]),
            self.i_block.ready.eq(~valid["walk"] | (leaves & (last_of_block | killed))),
            take.eq(self.i_block.valid & self.i_block.ready),
        ]
        with m.If(leaves):
            m.d.sync += [begin.eq(0), valid["walk"].eq(~last_of_block & ~killed)]
            inner_done = 1
            for index in reversed(range(len(DIGITS))):
                count_m1 = walk.count_m1[index]
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
        self._ahead = ahead = Signal()
        # With its first slot an instruction may issue and end at once.
        m.d.comb += self.no_more_blocks.eq(self.kill & (~ahead | self.issued))
        with m.If(self.issued):
            m.d.sync += ahead.eq(0)
        with m.If(self.no_more_blocks):
            m.d.sync += killed.eq(1)
        with m.If(take):
            m.d.sync += [
                *(loaded[name].eq(block[name]) for name in ("first", "last", "advanced")),
                *(loaded[name].eq(block[name]) for name in ("start", "segment")),
                begin.eq(1),
                valid["walk"].eq(1),
            ]
        # Between two blocks of an instruction the digits have started again by themselves.
        with m.If(take & block.first):
            m.d.sync += [loaded.walk.eq(block.walk), ahead.eq(1), killed.eq(0)]
            job = block.walk.job
            for index in range(len(DIGITS)):
                count_m1 = Mux(job.empty, 0, block.walk.count_m1[index])
                m.d.sync += [left[index].eq(count_m1), done[index].eq(count_m1 == 0)]
        # But the segment, if it is the count of digit 0, is the block's own.
        now = Mux(
            block.first, block.walk.segment_is_digit & ~block.walk.job.empty, walk.segment_is_digit
        )
        with m.If(take & now):
            m.d.sync += [left[0].eq(block.segment - 1), done[0].eq(block.segment == 1)]

        starts = begin & loaded.first
        m.d.comb += [
            bounds.limits.eq(walk.limits),
            bounds.turn.eq(leaves),
            bounds.first.eq(starts),
            bounds.level.eq(Mux(begin, loaded.advanced, chosen + len(LOOPS))),
        ]
        jump = Signal.like(loaded.start, name="jump", reset_less=True)
        with m.If(ready["turned"]):
            m.d.sync += [
                valid["turned"].eq(valid["walk"]),
                jump.eq(Mux(begin, loaded.start, walk.jump[chosen])),
                self._tokens["turned"].eq(
                    Cat(
                        starts,
                        last,
                        begin,
                        Mux(walk.segment_is_digit, walk.elements, loaded.segment),
                        walk.job,
                    )
                ),
            ]
        return jump

    def _place(self, m, jump):
        """The sum of the jumps."""
        place, before = self._places["placed"], self._tokens["turned"]
        token = self._tokens["placed"]
        with m.If(self._ready["placed"]):
            m.d.sync += self._valid["placed"].eq(self._valid["turned"])
        with m.If(self._ready["placed"] & self._valid["turned"]):
            m.d.sync += token.eq(before)
            with m.If(before.begin):
                m.d.sync += place.eq(jump)
            with m.Else():
                for side in _SIDES:
                    for unit in ("lane", "offset"):
                        m.d.sync += place[side][unit].eq(place[side][unit] + jump[side][unit])
                with m.If(before.job.swap):  # one element less, row by row
                    m.d.sync += token.elements.eq(token.elements - 1)

    def _judge(self, m, bounds, judged):
        """The beats of each side (an along side starts within a word), and whether it is inside."""
        config = self._config
        trimmed, elements = self._tokens["trimmed"], bounds.trimmed
        cells = Signal(ROW_CELL_BITS, reset_less=True)
        void = Signal(reset_less=True)
        limited = Signal(reset_less=True)
        many = Signal(reset_less=True)  # more elements than lanes
        lanes = {}  # from the first to the last one of an across row
        with m.If(self._ready["sized"]):
            m.d.sync += [
                cells.eq(elements << trimmed.job.code),
                void.eq(bounds.empty | trimmed.job.empty),
                many.eq(elements > config.lanes),
                # Judged only where limits trim: else the check has seen all of it.
                limited.eq(bounds.limited),
            ]
            for side in _SIDES:
                lanes[side] = Signal(
                    2 * config.lane_bits + 1, name=f"lanes_{side}", reset_less=True
                )
                last = (elements - 1)[: config.lane_bits]
                m.d.sync += lanes[side].eq(last * (trimmed.job[f"{side}_step_m1"] + 1))

        token, place = self._tokens["sized"], self._places["sized"]
        row = judged.payload
        outside = {}
        for side, beats in (("in", row.read_beats), ("out", row.write_beats)):
            along = token.job[f"{side}_along"]
            lane, offset = place[side].lane, place[side].offset
            within = Mux(along, offset[: config.offset_bits], 0)
            m.d.comb += beats.eq((cells + within + (config.beat_cells - 1)) >> config.offset_bits)
            end = offset + Mux(along, cells - 1, 0)
            far = Mux(along, lane >= config.lanes, many | (lane + lanes[side] >= config.lanes))
            outside[side] = Signal(name=f"outside_{side}")
            m.d.comb += outside[side].eq(
                (lane < 0) | (offset < 0) | far | (end >> config.cell_bits != 0)
            )
        m.d.comb += [
            judged.valid.eq(self._valid["sized"]),
            *(row[name].eq(token[name]) for name in ("first", "last", "begin", "job")),
            row["in"].eq(place["in"]),
            row["out"].eq(place["out"]),
            row.cells.eq(cells),
            row.fault.eq(limited & ~void & (outside["in"] | outside["out"])),
            row.fault_out.eq(~outside["in"]),
            row.void.eq(void | row.fault),
        ]
