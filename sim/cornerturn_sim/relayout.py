"""Re-layout of real arrays and images through the engine, by an einops pattern.

::

    array --cells--> lmem image --lane ports--> [ engine: the plan's tiles ] --> lmem --> array
      |                                                                                     |
      +--einops-------------------------------------------------------------> equal? <------+

The tensor lies in the lanes as :mod:`placement` says, before and after.
"""

from typing import NamedTuple

import einops
import numpy as np
from cornerturn.fields import Status
from cornerturn.files import check_output
from cornerturn_model import cycles, golden

from .arrays import encode_array, initial_lmem, read_array, write_array
from .patterns import resolve
from .planner import plan
from .simulation import Simulation, check_simulation

__all__ = ["Relayout", "relayout", "relayout_file"]


class Relayout(NamedTuple):
    """A re-layout that has been run."""

    array: np.ndarray
    report: dict


def relayout(array, pattern, *, sizes=None, config, sim="pysim", vcd=None, seed=0):
    """Re-lay an array out through the engine, and check the result.

    Parameters
    ----------
    array : ndarray
        Numbers of 8, 16 or 32 bits; it has to fit the lmem twice.
    pattern : str
        Of ``einops.rearrange``; permutes axes.
    sizes : dict of str to int
        Axes that the array's shape leaves open.
    config : Config
    sim : str
        ``"model"``, ``"pysim"``, ``"icarus"`` or ``"verilator"``.
    vcd : path or None
        Where to write the waveform; not for ``"model"``.
    seed : int
        Of what lies in the lmem before.

    Returns
    -------
    Relayout
        The array as the engine left it, and a report: a dictionary of plain values. Its `match`
        says whether the array is what einops makes of it, and the RTL's lmem and number of cycles
        are the model's.

    Raises
    ------
    TypeError, ValueError
        If the array, the pattern and the configuration do not go together, or as
        :func:`~cornerturn_sim.simulation.check_simulation`.
    """
    check_simulation(config, sim, vcd)
    array = np.asarray(array, order="C")
    element_cells = _element_cells(config, array)
    permutation, expected = _resolved(array, pattern, sizes)
    chosen = plan(config, permutation, element_cells)
    lmem = initial_lmem(config, pattern="random", seed=seed)
    lmem[_where(chosen, chosen.source, permutation.sizes, element_cells)] = _to_cells(
        config, array
    ).reshape(*permutation.sizes, element_cells)
    model = golden.run(config, lmem, chosen.program)
    result, left = model, model.lmem
    if sim != "model":
        with Simulation(config, sim, vcd=vcd, seed=seed) as simulation:
            simulation.load(lmem)
            result = simulation.run(chosen.program)
            left = simulation.read()
    cells = left[_where(chosen, chosen.destination, permutation.sizes, element_cells)]
    cells = cells.transpose(*permutation.order, -1).reshape(*expected.shape, element_cells)
    output = _from_cells(config, cells, array.dtype)
    limit = cycles.limit(config, chosen.program)
    match = (
        output.tobytes() == expected.tobytes()
        and np.array_equal(left, model.lmem)
        and result.cycles == model.cycles
        and all(status == Status.OK for _, status in result.completions)
    )
    return Relayout(
        output,
        {
            "pattern": pattern,
            "shape_in": list(array.shape),
            "shape_out": list(output.shape),
            "dtype": str(array.dtype),
            "sim": sim,
            "config": config.parameters(),
            "match": match,
            "cycles": result.cycles,
            "model_cycles": model.cycles,
            "limit_cycles": limit,
            "bus_limit_cycles": -(-array.size * element_cells // config.beat_cells),
            "utilisation": round(limit / result.cycles, 4),
            "instructions": len(chosen.program),
            "element_cells": element_cells * chosen.group,
            "seed": seed,
        },
    )


def relayout_file(pattern, in_path, out_path, *, sizes=None, sim="pysim", config, vcd=None, seed=0):
    """Re-lay a ``.npy`` file or an image out; see :func:`relayout`. Returns the report."""
    array = read_array(in_path)
    # What cannot be written is not worked on.
    check_output(out_path)
    encode_array(out_path, _resolved(array, pattern, sizes)[1])
    array, report = relayout(
        array, pattern, sizes=sizes, config=config, sim=sim, vcd=vcd, seed=seed
    )
    write_array(out_path, array)
    return report | {"in": str(in_path), "out": str(out_path)}


def _resolved(array, pattern, sizes):
    """The permutation that a pattern is, and what einops makes of it."""
    sizes = sizes or {}
    permutation = resolve(pattern, array.shape, sizes)
    try:
        return permutation, einops.rearrange(array, pattern, **sizes)
    except einops.EinopsError as error:
        raise ValueError(f"pattern must be one of einops: {str(error).splitlines()[0]}") from None


def _element_cells(config, array):
    if array.dtype.kind not in "biuf" or array.itemsize > 4:
        raise TypeError(f"array must hold numbers of 8, 16 or 32 bits, not {array.dtype}")
    if array.size == 0:
        raise ValueError(f"array must have elements, not shape {array.shape}")
    cells, rest = divmod(8 * array.itemsize, config.cell_width)
    if rest or not 1 <= cells <= config.max_element_cells:
        raise ValueError(
            f"array must hold elements of 1 to {config.max_element_cells} cells of "
            f"{config.cell_width} bits, not {array.dtype}"
        )
    return cells


def _where(chosen, placement, sizes, element_cells):
    """Lane and cell of every cell of a tensor, as indices of the lmem: (*sizes, element_cells)."""
    *indices, cell = np.indices((*sizes, element_cells), sparse=True)
    # The last axis counts elements; the plan moves groups of them, and may have no such axis left.
    within = indices[-1] % chosen.group * element_cells + cell
    indices[-1] = indices[-1] // chosen.group
    lane, first = placement.address(indices[: len(chosen.sizes)])
    return np.broadcast_arrays(lane, first + within)[0], first + within


def _to_cells(config, array):
    """The cells of each element, lowest first: (elements, element_cells)."""
    raw = array.reshape(-1).view(np.uint8)
    if config.cell_width == 4:
        cells = np.stack([raw & 15, raw >> 4], axis=-1)
    else:
        cells = raw.view(f"<u{config.cell_width // 8}").astype(golden.cell_dtype(config))
    return cells.reshape(array.size, -1)


def _from_cells(config, cells, dtype):
    shape = cells.shape[:-1]
    if config.cell_width == 4:
        pairs = cells.reshape(-1, 2)
        raw = pairs[:, 0] | pairs[:, 1] << 4
    else:
        raw = cells.reshape(-1).astype(f"<u{config.cell_width // 8}")
    return raw.view(dtype).reshape(shape)
