"""What a host does at the engine's pins, cycle by cycle; the same under every simulator::

    Simulation --call--> backend --> Session --Pins--> engine
                                       |
                                      Run: one job, from its first command to the last completion

A session lives beside the simulated engine and keeps the host's state between calls: commands that
are not yet accepted, and those that are and have not completed. A command once offered stays
offered, as a stream demands, between runs too; so every cycle that passes looks whether it is
accepted.
"""

import math
import random

from cornerturn.fields import COUNTERS, DIGITS, Opcode, unpack

from .job import PULSES, Outcome
from .lane_traffic import READ_LATENCY, LaneTraffic
from .pins import SimulationError

__all__ = ["Session"]

WATCHDOG_CYCLES = 5000
"""Cycles that the engine may let pass without a step, while it is the one to take the next."""

STEPS = ("beats_read", "beats_written", "rows", "blocks", "instructions")
"""Counters of steps; the others count time."""

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
        self.outstanding = []  # commands accepted and not completed
        self.stopped = False  # at a stop, to be cleared by the next run

    async def call(self, name, *arguments):
        """Do one of `reset`, `write`, `read` and `run`, by name."""
        return await getattr(self, name)(*arguments)

    async def reset(self):
        """Reset the engine and forget what was offered. The lmem keeps its contents."""
        self.pending.clear()
        self.outstanding.clear()
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

    def accepted(self):
        """Whether the offered command is accepted in this cycle; to be asked once in each."""
        if not (self.offered and self.pins.get("cmd__ready")):
            return False
        self.outstanding.append(self.pending.pop(0))
        self.offered = False
        return True

    def _everywhere(self, word):
        """A word's address, for every lane."""
        bits = self.config.word_bits
        return word * (((1 << bits * self.config.lanes) - 1) // ((1 << bits) - 1))

    async def _lane_cycle(self, ready, lanes):
        """A cycle between runs up to its edge, in which these lanes have to be ready."""
        self.pins.set("cmd__valid", int(self.offered))
        for name in ("rsp__ready", *PULSES):
            self.pins.set(name, 0)
        await self.pins.settle()
        self.accepted()
        if self.pins.get(ready) & lanes != lanes:
            raise SimulationError(f"{ready} must be high in every lane while the engine is idle")


class Run:
    """One job at the pins of a session, in cycles of `drive` and `observe`.

    Members
    -------
    over : bool
        Every command has completed or, without `auto_clear`, the engine stands at a stop; and all
        accesses are done.
    steady : bool
        Until an output named by `events` rises, nothing will be driven differently.
    """

    def __init__(self, session, job):
        self.over = False
        self._session = session
        self._pins = session.pins
        self._job = job
        self._rng = random.Random(job.seed)
        self._pulses = {}  # cycle -> names
        for cycle, name in job.pulses:
            self._pulses.setdefault(cycle, set()).add(name)
        self._traffic = LaneTraffic(session.pins, session.config, job.accesses)
        self._first = session.pins.cycle
        self._alive = self._first  # last cycle with a step, or not the engine's turn
        self._steps = None  # the counters of steps, when last looked at
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
        pulses = self._pulses.pop(self.cycle, set())
        if pulses:
            self._quiet = self.cycle + PULSE_CYCLES
            self._flushing = self._flushing or "soft_reset" in pulses
        for name in PULSES:
            pins.set(name, int(name in pulses or (name == "clear" and self._clearing)))
        self._traffic.drive(self.cycle)

    def observe(self):
        """Look at the outputs of this cycle, and decide what comes next."""
        session, pins = self._session, self._pins
        if pins.get("collision"):
            raise SimulationError("an lmem word was read and written in one cycle")
        if self._before is None:
            self._before = pins.get("counters")
        valid = pins.get("rsp__valid")
        taken = bool(valid) and self._taking
        if session.accepted() or taken:
            self._alive = pins.cycle
        if taken:
            self._complete(pins.get("rsp__payload"))
        self._traffic.observe(self.cycle)
        self._settle_stop(drained=not valid)
        self._watch(untaken=valid and not taken)

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

    def _complete(self, payload):
        index, code = payload & WORD, payload >> 32
        if not self._session.outstanding:
            raise SimulationError(f"completion {index} must be of a command, and there is none")
        del self._session.outstanding[0]
        self._completions.append((index, code))

    def _settle_stop(self, *, drained):
        session, irq = self._session, self._pins.get("irq")
        self._status = self._pins.get("status")
        settled = self.cycle >= self._quiet
        if self._flushing and settled and drained and not self._counter("instructions"):
            # The reset is done: what was dropped has no completion, and the counters are zero.
            self._flushing, self._before = False, 0
            session.outstanding.clear()
        settled = settled and not self._flushing
        drained = drained and not self._status & 1 and not self._clearing
        session.stopped = bool(irq) and drained
        self._clearing = session.stopped and self._job.auto_clear
        finished = (
            drained
            and not irq
            and not session.pending
            and not session.outstanding
            and not self._pulses
        )
        stopped = session.stopped and not self._job.auto_clear
        self.over = (finished or stopped) and settled and self._traffic.idle
        if self.over:
            self._after = self._pins.get("counters")

    def _watch(self, *, untaken):
        """Give up if the run lasts too long, or the engine does not do what is its turn."""
        session = self._session
        if self.cycle > self._job.limit:
            raise SimulationError(f"run must end within {self._job.limit} cycles")
        asked = session.offered or session.outstanding or self._pins.get("irq") or self._status & 1
        standing = session.stopped and not self._clearing
        if untaken or not (self._traffic.offering or (asked and not standing)):
            self._alive = self._pins.cycle
        waited = self._pins.cycle - self._alive
        if waited < WATCHDOG_CYCLES:
            return
        steps = [self._counter(name) for name in STEPS]
        if steps != self._steps:
            self._alive, self._steps = self._pins.cycle, steps
        elif waited >= WATCHDOG_CYCLES + sum(map(_rows_unseen, session.outstanding)):
            raise SimulationError(
                f"engine must not stand still for {waited} cycles: "
                f"{len(self._completions)} completions taken, {len(session.outstanding)} to come, "
                f"{len(session.pending)} commands waiting, status {self._status:#x}"
            )

    def _counter(self, name):
        return self._pins.get("counters") >> 32 * COUNTERS.index(name) & WORD


def _rows_unseen(descriptor):
    """Most rows of a descriptor that no counter shows: a tile's, if limits may suppress them."""
    f = unpack(descriptor)
    if f["opcode"] != Opcode.TILE or not (f["limit_ho"] or f["limit_wo"] or f["limit_co"]):
        return 0
    segments = -(-f["co"] // max(1, f["co_align"]))
    digits = math.prod(f[f"{name}_count"] for name in DIGITS[f["segment_is_digit"] :])
    whole = f["co_align"] if f["segment_is_digit"] else 1
    return f["repeat_ho"] * f["repeat_wo"] * segments * whole * digits
