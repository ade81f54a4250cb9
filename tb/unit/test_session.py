"""The host at the pins: whose turn it is when nothing moves, and what it does not put up with."""

import asyncio
import re

import pytest
from cornerturn.config import PRESETS
from cornerturn_model.instruction import Across, Along, Digit, Limits, Nop, Tag, Tile
from cornerturn_sim.job import Job
from cornerturn_sim.pins import SimulationError
from cornerturn_sim.session import Session

# 50 x 140 rows, none of which any counter shows: they are all suppressed.
SUPPRESSED = Tile(
    Across(0, 0), Along(0, 0), 1, (Digit(50, tag=Tag.HO, multiplier=1), Digit(140)),
    limits=Limits(ho=1),
)  # fmt: skip


class DeadPins:
    """Pins whose outputs never change."""

    def __init__(self, **outputs):
        self.cycle = 0
        self._outputs = outputs

    def set(self, name, value):
        """Nothing happens."""

    def get(self, name, first=0, width=None):
        return self._outputs.get(name, 0)

    async def settle(self):
        """Nothing happens."""

    async def step(self):
        self.cycle += 1

    async def sleep(self, names, cycles):
        if not any(map(self.get, names)):
            self.cycle += cycles


@pytest.mark.parametrize(("item", "outputs", "message"), [
    (Nop(), {}, r"50\d\d cycles: 0 completions taken, 0 to come, 1 commands waiting, status 0x0"),
    (Nop(), {"cmd__ready": 1},
     r"50\d\d cycles: 0 completions taken, 1 to come, 0 commands waiting, status 0x0"),
    (SUPPRESSED, {"cmd__ready": 1, "status": 1},
     r"150\d\d cycles: 0 completions taken, 1 to come, 0 commands waiting, status 0x1"),
])  # fmt: skip
def test_an_engine_that_stands_still_has_hung(item, outputs, message):
    session = Session(DeadPins(**outputs), PRESETS["tiny"])
    with pytest.raises(SimulationError, match=f"^engine must not stand still for {message}$"):
        asyncio.run(session.run(Job(commands=(item.encode(),))))


def test_a_completion_must_be_of_a_command():
    session = Session(DeadPins(rsp__valid=1, rsp__payload=7), PRESETS["tiny"])
    message = "completion 7 must be of a command, and there is none"
    with pytest.raises(SimulationError, match=f"^{re.escape(message)}$"):
        asyncio.run(session.run(Job()))
