"""engine_axi: the engine as a part of an SoC, run by registers and a ring in memory::

    s_axil --> [ csr ] --settings, commands--> [ ring ] --cmd--> [ engine ] <--> lane ports
       irq <--    | <--state, events-----------  |  |   <--rsp--
                  |                            read  write
                  +--cycles--> [watchdog] . . . .[arbiters] --> m_axi

The port's IDs: 0 for the ring. Nothing else is on it yet.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from ..engine import Engine
from ..fields import COUNTERS
from ..interconnect.chain import lane_port_members
from ..registers import ADDRESS_BITS
from .arbiter import ReadArbiter, WriteArbiter
from .axi import Axi4, AxiLite, forward
from .csr import Csr
from .ring import Ring
from .watchdog import Watchdog

__all__ = ["ID_BITS", "EngineAxi"]

ID_BITS = 2
"""Bits of the shared port's IDs: the top one says whose a burst is."""

_STOPS = ("halted", "rejected", "aborted")
_WATCHED = tuple(
    f"{channel}{signal}"
    for channel, signals in {
        "ar": ("valid", "ready"),
        "r": ("valid", "ready", "last"),
        "aw": ("valid", "ready"),
        "w": ("valid", "ready", "last"),
        "b": ("valid", "ready"),
    }.items()
    for signal in signals
)


class EngineAxi(wiring.Component):
    """The engine behind AXI.

    Latency: that of `Csr`, `Ring` and `Engine`; the interrupt of a stop comes when the records of
    all completions before it are written.

    Parameters
    ----------
    config : Config

    Members
    -------
    s_axil : In(AxiLite)
        The registers (`registers.py`).
    m_axi : Out(Axi4)
        System memory.
    irq : Out(1)
        A level: some cause is set and enabled.
    lane_* : see `Engine`
        If the configuration has lane ports.
    """

    def __init__(self, config):
        self.config = config
        shape = {
            "address_bits": config.address_bits,
            "data_width": config.bus_width,
            "id_bits": ID_BITS,
        }
        members = {
            "s_axil": In(AxiLite(address_bits=ADDRESS_BITS)),
            "m_axi": Out(Axi4(**shape)),
            "irq": Out(1),
        }
        self._read_bus = Axi4(**shape, write=False)
        self._write_bus = Axi4(**shape, read=False)
        self._sources = {
            "address_width": config.address_bits,
            "data_width": config.bus_width,
            "id_width": ID_BITS - 1,
        }
        if config.lane_ports:
            members |= lane_port_members(config, config.lanes)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.csr = csr = Csr(self.config)
        m.submodules.ring = ring = Ring(self.config)
        m.submodules.engine = engine = Engine(self.config)
        m.submodules.read_arbiter = reads = ReadArbiter(**self._sources)
        m.submodules.write_arbiter = writes = WriteArbiter(**self._sources)
        m.submodules.watchdog = watchdog = Watchdog()

        connect(m, flipped(self.s_axil), csr.bus)
        connect(m, ring.cmd, engine.cmd)
        connect(m, engine.rsp, ring.rsp)
        connect(m, ring.read, reads.i0)
        connect(m, ring.write, writes.i0)
        forward(m, self._read_bus, reads.o, self.m_axi)
        forward(m, self._write_bus, writes.o, self.m_axi)
        for name in _WATCHED:
            m.d.comb += getattr(watchdog, name).eq(getattr(self.m_axi, name))
        if self.config.lane_ports:
            for name, member in lane_port_members(self.config, self.config.lanes).items():
                mine, its = getattr(self, name), getattr(engine, name)
                m.d.comb += its.eq(mine) if member.flow is In else mine.eq(its)

        bits = self.config.address_bits
        m.d.comb += [
            reads.i1.rready.eq(1),  # there is no other source yet
            writes.i1.bready.eq(1),
            ring.base.eq(Cat(csr.ring_base, csr.ring_base_high)[:bits]),
            ring.completion_base.eq(Cat(csr.completion_base, csr.completion_base_high)[:bits]),
            ring.size.eq(csr.ring_size),
            ring.tail.eq(csr.ring_tail),
            ring.tail_written.eq(csr.ring_tail_written),
            ring.enable.eq(csr.control_enable),
            ring.clear.eq(csr.command_clear),
            ring.soft_reset.eq(csr.command_soft_reset),
            ring.hung.eq(watchdog.hung),
            ring.engine_busy.eq(engine.status.busy),
            # Of the completions, only that of a fault has an address.
            ring.rsp_address.eq(
                Mux(
                    engine.status.rejected & (engine.rsp.payload.status == engine.status.code),
                    engine.status.address,
                    0,
                )
            ),
            engine.clear.eq(csr.command_clear),
            engine.abort.eq(csr.command_abort),
            engine.soft_reset.eq(csr.command_soft_reset),
            watchdog.cycles.eq(csr.watchdog),
            self.irq.eq(csr.irq),
        ]
        self._show_state(m, csr, ring, engine, watchdog)
        self._raise_events(m, csr, ring, engine, watchdog)
        return m

    @staticmethod
    def _show_state(m, csr, ring, engine, watchdog):
        m.d.comb += [
            csr.status_busy.eq(engine.status.busy | ring.busy),
            csr.status_fetch_error.eq(ring.fetch_error),
            csr.status_record_error.eq(ring.record_error),
            csr.status_doorbell_error.eq(ring.doorbell_error),
            csr.status_bus_hung.eq(watchdog.hung),
            csr.status_code.eq(engine.status.code),
            csr.status_index.eq(engine.status.index),
            Cat(csr.fault_address, csr.fault_address_high).eq(engine.status.address),
            csr.repeat_co.eq(engine.block.repeat_co_m1 + 1),
            Cat(csr.ring_fault_address, csr.ring_fault_address_high).eq(ring.fault),
            csr.ring_head.eq(ring.head),
        ]
        for number, name in enumerate("hwk"):
            m.d.comb += getattr(csr, f"block_{name}").eq(engine.block.index[number])
        for side in ("in", "out"):
            place = engine.block.offset[side]
            m.d.comb += [
                getattr(csr, f"{side}_offset").eq(place.offset),
                getattr(csr, f"{side}_offset_high").eq(place.lane),
            ]
        for name in _STOPS:
            m.d.comb += getattr(csr, f"status_{name}").eq(engine.status[name])
        for name in COUNTERS:
            m.d.comb += getattr(csr, f"counter_{name}").eq(engine.counters[name])

    @staticmethod
    def _raise_events(m, csr, ring, engine, watchdog):
        m.d.comb += [
            csr.irq_status_completion.eq(ring.recorded),
            csr.irq_status_empty.eq(ring.emptied),
            csr.irq_status_ring_error.eq(ring.failed),
        ]
        hung = Signal()
        m.d.sync += hung.eq(watchdog.hung)
        m.d.comb += csr.irq_status_bus_hung.eq(watchdog.hung & ~hung)
        # A stop is owed from the moment it begins until its record is in memory.
        for name in _STOPS:
            stands = Signal(name=f"{name}_before")
            owed = Signal(name=f"{name}_owed")
            m.d.sync += [
                stands.eq(engine.status[name]),
                owed.eq((owed & ~ring.settled) | (engine.status[name] & ~stands)),
            ]
            with m.If(csr.command_soft_reset | ring.resetting):
                m.d.sync += owed.eq(0)
            m.d.comb += getattr(csr, f"irq_status_{name}").eq(owed & ring.settled)
