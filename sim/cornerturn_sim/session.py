"""What a host does at the engine's pins, cycle by cycle; the same under every simulator::

    Simulation --call--> backend --> Session --Pins--> engine
                                       |
                                      Run: one job, from its first command to the last completion

A session lives beside the simulated engine and keeps the host's state between calls: commands that
are not yet accepted, and how many completions are still to come.
"""

import random

from cornerturn.fields import COUNTERS

from .job import PULSES, Outcome
from .lane_traffic import READ_LATENCY, LaneTraffic
from .pins import SimulationError

__all__ = ["Session"]

WATCHDOG_CYCLES = 5000
"""Cycles without an accepted command, a completion or a beat after which a run has hung."""

INPUTS = (
    "cmd__valid", "cmd__payload", "rsp__ready", *PULSES,
    "lane_read_valid", "lane_read_word",
    "lane_write_valid", "lane_write_word", "lane_write_mask", "lane_write_data",
)  # fmt: skip
"""Every input but the clock and the reset."""

PULSE_CYCLES = 4
"""Cycles after a pulse in which the engine's outputs may not yet show it."""

WORD = (1 << 32) - 1


class Session:
    """A host at the pins of one engine.

    Parameters
    ----------
    pins : Pins
    config : Config
        Of the engine behind them.
    """

    def __init__(self, pins, config):
        self.pins = pins
        self.config = config
        self.pending = []  # commands not yet accepted, the first perhaps offered
        self.offered = False
        self.outstanding = 0  # commands accepted and not completed
        self.stopped = False  # at a stop, to be cleared by the next run

    async def call(self, name, *arguments):
        """Do one of `reset`, `write`, `read` and `run`, by name."""
        return await getattr(self, name)(*arguments)

    async def reset(self):
        """Reset the engine and forget what was offered. The lmem keeps its contents."""
        self.pending.clear()
        self.outstanding = 0
        self.offered = self.stopped = False
        for name in INPUTS:
            self.pins.set(name, 0)
        for value in (1, 1, 0):
            self.pins.set("rst", value)
            await self.pins.settle()
            await self.pins.step()

    async def write(self, rows):
        """Write words of an idle engine's lmem through the lane ports, one a cycle.

        Parameters
        ----------
        rows : sequence of (word, valid, mask, data)
            A word's address, and flat vectors over the lanes: which lanes write (M bits), which
            cells (M*W bits) and what (M*W*cell_width bits).
        """
        for word, valid, mask, data in rows:
            self.pins.set("lane_write_valid", valid)
            self.pins.set("lane_write_word", self._everywhere(word))
            self.pins.set("lane_write_mask", mask)
            self.pins.set("lane_write_data", data)
            await self._lane_cycle("lane_write_ready", valid)
            await self.pins.step()
        self.pins.set("lane_write_valid", 0)

    async def read(self, first, count):
        """The words `first` .. `first + count - 1` of all lanes, a flat integer each.

        Uses the lane ports of an idle engine, one word of every lane a cycle.
        """
        lanes = (1 << self.config.lanes) - 1
        words = []
        for step in range(count + READ_LATENCY):
            reading = step < count
            self.pins.set("lane_read_valid", lanes if reading else 0)
            self.pins.set("lane_read_word", self._everywhere(first + step) if reading else 0)
            await self._lane_cycle("lane_read_ready", lanes if reading else 0)
            if step >= READ_LATENCY:
                words.append(self.pins.get("lane_read_data"))
            await self.pins.step()
        return words

    async def run(self, job):
        """Do a :class:`Job` and return its :class:`Outcome`."""
        run = Run(self, job)
        while not run.over:
            run.drive()
            if run.steady:
                await self.pins.sleep(run.events, WATCHDOG_CYCLES)
            await self.pins.settle()
            run.observe()
            await self.pins.step()
        return run.outcome()

    def _everywhere(self, word):
        """A word's address, for every lane."""
        bits = self.config.word_bits
        return word * (((1 << bits * self.config.lanes) - 1) // ((1 << bits) - 1))

    async def _lane_cycle(self, ready, lanes):
        """A cycle up to its edge, in which these lanes have to be ready."""
        await self.pins.settle()
        if self.pins.get(ready) & lanes != lanes:
            raise SimulationError(f"{ready} must be high in every lane while the engine is idle")


class Run:
    """One job at the pins of a session, in cycles of `drive` and `observe`.

    Members
    -------
    over : bool
        Every command has completed or, without `auto_clear`, the engine stands at a stop.
    steady : bool
        Until an output named by `events` rises, nothing will be driven differently.
    """

    def __init__(self, session, job):
        self.over = False
        self._session = session
        self._pins = session.pins
        self._job = job
        self._rng = random.Random(job.seed)
        self._pulses = dict(job.pulses)
        self._traffic = LaneTraffic(session.pins, session.config, job.accesses)
        self._first = self._alive = session.pins.cycle
        self._beats = None  # counters that move while the engine does, when last looked at
        self._before = self._after = None  # flat counters
        self._status = 0
        self._completions = []
        self._taking = False
        self._quiet = 0  # cycle from which the last pulse has had its effect
        self._flushing = False  # a soft reset is under way, what it drops will not complete
        self._clearing = session.stopped
        session.pending.extend(job.commands)

    @property
    def cycle(self):
        """Cycle of this run."""
        return self._pins.cycle - self._first

    @property
    def steady(self):
        return (
            self._job.offer == self._job.take == 1
            and bool(self._session.offered or self._session.outstanding)
            and self._before is not None
            and self._traffic.idle
            and not self._pulses
            and self.cycle >= self._quiet
            and not self._clearing
            and not self._flushing
        )

    @property
    def events(self):
        return ("rsp__valid", "irq") + ("cmd__ready",) * self._session.offered

    def drive(self):
        """Set the inputs of this cycle."""
        session, pins, job = self._session, self._pins, self._job
        if session.pending and not session.offered:
            session.offered = self._chance(job.offer)
            if session.offered:
                pins.set("cmd__payload", session.pending[0])
        self._taking = self._chance(job.take)
        pins.set("cmd__valid", int(session.offered))
        pins.set("rsp__ready", int(self._taking))
        pulse = self._pulses.pop(self.cycle, None)
        if pulse is not None:
            self._quiet = self.cycle + PULSE_CYCLES
            self._flushing = self._flushing or pulse == "soft_reset"
        for name in PULSES:
            pins.set(name, int(name == pulse or (name == "clear" and self._clearing)))
        self._traffic.drive(self.cycle)

    def observe(self):
        """Look at the outputs of this cycle, and decide what comes next."""
        session, pins = self._session, self._pins
        if pins.get("collision"):
            raise SimulationError("an lmem word was read and written in one cycle")
        if self._before is None:
            self._before = pins.get("counters")
        if session.offered and pins.get("cmd__ready"):
            del session.pending[0]
            session.offered = False
            session.outstanding += 1
            self._alive = pins.cycle
        valid = pins.get("rsp__valid")
        if valid and self._taking:
            payload = pins.get("rsp__payload")
            self._completions.append((payload & WORD, payload >> 32))
            session.outstanding -= 1
            self._alive = pins.cycle
        self._traffic.observe(self.cycle)
        self._settle_stop(drained=not valid)
        self._watch()

    def outcome(self):
        """What the run did."""
        positions = range(0, 32 * len(COUNTERS), 32)
        return Outcome(
            completions=tuple(self._completions),
            status=self._status,
            stopped=self._session.stopped,
            answers=self._traffic.answers(),
            counters=tuple(((self._after >> at) - (self._before >> at)) & WORD for at in positions),
        )

    def _chance(self, probability):
        return probability == 1 or self._rng.random() < probability

    def _settle_stop(self, *, drained):
        session, irq = self._session, self._pins.get("irq")
        self._status = self._pins.get("status")
        drained = drained and not self._status & 1 and not self._clearing
        if self._flushing and drained and not irq and self.cycle >= self._quiet:
            # The reset is done: what was dropped has no completion, and the counters are zero.
            self._flushing, self._before, session.outstanding = False, 0, 0
        session.stopped = bool(irq) and drained
        self._clearing = session.stopped and self._job.auto_clear
        finished = (
            drained
            and not irq
            and not session.pending
            and not session.outstanding
            and self.cycle >= self._quiet
            and not self._pulses
            and self._traffic.idle
        )
        self.over = finished or (session.stopped and not self._job.auto_clear)
        if self.over:
            self._after = self._pins.get("counters")

    def _watch(self):
        if self.cycle > self._job.limit:
            raise SimulationError(f"run must end within {self._job.limit} cycles")
        if self._pins.cycle - self._alive < WATCHDOG_CYCLES:
            return
        beats = self._pins.get("counters") >> 32 & (1 << 64) - 1
        if beats == self._beats:
            raise SimulationError(
                f"engine must not stand still for {WATCHDOG_CYCLES} cycles: "
                f"{len(self._completions)} completions taken, {self._session.outstanding} to come, "
                f"{len(self._session.pending)} commands waiting, status {self._status:#x}"
            )
        self._alive, self._beats = self._pins.cycle, beats
