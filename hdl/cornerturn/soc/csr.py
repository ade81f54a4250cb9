"""csr: the registers of `registers.py` behind AXI4-Lite, as plain ports::

    AW --> [held] --+                +--> settings, doorbells, pulses
    W  --> [held] --+--> registers --+
    B  <-- [answer]<+                +<-- state, events --> [irq_status & irq_enable] --> irq
    AR --> [held] --> select --> [R]

    aw, w  ==x                     ar  ==x
    held     ==x   (both)          held  ==x
    b, port    ==x                 r       ==x

One write and one read at a time. An address without a register answers SLVERR, reads as zero and
writes nothing; writing what software cannot change is OKAY and changes nothing. Byte strobes count;
the low two bits of an address do not.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..registers import ADDRESS_BITS, INTERRUPTS, REGISTERS, Access, port_of
from .axi import AxiLite, Resp

__all__ = ["Csr", "register_ports"]


def register_ports():
    """Members of `Csr` for its registers: fields that are alone are called as their register."""
    ports = {}
    for register in REGISTERS.values():
        for bits in register.fields:
            name = port_of(register, bits)
            if bits.access is Access.STATE:
                ports[name] = In(bits.width)
            elif bits.access is Access.EVENT:
                ports[name] = In(1)
            elif bits.access is Access.PULSE:
                ports[name] = Out(1)
            elif bits.access is Access.SETTING:
                ports[name] = Out(bits.width, init=bits.reset)
            elif bits.access is Access.DOORBELL:
                ports[name] = Out(bits.width, init=bits.reset)
                ports[f"{name}_written"] = Out(1)
    return ports


class Csr(wiring.Component):
    """Control and status registers.

    Latency: a write takes effect 2 cycles after the later of its two transfers, together with its
    answer; a read is answered 2 cycles after its address; an event raises `irq` 2 cycles later.

    Parameters
    ----------
    config : Config

    Members
    -------
    bus : In(AxiLite)
    irq : Out(1)
        Some cause is set and enabled.
    (registers)
        A port for each field that is no constant. State: the value to read. Settings: the value
        written last. Doorbells: a setting, and `_written`, high in its first cycle. Pulses: high
        for a cycle. Events: set the bit.

    The pulse `command_soft_reset` resets all settings and events.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {"bus": In(AxiLite(address_bits=ADDRESS_BITS)), "irq": Out(1)} | register_ports()
        )

    def elaborate(self, platform):
        m = Module()
        self._flags = {name: Signal(name=f"happened_{name}") for name in INTERRUPTS}
        address, data, ones, write = self._take_writes(m)
        for register in REGISTERS.values():
            here = Signal(name=f"writes_{register.name}")
            m.d.comb += here.eq(write & (address == register.offset >> 2))
            for bits in register.fields:
                place = slice(bits.low, bits.low + bits.width)
                self._write_field(m, register, bits, here, data[place], ones[place])
        enabled = [getattr(self, f"irq_enable_{name}") for name in INTERRUPTS]
        m.d.sync += self.irq.eq((Cat(self._flags.values()) & Cat(enabled)).any())
        self._answer_reads(m)
        return m

    def _take_writes(self, m):
        """Word address, data, a one for every bit to write, and the cycle in which it is done."""
        bus = self.bus
        address = Signal(ADDRESS_BITS - 2, reset_less=True)
        data = Signal(32, reset_less=True)
        strobe = Signal(4, reset_less=True)
        has_address, has_data, write = Signal(), Signal(), Signal()
        m.d.comb += [
            bus.awready.eq(~has_address),
            bus.wready.eq(~has_data),
            write.eq(has_address & has_data & ~bus.bvalid),
        ]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [has_address.eq(1), address.eq(bus.awaddr[2:])]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [has_data.eq(1), data.eq(bus.wdata), strobe.eq(bus.wstrb)]
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(write):
            m.d.sync += [
                has_address.eq(0),
                has_data.eq(0),
                bus.bvalid.eq(1),
                bus.bresp.eq(Mux(_known(address), Resp.OKAY, Resp.SLVERR)),
            ]
        return address, data, Cat(bit.replicate(8) for bit in strobe), write

    def _write_field(self, m, register, bits, here, data, ones):
        """What a write of the register does to one of its fields."""
        name = port_of(register, bits)
        if bits.access in (Access.SETTING, Access.DOORBELL):
            setting = getattr(self, name)
            with m.If(here):
                m.d.sync += setting.eq((data & ones) | (setting & ~ones))
            with m.If(self.command_soft_reset):
                m.d.sync += setting.eq(bits.reset)
        if bits.access is Access.DOORBELL:
            m.d.sync += getattr(self, f"{name}_written").eq(here & ones.any())
        if bits.access is Access.PULSE:
            m.d.sync += getattr(self, name).eq(here & data & ones)
        if bits.access is Access.EVENT:
            flag = self._flags[bits.name]
            m.d.sync += flag.eq(getattr(self, name) | (flag & ~(here & data & ones)))
            with m.If(self.command_soft_reset):
                m.d.sync += flag.eq(0)

    def _answer_reads(self, m):
        bus = self.bus
        address = Signal(ADDRESS_BITS - 2, reset_less=True)
        has_address = Signal()
        m.d.comb += bus.arready.eq(~has_address)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [has_address.eq(1), address.eq(bus.araddr[2:])]
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(has_address & ~bus.rvalid):
            m.d.sync += [
                has_address.eq(0),
                bus.rvalid.eq(1),
                bus.rresp.eq(Mux(_known(address), Resp.OKAY, Resp.SLVERR)),
            ]
            with m.Switch(address):
                for register in REGISTERS.values():
                    with m.Case(register.offset >> 2):
                        m.d.sync += bus.rdata.eq(self._word(register))
                with m.Default():
                    m.d.sync += bus.rdata.eq(0)

    def _word(self, register):
        """What a register reads as."""
        parts, filled = [], 0
        for bits in register.fields:
            value = self._value(register, bits)
            value = Const(value, bits.width) if isinstance(value, int) else value
            parts += [Const(0, bits.low - filled), value]
            filled = bits.low + bits.width
        return Cat(parts)

    def _value(self, register, bits):
        """What a field reads as: a signal, or a number that never changes."""
        if bits.access is Access.CONSTANT:
            return bits.reset
        if bits.access is Access.BUILD:
            return int(getattr(self._config, bits.name))
        if bits.access is Access.PULSE:
            return 0
        if bits.access is Access.EVENT:
            return self._flags[bits.name]
        return getattr(self, port_of(register, bits))


def _known(address):
    """Whether there is a register at a word address."""
    return Cat(address == register.offset >> 2 for register in REGISTERS.values()).any()
