"""ring: runs the descriptors of a ring in memory, and answers each with a record in memory.

::

    tail (doorbell) --> fetch --cmd--> engine --rsp--> recorder --> head
                          |AR, R                           |AW, W, B
                        descriptors                      records

        0     head        tail     size-1         empty: head = tail
    [       |  run these |               ]        entry i is answered by record i

An error of the bus stops the ring, not the engine: nothing more is fetched until `clear`. Nothing
is lost then, for what failed is done again.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from .. import isa
from .axi import Axi4, forward
from .fetch import ENTRY_BITS, Fetch
from .recorder import Recorder

__all__ = ["Ring"]


class Ring(wiring.Component):
    """Descriptor ring and completion records.

    Latency: from a doorbell to the address of its descriptor 3 cycles; else see `Fetch` and
    `Recorder`. The bases and the size stand still from the first doorbell to a reset.

    Parameters
    ----------
    config : Config

    Members
    -------
    base, completion_base : In(address_bits)
        Of the descriptors (a multiple of 256) and of the records (a multiple of 16).
    size : In(16)
        Entries of either.
    tail, tail_written : In(16), In(1)
        The doorbell: the entry behind the last descriptor; looked at when `tail_written` is high.
        A tail that is not below `size` is ignored, with an error.
    enable : In(1)
        Fetch descriptors.
    clear : In(1)
        Pulse: leave a stop.
    soft_reset : In(1)
        Pulse: drop everything, head and tail are zero; done when not `busy`.
    hung : In(1)
        Begin nothing on the bus, ever again.
    engine_busy : In(1)
        `status.busy` of the engine; a reset lasts as long.
    cmd : Out(stream of descriptor), rsp : In(stream of completion)
        Of the engine.
    rsp_address : In(64)
        The fault's address, beside `rsp`.
    read, write : Out(Axi4)
    head : Out(16)
        The entry behind the last descriptor whose record is written.
    busy : Out(1)
        There are descriptors without a record, or a reset goes on.
    resetting : Out(1)
        A reset goes on.
    settled : Out(1)
        All completions offered so far are recorded.
    fetch_error, record_error, doorbell_error : Out(1)
        Until `clear`.
    fault : Out(address_bits)
        Address of the last bus error.
    recorded, emptied, failed : Out(1)
        Pulses: a record was written; it was that of the last descriptor; an error has come up.
    """

    def __init__(self, config):
        self._config = config
        shape = {"address_bits": config.address_bits, "data_width": config.bus_width}
        self._read_bus = Axi4(**shape, write=False)
        self._write_bus = Axi4(**shape, read=False)
        super().__init__(
            {
                "base": In(config.address_bits),
                "completion_base": In(config.address_bits),
                "size": In(ENTRY_BITS),
                "tail": In(ENTRY_BITS),
                "tail_written": In(1),
                "enable": In(1),
                "clear": In(1),
                "soft_reset": In(1),
                "hung": In(1),
                "engine_busy": In(1),
                "cmd": Out(stream.Signature(isa.descriptor())),
                "rsp": In(stream.Signature(isa.completion())),
                "rsp_address": In(64),
                "read": Out(self._read_bus),
                "write": Out(self._write_bus),
                "head": Out(ENTRY_BITS),
                "busy": Out(1),
                "resetting": Out(1),
                "settled": Out(1),
                "fetch_error": Out(1),
                "record_error": Out(1),
                "doorbell_error": Out(1),
                "fault": Out(config.address_bits),
                "recorded": Out(1),
                "emptied": Out(1),
                "failed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.fetch = fetch = Fetch(self._config)
        m.submodules.recorder = recorder = Recorder(self._config)
        connect(m, fetch.cmd, flipped(self.cmd))
        connect(m, flipped(self.rsp), recorder.i_rsp)
        forward(m, self._read_bus, fetch.bus, self.read)
        forward(m, self._write_bus, recorder.bus, self.write)

        tail = Signal(ENTRY_BITS)
        resetting = Signal()
        errors = Signal(3)
        known = Signal(3)
        m.d.comb += [
            fetch.base.eq(self.base),
            fetch.size.eq(self.size),
            fetch.tail.eq(tail),
            fetch.enable.eq(self.enable & ~self.hung & ~recorder.failed),
            fetch.clear.eq(self.clear),
            fetch.reset.eq(resetting),
            recorder.base.eq(self.completion_base),
            recorder.size.eq(self.size),
            recorder.hold.eq(self.hung),
            recorder.clear.eq(self.clear),
            recorder.reset.eq(resetting),
            recorder.i_address.eq(self.rsp_address),
            self.head.eq(recorder.head),
            self.busy.eq(resetting | (recorder.head != tail)),
            self.settled.eq(recorder.empty & ~self.rsp.valid),
            self.fetch_error.eq(fetch.failed),
            self.record_error.eq(recorder.failed),
            self.resetting.eq(resetting),
            self.recorded.eq(recorder.written & ~resetting),
            self.emptied.eq(self.recorded & (recorder.head == tail)),
            errors.eq(self.fetch_error | self.record_error << 1 | self.doorbell_error << 2),
            self.failed.eq((errors & ~known).any() & ~resetting),
            self.fault.eq(Mux(recorder.failed, recorder.fault, fetch.fault)),
        ]
        m.d.sync += known.eq(errors)

        with m.If(self.clear):
            m.d.sync += self.doorbell_error.eq(0)
        with m.If(self.tail_written & ~resetting):
            with m.If(self.tail < self.size):
                m.d.sync += tail.eq(self.tail)
            with m.Else():
                m.d.sync += self.doorbell_error.eq(1)

        # The engine drops what it holds once its last instruction is done; by then the descriptor
        # on offer must be gone, and with it the ring's last completion.
        with m.If(fetch.idle & recorder.idle & ~self.engine_busy):
            m.d.sync += resetting.eq(0)
        with m.If(self.soft_reset):
            m.d.sync += [resetting.eq(1), tail.eq(0), self.doorbell_error.eq(0)]
        return m
