"""Running the RTL from Python: one class, three simulators.

::

    numpy (lanes, cells) --load--> lane ports
    instructions --------run-----> command stream     Simulation --> pysim, icarus or verilator
    completions, counters <------- completion stream
    numpy (lanes, cells) <--read-- lane ports
"""

import importlib
import operator
from typing import NamedTuple

import numpy as np
from cornerturn.fields import COUNTERS, Status
from cornerturn.files import check_output
from cornerturn_model.golden import cell_dtype
from cornerturn_model.instruction import as_descriptor

from .job import Answer, Job
from .words import from_words, to_words

__all__ = ["BACKENDS", "Result", "Simulation", "check_simulation"]

BACKENDS = {
    "pysim": (".pysim", "PysimBackend"),
    "icarus": (".cocotb_backend", "IcarusBackend"),
    "verilator": (".cocotb_backend", "VerilatorBackend"),
}
"""Module and class of every backend; imported when asked for, as their tools may be missing."""


class Result(NamedTuple):
    """What a run did."""

    completions: list[tuple[int, Status]]  # (index, status), in order
    counters: dict[str, int]  # growth during the run, by name
    cycles: int  # counters["cycles"]
    stopped: bool  # ended at a stop that was not cleared
    status: int  # the engine's status port at the end, flat
    answers: tuple[Answer, ...]  # of the lane accesses


def check_simulation(config, sim, vcd=None):
    """Find out, before anything is built, whether a configuration can be simulated as asked.

    Parameters
    ----------
    config : Config
    sim : str
        ``"model"``, or a backend of :class:`Simulation`.
    vcd : path or None
        Where to write the waveform.

    Raises
    ------
    ValueError
        If there is no such simulation, or nothing to simulate.
    OSError
        If the waveform cannot be written.
    """
    if sim not in ("model", *BACKENDS):
        raise ValueError(f"sim must be one of model, {', '.join(BACKENDS)}, not {sim!r}")
    if sim == "model":
        if vcd is not None:
            raise ValueError("vcd must be left out with sim 'model', which has no signals")
        return
    if config.lmem != "inferred":
        raise ValueError(f"lmem must be 'inferred' for simulation, not {config.lmem!r}")
    if vcd is not None:
        check_output(vcd, folders=False)


class Simulation:
    """An engine in a simulator, driven as a host would: through its streams and lane ports.

    A context manager. After a :class:`SimulationError` only `reset` and `close` make sense.

    Parameters
    ----------
    config : Config
    backend : str
        ``"pysim"`` (the Amaranth simulator), ``"icarus"`` or ``"verilator"`` (the Verilog).
    vcd : path or None
        Where to write the waveform, readable after `close`.
    seed : int
        Of the random back-pressure of `run`.

    Raises
    ------
    OSError, ValueError
        As :func:`check_simulation`.
    RuntimeError
        If the backend's tools are missing, or the design does not build.
    """

    def __init__(self, config, backend="pysim", *, vcd=None, seed=0):
        if backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        check_simulation(config, backend, vcd)
        module, name = BACKENDS[backend]
        self.config = config
        self.backend = backend
        self._seed = seed
        self._runs = 0
        kind = getattr(importlib.import_module(module, __package__), name)
        self._backend = kind(config, vcd=vcd)
        self.reset()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the simulation and finish its files."""
        self._backend.close()

    def reset(self):
        """Reset the engine: index and counters start from zero. The lmem keeps its contents."""
        self._backend.call("reset")

    def load(self, array, *, lane=0, cell=0):
        """Write cells through the lane ports, a word of every lane a cycle.

        Parameters
        ----------
        array : ndarray
            (lanes, cells) of the cells' type, 8, 16 or 32 bits unsigned; a 4-bit cell has a byte.
        lane, cell : int
            Where its first element goes.

        Raises
        ------
        TypeError, ValueError
            If the array is of another type, does not fit, or has values that no cell holds.
        """
        array, lane, cell = np.asarray(array), operator.index(lane), operator.index(cell)
        if array.dtype != cell_dtype(self.config):
            raise TypeError(f"array must be of {cell_dtype(self.config)}, not {array.dtype}")
        if array.ndim != 2:
            raise ValueError(f"array must be of shape (lanes, cells), not {array.shape!r}")
        self._check_box(lane, cell, *array.shape)
        if array.size and array.max() >> self.config.cell_width:
            raise ValueError(
                f"array must be below 2**{self.config.cell_width} everywhere, "
                f"not {int(array.max())!r}"
            )
        if array.size:
            self._backend.call("write", to_words(self.config, array, lane, cell))

    def read(self, *, lane=0, cell=0, lanes=None, cells=None):
        """Cells as an array (lanes, cells): of the whole lmem, or of the given box."""
        config = self.config
        lane, cell = operator.index(lane), operator.index(cell)
        lanes = config.lanes - lane if lanes is None else lanes
        cells = config.cells - cell if cells is None else cells
        self._check_box(lane, cell, lanes, cells)
        first = cell // config.beat_cells
        count = -(-(cell + cells) // config.beat_cells) - first
        array = from_words(config, self._backend.call("read", first, count))
        start = cell - first * config.beat_cells
        return array[lane : lane + lanes, start : start + cells].copy()

    def run(self, program, **options):
        """Run instructions until the last has completed.

        After a rejection, a HALT or an abort it waits until the engine has drained, clears it and
        goes on.

        Parameters
        ----------
        program : sequence
            Instructions and descriptors.
        **options
            Fields of :class:`~cornerturn_sim.job.Job`: back-pressure (`offer`, `take`, `seed`),
            lane `accesses`, `pulses`, `auto_clear`, `limit`.

        Raises
        ------
        TypeError, ValueError
            If an instruction or an option has a value that there is not.
        SimulationError
            If the engine hangs, or an SRAM word is read and written in one cycle.
        """
        self._runs += 1
        options.setdefault("seed", hash((self._seed, self._runs)))
        job = Job(commands=tuple(_descriptors(program)), **options)
        for access in job.accesses:
            access.check(self.config)
        outcome = self._backend.call("run", job)
        counters = dict(zip(COUNTERS, outcome.counters, strict=True))
        return Result(
            completions=[(index, Status(code)) for index, code in outcome.completions],
            counters=counters,
            cycles=counters["cycles"],
            **{name: getattr(outcome, name) for name in ("stopped", "status", "answers")},
        )

    def _check_box(self, lane, cell, lanes, cells):
        for name, first, count, size in (
            ("lanes", lane, lanes, self.config.lanes),
            ("cells", cell, cells, self.config.cells),
        ):
            if first < 0 or count < 0 or first + count > size:
                raise ValueError(
                    f"{name} must be within 0 to {size - 1}, not {first} to {first + count - 1}"
                )


def _descriptors(program):
    """The descriptors of a program's items; an error says which of them it is about."""
    for index, item in enumerate(program):
        try:
            yield as_descriptor(item)
        except (TypeError, ValueError) as error:
            raise type(error)(f"instruction {index}: {error}") from None
