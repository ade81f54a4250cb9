"""The Amaranth simulator as a backend: in this process, nothing to install, nothing to build."""

from contextlib import ExitStack

from amaranth import ClockDomain, Module, Value
from amaranth.sim import Simulator
from cornerturn.engine import Engine

from .session import Session

__all__ = ["PysimBackend"]

PERIOD = 1e-8


class PysimPins:
    """:class:`Pins` in a testbench of the Amaranth simulator."""

    def __init__(self, context, ports):
        self._context = context
        self._ports = ports
        self._driven = {}
        self.cycle = 0

    def set(self, name, value):
        if self._driven.get(name) != value:
            self._driven[name] = value
            self._context.set(self._ports[name], value)

    async def settle(self):
        """Nothing to do: this simulator settles after every `set`."""

    def get(self, name, first=0, width=None):
        value = self._context.get(self._ports[name])
        return value if width is None else value >> first & ((1 << width) - 1)

    async def step(self):
        self.cycle += 1
        await self._context.tick()

    async def sleep(self, names, cycles):
        for _ in range(cycles):
            if any(map(self.get, names)):
                break
            await self.step()


class PysimBackend:
    """The engine under the Amaranth simulator.

    Parameters
    ----------
    config : Config
    vcd : Path or None
        Where to write every signal's waveform.
    """

    def __init__(self, config, *, vcd=None):
        engine = Engine(config, test_access=True)
        domain = ClockDomain("sync")
        top = Module()
        top.domains += domain
        top.submodules.engine = engine
        self._ports = {
            "__".join(map(str, path)): Value.cast(value)
            for path, _, value in engine.signature.flatten(engine)
        }
        self._ports["rst"] = domain.rst
        self._config = config
        self._call = self._answer = None
        self._simulator = Simulator(top)
        self._simulator.add_clock(PERIOD)
        self._trace = ExitStack()
        if vcd is not None:
            self._trace.enter_context(self._simulator.write_vcd(str(vcd)))
        self._simulator.add_testbench(self._serve)

    def call(self, name, *arguments):
        """Let the session do something, and return what it returns."""
        self._call, self._answer = (name, *arguments), None
        while self._answer is None:
            self._simulator.advance()
        result, error = self._answer
        if error is not None:
            raise error
        return result

    def close(self):
        """Finish the waveform."""
        self._trace.close()

    async def _serve(self, context):
        session = Session(PysimPins(context, self._ports), self._config)
        while True:
            # Time stands still between calls: not one cycle passes that no session looks at.
            while self._call is None:
                await context.delay(0)
            call, self._call = self._call, None
            try:
                self._answer = (await session.call(*call), None)
            except Exception as error:
                self._answer = (None, error)
