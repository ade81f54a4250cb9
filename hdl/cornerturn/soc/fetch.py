"""fetch: reads descriptors out of the ring, ahead of the engine, and offers them one by one.

::

    tail --> [requests] --AR--> memory --R--> [RAM: PREFETCH descriptors] --> [2048 bits] --> cmd
    entry asked ^                         entry arrived ^      written - read - loaded

    ar    ==x                                  (B beats)
    r            0==1==2== ... ==B-1
    RAM             0==1==2== ... ==B-1
    load               0==1==2== ... ==B-1
    cmd                                  ==valid==        two cycles behind the last beat

A place in the RAM is reserved when the burst is asked for, so data is always taken. A burst with an
error is not counted as written: what is behind it is dropped, what is before it is still offered,
and after `clear` the fetch goes on with the very descriptor that failed.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..fields import DESCRIPTOR_WIDTH
from ..registers import DESCRIPTOR_BYTES
from .axi import Axi4, Burst, Cache, is_error

__all__ = ["ENTRY_BITS", "PREFETCH", "Fetch", "following"]

ENTRY_BITS = 16
"""Bits of the number of an entry of the ring."""

PREFETCH = 4
"""Descriptors that are asked for, or wait in the RAM: a power of two."""

_ENTRY_SHIFT = DESCRIPTOR_BYTES.bit_length() - 1


def following(entry, size):
    """The entry of the ring behind another."""
    after = (entry + 1)[:ENTRY_BITS]
    return Mux(after == size, 0, after)


class Fetch(wiring.Component):
    """Fetches the descriptors of a ring in order.

    Latency: an address is offered 2 cycles after `tail` has changed; a descriptor 3 cycles after
    the transfer of its last beat, if the one before is taken by then. The ring's base and size
    stand still unless `reset` is high.

    Parameters
    ----------
    config : Config

    Members
    -------
    base : In(address_bits)
        Of the ring, a multiple of 256 (the low bits are taken as zero).
    size, tail : In(16)
        Entries of the ring; the first entry that is not to be fetched.
    enable : In(1)
        Ask for more.
    clear : In(1)
        Pulse: go on after an error.
    reset : In(1)
        Ask for nothing, drop everything; until `idle`.
    cmd : Out(stream of descriptor)
        Withdrawn only by `reset`.
    bus : Out(Axi4)
    failed : Out(1)
        Stands after a bus error; `fault` is the address of the beat.
    fault : Out(address_bits)
    idle : Out(1)
        No burst is outstanding.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "base": In(config.address_bits),
                "size": In(ENTRY_BITS),
                "tail": In(ENTRY_BITS),
                "enable": In(1),
                "clear": In(1),
                "reset": In(1),
                "cmd": Out(stream.Signature(isa.descriptor())),
                "bus": Out(
                    Axi4(address_bits=config.address_bits, data_width=config.bus_width, write=False)
                ),
                "failed": Out(1),
                "fault": Out(config.address_bits),
                "idle": Out(1),
            }
        )

    @property
    def _beats(self):
        return DESCRIPTOR_WIDTH // self._config.bus_width

    def elaborate(self, platform):
        m = Module()
        bus = self.bus
        loaded, restart = Signal(), Signal()
        drop = Signal()  # what arrives now is of no use
        ends = Signal()  # the last beat of a burst
        asked = Signal(ENTRY_BITS)
        arrived = Signal(ENTRY_BITS)
        outstanding = Signal(range(PREFETCH + 1))
        free = Signal(range(PREFETCH + 1), init=PREFETCH)
        clearing = Signal()
        m.d.comb += [
            drop.eq(self.failed | self.reset),
            ends.eq(bus.rvalid & bus.rready & bus.rlast),
            self.idle.eq(outstanding == 0),
            restart.eq(self.failed & clearing & (outstanding == 0)),
        ]

        # --- requests
        asks = Signal()
        m.d.comb += [
            asks.eq(
                (~bus.arvalid | bus.arready)
                & self.enable & ~drop & (asked != self.tail) & (free != 0)
            ),
            bus.arlen.eq(self._beats - 1),
            bus.arsize.eq((self._config.bus_width // 8).bit_length() - 1),
            bus.arburst.eq(Burst.INCR),
            bus.arcache.eq(Cache.BUFFERABLE | Cache.MODIFIABLE),
        ]  # fmt: skip
        with m.If(bus.arready):
            m.d.sync += bus.arvalid.eq(0)
        with m.If(asks):
            m.d.sync += [
                bus.arvalid.eq(1),
                bus.araddr.eq(self._address(asked)),
                asked.eq(following(asked, self.size)),
            ]
        m.d.sync += outstanding.eq(outstanding + asks - ends)

        # --- data
        bad = Signal()  # the burst has an error
        beat_error = Signal()
        written = Signal(range(2 * PREFETCH * self._beats))  # beats, with a bit for full or empty
        place, beat = self._slot(written), self._beat(written)
        m.submodules.ram = ram = memory.Memory(
            shape=self._config.bus_width, depth=PREFETCH * self._beats, init=[],
            attrs={"no_rw_check": 1},
        )  # fmt: skip
        write = ram.write_port()
        m.d.comb += [
            bus.rready.eq(1),
            beat_error.eq(bad | is_error(bus.rresp)),
            write.addr.eq(written[:-1]),
            write.data.eq(bus.rdata),
            write.en.eq(bus.rvalid & ~drop & ~beat_error),
        ]
        with m.If(write.en):
            m.d.sync += written.eq(written + 1)
        with m.If(bus.rvalid & ~drop & is_error(bus.rresp) & ~bad):
            m.d.sync += [bad.eq(1), self.fault.eq(self._address(arrived, beat))]
        with m.If(ends & ~drop):
            with m.If(beat_error):
                m.d.sync += self.failed.eq(1)
            with m.Else():
                m.d.sync += arrived.eq(following(arrived, self.size))
        m.d.sync += free.eq(free - asks + loaded + (ends & (drop | beat_error)))

        # --- out of the RAM, into one piece
        read = ram.read_port()
        count = Signal.like(written)  # beats read
        shifted = Signal(DESCRIPTOR_WIDTH, reset_less=True)
        full, coming, coming_last, reads = Signal(), Signal(), Signal(), Signal()
        last = self._beat(count) == self._beats - 1
        m.d.comb += [
            reads.eq((count != written) & ~full & ~coming_last & ~restart & ~self.reset),
            loaded.eq(reads & last),
            read.addr.eq(count[:-1]),
            read.en.eq(reads),
            self.cmd.valid.eq(full & ~self.reset),
            self.cmd.payload.eq(shifted),
        ]
        m.d.sync += [coming.eq(reads), coming_last.eq(loaded)]
        with m.If(reads):
            m.d.sync += count.eq(count + 1)
        with m.If(coming):
            m.d.sync += shifted.eq(Cat(shifted, read.data)[self._config.bus_width :])
        with m.If(coming_last):
            m.d.sync += full.eq(1)
        with m.If(self.cmd.valid & self.cmd.ready):
            m.d.sync += full.eq(0)

        # --- after an error, and from the beginning
        with m.If(self.clear & self.failed):
            m.d.sync += clearing.eq(1)
        with m.If(restart):
            m.d.sync += [
                self.failed.eq(0),
                clearing.eq(0),
                bad.eq(0),
                asked.eq(arrived),
                beat.eq(0),
            ]
            with m.If(self._slot(count) == place):
                m.d.sync += self._beat(count).eq(0)
        with m.If(self.reset):
            m.d.sync += [
                self.failed.eq(0),
                clearing.eq(0),
                bad.eq(0),
                asked.eq(0),
                arrived.eq(0),
                written.eq(0),
                count.eq(0),
                coming.eq(0),
                coming_last.eq(0),
                full.eq(0),
            ]
            with m.If(self.idle):
                m.d.sync += free.eq(PREFETCH)
        return m

    def _beat(self, count):
        """Beats of the descriptor at hand, out of a count of beats."""
        return count[: (self._beats - 1).bit_length()]

    def _slot(self, count):
        return count[(self._beats - 1).bit_length() :]

    def _address(self, entry, beat=None):
        """Address of an entry of the ring, or of a beat of it."""
        place = (self.base[_ENTRY_SHIFT:] + entry)[: len(self.base) - _ENTRY_SHIFT]
        low = Const(0, _ENTRY_SHIFT if beat is None else _ENTRY_SHIFT - len(beat))
        return Cat(low, place) if beat is None else Cat(low, beat, place)
