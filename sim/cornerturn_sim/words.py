"""Arrays of cells, and the flat vectors over all lanes that the lane ports take.

In a flat vector lane 0 is lowest, and in a lane's part cell 0. Everything passes through an array
of bits, whose axes are then put into order: that is right for every cell width.
"""

import numpy as np
from cornerturn_model.golden import cell_dtype

__all__ = ["from_words", "to_words", "zeros"]


def to_words(config, array, lane=0, cell=0):
    """The writes that put cells into the lmem, as :meth:`Session.write` takes them.

    Parameters
    ----------
    config : Config
    array : ndarray
        (lanes, cells) of `cell_dtype(config)`.
    lane, cell : int
        Where its first element goes.

    Returns
    -------
    list of (word, valid, mask, data)
    """
    width = config.beat_cells
    first = cell // width
    count = -(-(cell + array.shape[1]) // width) - first
    cells = np.zeros((config.lanes, count * width), array.dtype)
    mask = np.zeros(cells.shape, bool)
    start = cell - first * width
    box = np.s_[lane : lane + array.shape[0], start : start + array.shape[1]]
    cells[box] = array
    mask[box] = True
    valid = ((1 << array.shape[0]) - 1) << lane
    masks = _integers(mask.reshape(config.lanes, count, width).transpose(1, 0, 2))
    data = _integers(_bits(config, cells).reshape(config.lanes, count, -1).transpose(1, 0, 2))
    return [(first + index, valid, masks[index], data[index]) for index in range(count)]


def zeros(config):
    """The writes that clear the lmem."""
    return to_words(config, np.zeros((config.lanes, config.cells), cell_dtype(config)))


def from_words(config, words):
    """The cells of consecutive words of all lanes: an array (lanes, len(words) * beat_cells)."""
    size = -(-config.lanes * config.beat_width // 8)
    raw = np.frombuffer(b"".join(word.to_bytes(size, "little") for word in words), np.uint8)
    bits = np.unpackbits(
        raw.reshape(len(words), size),
        axis=1,
        bitorder="little",
        count=config.lanes * config.beat_width,
    )
    bits = bits.reshape(len(words), config.lanes, config.beat_cells, config.cell_width)
    bits = bits.transpose(1, 0, 2, 3).reshape(config.lanes, -1, config.cell_width)
    dtype = cell_dtype(config)
    padded = np.zeros((*bits.shape[:2], dtype.itemsize * 8), np.uint8)
    padded[..., : config.cell_width] = bits
    packed = np.packbits(padded, axis=-1, bitorder="little")
    return packed.view(dtype.newbyteorder("<"))[..., 0].astype(dtype)


def _bits(config, cells):
    """An axis of the bits of each cell, lowest first, behind the others."""
    raw = np.ascontiguousarray(cells.astype(cells.dtype.newbyteorder("<"))).view(np.uint8)
    bits = np.unpackbits(raw.reshape(*cells.shape, -1), axis=-1, bitorder="little")
    return bits[..., : config.cell_width]


def _integers(bits):
    """One integer for each index of the first axis, from all bits under it."""
    packed = np.packbits(bits.reshape(bits.shape[0], -1), axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]
