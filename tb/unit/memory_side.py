"""A memory on an AXI bus and the streams of the memory side, for the benches of reader and writer.

::

    rows --> requests --> [ dut ] --> beats, answers         each side idles by its own chance
                             |
                          [Memory] <-- watched by axi_rules.Rules
"""

import random

from amaranth import Cat, Value
from axi_rules import Rules
from cornerturn.config import PRESETS, Config
from unit.bench import simulate

__all__ = ["BASE", "CONFIGS", "Memory", "Side", "beats_of", "bytes_of", "some_rows"]

BASE = 0x3C00
"""Where the memory starts: a 4 KiB boundary is inside."""

SIZE = 0x3000
GUARD = 256
SLVERR = 2

CONFIGS = {
    "nibble": Config(lanes=3, cells=16, cell_width=4, beat_cells=1, memory_requests=4),
    "byte": Config(lanes=3, cells=16, beat_cells=1, address_bits=20),
    "half": Config(lanes=3, cells=16, beat_cells=2, memory_requests=8),
    "tiny": PRESETS["tiny"],
    "default": PRESETS["default"],
    "wide": Config(lanes=5, cell_width=32, beat_cells=32, cells=64, address_bits=48),
}
"""Beats of 4, 8 and 16 bits on a bus of 32; 32, 64 and 1024 bits."""


class Memory:
    """A subordinate that takes its time. Drives what `Rules` looks at.

    Parameters
    ----------
    rules : Rules
    rng : random.Random
    latency : callable or int
        Cycles from an address to its first beat (from the last beat to its answer): 0 is the next
        cycle.
    chance : dict
        Of each channel (ar, r, aw, w, b), how often it is ready or valid.
    errors : set of int
        Bus words, by address, that are answered with an error.
    """

    def __init__(self, rules, rng, *, latency=0, chance=None, errors=()):
        self.rules, self.rng = rules, rng
        self.bus_bytes = rules.bus_bytes
        self.latency = latency if callable(latency) else lambda: latency
        self.chance = chance or {}
        self.errors = set(errors)
        self.data = bytearray(rng.randbytes(SIZE))
        self.writable = None  # addresses that may be written; None: any
        self.written = {}  # how often each byte was
        self._reads, self._answers = [], []  # (cycle, ...) that are due
        self._out = {"r": None, "b": None}
        self._seen = 0  # writes whose data is complete
        self._addressed = 0

    def ready(self, channel):
        """Whether a channel acts in this cycle."""
        return self.rng.random() < self.chance.get(channel, 1)

    def drive(self):
        """The signals for this cycle."""
        now = self.rules.now
        signals = {f"{channel}ready": int(self.ready(channel)) for channel in ("ar", "aw", "w")}
        if self._out["r"] is None and self._reads and self._reads[0][0] <= now and self.ready("r"):
            self._out["r"] = self._reads[0]
        if self._out["b"] is None and self._answers and self._answers[0][0] <= now:
            self._out["b"] = self._answers[0] if self.ready("b") else None
        signals |= {"rvalid": 0, "rid": 0, "rdata": 0, "rresp": 0, "rlast": 0}
        if self._out["r"]:
            _, address, last = self._out["r"]
            error = SLVERR if address in self.errors else 0
            word = self.data[address - BASE : address - BASE + self.bus_bytes]
            signals |= {"rvalid": 1, "rresp": error, "rlast": last}
            signals["rdata"] = int.from_bytes(word, "little")
        signals |= {"bvalid": 0, "bid": 0, "bresp": 0}
        if self._out["b"]:
            signals |= {"bvalid": 1, "bresp": self._out["b"][1]}
        return signals

    def cycle(self, signals):
        """What happened in this cycle."""
        now = self.rules.now
        if signals.get("arvalid") and signals["arready"]:
            due = now + 1 + self.latency()
            for beat in range(signals["arlen"] + 1):
                address = signals["araddr"] + beat * self.bus_bytes
                assert BASE <= address < BASE + SIZE, "reads elsewhere"
                self._reads.append((due, address, int(beat == signals["arlen"])))
        if self._out["r"] and signals["rready"]:
            self._reads.pop(0)
            self._out["r"] = None
        if self._out["b"] and signals["bready"]:
            self._answers.pop(0)
            self._out["b"] = None
        if signals.get("wvalid") and signals["wready"]:
            self._write(signals)
        self._addressed += bool(signals.get("awvalid") and signals["awready"])
        self.rules.cycle(signals)
        self._complete()

    def _write(self, signals):
        burst = self.rules.writes[self._seen_data()]
        address = burst.address + len(burst.beats) * self.bus_bytes
        data = signals["wdata"].to_bytes(self.bus_bytes, "little")
        for byte in range(self.bus_bytes):
            if signals["wstrb"] >> byte & 1:
                assert self.writable is None or address + byte in self.writable, "writes elsewhere"
                self.data[address + byte - BASE] = data[byte]
                self.written[address + byte] = self.written.get(address + byte, 0) + 1

    def _seen_data(self):
        writes = self.rules.writes
        return next(i for i in range(self._seen, len(writes)) if not _full(writes[i]))

    def _complete(self):
        writes = self.rules.writes
        while self._seen < min(len(writes), self._addressed) and _full(writes[self._seen]):
            burst = writes[self._seen]
            words = range(burst.address, burst.address + burst.length * self.bus_bytes)
            error = SLVERR if self.errors.intersection(words) else 0
            self._answers.append((self.rules.now + self.latency(), error))
            self._seen += 1


def _full(burst):
    return len(burst.beats) == burst.length


class Side:
    """Runs a reader or a writer with its memory: one call of `step` is one cycle.

    Parameters
    ----------
    dut : MemReader or MemWriter
    config : Config
    seed : int
    chance : dict
        Of the memory's channels, and of "request", "beat" (offered or taken) and "answer".
    latency, errors
        See `Memory`.
    """

    def __init__(self, dut, config, *, seed=0, chance=None, latency=0, errors=(), longest=16):
        self.dut, self.config = dut, config
        self.rng = random.Random(seed)
        self.chance = chance or {}
        self.rules = Rules(
            bus_bytes=config.bus_width // 8,
            longest=longest,
            outstanding=config.memory_requests,
        )
        self.memory = Memory(
            self.rules, self.rng, latency=latency, chance=self.chance, errors=errors
        )
        self.requests, self.offer = [], []  # rows and beats to be offered
        self.sent, self.offered, self.beats, self.answers = [], [], [], []  # (cycle, what)
        self.flush = 0
        self.idle = []  # of every cycle
        self.limit = 20_000
        self._held = {"request": None, "beat": None}
        self._last = {}  # outputs that were offered and not taken
        self._signals = [
            (name, value)
            for name, value in (
                ("idle", dut.idle),
                *((path[-1], value) for path, member, value in dut.axi.signature.flatten(dut.axi)),
            )
        ]
        bus = {path[-1]: member.flow.name for path, member, _ in dut.axi.signature.flatten(dut.axi)}
        self._inputs = [name for name, flow in bus.items() if flow == "In"]
        self.reader = hasattr(dut, "o_beat")
        stream = dut.o_beat if self.reader else dut.o_answer
        self._signals += [
            ("request_ready", dut.i_request.ready),
            ("out_valid", stream.valid),
            ("out_payload", Value.cast(stream.payload)),
        ]
        if not self.reader:
            self._signals.append(("beat_ready", dut.i_beat.ready))
        self._all = Cat(*(Value.cast(value) for _, value in self._signals))
        self._out = stream

    def run(self, bench=None):
        """Simulate `bench(side)`; without one, until all that was asked for is done."""

        async def drive(ctx, reset):
            self.ctx = ctx
            await (bench or Side.until_done)(self)

        simulate(self.dut, drive)
        return self

    async def until_done(self):
        """Run until everything is offered and the dut is idle, and nothing is left."""
        while self.requests or self.offer or not (self.idle and self.idle[-1]):
            await self.step()
            assert self.rules.now < self.limit, "hangs"
        self.rules.finish()

    def _offer(self, name, stream, queue):
        if self._held[name] is None and queue and self.rng.random() < self.chance.get(name, 1):
            self._held[name] = queue[0]
        valid = self._held[name] is not None
        self.ctx.set(stream.valid, valid)
        if valid:
            payload = self._held[name]
            self.ctx.set(stream.payload, payload)

    async def step(self):
        """A cycle."""
        ctx, dut = self.ctx, self.dut
        bus = self.memory.drive()
        for name in self._inputs:
            ctx.set(Value.cast(getattr(dut.axi, name)), bus[name])
        self._offer("request", dut.i_request, self.requests)
        if not self.reader:
            self._offer("beat", dut.i_beat, self.offer)
        taking = self.rng.random() < self.chance.get("beat" if self.reader else "answer", 1)
        ctx.set(self._out.ready, taking)
        ctx.set(dut.flush, self.flush)
        seen = self._sample()
        now = self.rules.now
        self._count(now, seen, taking)
        self.idle.append(seen["idle"])
        self.memory.cycle(seen)
        await ctx.tick()

    def _sample(self):
        bits = self.ctx.get(self._all)
        seen = {}
        for name, value in self._signals:
            width = len(Value.cast(value))
            seen[name] = bits & ((1 << width) - 1)
            bits >>= width
        return seen

    def _count(self, now, seen, taking):
        if seen["request_ready"] and self._held["request"] is not None:
            self.sent.append((now, self.requests.pop(0)))
            self._held["request"] = None
        if not self.reader and seen["beat_ready"] and self._held["beat"] is not None:
            self.offered.append((now, self.offer.pop(0)))
            self._held["beat"] = None
        if "out" in self._last and not self.flush:
            assert seen["out_valid"], "withdrawn"
            assert seen["out_payload"] == self._last["out"], "changed while it waited"
        self._last.pop("out", None)
        if seen["out_valid"]:
            if taking:
                (self.beats if self.reader else self.answers).append((now, seen["out_payload"]))
            elif not self.flush:
                self._last["out"] = seen["out_payload"]
        if self.reader:
            assert seen["rready"], "rready must always be high"


def bytes_of(rows):
    """Every byte address of rows."""
    return {row["address"] + k for row in rows for k in range(row["bytes"])}


def words_of(config, rows):
    """Addresses of the bus words that rows touch."""
    size = config.bus_width // 8
    return {address - address % size for address in bytes_of(rows)}


def beats_of(config, data):
    """Dense beats of a row's bytes as (integer, number of bits that mean something)."""
    value, bits, width = int.from_bytes(data, "little"), 8 * len(data), config.beat_width
    return [
        (value >> at & ((1 << width) - 1), min(width, bits - at)) for at in range(0, bits, width)
    ]


def some_rows(config, rng, count, *, longest=300):
    """Random rows of every kind: neighbours, gaps, overlaps, single bytes, across 4 KiB, long."""
    first, end = BASE + GUARD, BASE + SIZE - GUARD
    size = config.bus_width // 8
    rows, at = [], rng.randrange(first, end)
    for _ in range(count):
        kind = rng.randrange(6)
        length = rng.choice((1, rng.randint(1, 4), rng.randint(1, 2 * size), size))
        if kind == 0:
            at = rng.randrange(first, end)
        elif kind == 1:
            at += rng.randint(-2 * size, 2 * size)
        elif kind == 2:
            at = rng.choice((0x4000, 0x5000)) - rng.randint(0, 2 * size)
        if rng.random() < 0.05:
            length = rng.randint(1, longest)
        at = max(first, min(at, end - length))
        rows.append({"address": at, "bytes": length, "last": int(rng.random() < 0.1)})
        at += length
    return rows
