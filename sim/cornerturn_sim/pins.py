r"""The engine's pins as the host sees them; each backend implements them for its simulator.

One cycle is: any number of `set`, then `settle`, any number of `get`, then `step`::

    clock   __/--\__/--\__/--
    set       ^            inputs change just after the edge
    get             ^      outputs are seen just before the next
"""

from typing import Protocol

__all__ = ["Pins", "SimulationError"]


class SimulationError(RuntimeError):
    """The simulated engine broke its contract or stopped making progress."""


class Pins(Protocol):
    """The engine's ports, flat integers by their names in the Verilog.

    Members
    -------
    cycle : int
        Number of clock edges passed so far.
    """

    cycle: int

    def set(self, name: str, value: int) -> None:
        """Drive an input from now on."""

    async def settle(self) -> None:
        """Let the inputs take effect, up to just before the clock edge."""

    def get(self, name: str, first: int = 0, width: int | None = None) -> int:
        """An output's value just before the clock edge, or that of some of its bits."""

    async def step(self) -> None:
        """Pass the clock edge."""

    async def sleep(self, names: tuple[str, ...], cycles: int) -> None:
        """Pass at most so many cycles, all the named outputs being 0; passing none is allowed."""
