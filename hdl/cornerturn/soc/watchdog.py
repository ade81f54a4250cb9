"""watchdog: finds out that a bus has stopped answering, by looking on.

::

    period    |----------|----------|----------|      `cycles` each, for all channels
    AR owes      =================================    arvalid and not arready, all the time
    waited                ==========               at the end of a period, until the channel moves
    hung                             ==============   at the end of the next one

A channel owes something while it is the bus that has to move: it does not take what is offered, or
an answer is due and not there.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watchdog"]

_COUNT_BITS = 10  # bursts outstanding each way: 256 of the memory side, and the ring's


class Watchdog(wiring.Component):
    """Watches a manager's AXI4 port.

    Latency: `hung` rises `cycles` + 1 to 2 * `cycles` cycles after the first cycle in which a
    channel owed something, if it has owed ever since; and stays until reset.

    Members
    -------
    cycles : In(32)
        Length of a period; 0: wait forever.
    hung : Out(1)
    arvalid, arready, rvalid, rready, rlast : In(1)
    awvalid, awready, wvalid, wready, wlast, bvalid, bready : In(1)
        Of the port.
    """

    cycles: In(32)
    hung: Out(1)
    arvalid: In(1)
    arready: In(1)
    rvalid: In(1)
    rready: In(1)
    rlast: In(1)
    awvalid: In(1)
    awready: In(1)
    wvalid: In(1)
    wready: In(1)
    wlast: In(1)
    bvalid: In(1)
    bready: In(1)

    def elaborate(self, platform):
        m = Module()
        reads = Signal(_COUNT_BITS)  # bursts that are asked for
        writes = Signal(_COUNT_BITS)  # bursts whose data is sent
        asked = self.arvalid & self.arready
        read = self.rvalid & self.rready & self.rlast
        sent = self.wvalid & self.wready & self.wlast
        answered = self.bvalid & self.bready
        m.d.sync += [reads.eq(reads + asked - read), writes.eq(writes + sent - answered)]

        owes, waited = Signal(5), Signal(5)
        count = Signal(32, init=1)
        ends = Signal()
        m.d.comb += [
            owes.eq(
                Cat(
                    self.arvalid & ~self.arready,
                    self.awvalid & ~self.awready,
                    self.wvalid & ~self.wready,
                    (reads != 0) & ~self.rvalid,
                    (writes != 0) & ~self.bvalid,
                )
            ),
            ends.eq((count >= self.cycles) & (self.cycles != 0)),
        ]
        m.d.sync += [count.eq(count + 1), waited.eq(waited & owes)]
        with m.If(ends):
            m.d.sync += [count.eq(1), waited.eq(owes)]
            with m.If((waited & owes).any()):
                m.d.sync += self.hung.eq(1)
        return m
