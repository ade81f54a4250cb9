"""The two demonstrations: a small re-layout anywhere, and a photograph under Verilator.

Both check everything they show: the arrays against numpy, the RTL against the model.
"""

import importlib
import json
from pathlib import Path

import numpy as np
from cornerturn.config import PRESETS
from cornerturn.verilog import write_verilog
from cornerturn_model import cycles, golden
from cornerturn_model.instruction import Across, Digit, Swap, Tile
from PIL import Image

from .arrays import initial_lmem, write_array
from .relayout import relayout
from .simulation import Simulation

__all__ = ["photo", "small", "transpose_in_place"]

PATTERN = "h w c -> w h c"

CROP = (slice(110, 270), slice(205, 301))
"""Rows and columns of the photograph that are re-laid out: the face, not square."""

PLANE = (slice(100, 292), slice(160, 352))
"""Rows and columns that are transposed in place."""


def small(out):
    """A small re-layout on the Amaranth simulator, with nothing but the base install.

    Parameters
    ----------
    out : Path
        Folder for ``cornerturn.v``, the arrays and ``report.json``.

    Returns
    -------
    dict
        The report; its `files` are what was written.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    config = PRESETS["tiny"]
    before = np.arange(12 * 20 * 2, dtype=np.int16).astype(np.uint8).reshape(12, 20, 2)
    after, report = relayout(before, PATTERN, config=config, sim="pysim")
    files = [out / name for name in ("before.npy", "after.npy", "cornerturn.v", "report.json")]
    write_array(files[0], before)
    write_array(files[1], after)
    write_verilog(config, files[2])
    report["files"] = [str(file) for file in files]
    files[3].write_text(json.dumps(report, indent=2) + "\n")
    return report


def photo(out):
    """The photograph that matplotlib ships, through the RTL of a 32-lane engine under Verilator.

    A crop is transposed by tiles, ``'h w c -> w h c'``, and a colour plane in place by SWAPs.

    Parameters
    ----------
    out : Path
        Folder for the images and ``report.md``.

    Returns
    -------
    dict
        `match`, the reports `crop` and `plane`, and the `files` written.

    Raises
    ------
    RuntimeError
        If Verilator or matplotlib is missing.
    """
    picture = _photograph()
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    config = PRESETS["default"]
    crop = np.ascontiguousarray(picture[CROP])
    turned, crop_report = relayout(crop, PATTERN, config=config, sim="verilator")
    plane = np.ascontiguousarray(picture[PLANE][..., 0])
    swapped, plane_report = transpose_in_place(plane, config=config, sim="verilator")

    files = [out / name for name in ("crop.png", "plane.png", "report.md")]
    _side_by_side(crop, turned, files[0])
    _side_by_side(plane, swapped, files[1])
    files[2].write_text(_markdown(config, crop_report, plane_report))
    return {
        "match": crop_report["match"] and plane_report["match"],
        "crop": crop_report,
        "plane": plane_report,
        "files": [str(file) for file in files],
    }


def transpose_in_place(plane, *, config, sim="verilator", seed=0):
    """Transpose a square plane within its own memory, and one block of M x M elements beside it.

    Row h lies in lane h % M. Every block of M x M is transposed by a SWAP; then the blocks on
    either side of the diagonal change places over the spare block.

    Parameters
    ----------
    plane : ndarray
        (n, n), n a multiple of the lanes, of elements of one cell.
    config : Config
    sim : str
        As of :func:`~cornerturn_sim.relayout.relayout`.
    seed : int
        Of what lies in the lmem before.

    Returns
    -------
    ndarray, dict
        The plane, transposed, and the report.
    """
    lanes = config.lanes
    blocks, rest = divmod(plane.shape[0], lanes)
    if plane.ndim != 2 or plane.shape[0] != plane.shape[1] or rest or not blocks:
        raise ValueError(f"plane must be square, by a multiple of {lanes}, not {plane.shape!r}")
    if (blocks * blocks + 1) * lanes > config.cells:
        raise ValueError(f"plane must fit the lmem and leave {lanes} cells, not {plane.shape!r}")
    program = _in_place(lanes, blocks)
    lmem = initial_lmem(config, pattern="random", seed=seed)
    used = plane.size // lanes
    lmem[:, :used] = plane.reshape(blocks, lanes, -1).transpose(1, 0, 2).reshape(lanes, used)
    model = golden.run(config, lmem, program)
    with Simulation(config, sim, seed=seed) as simulation:
        simulation.load(lmem)
        result = simulation.run(program)
        left = simulation.read()
    output = left[:, :used].reshape(lanes, blocks, -1).transpose(1, 0, 2).reshape(plane.shape)
    limit = cycles.limit(config, program)
    return output, {
        "shape_in": list(plane.shape),
        "sim": sim,
        "match": bool(
            np.array_equal(output, plane.T)
            and np.array_equal(left, model.lmem)
            and result.cycles == model.cycles
        ),
        "cycles": result.cycles,
        "model_cycles": model.cycles,
        "limit_cycles": limit,
        "utilisation": round(limit / result.cycles, 4),
        "instructions": len(program),
    }


def _photograph():
    """The whole photograph: (height, width, 3)."""
    try:
        cbook = importlib.import_module("matplotlib.cbook")
    except ImportError:
        raise RuntimeError(
            "matplotlib, which ships the photograph, is not installed: pip install "
            "'cornerturn[dev]'"
        ) from None
    with cbook.get_sample_data("grace_hopper.jpg") as file, Image.open(file) as image:
        return np.asarray(image.convert("RGB"))


def _in_place(lanes, blocks):
    """SWAPs of all blocks, then three copies for each pair of blocks beside the diagonal."""
    width = blocks * lanes

    def start(row, column):
        return row * width + column * lanes

    def copy(source, destination):
        # Rows run across all lanes, so a copy is whole beats whatever the alignment.
        return Tile(
            Across(0, source), Across(0, destination), lanes, (Digit(lanes, (0, 1), (0, 1)),)
        )

    pairs = [(row, column) for row in range(blocks) for column in range(blocks)]
    program = [Swap(0, start(row, column), lanes) for row, column in pairs]
    spare = blocks * width
    for row, column in pairs:
        if row < column:
            upper, lower = start(row, column), start(column, row)
            program += [copy(upper, spare), copy(lower, upper), copy(spare, lower)]
    return program


def _side_by_side(before, after, path):
    """One image of two, on a neutral ground."""
    pictures = [Image.fromarray(array).convert("RGB") for array in (before, after)]
    gap, zoom = 8, 3
    pictures = [
        picture.resize((picture.width * zoom, picture.height * zoom), Image.NEAREST)
        for picture in pictures
    ]
    size = (
        sum(picture.width for picture in pictures) + 3 * gap,
        max(picture.height for picture in pictures) + 2 * gap,
    )
    sheet = Image.new("RGB", size, (64, 64, 64))
    left = gap
    for picture in pictures:
        sheet.paste(picture, (left, gap))
        left += picture.width + gap
    sheet.save(path)


def _markdown(config, crop, plane):
    rows = [
        (f"`{crop['pattern']}` of {'x'.join(map(str, crop['shape_in']))}", crop),
        (f"in place, SWAP, of {'x'.join(map(str, plane['shape_in']))}", plane),
    ]
    lines = [
        "# A photograph through the engine",
        "",
        f"The RTL of {config.lanes} lanes with a bus of {config.beat_width} bits, under Verilator.",
        "`crop.png` and `plane.png` show before and after.",
        "",
        "| what | right | cycles | limit | utilisation | instructions |",
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {'yes' if report['match'] else 'NO'} | {report['cycles']} "
            f"| {report['limit_cycles']} | {report['utilisation']:.1%} | {report['instructions']} |"
            for name, report in rows
        ),
        "",
        "The limit is the port of one lane: a beat a cycle for the elements of each row, and twice",
        "that for a row of a SWAP, which is read across and along. Every array was compared with",
        "numpy, and the memory and the number of cycles with the model.",
        "",
        f"A pixel of the crop moves as {crop['element_cells']} bytes; three alone would have",
        f"{crop['bus_limit_cycles']} cycles for their limit.",
    ]
    return "\n".join(lines) + "\n"
