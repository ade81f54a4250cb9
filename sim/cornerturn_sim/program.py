"""Written programs: a TOML file with a configuration, what lies in the lmem, and instructions.

::

    PROGRAM.toml --read_program--> Program --run_program--> lmem, report
                                              |     +-- golden, cycles: what it has to be
                                              +-------- simulation: what it is

The keys of a file, all but `instruction` optional::

    config = "tiny"                # a preset, a .toml file beside this one, or a table [config]

    [lmem]                         # what it holds before; zeros if nothing is said
    pattern = "random"             # "zeros", "random" (from `seed`), "address" (16 * lane + cell)
    seed = 1
    file = "tensor.npy"            # in place of a pattern: an array (lanes, cells)

    [[instruction]]                # in their order
    op = "tile"                    # tile, swap, fence, halt, nop
    src = {across = {lane = 0, cell = 0, step = 1}}
    dst = {along = {lane = 0, cell = 16}}
    n = 4                          # or {co = 4, co_align = 4}
    digits = [{count = 6, in_step = [0, 1], out_step = [0, 4]}]
    element_cells = 1

The keys of an instruction are the parameters of its class in :mod:`cornerturn_model.instruction`,
with the same defaults; a tag is written ``"ho"``, ``"wo"``, ``"co"`` or ``"none"``. There is no
system memory here, so a side is across or along, and a step (lanes, cells).
"""

import dataclasses
import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cornerturn.config import Config
from cornerturn.fields import FIELDS, Pair, Tag
from cornerturn.files import read_toml
from cornerturn_model import cycles, golden
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Mem,
    Nop,
    Segment,
    Swap,
    Tile,
)

from .arrays import initial_lmem
from .simulation import Simulation, check_simulation

__all__ = ["Program", "read_program", "run_program"]

_OPS = {"tile": Tile, "swap": Swap, "fence": Fence, "halt": Halt, "nop": Nop}
_SIDES = {"across": Across, "along": Along}


class Program(NamedTuple):
    """A file that has been read."""

    config: Config
    lmem: dict  # the table, `file` made absolute
    instructions: list


def read_program(path):
    """Read a program's file.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it is no TOML, or a key or value of it is not one of the above.
    """
    path = Path(path)
    table = read_toml("program", path)
    _check_keys(f"program {path}", table, ("config", "lmem", "instruction"))
    lmem = table.get("lmem", {})
    _check_keys("[lmem]", lmem, ("pattern", "seed", "file"))
    if "file" in lmem:
        if not isinstance(lmem["file"], str):
            raise ValueError(f"file of [lmem] must be a string, not {lmem['file']!r}")
        lmem = lmem | {"file": str(path.parent / lmem["file"])}
    items = _list(f"instruction in program {path}", table.get("instruction", []))
    return Program(
        _config(f"config of program {path}", table.get("config", "default"), path.parent),
        lmem,
        [_instruction(f"instruction {index}", item) for index, item in enumerate(items)],
    )


def run_program(program, *, config=None, sim="pysim", vcd=None, seed=None):
    """Run a program, and check everything it does against the model.

    Parameters
    ----------
    program : Program
    config : Config, optional
        In place of the program's own.
    sim : str
        ``"model"``, ``"pysim"``, ``"icarus"`` or ``"verilator"``.
    vcd : path or None
        Where to write the waveform; not for ``"model"``.
    seed : int, optional
        In place of the seed in the program's `[lmem]`.

    Returns
    -------
    ndarray, dict
        The lmem afterwards, and a report of plain values. Its `match` says whether lmem,
        completions and counters are the model's.

    Raises
    ------
    TypeError, ValueError
        If the configuration cannot run it, or as
        :func:`~cornerturn_sim.simulation.check_simulation`.
    """
    config = config or program.config
    check_simulation(config, sim, vcd)
    before = program.lmem if seed is None else program.lmem | {"seed": seed}
    lmem = initial_lmem(config, **before)
    model = golden.run(config, lmem, program.instructions)
    result, left = model, model.lmem
    if sim != "model":
        with Simulation(config, sim, vcd=vcd) as simulation:
            simulation.load(lmem)
            result = simulation.run(program.instructions)
            left = simulation.read()
    limit = cycles.limit(config, program.instructions)
    match = (
        np.array_equal(left, model.lmem)
        and list(result.completions) == model.completions
        and result.counters == model.counters
    )
    return left, {
        "sim": sim,
        "config": config.parameters(),
        "match": match,
        "cycles": result.cycles,
        "model_cycles": model.cycles,
        "limit_cycles": limit,
        "utilisation": round(limit / result.cycles, 4) if result.cycles else None,
        "instructions": len(program.instructions),
        "completions": [
            {"index": index, "op": type(instruction).__name__.lower(), "status": status.name}
            for instruction, (index, status) in zip(
                program.instructions, result.completions, strict=False
            )
        ],
        "counters": dict(result.counters),
    }


def _config(where, value, folder):
    if isinstance(value, dict):
        _check_keys("[config]", value, [field.name for field in dataclasses.fields(Config)])
        return Config(**value)
    if not isinstance(value, str):
        raise ValueError(f"{where} must be a name or a table, not {value!r}")
    beside = folder / value
    return Config.load(beside if beside.is_file() else value)


def _instruction(where, table):
    _check_table(where, table)
    op = table.get("op")
    if not isinstance(op, str) or op not in _OPS:
        raise ValueError(f"op of {where} must be one of {', '.join(_OPS)}, not {op!r}")
    where = f"{where} ({op})"
    values = {name: value for name, value in table.items() if name != "op"}
    instruction = _make(_OPS[op], where, values)
    try:
        instruction.encode()
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return instruction


def _make(kind, where, values):
    """An object of a dataclass from a table, if the table has its fields and no others."""
    fields = dataclasses.fields(kind)
    _check_keys(where, values, [field.name for field in fields])
    made = {
        field.name: _READERS[field.type](f"{field.name} of {where}", values[field.name])
        for field in fields
        if field.name in values
    }
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in made:
            raise ValueError(f"{where} must name {field.name}")
    return kind(**made)


def _integer(where, value):
    if type(value) is not int:
        raise ValueError(f"{where} must be an integer, not {value!r}")
    return value


def _length(where, value):
    if isinstance(value, dict):
        return _make(Segment, where, value)
    low, high = FIELDS["co"].limits
    if not low <= _integer(where, value) <= high:
        raise ValueError(f"{where} must be {low} to {high}, not {value!r}")
    return value


def _side(where, table):
    if not isinstance(table, dict) or len(table) != 1 or not table.keys() <= _SIDES.keys():
        raise ValueError(f"{where} must be {{across = {{...}}}} or {{along = {{...}}}}")
    ((mode, values),) = table.items()
    return _make(_SIDES[mode], where, values)


def _digits(where, value):
    items = enumerate(_list(where, value))
    return tuple(_make(Digit, f"item {index} of {where}", item) for index, item in items)


def _step(where, value):
    if len(_list(where, value)) != 2 or not all(type(item) is int for item in value):
        raise ValueError(f"{where} must be [lanes, cells], not {value!r}")
    return tuple(value)


def _name(kind, where, value):
    names = [item.name.lower() for item in kind]
    if value not in names:
        raise ValueError(f"{where} must be one of {', '.join(names)}, not {value!r}")
    return kind[value.upper()]


_READERS = {
    int: _integer,
    int | Segment: _length,
    Across | Along | Mem: _side,
    tuple[Digit, ...]: _digits,
    tuple[int, int] | int: _step,
    Digit: functools.partial(_make, Digit),
    Limits: functools.partial(_make, Limits),
    Tag: functools.partial(_name, Tag),
    Pair: functools.partial(_name, Pair),
}
"""What reads a value, by the type that a parameter of an instruction is annotated with."""


def _list(where, value):
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list, not {value!r}")
    return value


def _check_table(where, value):
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a table, not {value!r}")


def _check_keys(where, table, known):
    _check_table(where, table)
    unknown = sorted(table.keys() - set(known))
    if unknown:
        names = ", ".join(known) or "op"
        raise ValueError(f"{where} must name only {names}, not {', '.join(unknown)}")
