"""The host's driver: allocates lanes and cells, moves arrays, submits work and collects answers.

::

    allocate --> Buffer (lanes x cells) --write, read--> lmem
    submit instruction --> ticket ... collect --> Completion of each ticket, in order

The allocator is the "allocating of an NPU" of the seed: a program asks for lanes and cells, and the
driver says which.
"""

from typing import NamedTuple

import numpy as np
from cornerturn.fields import Status
from cornerturn_model.instruction import as_descriptor

__all__ = ["Allocator", "Buffer", "Completion", "Driver", "InstructionError"]


class Buffer(NamedTuple):
    """A box of the lmem: lanes lane .. lane+lanes-1, cells cell .. cell+cells-1."""

    lane: int
    cell: int
    lanes: int
    cells: int

    def meets(self, other):
        """Whether the two have a cell in common."""
        return (
            self.lane < other.lane + other.lanes
            and other.lane < self.lane + self.lanes
            and self.cell < other.cell + other.cells
            and other.cell < self.cell + self.cells
        )


class Completion(NamedTuple):
    """How a submitted instruction ended."""

    ticket: int  # what `submit` returned
    index: int  # the engine's count of commands, modulo 2**32
    status: Status


class InstructionError(RuntimeError):
    """The engine rejected an instruction.

    Members
    -------
    completions : list of Completion
        Of everything collected, the rejected ones included.
    """

    def __init__(self, completions):
        self.completions = completions
        bad = [entry for entry in completions if entry.status != Status.OK]
        text = ", ".join(f"{entry.ticket}: {entry.status.name}" for entry in bad)
        super().__init__(f"instructions must be accepted, not rejected ({text})")


class Allocator:
    """Free lanes and cells of one lmem. Buffers start and end at words.

    Two buffers then never share a word, so work on one never waits for work on the other.

    Parameters
    ----------
    config : Config
    """

    def __init__(self, config):
        self._config = config
        self._taken = []

    def allocate(self, lanes, cells):
        """A free box, the one with the lowest cell, then the lowest lane.

        Parameters
        ----------
        lanes, cells : int
            Its size; cells are rounded up to whole words.

        Raises
        ------
        ValueError
            If no engine of this configuration has so many.
        MemoryError
            If they are taken.
        """
        config = self._config
        for name, value, most in (("lanes", lanes, config.lanes), ("cells", cells, config.cells)):
            if not 1 <= value <= most:
                raise ValueError(f"{name} must be 1 to {most}, not {value!r}")
        cells = -(-cells // config.beat_cells) * config.beat_cells
        # A lowest free box touches the end of another one, or of the lmem, on both axes.
        starts = [
            (0, 0),
            *((taken.lane + taken.lanes, taken.cell + taken.cells) for taken in self._taken),
        ]
        for cell in sorted({cell for _, cell in starts}):
            for lane in sorted({lane for lane, _ in starts}):
                box = Buffer(lane, cell, lanes, cells)
                inside = lane + lanes <= config.lanes and cell + cells <= config.cells
                if inside and not any(box.meets(taken) for taken in self._taken):
                    self._taken.append(box)
                    return box
        raise MemoryError(f"no box of {lanes} lanes x {cells} cells is free")

    def free(self, buffer):
        """Give a buffer back."""
        if buffer not in self._taken:
            raise ValueError(f"buffer must be an allocated one, not {buffer!r}")
        self._taken.remove(buffer)


class Driver:
    """A host at one engine.

    Parameters
    ----------
    simulation : Simulation
        The engine.
    """

    def __init__(self, simulation):
        self._simulation = simulation
        self._allocator = Allocator(simulation.config)
        self._submitted = []
        self._tickets = 0

    @property
    def config(self):
        """The engine's configuration."""
        return self._simulation.config

    def allocate(self, lanes, cells):
        """See :meth:`Allocator.allocate`."""
        return self._allocator.allocate(lanes, cells)

    def free(self, buffer):
        """See :meth:`Allocator.free`."""
        self._allocator.free(buffer)

    def write(self, buffer, array):
        """Write an array (lanes, cells), at most as large, to the start of a buffer."""
        array = np.asarray(array)
        if array.ndim != 2 or array.shape[0] > buffer.lanes or array.shape[1] > buffer.cells:
            raise ValueError(
                f"array must be at most {(buffer.lanes, buffer.cells)}, not {array.shape!r}"
            )
        self._simulation.load(array, lane=buffer.lane, cell=buffer.cell)

    def read(self, buffer, cells=None):
        """The array (lanes, cells) in a buffer; `cells` of each lane, or all."""
        cells = buffer.cells if cells is None else cells
        if not 0 <= cells <= buffer.cells:
            raise ValueError(f"cells must be 0 to {buffer.cells}, not {cells!r}")
        return self._simulation.read(
            lane=buffer.lane, cell=buffer.cell, lanes=buffer.lanes, cells=cells
        )

    def submit(self, instruction):
        """Queue an instruction; returns its ticket, counted from 0."""
        self._submitted.append((self._tickets, as_descriptor(instruction)))
        self._tickets += 1
        return self._submitted[-1][0]

    def collect(self):
        """Wait for everything submitted; returns a :class:`Completion` of each, in order.

        Raises
        ------
        InstructionError
            If one was rejected. The engine has been cleared then, and the others have run.
        """
        submitted, self._submitted = self._submitted, []
        result = self._simulation.run([descriptor for _, descriptor in submitted])
        completions = [
            Completion(ticket, *entry)
            for (ticket, _), entry in zip(submitted, result.completions, strict=True)
        ]
        if any(entry.status != Status.OK for entry in completions):
            raise InstructionError(completions)
        return completions
