"""Re-layout of real arrays and images through the engine, by an einops pattern.

::

    array --cells--> lmem image --lane ports--> [ engine: the plan's tiles ] --> lmem --> array
      |                                                                                     |
      +--einops-------------------------------------------------------------> equal? <------+

The tensor lies in the lanes as :mod:`placement` says, before and after.
"""

from pathlib import Path
from typing import NamedTuple

import einops
import numpy as np
from cornerturn.fields import Status
from cornerturn_model import cycles, golden
from PIL import Image

from .patterns import resolve
from .planner import plan
from .simulation import Simulation

__all__ = ["Relayout", "read_array", "relayout", "relayout_file", "write_array"]

IMAGE_MODES = ("1", "L", "LA", "RGB", "RGBA", "I;16", "I", "F")
"""Image modes whose pixels are taken as they are; others become RGB."""


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
        If the array, the pattern and the configuration do not go together.
    """
    if sim == "model" and vcd is not None:
        raise ValueError("vcd must be left out with sim 'model', which has no signals")
    array = np.asarray(array, order="C")
    sizes = sizes or {}
    element_cells = _element_cells(config, array)
    permutation = resolve(pattern, array.shape, sizes)
    try:
        expected = einops.rearrange(array, pattern, **sizes)
    except einops.EinopsError as error:
        raise ValueError(f"pattern must be one of einops: {str(error).splitlines()[0]}") from None
    chosen = plan(config, permutation, element_cells)
    lmem = np.random.default_rng(seed).integers(
        0, 1 << config.cell_width, (config.lanes, config.cells), golden.cell_dtype(config)
    )
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
    array, report = relayout(
        read_array(in_path), pattern, sizes=sizes, config=config, sim=sim, vcd=vcd, seed=seed
    )
    write_array(out_path, array)
    return report | {"in": str(in_path), "out": str(out_path)}


def read_array(path):
    """The array of a ``.npy`` file, or of an image: height, width and perhaps channels."""
    path = Path(path)
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    with Image.open(path) as image:
        return np.asarray(image if image.mode in IMAGE_MODES else image.convert("RGB"))


def write_array(path, array):
    """Write an array as a ``.npy`` file, or as an image by the suffix."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
        return
    try:
        image = Image.fromarray(array)
    except TypeError:
        raise ValueError(
            f"output must be a .npy file for {array.dtype} of shape {array.shape}, "
            f"not {path.name!r}"
        ) from None
    image.save(path)


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
