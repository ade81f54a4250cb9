"""memory_interlock: which bytes of memory are still to be written, and whether the next may read.

One box for all writes that are not answered: the least range that holds them::

    writes, issue --> [low = min, high = max, unanswered + 1] --+
    done -----------> [unanswered - 1; at 0 the box is empty] --+--> [meet] --> blocked
    reads (of the next instruction) ----------------------------+

The box may hold bytes that nobody writes; an instruction that reads these waits for nothing, but no
longer than the writer needs for what it has. Other hazards are satisfied by order: the last
beat of a read is there before the next instruction issues, and all writes have one ID.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["MemoryInterlock"]


class MemoryInterlock(wiring.Component):
    """Read-after-write interlock in system memory.

    Latency: `reads` is compared after 2 cycles; an issue, and the last answer, count after 2.

    Parameters
    ----------
    config : Config

    Members
    -------
    reads : In(byte_region)
        Of the instruction that issues next; stable until it does.
    writes : In(byte_region), issue : In(1)
        An instruction that writes memory issues.
    done : In(1)
        The oldest of those is answered, or ended.
    blocked : Out(1)
        `reads` meets the box.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "reads": In(isa.byte_region(config)),
                "writes": In(isa.byte_region(config)),
                "issue": In(1),
                "done": In(1),
                "blocked": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        low = Signal(self._config.address_bits, reset_less=True)
        high = Signal(self._config.address_bits, reset_less=True)
        unanswered = Signal(range(self._config.outstanding + 1))
        none = Signal()
        ends = Signal(2)  # one bit a bound: what is read reaches it
        blocked = Signal()
        m.d.comb += [none.eq(unanswered == 0), self.blocked.eq(blocked)]
        m.d.sync += [
            unanswered.eq(unanswered + self.issue - self.done),
            ends[0].eq(self.reads.low <= high),
            ends[1].eq(self.reads.high >= low),
            blocked.eq(ends.all() & self.reads.valid & ~none),
        ]
        with m.If(self.issue):
            with m.If(none | (self.writes.low < low)):
                m.d.sync += low.eq(self.writes.low)
            with m.If(none | (self.writes.high > high)):
                m.d.sync += high.eq(self.writes.high)
        return m
