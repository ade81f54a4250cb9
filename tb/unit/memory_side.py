"""A memory on an AXI bus and the streams of the memory side, for the benches of reader and writer.

::

    rows --> requests --> [ dut ] --> beats, answers         each side idles by its own chance
                             |
                          [Memory] <-- watched by axi_rules.Rules
"""

import functools
import random

from amaranth import Cat, ClockDomain, Module, Signal, Value
from amaranth.sim import Simulator
from axi_rules import Rules
from cornerturn import isa
from cornerturn.config import PRESETS, Config

__all__ = [
    "BASE",
    "CONFIGS",
    "GAP",
    "SIZE",
    "SLVERR",
    "Memory",
    "Side",
    "beats_of",
    "bytes_of",
    "neighbours",
    "random_options",
    "rows_at",
    "run",
    "some_rows",
    "words_of",
]

BASE = 0x3C00
"""Where the memory starts; a 4 KiB boundary is inside."""

SIZE = 0x3000
GAP = 256
"""Bytes at both ends that no row touches."""

SLVERR = 2

LIMIT = 20_000
"""Cycles that no part of a test takes."""

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
    """A subordinate that takes its time.

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
    anywhere : bool
        There is memory at every address; it holds nothing.
    """

    def __init__(self, rules, rng, *, latency=0, chance=None, errors=(), anywhere=False):
        self.rules, self.rng = rules, rng
        self.bus_bytes = rules.bus_bytes
        self.latency = latency if callable(latency) else lambda: latency
        self.chance = chance or {}
        self.errors = set(errors)
        self.anywhere = anywhere
        self.data = bytearray(rng.randbytes(SIZE))
        self.stores = []  # (address, byte) in the order of the bus
        self.answered = []  # (cycle, burst, error)
        self._reads, self._answers = [], []  # (cycle in which it is due, ...)
        self._out = {"r": None, "b": None}
        self._seen = 0  # writes whose data is complete
        self._addressed = 0

    def drive(self):
        """The memory's signals in this cycle."""
        signals = {f"{channel}ready": int(self._acts(channel)) for channel in ("ar", "aw", "w")}
        signals |= {"rvalid": 0, "rid": 0, "rdata": 0, "rresp": 0, "rlast": 0}
        signals |= {"bvalid": 0, "bid": 0, "bresp": 0}
        read, answer = self._next("r", self._reads), self._next("b", self._answers)
        if read:
            _, address, last = read
            word = self.data[address - BASE : address - BASE + self.bus_bytes]
            error = SLVERR if address in self.errors else 0
            signals |= {"rvalid": 1, "rresp": error, "rlast": last}
            signals["rdata"] = 0 if self.anywhere else int.from_bytes(word, "little")
        if answer:
            signals |= {"bvalid": 1, "bresp": answer[2]}
        return signals

    def cycle(self, signals):
        """What happened in this cycle, as `Rules` is told."""
        now = self.rules.now
        if signals.get("arvalid") and signals["arready"]:
            due = now + 1 + self.latency()
            for beat in range(signals["arlen"] + 1):
                address = signals["araddr"] + beat * self.bus_bytes
                inside = BASE <= address < BASE + SIZE
                assert inside or self.anywhere, f"read at {address:#x}"
                self._reads.append((due, address, int(beat == signals["arlen"])))
        if self._out["r"] and signals["rready"]:
            self._reads.pop(0)
            self._out["r"] = None
        if self._out["b"] and signals["bready"]:
            self.answered.append((now, *self._answers.pop(0)[1:]))
            self._out["b"] = None
        self._addressed += bool(signals.get("awvalid") and signals["awready"])
        self.rules.cycle(signals)
        if signals.get("wvalid") and signals["wready"]:
            self._store(signals)
        self._complete(now)

    def _acts(self, channel):
        return self.rng.random() < self.chance.get(channel, 1)

    def _next(self, channel, queue):
        """What the channel offers: the same until it is taken."""
        due = queue and queue[0][0] <= self.rules.now
        if self._out[channel] is None and due and self._acts(channel):
            self._out[channel] = queue[0]
        return self._out[channel]

    def _store(self, signals):
        burst = next(b for b in reversed(self.rules.writes) if b.beats)
        address = burst.address + (len(burst.beats) - 1) * self.bus_bytes
        data = signals["wdata"].to_bytes(self.bus_bytes, "little")
        for byte in range(self.bus_bytes):
            if signals["wstrb"] >> byte & 1:
                self.stores.append((address + byte, data[byte]))
                if not self.anywhere:
                    self.data[address + byte - BASE] = data[byte]

    def _complete(self, now):
        writes = self.rules.writes
        while self._seen < self._addressed and _full(writes[self._seen]):
            burst = writes[self._seen]
            words = range(burst.address, burst.address + burst.length * self.bus_bytes)
            error = SLVERR if self.errors.intersection(words) else 0
            self._answers.append((now + 1 + self.latency(), burst, error))
            self._seen += 1


def _full(burst):
    return len(burst.beats) == burst.length


class _Pins:
    """Signals by name as one wide one: what crosses between Python and a simulation is slow."""

    def __init__(self, signals):
        self.signals = Cat(Value.cast(signal) for signal in signals.values())
        self.value = Signal(len(self.signals))
        self.names = list(signals)
        self._widths = [(name, len(Value.cast(signal))) for name, signal in signals.items()]

    def pack(self, values):
        bits = at = 0
        for name, width in self._widths:
            bits |= int(values[name]) << at
            at += width
        return bits

    def unpack(self, bits):
        values = {}
        for name, width in self._widths:
            values[name] = bits & ((1 << width) - 1)
            bits >>= width
        return values


def _pins(m, dut):
    """All inputs and all outputs of a dut but its clock."""
    axi = {path[-1]: (member.flow.name, value) for path, member, value in _members(dut.axi)}
    inputs = {name: value for name, (flow, value) in axi.items() if flow == "In"}
    outputs = {name: value for name, (flow, value) in axi.items() if flow == "Out"}
    out = dut.o_beat if hasattr(dut, "o_beat") else dut.o_answer
    inputs |= {
        "request_valid": dut.i_request.valid,
        "request": dut.i_request.payload,
        "takes": out.ready,
        "flush": dut.flush,
    }
    outputs |= {
        "idle": dut.idle,
        "request_ready": dut.i_request.ready,
        "out_valid": out.valid,
        "out_payload": out.payload,
    }
    if hasattr(dut, "o_beat"):
        outputs |= {"event": dut.received, "error": dut.error, "error_address": dut.error_address}
    else:
        inputs |= {"beat_valid": dut.i_beat.valid, "beat": dut.i_beat.payload}
        outputs |= {"event": dut.sent, "beat_ready": dut.i_beat.ready}
    pins = _Pins(inputs), _Pins(outputs)
    m.d.comb += [pins[0].signals.eq(pins[0].value), pins[1].value.eq(pins[1].signals)]
    return pins


class Side:
    """A reader or writer with its memory: one call of `step` is one cycle.

    Parameters
    ----------
    dut : MemReader or MemWriter
    config : Config
    pins, ctx
        The simulation.
    seed : int
    chance : dict
        Of the memory's channels, and of "request", "beat" (offered or taken) and "answer".
    options
        See `Memory`.

    Attributes
    ----------
    requests, offer : list
        What is still to be offered: rows, and beats to be written.
    sent, offered, out : list of (cycle, payload)
        What was taken: rows, beats to be written, beats that were read or answers.
    idle : list
        Of every cycle.
    """

    def __init__(self, dut, config, pins, ctx, *, seed=0, chance=None, **options):
        self.dut, self.config, self.ctx = dut, config, ctx
        self.rng = random.Random(seed)
        self.chance = chance or {}
        self.rules = Rules(
            bus_bytes=config.bus_width // 8, longest=16, outstanding=config.memory_requests
        )
        self.memory = Memory(self.rules, self.rng, chance=self.chance, **options)
        self.requests, self.offer = [], []
        self.sent, self.offered, self.out = [], [], []
        self.idle = []
        self.seen = {}
        self.flush = 0
        self._reader = hasattr(dut, "o_beat")
        self._inputs, self._outputs = pins
        self._request = isa.memory_request(config)
        self._held = {"request": None, "beat": None}
        self._waiting = None  # offered by the dut, and not taken

    async def until_idle(self):
        """Run until everything is offered and taken, and nothing is left."""
        offering = True
        while offering or not self.idle[-1]:
            offering = bool(self.requests or self.offer)
            await self.step()
        self.rules.finish()

    async def step(self):
        """A cycle."""
        ctx = self.ctx
        bus = self.memory.drive()
        takes = self.rng.random() < self.chance.get("beat" if self._reader else "answer", 1)
        values = bus | {"takes": takes, "flush": self.flush}
        values |= self._drive("request", self.requests)
        if not self._reader:
            values |= self._drive("beat", self.offer)
        ctx.set(self._inputs.value, self._inputs.pack(values))
        seen = self._outputs.unpack(ctx.get(self._outputs.value))
        seen |= {name: bus[name] for name in self._inputs.names if name in bus}
        self.seen = seen
        assert seen["event"] == (
            seen["rvalid"] if self._reader else seen["wvalid"] and seen["wready"]
        )
        assert seen.get("rready", 1), "rready must always be high"
        self._taken("request", seen, self.requests, self.sent)
        if not self._reader:
            self._taken("beat", seen, self.offer, self.offered)
        self._look_at_output(seen, takes)
        self.idle.append(seen["idle"])
        self.memory.cycle(seen)
        assert self.rules.now < LIMIT, "hangs"
        await ctx.tick()

    def drop_offers(self):
        """Withdraw what is offered, as only a flush allows."""
        self._held = dict.fromkeys(self._held)

    def _drive(self, name, queue):
        if self._held[name] is None and queue and self.rng.random() < self.chance.get(name, 1):
            self._held[name] = queue[0]
        payload = self._held[name]
        if name == "request" and payload is not None:
            payload = self._request.const(payload).as_value().value
        return {f"{name}_valid": self._held[name] is not None, name: payload or 0}

    def _taken(self, name, seen, queue, taken):
        if seen[f"{name}_ready"] and self._held[name] is not None:
            taken.append((self.rules.now, queue.pop(0)))
            self._held[name] = None

    def _look_at_output(self, seen, takes):
        payload = seen["out_payload"] if seen["out_valid"] else None
        if self._waiting is not None:
            assert payload == self._waiting, "an output changed while it waited"
        if payload is not None and takes:
            self.out.append((self.rules.now, payload))
        self._waiting = None if takes or self.flush else payload


def _members(interface):
    return interface.signature.flatten(interface)


@functools.cache
def _simulation(kind, config):
    """A simulator with a dut, made once, and the queue of the scenarios that it runs."""
    dut = kind(config)
    domain = ClockDomain("sync")
    top = Module()
    top.domains += domain
    top.submodules.dut = dut
    pins = _pins(top, dut)
    simulator = Simulator(top)
    simulator.add_clock(1e-8)
    scenarios = []

    async def bench(ctx):
        while True:
            ctx.set(domain.rst, 1)
            await ctx.tick()
            ctx.set(domain.rst, 0)
            await scenarios[0](functools.partial(Side, dut, config, pins, ctx))
            scenarios.clear()
            await ctx.tick()

    simulator.add_testbench(bench, background=True)
    return simulator, scenarios


def run(kind, config, scenario):
    """Simulate ``scenario(side)``, which makes a `Side` for each part, with its options.

    `kind` is the class of the dut. Each scenario starts with a reset.
    """
    simulator, scenarios = _simulation(kind, config)
    scenarios.append(scenario)
    try:
        while scenarios:
            simulator.advance()
    except BaseException:
        _simulation.cache_clear()
        raise


def bytes_of(rows):
    """Every byte address of rows, in their order."""
    return [row["address"] + k for row in rows for k in range(row["bytes"])]


def words_of(config, rows):
    """Addresses of the bus words that rows touch, each once for neighbours that share it."""
    size = config.bus_width // 8
    words = [address - address % size for address in bytes_of(rows)]
    return [word for k, word in enumerate(words) if k == 0 or word != words[k - 1]]


def beats_of(config, data):
    """Dense beats of a row's bytes as (integer, number of bits that mean something)."""
    value, bits, width = int.from_bytes(data, "little"), 8 * len(data), config.beat_width
    return [
        (value >> at & ((1 << width) - 1), min(width, bits - at)) for at in range(0, bits, width)
    ]


def rows_at(starts, length, *, last=True):
    """Rows of one length; the last one is marked so."""
    rows = [{"address": start, "bytes": length, "last": 0} for start in starts]
    rows[-1]["last"] = int(last)
    return rows


def some_rows(config, rng, count):
    """Random rows of every kind: neighbours, gaps, overlaps, single bytes, across 4 KiB, long."""
    first, end = BASE + GAP, BASE + SIZE - GAP
    size = config.bus_width // 8
    longest = min(20 * size, 600)
    rows, at = [], rng.randrange(first, end)
    for _ in range(count):
        kind = rng.randrange(8)
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
    rows[-1]["last"] = 1
    return rows


def neighbours(config):
    """Sixty rows, each where the one before ends, up to two bus words long; none is `last`."""
    lengths = random.Random(7).choices(range(1, 2 * config.bus_width // 8), k=60)
    rows, at = [], BASE + GAP + 1
    for length in lengths:
        rows.append({"address": at, "bytes": length, "last": 0})
        at += length
    return rows


def random_options(rng, *channels):
    """How slow the memory is, constantly or not, and how often each channel goes."""
    longest = rng.choice((0, 3, 20, 200))
    latency = (lambda: rng.randint(0, longest)) if rng.random() < 0.5 else longest
    return {"latency": latency, "chance": {name: rng.choice((0.2, 0.7, 1)) for name in channels}}
