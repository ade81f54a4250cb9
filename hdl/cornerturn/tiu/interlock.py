"""interlock: which instructions in flight still write, and whether the next one may read.

A table of write regions, filled in order at issue and emptied in order as the last write of each
instruction launches::

    reads (of the next instruction) --> [ meet each entry ] --> meets --> [ & busy ] --> blocked
    writes, issue ----------------------> [ entries     ]                   ^
    launched (marker) ----------------------------------------- busy -------+

D = 1 (`Config.raw_gap`): `blocked` is low one cycle after the launch that resolves it. On the chain
order alone satisfies the other two hazards: a slot's write launches `write_delay` cycles after any
earlier slot's read.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Interlock", "meet"]


def meet(left, right):
    """Whether two regions have a word in common."""
    return (
        left.valid
        & right.valid
        & (left.lane_low <= right.lane_high)
        & (right.lane_low <= left.lane_high)
        & (left.word_low <= right.word_high)
        & (right.word_low <= left.word_high)
    )


class Interlock(wiring.Component):
    """Read-after-write interlock between instructions.

    Latency: a region at `reads` is compared after 2 cycles; an instruction issued in cycle t counts
    from t + 3 on (the next issues at least `Config.check_interval` later).

    Parameters
    ----------
    config : Config

    Members
    -------
    reads, writes : In(region)
        Of the instruction that issues next; stable until it does.
    issue : In(1)
        It issues in this cycle.
    launching : In(1)
        The marker of the oldest instruction launches in the next cycle.
    blocked : Out(1)
        `reads` meets a region that is still to be written.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "reads": In(isa.region(config)),
                "writes": In(isa.region(config)),
                "issue": In(1),
                "launching": In(1),
                "blocked": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        entries = config.in_flight
        fill = Signal(entries, init=1)  # one-hot: the next entry to fill, to empty
        empty = Signal(entries, init=1)
        busy = Signal(entries)
        meets = Signal(entries)
        with m.If(self.issue):
            m.d.sync += fill.eq(fill.rotate_left(1))
        with m.If(self.launching):
            m.d.sync += empty.eq(empty.rotate_left(1))
        for index in range(entries):
            entry = Signal(isa.region(config), name=f"entry{index}", reset_less=True)
            with m.If(self.launching & empty[index]):
                m.d.sync += busy[index].eq(0)
            with m.If(self.issue & fill[index]):
                m.d.sync += [entry.eq(self.writes), busy[index].eq(1)]
            m.d.sync += meets[index].eq(meet(self.reads, entry))
        blocked = Signal()
        m.d.sync += blocked.eq((meets & busy).any())
        m.d.comb += self.blocked.eq(blocked)
        return m
