"""check: is this descriptor to be obeyed? Tests the rules, and works out boxes and address jumps.

One descriptor at a time, held by the producer on the stream until it is passed on. A box is the sum
of seven terms (the row, then the digits, innermost first), walked one a cycle::

    step       0      1       2        3                8        9        10
    i_cmd --> [select term] [multiply] [add to low, high, jump] [compare] [verdict] --> o_job
                                                                              +--> o_code

It waits in `VERDICT` until the row generator is free (or the rejection is taken) and in `ISSUE`
until the instruction has issued, so that a check runs behind the instruction ahead, and the regions
stand still while the interlock needs them.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .. import fields, isa
from ..fields import DIGITS, RECORDS, Mode, Opcode, Pair, Status
from .interlock import meet
from .span import Span

__all__ = ["Check"]

_SIDES = ("in", "out")
_TERMS = ("row", *reversed(DIGITS))  # in the order of the walk
_FIRST_SUM = 2  # step at which the first term is added
_COMPARE = _FIRST_SUM + len(_TERMS)
_VERDICT = _COMPARE + 1
_ISSUE = _VERDICT + 1


class Check(wiring.Component):
    """Checks descriptors (section 2 of the specification).

    Latency: from a descriptor offered in cycle t, the verdict is there in cycle t + 10.

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
                "o_code": Out(stream.Signature(isa.STATUS_BITS)),
                "busy": Out(1),
                "reads": Out(isa.region(config)),
                "writes": Out(isa.region(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        step = Signal(range(_ISSUE + 1))
        start = Signal()
        accept = Signal()
        # Step 0 is done in whatever cycle the check before leaves.
        free = (step == 0) | ((step == _ISSUE) & self.issued)
        m.d.comb += start.eq(free & self.i_cmd.valid & self.enable)
        self._classify(m)
        bad_static = self._static_rules(m)
        self._spans = self._walk(m, step)
        bad_box = self._box_rules(m, step)
        bad = bad_static | bad_box

        m.d.comb += [
            self.busy.eq(self.i_cmd.valid | (step != 0)),
            accept.eq(~Cat(bad.values()).any()),
            self.o_job.valid.eq((step == _VERDICT) & accept),
            self.o_code.valid.eq((step == _VERDICT) & ~accept),
            self.i_cmd.ready.eq(
                (self.o_job.valid & self.o_job.ready) | (self.o_code.valid & self.o_code.ready)
            ),
        ]
        for code in sorted(bad, reverse=True):  # the first failing rule is assigned last
            with m.If(bad[code]):
                m.d.comb += self.o_code.payload.eq(code)

        with m.If((step != 0) & (step < _VERDICT)):
            m.d.sync += step.eq(step + 1)
        with m.If(self.o_job.valid & self.o_job.ready):
            m.d.sync += step.eq(_ISSUE)
        with m.If(free):
            m.d.sync += step.eq(start)
        with m.If((self.o_code.valid & self.o_code.ready) | self.flush):
            m.d.sync += step.eq(0)
        self._fill_job(m)
        return m

    def _classify(self, m):
        """What kind of descriptor this is; its row length and counts in force."""
        cmd = self.i_cmd.payload
        self._tile = Signal()
        self._swap = Signal()
        self._n = Signal(32)  # elements of a row
        self._counts = {name: Signal(16, name=f"count_{name}") for name in DIGITS}
        m.d.comb += [
            self._tile.eq(cmd.opcode == Opcode.TILE),
            self._swap.eq(cmd.opcode == Opcode.SWAP),
            self._n.eq(Mux(cmd.segment_is_digit | self._swap, cmd.n, cmd.co)),
        ]
        for name in DIGITS:
            m.d.comb += self._counts[name].eq(cmd[f"{name}_count"])
        with m.If(cmd.segment_is_digit):
            m.d.comb += self._counts["d0"].eq(cmd.co)
        # Two stages, for the adders below wait anyway.
        zeros = Signal(3)
        self._empty = Signal()
        tile_counts = (cmd.co, cmd.repeat_ho, cmd.repeat_wo, *self._counts.values())
        m.d.sync += [
            zeros.eq(
                Cat(
                    self._tile & Cat(count == 0 for count in tile_counts).any(),
                    self._n == 0,
                    self._swap & (self._n == 1),
                )
            ),
            self._empty.eq(zeros.any() | ~(self._tile | self._swap)),
        ]

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
                tile & (cmd.repeat_ho > 1),
                tile & (cmd.repeat_wo > 1),
                tile & (cmd.co > cmd.co_align) & (cmd.co_align != 0),
                *(tile & (cmd[f"limit_{name}"] != 0) for name in RECORDS[:3]),
            ],
            Status.ELEMENT: [(tile | swap) & (cmd.element >= config.element_codes)],
            Status.COUNT: [tile & (cmd.co_align == 0), tile & large],
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
        across = {side: cmd[f"{side}_mode"] == Mode.ACROSS for side in _SIDES}
        g = 1 << cmd.element
        row_steps = {
            ("in", "lane"): Mux(self._swap, 1, Mux(across["in"], cmd.in_lane_step, 0)),
            ("in", "cell"): Mux(self._swap | ~across["in"], g, 0),
            ("out", "lane"): Mux(across["out"], cmd.out_lane_step, 0),
            ("out", "cell"): Mux(across["out"], 0, g),
        }
        n_m1 = self._n - 1
        counts_m1 = [n_m1[:16], *((self._counts[name] - 1)[:16] for name in reversed(DIGITS))]
        count_m1 = Signal(16, reset_less=True)
        select = Signal(range(len(_TERMS)))
        m.d.comb += select.eq(Mux(step == _ISSUE, 0, step))
        m.d.sync += count_m1.eq(Array(counts_m1)[select])
        # The row's count has more bits than a span takes: with any of them it leaves every array.
        self._long_row = Signal(reset_less=True)
        m.d.sync += self._long_row.eq((n_m1[16:24] != 0) & ~self._empty)

        spans = {}
        for (side, unit), row_step in row_steps.items():
            name = f"{side}_{unit}"
            span = Span(config.lane_bits if unit == "lane" else config.cell_bits)
            m.submodules[f"span_{name}"] = spans[side, unit] = span
            steps = [row_step, *(cmd[f"{digit}_{name}"] for digit in reversed(DIGITS))]
            m.d.comb += [
                span.start.eq(cmd[name]),
                span.extent.eq(g - 1 if unit == "cell" else 0),
                span.step.eq(Array(steps)[select]),
                span.count_m1.eq(count_m1),
                span.clear.eq(step == 1),
                span.add.eq((step >= _FIRST_SUM) & (step < _COMPARE)),
                span.digit.eq(step != _FIRST_SUM),
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
        outside = [self._long_row]
        boxes = {}
        for side in _SIDES:
            lane, cell = self._spans[side, "lane"], self._spans[side, "cell"]
            lane_step = cmd[f"{side}_lane_step"]
            across = self._tile & (cmd[f"{side}_mode"] == Mode.ACROSS)
            outside += [
                lane.spill,
                cell.spill,
                lane.low < 0,
                lane.high >= config.lanes,
                cell.low < 0,
                cell.high >= config.cells,
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
        meets = self._tile & meet(boxes["in"], boxes["out"])
        self._serial = Signal()
        reads = Signal.like(self.reads)
        writes = Signal.like(self.writes)
        with m.If(step == _COMPARE):
            m.d.sync += [
                bad[Status.RANGE].eq(Cat(outside).any()),
                bad[Status.OVERLAP].eq(meets & (self._n > config.lanes)),
                self._serial.eq(meets),
                # The descriptor leaves with the verdict, its regions stay.
                reads.eq(boxes["in"]),
                writes.eq(Mux(self._swap, boxes["in"], boxes["out"])),
            ]
        m.d.comb += [self.reads.eq(reads), self.writes.eq(writes)]
        return bad

    def _fill_job(self, m):
        """The instruction as the row generator takes it. A SWAP walks down the diagonal."""
        cmd = self.i_cmd.payload
        g = 1 << cmd.element
        o = self.o_job.payload
        job = o.job
        cells = Signal.like(job.cells)
        m.d.sync += cells.eq((self._n - self._swap) << cmd.element)
        m.d.comb += [
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
            job.cells.eq(cells),
        ]
        for side in _SIDES:
            m.d.comb += [
                o.start[side].lane.eq(cmd[f"{side}_lane"]),
                o.start[side].cell.eq(cmd[f"{side}_cell"]),
            ]
            for index in range(len(DIGITS)):
                m.d.comb += [
                    o.jump[index][side].lane.eq(self._spans[side, "lane"].jump[index]),
                    o.jump[index][side].cell.eq(self._spans[side, "cell"].jump[index]),
                ]
        for index, name in enumerate(DIGITS):
            m.d.comb += o.count_m1[index].eq(self._counts[name] - 1)
        with m.If(self._swap):
            inner = len(DIGITS) - 1
            m.d.comb += [
                o.start["in"].lane.eq(cmd.in_lane + 1),
                o.start["out"].lane.eq(cmd.in_lane),
                o.start["out"].cell.eq(cmd.in_cell + g),
            ]
            m.d.comb += [o.count_m1[index].eq(0) for index in range(inner)]
            m.d.comb += o.count_m1[inner].eq(cmd.n - 2)
            for side in _SIDES:
                m.d.comb += [o.jump[inner][side].lane.eq(1), o.jump[inner][side].cell.eq(g)]
