"""counters: the performance counters, 32 bits each, wrapping.

`cycles` adds up the segments of a run: from the first issue after a stop (or after the engine had
nothing to do) to the completion that was offered last::

    issue        done       done     stop
    |<-------------------------->|          |<--- next segment
       now runs, cycles follows it at every completion
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Counters"]

_EVENTS = {
    "beats_read": "read",
    "beats_written": "write",
    "stalls_hazard": "stall_hazard",
    "stalls_fence": "stall_fence",
    "stalls_port": "stall_port",
    "stalls_completion": "stall_completion",
    "rows": "row",
    "blocks": "block",
    "instructions": "issued",
}


class Counters(wiring.Component):
    """Counts events of the sequencer. Latency: 2 cycles; 1 for `cycles`.

    Members
    -------
    issued, row, block, read, write, stall_* : In(1)
        See `Sequencer`.
    done : In(1)
        A completion is offered in the next cycle.
    segment_end : In(1)
        The engine stands, or has nothing to do.
    flush : In(1)
        Start again from zero.
    values : Out(counters)
    """

    def __init__(self):
        super().__init__(
            dict.fromkeys(_EVENTS.values(), In(1))
            | {
                "done": In(1),
                "segment_end": In(1),
                "flush": In(1),
                "values": Out(isa.counters()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        values = Signal(isa.counters())
        m.d.comb += self.values.eq(values)
        for name, event in _EVENTS.items():
            happened = Signal(name=f"{name}_happened")  # to keep the adders off the path
            m.d.sync += [
                happened.eq(getattr(self, event)),
                values[name].eq(values[name] + happened),
            ]

        now = Signal(32)  # `cycles`, had something completed in the cycle before
        running = Signal()
        following = Signal(32)
        m.d.comb += following.eq(now + 1)
        with m.If(self.issued | running):
            m.d.sync += [running.eq(1), now.eq(following)]
        with m.If(self.done):
            m.d.sync += values.cycles.eq(following)
        with m.If(self.segment_end):
            m.d.sync += [running.eq(0), now.eq(values.cycles)]
        with m.If(self.flush):
            m.d.sync += [values.eq(0), now.eq(0), running.eq(0)]
        return m
