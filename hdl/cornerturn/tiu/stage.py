"""stage: the two halves of the lmem area between the tiles of a pair, and who may use which::

                    LOAD                             STORE
    block i begins: takes a `free` half              takes a `full` half
    block i ends:   last write launched -> `full`    last read issued -> `free`

    cycle        t            t + 1
    filled  -->  full + 1 --> may_store          a read issued in t + 1 acts after a write launched
    emptied -->  free + 1 --> may_load           in t at every lane, and a write after a read

Blocks come in order on both sides, so counters name the halves: block i uses half i mod 2.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Stage"]

_HALVES = 2


class Stage(wiring.Component):
    """Keeps the LOAD at most two blocks ahead of the STORE. Latency: 1 cycle.

    Members
    -------
    start : In(1)
        A pair issues; what was before is forgotten.
    paired : In(1)
        At `start`: both of its tiles have rows. Otherwise neither waits.
    load_begins, store_begins : In(1)
        The first slot of a block goes; only while it may.
    filled : In(1)
        The last write of a block launches.
    emptied : In(1)
        The last read of a block issues.
    may_load, may_store : Out(1)
    """

    def __init__(self):
        super().__init__(
            {
                "start": In(1),
                "paired": In(1),
                "load_begins": In(1),
                "store_begins": In(1),
                "filled": In(1),
                "emptied": In(1),
                "may_load": Out(1),
                "may_store": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        active = Signal()
        free = Signal(range(_HALVES + 1))
        full = Signal(range(_HALVES + 1))
        m.d.comb += [
            self.may_load.eq(~active | (free != 0)),
            self.may_store.eq(~active | (full != 0)),
        ]
        m.d.sync += [
            free.eq(free - self.load_begins + self.emptied),
            full.eq(full - self.store_begins + self.filled),
        ]
        with m.If(self.start):
            m.d.sync += [active.eq(self.paired), free.eq(_HALVES), full.eq(0)]
        return m
