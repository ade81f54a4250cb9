"""The other end of a bus: a memory behind AXI4, and a host in front of AXI4-Lite, that check it.

Both stall every channel at random, and fail the test when what they see breaks the protocol: what
is offered stays as it is until it is taken; bursts are of the kind INCR, as wide as the bus, within
4 KiB, and as long as they said; strobes stay within the burst; answers are as many as questions.

A bench sets its outputs just after a clock edge and looks just before the next, so any number of
them can run in one simulation. Samplers are made once, and pins set when they change: that is what
keeps a simulation quick.
"""

import random
from collections import deque

__all__ = ["Host", "Memory", "Pins", "watch"]

ERROR = 2
WRITE_CHANNELS = {
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst", "awcache", "awprot"),
    "w": ("wdata", "wstrb", "wlast"),
}
READ_CHANNELS = {"ar": ("arid", "araddr", "arlen", "arsize", "arburst", "arcache", "arprot")}


def watch(port, valid, ready, payloads):
    """A bench: what one side of a channel offers stays until it is taken."""

    async def run(ctx):
        offered = None
        names = (valid, ready, *payloads)
        samples = ctx.tick().sample(*(getattr(port, name) for name in names))
        async for _, reset, *values in samples:
            if offered is not None and not reset:
                assert values[0], f"{valid} withdrawn"
                assert values[2:] == offered, f"payload changed under {valid}"
            offered = values[2:] if values[0] and not values[1] and not reset else None

    return run


class Pins:
    """The inputs of a port."""

    def __init__(self, port):
        self._port = port
        self._values = {}

    def set(self, ctx, **values):
        """Set pins to values, if they differ from what was set last."""
        for name, value in values.items():
            if self._values.get(name) != value:
                self._values[name] = value
                ctx.set(getattr(self._port, name), value)


class Memory:
    """A memory at a manager's port `bus` (or one of its halves), with `bytes` of data from 0 on.

    Parameters
    ----------
    bus : interface
    size : int
        Bytes.
    seed : int
    go : float
        Chance of each channel to go on in a cycle.
    latency : (int, int)
        Least and most cycles from a request to its (first) answer.
    reorder : bool
        Answer requests of different IDs in any order, and interleave their data.

    Members
    -------
    data : bytearray
    read_errors, write_errors : set of int
        Addresses whose beat is answered with an error.
    reads, writes : list of (id, address, beats)
        The bursts answered so far.
    silent : bool
        Take nothing and answer nothing.
    """

    def __init__(self, bus, size, *, seed=0, go=1.0, latency=(1, 1), reorder=False):
        self._bus = bus
        self._rng = random.Random(seed)
        self._go = go
        self._latency = latency
        self._reorder = reorder
        self._cycle = 0
        self.data = bytearray(size)
        self.read_errors = set()
        self.write_errors = set()
        self.reads = []
        self.writes = []
        self.silent = False
        self.reading = []  # [due, id, address, beats, beat]
        self.writing = deque()  # (id, address, beats), data not complete
        self.beats = deque()  # (data, strobe, last) before their address
        self.answers = []  # [due, id, response]

    @property
    def quiet(self):
        """Whether nothing is left over."""
        return not (self.reading or self.writing or self.beats or self.answers)

    @property
    def benches(self):
        """What `simulate` is to run."""
        found = []
        if hasattr(self._bus, "arvalid"):
            found += [self._read]
        if hasattr(self._bus, "awvalid"):
            found += [self._write]
        for channels in (READ_CHANNELS, WRITE_CHANNELS):
            for name, payloads in channels.items():
                if hasattr(self._bus, f"{name}valid"):
                    found += [watch(self._bus, f"{name}valid", f"{name}ready", payloads)]
        return found

    def _goes(self):
        return not self.silent and self._rng.random() < self._go

    def _due(self, cycle):
        return cycle + self._rng.randint(*self._latency)

    def _ready_entries(self, entries, cycle):
        """Those entries that may be answered now: the oldest of each ID, or the oldest of all."""
        oldest = {}
        for entry in entries:
            oldest.setdefault(entry[1] if self._reorder else None, entry)
        return [entry for entry in oldest.values() if entry[0] <= cycle]

    def _check_burst(self, identity, address, length, size, burst):
        width = len(self._bus.rdata if hasattr(self._bus, "rdata") else self._bus.wdata) // 8
        assert burst == 1, "burst must be INCR"
        assert 1 << size == width, "beat must be as wide as the bus"
        end = address // width * width + (length + 1) * width - 1
        assert address // 4096 == end // 4096, "burst must not cross 4 KiB"
        assert end < len(self.data), f"address must be in the memory, not {address:#x}"
        return identity, address, length + 1

    async def _read(self, ctx):
        bus, pins = self._bus, Pins(self._bus)
        cycle, offered = 0, None

        def drive():
            nonlocal offered
            if offered is None and self.reading and self._goes():
                candidates = self._ready_entries(self.reading, cycle)
                offered = self._rng.choice(candidates) if candidates else None
            pins.set(ctx, arready=self._goes(), **self._read_pins(offered))

        drive()
        async for _, reset, *values in ctx.tick().sample(
            bus.arvalid, bus.arready, bus.arid, bus.araddr, bus.arlen, bus.arsize, bus.arburst,
            bus.rready,
        ):  # fmt: skip
            valid, ready, *request, taken = values
            cycle += 1
            if reset:
                self.reading.clear()
                offered = None
            else:
                if offered is not None and taken:
                    offered[4] += 1
                    if offered[4] == offered[3]:
                        self.reading.remove(offered)
                        self.reads.append(tuple(offered[1:4]))
                    offered = None
                if valid and ready:
                    self.reading.append([self._due(cycle), *self._check_burst(*request), 0])
            drive()

    def _read_pins(self, entry):
        if entry is None:  # nobody may rely on what is not valid
            return {"rvalid": 0, "rdata": 0x5A, "rresp": ERROR, "rlast": 1}
        width = len(self._bus.rdata) // 8
        _, identity, address, beats, beat = entry
        low = address // width * width + beat * width
        bad = any(low <= error < low + width for error in self.read_errors)
        return {
            "rvalid": 1,
            "rid": identity,
            "rdata": int.from_bytes(self.data[low : low + width], "little"),
            "rresp": ERROR if bad else 0,
            "rlast": beat == beats - 1,
        }

    async def _write(self, ctx):
        bus, pins = self._bus, Pins(self._bus)
        cycle, offered = 0, None

        def drive():
            nonlocal offered
            if offered is None and self.answers and self._goes():
                candidates = self._ready_entries(self.answers, cycle)
                offered = self._rng.choice(candidates) if candidates else None
            _, identity, response = offered or (0, 0, ERROR)
            pins.set(ctx, bvalid=offered is not None, bid=identity, bresp=response)
            pins.set(ctx, awready=self._goes(), wready=self._goes())

        drive()
        async for _, reset, *values in ctx.tick().sample(
            bus.awvalid, bus.awready, bus.awid, bus.awaddr, bus.awlen, bus.awsize, bus.awburst,
            bus.wvalid, bus.wready, bus.wdata, bus.wstrb, bus.wlast, bus.bready,
        ):  # fmt: skip
            valid, ready, *request = values[:7]
            cycle += 1
            if reset:
                for queue in (self.writing, self.beats, self.answers):
                    queue.clear()
                offered = None
            else:
                if offered is not None and values[12]:
                    self.answers.remove(offered)
                    offered = None
                if valid and ready:
                    self.writing.append(self._check_burst(*request))
                if values[7] and values[8]:
                    self.beats.append(values[9:12])
                self._finish_writes(cycle)
            drive()

    def _finish_writes(self, cycle):
        """Do the bursts whose address and data are complete."""
        width = len(self._bus.wdata) // 8
        while self.writing and len(self.beats) >= self.writing[0][2]:
            identity, address, beats = self.writing.popleft()
            base = address // width * width
            bad = any(base <= error < base + beats * width for error in self.write_errors)
            for beat in range(beats):
                data, strobe, last = self.beats.popleft()
                assert last == (beat == beats - 1), "wlast must mark the last beat"
                for byte in range(width):
                    if strobe >> byte & 1:
                        place = base + beat * width + byte
                        assert place >= address, "strobe must not reach below the address"
                        if not bad:
                            self.data[place] = data >> 8 * byte & 0xFF
            self.writes.append((identity, address, beats))
            self.answers.append([self._due(cycle), identity, ERROR if bad else 0])
        if self.beats and not self.writing:  # data before its address
            assert len(self.beats) <= 256


class Host:
    """A host in front of a subordinate's AXI4-Lite port `bus`."""

    def __init__(self, bus, *, seed=0, go=1.0):
        self._bus = bus
        self._rng = random.Random(seed)
        self._go = go

    @property
    def benches(self):
        """What `simulate` is to run."""
        return [
            watch(self._bus, "bvalid", "bready", ("bresp",)),
            watch(self._bus, "rvalid", "rready", ("rdata", "rresp")),
        ]

    async def write(self, ctx, address, data, strobe=15):
        """Write a register; returns the response."""
        bus = self._bus
        ctx.set(bus.awaddr, address)
        ctx.set(bus.wdata, data)
        ctx.set(bus.wstrb, strobe)
        left = {"aw", "w"}
        shown = set()
        response = None
        while response is None:
            shown |= {channel for channel in left if self._rng.random() < self._go}
            ctx.set(bus.awvalid, "aw" in shown)
            ctx.set(bus.wvalid, "w" in shown)
            ctx.set(bus.bready, self._rng.random() < self._go)
            _, _, *values = await ctx.tick().sample(
                bus.awready, bus.wready, bus.bvalid, bus.bready, bus.bresp
            )
            for channel, ready in zip(("aw", "w"), values[:2], strict=True):
                if channel in shown and ready:
                    shown.remove(channel)
                    left.remove(channel)
            if values[2]:
                assert not left, "answered before it was asked"
                if values[3]:
                    response = values[4]
        ctx.set(bus.bready, 0)
        return response

    async def read(self, ctx, address):
        """Read a register; returns (data, response)."""
        bus = self._bus
        ctx.set(bus.araddr, address)
        left, answer = True, None
        ctx.set(bus.arvalid, 1)
        while answer is None:
            ctx.set(bus.rready, self._rng.random() < self._go)
            _, _, *values = await ctx.tick().sample(
                bus.arready, bus.rvalid, bus.rready, bus.rdata, bus.rresp
            )
            if values[1]:
                assert not left, "answered before it was asked"
                if values[2]:
                    answer = tuple(values[3:])
            if left and values[0]:
                left = False
                ctx.set(bus.arvalid, 0)
        ctx.set(bus.rready, 0)
        return answer
