"""arbiter: two managers share one memory port, each half of it by itself::

    i0 --ar--+                               i0 --aw--+--> [slice] --aw-->
             +--> [slice] --ar-->            i1 --aw--+      | who
    i1 --ar--+                                               v
    i0 <--r--+                               i0 --w---+  [order] burst by burst
             +--by the ID's top bit--r--     i1 --w---+-----------------w-->
    i1 <--r--+                               i0 <--b--+--by the ID's top bit--b--

The top bit of an ID says whose it is. Source 0 goes first; it is meant to ask seldom. The data of
a burst follows in the order of the addresses, and bursts are never mixed. An answer is taken when
both sources are ready, which they are meant to be always, for they ask only for what they have room
for: so no input of the shared port leads to an output in the same cycle, as AXI demands.

    i.aw  ==x          i.ar  ==x
    o.aw    ==x        o.ar    ==x       a slice, so that what is offered stays
    o.w     ==0==1==   o.r, i.r  ==0==1==  data and answers in the same cycle
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..tiu.slice import Slice
from .axi import Axi4

__all__ = ["ORDER", "ReadArbiter", "WriteArbiter"]

ORDER = 4
"""Write bursts whose address may be ahead of their data."""


class _Arbiter(wiring.Component):
    """What both have in common: the ports, and the addresses' way through."""

    def __init__(self, channel, address_width, data_width, id_width, **half):
        def port(id_bits):
            return Axi4(address_bits=address_width, data_width=data_width, id_bits=id_bits, **half)

        self._channel = channel
        self._sources, self._sink = port(id_width), port(id_width + 1)
        super().__init__({"i0": In(self._sources), "i1": In(self._sources), "o": Out(self._sink)})

    def _addresses(self, m, allowed):
        """Hand addresses on while allowed; returns the source of the one that goes, and if it does.

        An address is in the slice from the next cycle on.
        """
        channel, sources = self._channel, (self.i0, self.i1)
        names = [
            name
            for name, member in self._sink.members.items()
            if name.startswith(channel) and member.flow is Out and not name.endswith("valid")
        ]
        layout = data.StructLayout({name: self._sink.members[name].shape for name in names})
        m.submodules.address = address = Slice(layout)
        who = Signal()
        valid = [getattr(source, f"{channel}valid") for source in sources]
        m.d.comb += [
            who.eq(~valid[0]),
            address.i.valid.eq((valid[0] | valid[1]) & allowed),
            address.o.ready.eq(getattr(self.o, f"{channel}ready")),
            getattr(self.o, f"{channel}valid").eq(address.o.valid),
        ]
        for number, source in enumerate(sources):
            ready = address.i.ready & allowed & (who == number)
            m.d.comb += getattr(source, f"{channel}ready").eq(ready)
        for name in names:
            values = [getattr(source, name) for source in sources]
            chosen = Mux(who, values[1], values[0])
            if name == f"{channel}id":
                chosen = Cat(chosen, who)
            m.d.comb += [
                address.i.payload[name].eq(chosen),
                getattr(self.o, name).eq(address.o.payload[name]),
            ]
        return who, address.i.valid & address.i.ready

    def _answers(self, m, channel, payloads):
        """Give each answer to the source that its ID names."""
        identity = getattr(self.o, f"{channel}id")
        ready = [getattr(source, f"{channel}ready") for source in (self.i0, self.i1)]
        m.d.comb += getattr(self.o, f"{channel}ready").eq(ready[0] & ready[1])
        for number, source in enumerate((self.i0, self.i1)):
            mine = getattr(self.o, f"{channel}valid") & (identity[-1] == number)
            m.d.comb += [
                getattr(source, f"{channel}valid").eq(mine & ready[1 - number]),
                getattr(source, f"{channel}id").eq(identity[:-1]),
            ]
            for name in payloads:
                m.d.comb += getattr(source, name).eq(getattr(self.o, name))


class ReadArbiter(_Arbiter):
    """Two readers share a port.

    Latency: 1 cycle for an address, one every cycle; data in the same cycle.

    Parameters
    ----------
    address_width, data_width, id_width : int
        Of the sources; the shared port's IDs have a bit more.

    Members
    -------
    i0, i1 : In(Axi4), o : Out(Axi4)
        Their read halves.
    """

    def __init__(self, *, address_width, data_width, id_width):
        super().__init__("ar", address_width, data_width, id_width, write=False)

    def elaborate(self, platform):
        m = Module()
        self._addresses(m, 1)
        self._answers(m, "r", ("rdata", "rresp", "rlast"))
        return m


class WriteArbiter(_Arbiter):
    """Two writers share a port.

    Latency: 1 cycle for an address, one every cycle until ORDER are ahead of their data; data from
    the cycle on in which its address is offered; answers in the same cycle.

    Parameters
    ----------
    address_width, data_width, id_width : int
        Of the sources; the shared port's IDs have a bit more.

    Members
    -------
    i0, i1 : In(Axi4), o : Out(Axi4)
        Their write halves.
    """

    def __init__(self, *, address_width, data_width, id_width):
        super().__init__("aw", address_width, data_width, id_width, read=False)

    def elaborate(self, platform):
        m = Module()
        order = Signal(ORDER)  # whose the bursts are, the next one lowest
        waiting = Signal(range(ORDER + 1))
        who, goes = self._addresses(m, waiting != ORDER)
        self._answers(m, "b", ("bresp",))

        now = order[0]
        sources = (self.i0, self.i1)
        for name in ("wdata", "wstrb", "wlast"):
            values = [getattr(source, name) for source in sources]
            m.d.comb += getattr(self.o, name).eq(Mux(now, values[1], values[0]))
        m.d.comb += self.o.wvalid.eq((waiting != 0) & Mux(now, self.i1.wvalid, self.i0.wvalid))
        for number, source in enumerate(sources):
            m.d.comb += source.wready.eq((waiting != 0) & (now == number) & self.o.wready)

        ends = Signal()
        place = Signal(range(ORDER + 1))
        m.d.comb += [
            ends.eq(self.o.wvalid & self.o.wready & self.o.wlast),
            place.eq(waiting - ends),
        ]
        with m.If(ends):
            m.d.sync += order.eq(order >> 1)
        with m.If(goes):
            m.d.sync += order.bit_select(place, 1).eq(who)
        m.d.sync += waiting.eq(place + goes)
        return m
