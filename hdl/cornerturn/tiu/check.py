"""check: is this descriptor to be obeyed? Tests the rules, and works out boxes and address jumps.

One descriptor at a time, held by the producer on the stream until it is passed on. A box is the sum
of eleven terms (digits, loops, the row), walked one a cycle; which of them are of the whole
segments and which of the rest is known by then (`Segments`)::

    step       0      1       2        3 .. 13          13        14        15
    i_cmd --> [select term] [multiply] [add to low, high, jump] [union] [compare] [verdict]-> o_job
                                                                                       +----> o_code

It runs behind the instruction ahead, and waits in `VERDICT` until that has issued, so that the
regions stand still while the interlock needs them, and until the row generator is free (or the
rejection is taken).
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import fields, isa
from ..fields import DIGITS, RECORDS, Mode, Opcode, Pair, Status
from ..isa import LOOPS
from .interlock import meet
from .segments import Segments
from .span import Span
from .span import term as span_term

__all__ = ["Check"]

_SIDES = ("in", "out")
# In the order of the walk: `other` is the row where the segment is a digit, and d0 where it is the
# row; `whole` and `rest` are the segment, of either kind.
_TERMS = (*reversed(DIGITS[1:]), "wo", "ho", "other", "whole", "co", "rest")
_FIRST_SUM = 2  # step at which the first term is added
_UNION = _FIRST_SUM + len(_TERMS)
_COMPARE = _UNION + 1
_VERDICT = _COMPARE + 1
_PREPARE = 10  # the segments are there


class Check(wiring.Component):
    """Checks descriptors (section 2 of the specification).

    Latency: from a descriptor offered in cycle t, the verdict is there in cycle t + 15; but no
    instruction passes earlier than check_interval - row_delay cycles after the issue of the one
    ahead.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_cmd : In(stream of descriptor)
        Taken when its instruction is loaded, or its rejection.
    enable : In(1)
        Low: no new check starts; one under way goes on, and offers its verdict.
    flush : In(1)
        Forget what is accepted but not issued.
    issued : In(1)
        The instruction loaded last issues in this cycle.
    o_job : Out(stream of instruction)
        Instructions that passed.
    prepare : Out(1)
        What the tiler wants of the payload of `o_job` stands.
    o_code : Out(stream of status)
        Rejections.
    busy : Out(1)
        A descriptor is offered, being checked, or waits to issue.
    reads, writes : Out(region)
        Of the instruction in `o_job`; stand until `issued`.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_cmd": In(stream.Signature(isa.descriptor())),
                "enable": In(1),
                "flush": In(1),
                "issued": In(1),
                "o_job": Out(stream.Signature(isa.instruction(config))),
                "prepare": Out(1),
                "o_code": Out(stream.Signature(isa.STATUS_BITS)),
                "busy": Out(1),
                "reads": Out(isa.region(config)),
                "writes": Out(isa.region(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        step = Signal(range(_VERDICT + 1))
        waiting = Signal()  # an instruction has passed, and not issued
        pause = Signal(range(config.check_interval))  # after an issue
        start = Signal()
        accept = Signal()
        m.d.comb += start.eq((step == 0) & self.i_cmd.valid & self.enable)
        m.submodules.segments = self._segments = segments = Segments()
        m.d.comb += [
            segments.load.eq(step == 0),
            segments.co.eq(self.i_cmd.payload.co),
            segments.co_align.eq(self.i_cmd.payload.co_align),
        ]
        self._classify(m)
        bad_static = self._static_rules(m)
        self._spans = self._walk(m, step)
        bad_box = self._box_rules(m, step)
        bad = bad_static | bad_box

        m.d.comb += [
            self.busy.eq(self.i_cmd.valid | (step != 0) | waiting),
            self.prepare.eq(step >= _PREPARE),
            accept.eq(~Cat(bad.values()).any()),
            self.o_job.valid.eq((step == _VERDICT) & accept & ~waiting & (pause == 0)),
            self.o_code.valid.eq((step == _VERDICT) & ~accept & ~waiting),
            self.i_cmd.ready.eq(
                (self.o_job.valid & self.o_job.ready) | (self.o_code.valid & self.o_code.ready)
            ),
        ]
        for code in sorted(bad, reverse=True):  # the first failing rule is assigned last
            with m.If(bad[code]):
                m.d.comb += self.o_code.payload.eq(code)

        with m.If(start | ((step != 0) & (step != _VERDICT))):
            m.d.sync += step.eq(step + 1)
        with m.If(self.i_cmd.ready | self.flush):
            m.d.sync += step.eq(0)
        with m.If(pause != 0):
            m.d.sync += pause.eq(pause - 1)
        with m.If(self.issued):
            m.d.sync += [waiting.eq(0), pause.eq(config.check_interval - config.row_delay - 1)]
        with m.If(self.o_job.valid & self.o_job.ready):
            m.d.sync += waiting.eq(1)
        with m.If(self.flush):
            m.d.sync += waiting.eq(0)
        self._fill_job(m)
        return m

    def _classify(self, m):
        """What kind of descriptor this is; its row length and counts in force."""
        cmd = self.i_cmd.payload
        self._tile = Signal()
        self._swap = Signal()
        self._row_is_fixed = Signal()  # its length is the field n
        self._n = Signal(24)  # elements of the longest row
        m.d.comb += [
            self._tile.eq(cmd.opcode == Opcode.TILE),
            self._swap.eq(cmd.opcode == Opcode.SWAP),
            self._row_is_fixed.eq(cmd.segment_is_digit | self._swap),
        ]
        # Two stages, for the adders below wait anyway.
        zeros = Signal(4)
        self._empty = Signal()
        self._no_whole = Signal()
        self._no_rest = Signal()
        self._limited = Signal()
        counts = [cmd[f"{name}_count"] for name in DIGITS[1:]]
        small = Signal()
        m.d.comb += small.eq(cmd.co < cmd.co_align)
        m.d.sync += [
            self._n.eq(Mux(self._row_is_fixed, cmd.n, Mux(small, cmd.co, cmd.co_align))),
            zeros.eq(
                Cat(
                    self._tile & Cat(n == 0 for n in (cmd.co, *counts)).any(),
                    self._tile & ((cmd.repeat_ho == 0) | (cmd.repeat_wo == 0)),
                    self._tile & (Mux(cmd.segment_is_digit, cmd.n, cmd.d0_count) == 0),
                    self._swap & (cmd.n < 2),
                )
            ),
            self._empty.eq(zeros.any() | ~(self._tile | self._swap)),
            self._no_whole.eq(self._tile & small),
            self._limited.eq(self._tile & Cat(cmd[f"limit_{name}"].any() for name in LOOPS).any()),
        ]
        m.d.comb += self._no_rest.eq(~self._tile | (self._segments.rest == 0))

    def _static_rules(self, m):
        """Rules that look at single fields: code -> registered bit, settled after two steps."""
        config = self._config
        cmd = self.i_cmd.payload
        tile, swap = self._tile, self._swap
        known = Signal()
        m.d.comb += known.eq(Cat(cmd.opcode == code for code in Opcode).any())
        bad = {
            code: Signal(name=f"bad_{code.name.lower()}")
            for code in (
                Status.VERSION,
                Status.RESERVED,
                Status.OPCODE,
                Status.MODE,
                Status.UNSUPPORTED,
                Status.ELEMENT,
                Status.COUNT,
                Status.ALIGN,
            )
        }

        modes = (cmd.in_mode, cmd.out_mode)
        large = cmd.segment_is_digit & (cmd.co_align[16:] != 0) | (cmd.co_align[24:] != 0)
        parts = {  # first stage: registered bits; second stage: their or
            Status.VERSION: [cmd.version != fields.VERSION],
            Status.RESERVED: self._stray_bits(m, known),
            Status.OPCODE: [~known],
            Status.MODE: [tile & (value == 3) for value in (*modes, cmd.pair)],
            Status.UNSUPPORTED: [
                *(tile & (mode == Mode.MEM) for mode in modes),
                tile & (cmd.pair != Pair.NONE),
            ],
            Status.ELEMENT: [(tile | swap) & (cmd.element >= config.element_codes)],
            Status.COUNT: [
                tile & (cmd.co_align == 0),
                tile & large,
                tile & self._segments.over,
            ],
            Status.ALIGN: self._misaligned(m),
        }
        for code, conditions in parts.items():
            stage = Signal(len(conditions), name=f"stage_{code.name.lower()}")
            m.d.sync += [stage.eq(Cat(conditions)), bad[code].eq(stage.any())]
        return bad

    def _stray_bits(self, m, known):
        """Per 32-bit word, whether a bit is set that the opcode does not use."""
        value = self.i_cmd.payload.as_value()
        used = {code: fields.named_mask(names) for code, names in fields.USED.items()}
        named = fields.named_mask(fields.FIELDS)
        masks = {  # bits that no opcode, only TILE, only TILE and SWAP use
            "never": ~named,
            "tile": used[Opcode.TILE] & ~used[Opcode.SWAP],
            "swap": used[Opcode.SWAP] & ~used[Opcode.NOP],
        }
        # An unknown opcode is judged by OPCODE; only bits in no field count against it.
        applies = {
            "never": 1,
            "tile": known & ~self._tile,
            "swap": known & ~self._tile & ~self._swap,
        }
        stray = []
        for name, mask in masks.items():
            for base in range(0, fields.DESCRIPTOR_WIDTH, 32):
                bits = [value[base + bit] for bit in range(32) if mask >> (base + bit) & 1]
                if bits:
                    stray.append(applies[name] & Cat(bits).any())
        return stray

    def _misaligned(self, m):
        """Per bit below an element's size, whether some cell address or step has it set."""
        cmd = self.i_cmd.payload
        names = [f"{side}_cell" for side in _SIDES]
        names += [f"{record}_{side}_cell" for record in RECORDS for side in _SIDES]
        conditions = []
        for bit in range(3):
            any_set = Cat(cmd[name][bit] for name in names).any()
            mine = Mux(self._swap, cmd.in_cell[bit], any_set & self._tile)
            conditions.append(mine & (cmd.element > bit))
        return conditions

    def _walk(self, m, step):
        """The spans of both sides in both coordinates, all fed with the term at `step`."""
        config = self._config
        cmd = self.i_cmd.payload
        select = Signal(range(len(_TERMS)))
        m.d.comb += select.eq(Mux(step < len(_TERMS), step, 0))

        # Elements of the row, if the term is one; made a step ahead, as is what they reach.
        fixed = self._row_is_fixed
        lengths = {"other": cmd.n, "whole": cmd.co_align[:24], "rest": self._segments.rest}
        length = Signal(24)
        m.d.comb += length.eq(lengths["other"])
        for name in ("whole", "rest"):
            with m.If(step == _TERMS.index(name) - 1):
                m.d.comb += length.eq(lengths[name])
        reach = Signal(isa.ROW_CELL_BITS, reset_less=True)  # cells of an along row, less one
        m.d.sync += reach.eq((length << cmd.element) - 1)
        g_m1 = (1 << cmd.element) - 1

        def terms(digit, loop, row):
            """The values of all terms, from those of a digit, a loop and a row."""
            values = {name: digit(name) for name in DIGITS[1:]}
            values |= {name: loop(name) for name in LOOPS}
            values["other"] = Mux(fixed, row("other"), digit("d0"))
            values |= {name: Mux(fixed, digit("d0"), row(name)) for name in ("whole", "rest")}
            return Array([values[name] for name in _TERMS])

        def count(name):
            if name == "d0":  # as a segment it is one of the lengths
                return cmd.d0_count
            return cmd[f"repeat_{name}" if name in LOOPS else f"{name}_count"]

        # A lane's way wants the elements of a row, a cell's has them in its step.
        counts = {}
        for unit, row in (("lane", lengths.get), ("cell", lambda name: 2)):
            values = {name: count(name) for name in (*DIGITS[1:], "ho", "wo")}
            values["co"] = Mux(self._no_whole, 1, self._segments.whole)
            values["other"] = Mux(fixed, row("other"), cmd.d0_count)
            values |= {
                name: Mux(cmd.segment_is_digit, lengths[name], row(name))
                for name in ("whole", "rest")
            }
            less_one = Signal(24, name=f"{unit}_count_m1")
            counts[unit] = Signal(24, name=f"{unit}_count_q", reset_less=True)
            m.d.comb += less_one.eq(Array([values[name] for name in _TERMS])[select] - 1)
            m.d.sync += counts[unit].eq(less_one)

        term = Signal(span_term())
        added = Signal(range(len(_TERMS)))  # the term two steps back
        adding = Signal()
        m.d.comb += [
            adding.eq((step >= _FIRST_SUM) & (step < _UNION)),
            added.eq(step - _FIRST_SUM),
        ]
        names = {name: adding & (added == index) for index, name in enumerate(_TERMS)}
        segment = names["whole"] | names["rest"]
        m.d.comb += [
            term.whole.eq(adding & ~names["rest"]),
            term.rest.eq(adding & ~names["whole"]),
            term.loop.eq(names["co"]),
            term.digit.eq(
                Cat(names[name] for name in DIGITS[1:]).any()
                | Mux(fixed, names["whole"], names["other"])
            ),
            term.row.eq(Mux(fixed, names["other"], segment)),
        ]

        spans = {}
        for side in _SIDES:
            across = (cmd[f"{side}_mode"] == Mode.ACROSS) & self._tile
            row_steps = {
                "lane": Mux(across, cmd[f"{side}_lane_step"], 0),
                "cell": Mux(across, g_m1, reach),
            }
            if side == "in":
                row_steps["lane"] = Mux(self._swap, 1, row_steps["lane"])
            else:  # of a SWAP there is none
                row_steps["cell"] = Mux(self._swap, 0, row_steps["cell"])
            for unit, row_step in row_steps.items():
                name = f"{side}_{unit}"
                if unit == "lane":
                    span = Span(config.lane_span_bits, config.lane_bits)
                else:
                    span = Span(config.address_bits, config.cell_bits)
                m.submodules[f"span_{name}"] = spans[side, unit] = span

                def step_of(record, name=name):
                    return cmd[f"{record}_{name}"]

                steps = terms(step_of, step_of, lambda _, value=row_step: value)
                m.d.comb += [
                    span.start.eq(cmd[name]),
                    span.onward.eq(step_of("co")),
                    span.step.eq(steps[select]),
                    span.count_m1.eq(counts[unit]),
                    # An along row has its elements in its step.
                    span.long.eq((counts[unit][16:] != 0) & (across | self._swap)),
                    span.clear.eq(step == 1),
                    span.term.eq(term),
                    span.finish.eq(step == _UNION),
                    span.no_whole.eq(self._no_whole),
                    span.no_rest.eq(self._no_rest),
                    span.ignore.eq(self._empty),
                ]
        return spans

    def _box_rules(self, m, step):
        """RANGE and OVERLAP, registered when the sums are complete; and the regions."""
        config = self._config
        cmd = self.i_cmd.payload
        bad = {
            code: Signal(name=f"bad_{code.name.lower()}") for code in (Status.RANGE, Status.OVERLAP)
        }
        # With limits a box may reach beyond the array: rows are judged as they run.
        strict = ~self._limited | self._empty
        outside = []
        boxes = {}
        for side in _SIDES:
            lane, cell = self._spans[side, "lane"], self._spans[side, "cell"]
            lane_step = cmd[f"{side}_lane_step"]
            across = self._tile & (cmd[f"{side}_mode"] == Mode.ACROSS)
            outside += [
                lane.spill,
                cell.spill,
                strict & (lane.outside | cell.outside | (lane.high >= config.lanes)),
                across & ((lane_step == 0) | (lane_step >= config.lanes)),
            ]
            boxes[side] = Signal(isa.region(config), name=f"box_{side}")
            m.d.comb += [
                boxes[side].valid.eq(~self._empty),
                boxes[side].lane_low.eq(lane.low),
                boxes[side].lane_high.eq(lane.high),
                boxes[side].word_low.eq(cell.low >> config.offset_bits),
                boxes[side].word_high.eq(cell.high >> config.offset_bits),
            ]
        meets = Signal()
        self._serial = Signal()
        m.d.comb += meets.eq(self._tile & meet(boxes["in"], boxes["out"]))
        with m.If(step == _COMPARE):
            m.d.sync += [
                bad[Status.RANGE].eq(Cat(outside).any()),
                bad[Status.OVERLAP].eq(meets & (self._n > config.lanes)),
                self._serial.eq(meets),
            ]
        # The descriptor leaves with the verdict, its regions stay.
        reads = Signal.like(self.reads)
        writes = Signal.like(self.writes)
        with m.If(self.o_job.valid & self.o_job.ready):
            m.d.sync += [
                reads.eq(boxes["in"]),
                writes.eq(Mux(self._swap, boxes["in"], boxes["out"])),
            ]
        m.d.comb += [self.reads.eq(reads), self.writes.eq(writes)]
        return bad

    def _fill_job(self, m):
        """The instruction as the tiler takes it. A SWAP walks down the diagonal."""
        cmd = self.i_cmd.payload
        g = 1 << cmd.element
        segments = self._segments
        o = self.o_job.payload
        walk, job, limits = o.walk, o.walk.job, o.walk.limits
        loops = ~self._empty & self._tile
        repeats = (cmd.repeat_ho, cmd.repeat_wo, segments.whole + (segments.rest != 0))
        m.d.comb += [
            o.segment.eq(Mux(self._swap, cmd.n - 1, cmd.co_align)),
            o.rest.eq(Mux(self._tile, segments.rest, 0)),
            walk.segment_is_digit.eq(cmd.segment_is_digit),
            walk.elements.eq(cmd.n),
            limits.any.eq(self._limited),
            limits.row_tag.eq(cmd.row_tag),
            job.empty.eq(self._empty),
            job.swap.eq(self._swap & ~self._empty),
            job.fence.eq((cmd.opcode == Opcode.FENCE) | (cmd.opcode == Opcode.HALT)),
            job.halt.eq(cmd.opcode == Opcode.HALT),
            job.serial.eq(self._serial),
            job.code.eq(cmd.element),
            job.in_along.eq(self._tile & (cmd.in_mode == Mode.ALONG)),
            job.out_along.eq(self._swap | (cmd.out_mode == Mode.ALONG)),
            job.in_step_m1.eq(Mux(self._swap, 0, cmd.in_lane_step - 1)),
            job.out_step_m1.eq(Mux(self._swap, 0, cmd.out_lane_step - 1)),
        ]
        for side in _SIDES:
            units = (("lane", "lane"), ("cell", "offset"))
            for unit, its in units:
                m.d.comb += o.start[side][its].eq(cmd[f"{side}_{unit}"])
                for index, name in enumerate(LOOPS):
                    m.d.comb += o.step[index][side][its].eq(cmd[f"{name}_{side}_{unit}"])
                for index in range(len(DIGITS)):
                    m.d.comb += walk.jump[index][side][its].eq(self._spans[side, unit].jump[index])
        for index, repeat in enumerate(repeats):
            m.d.comb += o.repeat_m1[index].eq(Mux(loops, repeat - 1, 0))
        for index, name in enumerate(DIGITS):
            m.d.comb += walk.count_m1[index].eq(cmd[f"{name}_count"] - 1)
        for index, name in enumerate(RECORDS):
            m.d.comb += [
                limits.tag[index].eq(cmd[f"{name}_tag"]),
                limits.multiplier[index].eq(cmd[f"{name}_multiplier"]),
            ]
        for index, name in enumerate(LOOPS):
            m.d.comb += limits.limit[index].eq(cmd[f"limit_{name}"])
        with m.If(self._swap):
            inner = len(DIGITS) - 1
            m.d.comb += [
                o.start["in"].lane.eq(cmd.in_lane + 1),
                o.start["out"].lane.eq(cmd.in_lane),
                o.start["out"].offset.eq(cmd.in_cell + g),
            ]
            m.d.comb += [walk.count_m1[index].eq(0) for index in range(inner)]
            m.d.comb += walk.count_m1[inner].eq(cmd.n - 2)
            for side in _SIDES:
                m.d.comb += [
                    walk.jump[inner][side].lane.eq(1),
                    walk.jump[inner][side].offset.eq(g),
                ]
