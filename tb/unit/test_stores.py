"""Beats on their way to memory: in order, never too many, and serial rows only whole."""

import random
from collections import deque

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.tiu.stores import Stores, depth
from unit.bench import simulate

CONFIGS = {
    "tiny": PRESETS["tiny"],
    "small": Config(lanes=3, cells=16, beat_cells=1),
    "serial": Config(lanes=70, lanes_per_hop=35, cells=64, beat_cells=4),  # rows of 71 beats
}


def rows_of(rng, config, count, *, serial=False, longest=12):
    """Random rows: (address, number of beats)."""
    longest = config.longest_serial_row if serial else longest
    beats = [rng.choice([1, 1, 2, longest, rng.randint(1, longest)]) for _ in range(count)]
    return [(rng.getrandbits(config.address_bits), number) for number in beats]


class Bench:
    """Slots that go where they may, launches a constant time later, and a writer.

    `go`, `ask` and `take` are the chances that a slot is there, that the writer takes a request,
    and a beat. The writer is idle when it has all beats of all rows it was asked for.
    """

    def __init__(self, config, rows, *, delay, serial=False, go=1.0, ask=1.0, take=1.0, seed=0):
        self.config, self.rows, self.delay, self.serial = config, rows, delay, serial
        self.chances = go, ask, take
        self.rng = random.Random(seed)
        self.events = []  # (cycle, what, value)

    def run(self, *, cycles=6000):
        self.dut = Stores(self.config)
        self.limit = cycles
        simulate(self.dut, self._bench)
        return self

    def of(self, what):
        return [(cycle, value) for cycle, name, value in self.events if name == what]

    async def _bench(self, ctx, reset):
        dut, rng = self.dut, self.rng
        go, ask, take = self.chances
        slots = deque(
            (address, number, beat) for address, number in self.rows for beat in range(number)
        )
        line = deque([None] * self.delay)
        number = owed = 0  # beats launched; beats the writer still wants
        for cycle in range(self.limit):
            ctx.set(dut.writer_idle, owed == 0)
            ctx.set(dut.o_request.ready, rng.random() < ask)
            ctx.set(dut.o_beat.ready, owed > 0 and rng.random() < take)
            settled = ctx.get(dut.settled)
            slot = slots[0] if slots else None
            goes = slot is not None and rng.random() < go and bool(ctx.get(dut.room))
            if goes and self.serial and slot[2] == 0:
                goes = bool(settled)
            if goes:
                slots.popleft()
            ctx.set(dut.fires, goes)
            ctx.set(dut.begins, goes and slot[2] == 0)
            ctx.set(dut.serial, self.serial)
            if goes and slot[2] == 0:
                ctx.set(dut.request.address, slot[0])
                ctx.set(dut.request.bytes, slot[1])
                self.events.append((cycle, "begins", slot[0]))
            line.append(slot if goes else None)
            launch = line.popleft()
            ctx.set(dut.launches, launch is not None)
            ctx.set(dut.row_ends, bool(self.serial and launch and launch[2] == launch[1] - 1))
            if launch is not None:
                ctx.set(dut.beat, number % (1 << self.config.beat_width))
                number += 1
                self.events.append((cycle, "launch", launch[2] == launch[1] - 1))
            if ctx.get(dut.o_request.valid) and ctx.get(dut.o_request.ready):
                request = ctx.get(dut.o_request.payload)
                owed += request.bytes
                self.events.append((cycle, "request", (request.address, request.bytes)))
            if ctx.get(dut.o_beat.valid) and ctx.get(dut.o_beat.ready):
                owed -= 1
                self.events.append((cycle, "beat", ctx.get(dut.o_beat.payload)))
            if settled:
                self.events.append((cycle, "settled", None))
                if number and not slots and not any(line):
                    return
            await ctx.tick()
        raise AssertionError("not settled in time")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(
    ("go", "ask", "take"), [(1, 1, 1), (1, 0.2, 1), (1, 1, 0.4), (0.5, 0.5, 0.5)]
)
@pytest.mark.parametrize("serial", [False, True])
def test_everything_comes_in_order(config, go, ask, take, serial):
    rng = random.Random(39)
    rows = rows_of(rng, config, 12 if serial else 60, serial=serial)
    bench = Bench(
        config, rows, delay=config.align_latency + 1 if serial else config.write_delay,
        serial=serial, go=go, ask=ask, take=take, seed=40,
    ).run()  # fmt: skip
    assert [value for _, value in bench.of("request")] == rows
    total = sum(number for _, number in rows)
    beats = [value for _, value in bench.of("beat")]
    assert beats == [number % (1 << config.beat_width) for number in range(total)]
    launched, taken = ([cycle for cycle, _ in bench.of(what)] for what in ("launch", "beat"))
    inside = [sum(cycle <= now for cycle in launched) - k for k, now in enumerate(taken)]
    assert max(inside) <= depth(config)
    # Settled: between two rows at most, and never while something is under way.
    begins = [cycle for cycle, _ in bench.of("begins")]
    ends = [taken[sum(number for _, number in rows[: k + 1]) - 1] for k in range(len(rows))]
    busy = list(zip(begins, ends, strict=True))
    for cycle, _ in bench.of("settled"):
        assert not any(begin < cycle <= end for begin, end in busy)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_serial_rows_are_whole_before_they_are_written(config):
    rows = rows_of(random.Random(41), config, 8, serial=True)
    bench = Bench(config, rows, delay=config.align_latency + 1, serial=True).run()
    whole = [cycle for cycle, last in bench.of("launch") if last]
    requests = [cycle for cycle, _ in bench.of("request")]
    assert all(request > end for request, end in zip(requests, whole, strict=True))


@pytest.mark.parametrize("config", [PRESETS["tiny"], PRESETS["default"]], ids=["tiny", "default"])
def test_a_slot_a_cycle(config):
    """With a writer that takes everything no slot waits, however short the rows."""
    for longest in (1, 9):
        rows = rows_of(random.Random(42), config, 200, longest=longest)
        bench = Bench(config, rows, delay=config.write_delay).run()
        launches = [cycle for cycle, _ in bench.of("launch")]
        assert launches == list(range(launches[0], launches[0] + len(launches)))
        first = bench.of("begins")[0][0]
        assert launches[0] == first + config.write_delay
        assert bench.of("beat")[0][0] == launches[0] + 3
        assert bench.of("request")[0][0] == first + 3
