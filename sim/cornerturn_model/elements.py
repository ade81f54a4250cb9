"""The elements of a tile's side, as numpy sees them in the bytes of a memory.

::

    Lmem, Memory: address -> byte        Elements: rows of an element type at strided bytes

Cells of 4 bits have a byte each while a program runs; memory, which packs them, is unpacked for it.
"""

import numpy as np
from cornerturn.fields import Mode

__all__ = ["Elements", "Lmem", "Memory", "cell_dtype"]


def cell_dtype(config):
    """The numpy type that holds one cell; a cell of 4 bits has a byte to itself."""
    return np.dtype(f"<u{max(8, config.cell_width) // 8}")


class Lmem:
    """The lmems, (lanes, cells), with addresses (lane, cell)."""

    def __init__(self, array):
        self.array = array

    def offset(self, address):
        """The byte at an address, or bytes of a step."""
        lane_stride, cell_stride = self.array.strides
        return address[0] * lane_stride + address[1] * cell_stride


class Memory:
    """System memory with addresses (bit,), from 0 on."""

    def __init__(self, config, data):
        self._packed = config.cell_width == 4
        # Little endian: the low half of a byte is the first of its cells.
        self.array = np.stack([data & 15, data >> 4], axis=1).ravel() if self._packed else data

    def offset(self, address):
        """The byte at an address, or bytes of a step."""
        return address[0] // (4 if self._packed else 8)

    def data(self):
        """The bytes, packed."""
        if self._packed:
            return self.array[0::2] | self.array[1::2] << 4
        return self.array


class Elements:
    """One side of a tile."""

    def __init__(self, config, rows, side, store):
        self._store = store
        self._side = side
        self._type = np.dtype((np.void, rows.element_cells * cell_dtype(config).itemsize))
        self._half = 0 if side.mode is Mode.MEM else store.offset((0, rows.half_cells))
        steps = (*side.steps, side.element_step)
        self.strides = tuple(map(store.offset, steps))  # of each record, and of the row

    def injective(self, shape):
        """Whether, by a sufficient test, no two elements of the innermost axes share a byte."""
        reach = self._type.itemsize - 1
        strides = map(abs, self.strides[len(self.strides) - len(shape) :])
        for stride, count in sorted(zip(strides, shape, strict=True)):
            if count > 1 and stride <= reach:
                return False
            reach += (count - 1) * stride
        return True

    def view(self, part):
        """A part of the tile: an axis for each record, then one for the row."""
        start = self._store.offset(self._side.places((0,) * len(part.counts), part.first))
        return self._array((*part.counts, part.length), start)

    def block_view(self, block):
        """A block of a pair: an axis for each digit, then one for the row."""
        digits = block.part.counts[len(block.index) :]
        start = self._store.offset(self._side.places((*block.index, *(0 for _ in digits))))
        return self._array((*digits, block.part.length), start + block.number % 2 * self._half)

    def rows(self, addresses, lengths):
        """The rows at some addresses that have any elements, one array each."""
        starts = self._store.offset(addresses).tolist()
        for start, length in zip(starts, lengths.tolist(), strict=True):
            if length:
                yield self._array((length,), start)

    def places(self, addresses, lengths):
        """The elements of the rows at some addresses, in order, as indices of :meth:`anywhere`."""
        k = np.arange(lengths.max(initial=0))
        places = self._store.offset(addresses)[:, None] + k * self.strides[-1]
        if (lengths == k.size).all():
            return places.ravel()
        return places[k < lengths[:, None]]

    def anywhere(self):
        """An element at every byte."""
        data = self._store.array
        number = data.nbytes - self._type.itemsize + 1
        return np.ndarray((number,), self._type, data, strides=(1,))

    def _array(self, shape, start):
        strides = self.strides[len(self.strides) - len(shape) :]
        return np.ndarray(shape, self._type, self._store.array, start, strides)
