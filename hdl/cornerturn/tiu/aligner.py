"""aligner: turns the beats of a row from the source's offset to the destination's, and launches.

The write half of every slot waits here for its beat (in a delay line), and the beat is rotated once
for the whole array; what crosses a word's border is merged with the beat before, or after::

    cycle (launch = 0)   -align       ...      -2         -1           0
    beat --> [ rotate      (1 or 2 stages) ] rotated --> carry --> old
                                               |____________|________|
                                                         [ merge ] --> write micro-op + beat
    slot --> delay line --> control .......................................^

`late` (destination offset < source offset): cells from `rotate` on come with the next beat, that of
the next cycle; otherwise the cells below `rotate` come from the beat before, however long ago.

Held rows (`Config.hold_beats`) take their beats from a second delay line.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .delay_line import DelayLine

__all__ = ["Aligner"]


class Aligner(wiring.Component):
    """From the write half of a slot and its beat to the write micro-op.

    Latency: `delay` cycles from slot to launch, `Config.align_latency` from beat to launch. Nothing
    waits.

    Parameters
    ----------
    config : Config
    delay : int, optional
        More than `Config.align_latency`; by default that of the chain, `Config.write_delay`.

    Members
    -------
    slot : In(slot_write)
        The write half of the slot issued in this cycle (zero if none).
    beat : In(beat_width)
        From the chain, `align_latency` cycles before its slot's launch.
    o_op : Out(write_op)
        To the chain.
    early : Out(slot_write)
        The slot that launches in the next cycle.
    early_lane_high : Out(lane_bits)
        The highest lane an across write of `early` touches, if its lane step is 1.
    launched : Out(slot_write)
        The slot that launches in this cycle.
    """

    def __init__(self, config, *, delay=None):
        self._config = config
        self._delay = delay or config.write_delay
        super().__init__(
            {
                "slot": In(isa.slot_write(config)),
                "beat": In(config.beat_width),
                "o_op": Out(isa.write_op(config)),
                "early": Out(isa.slot_write(config)),
                "early_lane_high": Out(config.lane_bits),
                "launched": Out(isa.slot_write(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        layout = isa.slot_write(config)
        align = config.align_latency

        # control[a] is the slot that launches a cycles from now; rotation happens at a = align.
        line = m.submodules.slots = DelayLine(layout.size, self._delay - align - 1)
        m.d.comb += line.i.eq(self.slot)
        control = {}
        value = line.o
        for ahead in range(align, -1, -1):
            control[ahead] = Signal(layout, name=f"control{ahead}")
            m.d.sync += control[ahead].eq(value)
            value = control[ahead]
        m.d.comb += [self.early.eq(control[1]), self.launched.eq(control[0])]

        beat = self.beat
        if config.hold_beats:
            hold = m.submodules.hold = DelayLine(config.beat_width, config.hold_beats)
            m.d.comb += hold.i.eq(self.beat)
            beat = Mux(control[align].held, hold.o, beat)

        rotated = self._rotate(m, beat, control)
        carry = Signal(config.beat_width, reset_less=True)
        old = Signal(config.beat_width, reset_less=True)
        m.d.sync += carry.eq(rotated)
        with m.If(control[1].fresh):
            m.d.sync += old.eq(carry)
        # The last register: the beat of control[1] is in `carry`, its neighbours on both sides.
        out = Signal(config.beat_width, reset_less=True)
        now = control[1]
        for cell in range(config.beat_cells):
            place = slice(cell * config.cell_width, (cell + 1) * config.cell_width)
            below = Signal(name=f"below{cell}")
            m.d.sync += below.eq(cell < control[2].rotate)
            other = Mux(now.late, rotated[place], old[place])
            m.d.sync += out[place].eq(Mux(below == now.late, carry[place], other))
        self._launch(m, control, out)
        return m

    def _rotate(self, m, beat, control):
        """`beat` turned upwards by `rotate` cells, registered `align_latency - 2` times."""
        config = self._config
        width = config.beat_width
        stages = config.align_latency - 2
        bits = list(reversed(range(config.offset_bits)))
        share = -(-len(bits) // stages)
        for stage in range(stages):
            amount = control[config.align_latency - stage].rotate
            for bit in bits[stage * share : (stage + 1) * share]:
                distance = config.cell_width << bit
                turned = Cat(beat[width - distance :], beat[: width - distance])
                beat = Mux(amount[bit], turned, beat)
            rotated = Signal(width, name=f"rotated{stage}", reset_less=True)
            m.d.sync += rotated.eq(beat)
            beat = rotated
        return beat

    def _launch(self, m, control, out):
        """The micro-op of control[0]; its mask and lanes are worked out while it approaches."""
        config = self._config
        slot = control[1]
        mask = Signal(config.beat_cells, reset_less=True)
        for cell in range(config.beat_cells):
            inside = (slot.first <= cell) & (cell <= slot.final)
            here = ((slot.offset ^ cell) >> slot.code) == 0
            m.d.sync += mask[cell].eq(Mux(slot.along, inside, here))
        lane_high = Signal(config.lane_bits, reset_less=True)
        span = (control[2].final - control[2].first)[: max(1, config.offset_bits)]
        m.d.sync += lane_high.eq(control[2].skip + (span >> control[2].code))
        m.d.comb += self.early_lane_high.eq(lane_high)

        launch = control[0]
        for name in ("valid", "along", "skip", "step_m1", "word", "code", "last"):
            m.d.comb += self.o_op[name].eq(launch[name])
        m.d.comb += [
            # An along micro-op ends at its first hit.
            self.o_op.position.eq(Mux(launch.along, 0, launch.first)),
            self.o_op.last_position.eq(Mux(launch.along, 0, launch.final)),
            self.o_op.mask.eq(mask),
            self.o_op.beat.eq(out),
        ]
