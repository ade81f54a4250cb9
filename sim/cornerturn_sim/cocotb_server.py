"""Inside the simulator: a cocotb test that serves calls until there are no more."""

import json
import os
from multiprocessing.connection import Client

import cocotb
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import First, ReadOnly, RisingEdge, Timer
from cornerturn.config import Config

from .pins import SimulationError
from .session import Session
from .words import zeros

__all__ = ["CocotbPins", "serve"]

PERIOD_NS = 10


class CocotbPins:
    """:class:`Pins` of the top module.

    Inputs change behind a clock edge. What is read directly at an edge, before anything else has
    happened in that step of time, is the state before it.
    """

    def __init__(self, dut):
        self._dut = dut
        self._handles = {}
        self._driven = {}
        self.cycle = 0

    def _handle(self, name):
        if name not in self._handles:
            self._handles[name] = getattr(self._dut, name)
        return self._handles[name]

    def set(self, name, value):
        if self._driven.get(name) != value:
            self._driven[name] = value
            self._handle(name).value = value

    async def settle(self):
        await RisingEdge(self._dut.clk)

    def get(self, name, first=0, width=None):
        value = self._handle(name).value
        if width is not None:
            value = value[first + width - 1 : first]
        try:
            return int(value)
        except ValueError:
            raise SimulationError(f"{name} must be 0 or 1 in every bit, not {value}") from None

    async def step(self):
        self.cycle = int(get_sim_time("ns")) // PERIOD_NS

    async def sleep(self, names, cycles):
        await ReadOnly()
        if not any(map(self.get, names)):
            edges = (RisingEdge(self._handle(name)) for name in names)
            await First(*edges, Timer(cycles * PERIOD_NS - PERIOD_NS // 2, "ns"))
            await self.step()


@cocotb.test()
async def serve(dut):
    """Serve calls of a :class:`Session`: tuples of a name and arguments; ``None`` ends it."""
    config = Config(**json.loads(os.environ["CORNERTURN_CONFIG"]))
    key = bytes.fromhex(os.environ["CORNERTURN_KEY"])
    Clock(dut.clk, PERIOD_NS, "ns").start()
    session = Session(CocotbPins(dut), config)
    with Client(os.environ["CORNERTURN_ADDRESS"], "AF_UNIX", authkey=key) as connection:
        await session.reset()
        # A Verilog memory starts undefined.
        await session.write(zeros(config))
        connection.send((None, None))
        while (call := connection.recv()) is not None:
            try:
                answer = (await session.call(*call), None)
            except Exception as error:
                answer = (None, error)
            connection.send(answer)
