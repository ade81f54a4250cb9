"""What a run is asked to do, and what it did: plain values that travel between processes."""

import dataclasses

__all__ = ["PULSES", "Access", "Answer", "Job", "Outcome"]

PULSES = ("clear", "abort", "soft_reset")
"""The engine's inputs that are pulsed for one cycle."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Access:
    """One use of one lane's port, offered from a cycle of the run on until it is done.

    Accesses of one lane and direction are offered in order, one at a time.

    Parameters
    ----------
    cycle : int
        Of the run, from which on it is offered.
    lane, word : int
    data : int or None
        The word to write, beat_width bits; ``None`` reads.
    mask : int
        Which cells to write, W bits.
    """

    cycle: int
    lane: int
    word: int
    data: int | None = None
    mask: int = 0

    def check(self, config):
        """Raise TypeError or ValueError if no engine of this configuration has such an access."""
        _check("cycle of an access", self.cycle)
        _check("lane of an access", self.lane, config.lanes - 1)
        _check("word of an access", self.word, config.words - 1)
        _check("mask of an access", self.mask, (1 << config.beat_cells) - 1)
        if self.data is not None:
            _check("data of an access", self.data, (1 << config.beat_width) - 1)


@dataclasses.dataclass(frozen=True)
class Answer:
    """When an access was done (cycle of the run), and the word a read found."""

    cycle: int
    data: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Job:
    """One run.

    Parameters
    ----------
    commands : tuple of int
        Descriptors, offered in order behind those an earlier run left.
    offer, take : float
        Chance, in each cycle, that a waiting command is first offered, and that a completion is
        taken; 1 is always.
    seed : int
        Of these chances.
    accesses : tuple of Access
        Uses of the lane ports during the run.
    pulses : tuple of (int, str)
        Cycle of the run, and which of :data:`PULSES` is pulsed in it; several may be.
    auto_clear : bool
        Clear every stop and go on. Otherwise the run ends at the first stop, when its accesses
        are done; what it has not run stays offered, and the next run starts by clearing.
    limit : int
        Cycles after which the run is given up.
    """

    commands: tuple[int, ...] = ()
    offer: float = 1.0
    take: float = 1.0
    seed: int = 0
    accesses: tuple[Access, ...] = ()
    pulses: tuple[tuple[int, str], ...] = ()
    auto_clear: bool = True
    limit: int = 10_000_000

    def __post_init__(self):
        for name in ("offer", "take"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(
                    f"{name} must be above 0 and at most 1, not {getattr(self, name)!r}"
                )
        for cycle, name in self.pulses:
            _check("cycle of a pulse", cycle)
            if name not in PULSES:
                raise ValueError(f"pulse must be one of {', '.join(PULSES)}, not {name!r}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run did.

    Members
    -------
    completions : tuple of (int, int)
        Index and status code, in the order taken.
    counters : int
        The performance counters' growth: 32 bits each, in the order of the specification; from
        zero if the run pulsed soft_reset.
    status : int
        The engine's status port at the end of the run.
    stopped : bool
        The run ended at a stop, not cleared.
    answers : tuple of Answer
        Of the accesses, in their order.
    """

    completions: tuple[tuple[int, int], ...]
    counters: tuple[int, ...]
    status: int
    stopped: bool
    answers: tuple[Answer, ...]


def _check(name, value, most=None):
    """Raise TypeError or ValueError if it is no integer from 0 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < 0 or (most is not None and value > most):
        rule = "at least 0" if most is None else f"0 to {most}"
        raise ValueError(f"{name} must be {rule}, not {value!r}")
