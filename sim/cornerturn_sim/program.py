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
with the same defaults.
"""

import dataclasses
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cornerturn.config import Config
from cornerturn_model import cycles, golden
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Nop,
    Segment,
    Swap,
    Tile,
)

from .simulation import Simulation

__all__ = ["PATTERNS", "Program", "initial_lmem", "read_program", "run_program"]

PATTERNS = ("zeros", "random", "address")
"""What an lmem can hold before a program runs, besides the contents of a file."""

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
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"program {path} must be valid TOML: {error}") from None
    _check_keys(f"program {path}", table, ("config", "lmem", "instruction"))
    lmem = table.get("lmem", {})
    _check_keys("[lmem]", lmem, ("pattern", "seed", "file"))
    if "file" in lmem:
        lmem = lmem | {"file": str(path.parent / lmem["file"])}
    items = _list(f"instruction in program {path}", table.get("instruction", []))
    return Program(
        _config(table.get("config", "default"), path.parent),
        lmem,
        [_instruction(f"instruction {index}", item) for index, item in enumerate(items)],
    )


def initial_lmem(config, *, pattern="zeros", seed=0, file=None):
    """What lies in the lmem before: an array (lanes, cells).

    Raises
    ------
    OSError, ValueError
        If there is no such pattern or file.
    """
    if file is not None:
        return np.load(file, allow_pickle=False)
    if pattern not in PATTERNS:
        raise ValueError(f"pattern must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    shape, dtype = (config.lanes, config.cells), golden.cell_dtype(config)
    if pattern == "zeros":
        return np.zeros(shape, dtype)
    if pattern == "random":
        return np.random.default_rng(seed).integers(0, 1 << config.cell_width, shape, dtype)
    lane, cell = np.indices(shape)
    return ((16 * lane + cell) % (1 << config.cell_width)).astype(dtype)


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
        If the configuration cannot run it.
    """
    if sim == "model" and vcd is not None:
        raise ValueError("vcd must be left out with sim 'model', which has no signals")
    config = config or program.config
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


def _config(value, folder):
    if isinstance(value, dict):
        return _make("[config]", Config, value)
    beside = folder / str(value)
    return Config.load(beside if beside.is_file() else value)


def _instruction(where, table):
    _check_table(where, table)
    op = table.get("op")
    if op not in _OPS:
        raise ValueError(f"op of {where} must be one of {', '.join(_OPS)}, not {op!r}")
    where = f"{where} ({op})"
    values = {name: value for name, value in table.items() if name != "op"}
    for name in {"src", "dst"} & values.keys():
        values[name] = _side(f"{name} of {where}", values[name])
    if "n" in values:
        values["n"] = _length(f"n of {where}", values["n"])
    if "digits" in values:
        digits = _list(f"digits of {where}", values["digits"])
        values["digits"] = tuple(_digit(f"a digit of {where}", item) for item in digits)
    return _make(where, _OPS[op], values)


def _side(where, table):
    if not isinstance(table, dict) or len(table) != 1 or not table.keys() <= _SIDES.keys():
        raise ValueError(f"{where} must be {{across = {{...}}}} or {{along = {{...}}}}")
    ((mode, values),) = table.items()
    return _make(where, _SIDES[mode], values)


def _digit(where, table):
    _check_table(where, table)
    values = dict(table)
    if "count" in values:
        values["count"] = _length(f"count of {where}", values["count"])
    for name in {"in_step", "out_step"} & values.keys():
        step = _list(f"{name} of {where}", values[name])
        if len(step) != 2 or not all(type(item) is int for item in step):
            raise ValueError(f"{name} of {where} must be [lanes, cells], not {step!r}")
        values[name] = tuple(step)
    return _make(where, Digit, values)


def _length(where, value):
    return _make(where, Segment, value) if isinstance(value, dict) else value


def _make(where, kind, values):
    """An object of a dataclass from a table, if the table has its fields and no others."""
    fields = dataclasses.fields(kind)
    _check_keys(where, values, [field.name for field in fields])
    for field in fields:
        if field.default is dataclasses.MISSING and field.name not in values:
            raise ValueError(f"{where} must name {field.name}")
    for name, value in values.items():
        if kind is not Config and isinstance(value, bool | float | str | list):
            raise ValueError(f"{name} of {where} must be an integer, not {value!r}")
    return kind(**values)


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
