# amaranth: UnusedElaboratable=no
"""The queue in a RAM: nothing lost, three cycles, and never a row read and written at once."""

import random

import pytest
from amaranth import Module
from amaranth.lib import wiring
from cornerturn.tiu.fifo import Fifo
from unit.streams import flow

RATES = [(1, 1), (1, 0.3), (0.3, 1), (0.6, 0.6)]
VALUES = [random.Random(1).getrandbits(9) for _ in range(100)]


class Watched(wiring.Component):
    """A FIFO whose RAM can be looked at."""

    def __init__(self, depth):
        self._fifo = Fifo(9, depth)
        super().__init__(self._fifo.signature)

    def elaborate(self, platform):
        m = Module()
        inner = self._fifo.elaborate(platform)
        m.submodules.inner = inner
        wiring.connect(m, wiring.flipped(self.i), self._fifo.i)
        wiring.connect(m, self._fifo.o, wiring.flipped(self.o))
        m.d.comb += self._fifo.flush.eq(self.flush)
        self.ram = inner.submodules.ram
        return m

    def look(self, ctx):
        (read,), (write,) = self.ram.read_ports, self.ram.write_ports
        if ctx.get(read.en) and ctx.get(write.en):
            assert ctx.get(read.addr) != ctx.get(write.addr)


@pytest.mark.parametrize("depth", [2, 4, 32])
@pytest.mark.parametrize(("offer", "take"), RATES)
def test_everything_comes_out_in_order(depth, offer, take):
    fifo = Watched(depth)
    seen = flow(
        fifo, {"i": VALUES}, ["o"], cycles=450, offer=offer, take=take, watch=fifo.look
    )  # fmt: skip
    assert [value for _, value in seen["o"]] == VALUES
    given, taken = ([cycle for cycle, _ in seen[port]] for port in "io")
    inside = [sum(g < t for g in given) - k for k, t in enumerate(taken)]
    assert max(inside) <= depth + 3
    if take == 0.3:
        assert max(inside) >= depth + 2


def test_three_cycles_and_full_rate():
    seen = flow(Fifo(9, 8), {"i": VALUES}, ["o"], cycles=150)
    assert [cycle for cycle, _ in seen["i"]] == list(range(100))
    assert [cycle for cycle, _ in seen["o"]] == list(range(3, 103))


def test_flush_drops_what_is_inside():
    fifo = Watched(8)
    seen = flow(fifo, {"i": VALUES}, ["o"], cycles=400, take=0.5, flush=60, watch=fifo.look)
    sent = [value for cycle, value in seen["i"] if cycle > 60]
    assert [value for cycle, value in seen["o"] if cycle > 60] == sent
    before = [value for cycle, value in seen["o"] if cycle <= 60]
    assert before == VALUES[: len(before)]


@pytest.mark.parametrize("depth", [0, 1, 12])
def test_depth_is_checked(depth):
    with pytest.raises(
        ValueError, match=f"^depth must be a power of two, at least 2, not {depth}$"
    ):
        Fifo(9, depth)
