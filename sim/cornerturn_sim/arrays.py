"""Arrays of users: from files and into files, and what lies in an lmem before it is used.

::

    .npy, image --read_array--> array --encode_array--> bytes of a .npy file or an image
"""

import io
import struct
import tokenize
import warnings
from pathlib import Path

import numpy as np
from cornerturn_model.golden import cell_dtype
from PIL import Image

__all__ = ["PATTERNS", "encode_array", "initial_lmem", "read_array", "write_array"]

PATTERNS = ("zeros", "random", "address")
"""What an lmem can hold before a program runs, besides the contents of a file."""

IMAGE_MODES = ("1", "L", "LA", "RGB", "RGBA", "I;16", "I", "F")
"""Image modes whose pixels are taken as they are; others become RGB."""

FOREIGN_ERRORS = (
    OSError, ValueError, SyntaxError, tokenize.TokenError, struct.error, EOFError, MemoryError,
    OverflowError, NotImplementedError, Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)  # fmt: skip
"""What numpy and Pillow raise at contents that they do not understand, or find too large."""


def read_array(path):
    """The array of a ``.npy`` file, or of an image: height, width and perhaps channels.

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If it holds no such array.
    """
    path = Path(path)
    what, decode = ("a .npy file", _npy) if path.suffix == ".npy" else ("an image", _image)
    with path.open("rb") as file:
        try:
            return decode(file)
        except FOREIGN_ERRORS as error:
            reason = str(error) or type(error).__name__
            raise ValueError(f"{path} must be {what} that can be read: {reason}") from error


def encode_array(path, array):
    """The bytes of the file that :func:`write_array` writes.

    Raises
    ------
    ValueError
        If the suffix is of no such file, or an image of this kind cannot hold the array.
    """
    path = Path(path)
    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, array)
        return buffer.getvalue()
    kind = Image.registered_extensions().get(path.suffix.lower())
    if kind not in Image.SAVE:
        raise ValueError(f"output must be a .npy file or an image, not {path.name!r}")
    try:
        Image.fromarray(array).save(buffer, kind)
    except (TypeError, *FOREIGN_ERRORS) as error:
        raise ValueError(
            f"output must be a .npy file for {array.dtype} of shape {array.shape}, "
            f"not {path.name!r}"
        ) from error
    return buffer.getvalue()


def write_array(path, array):
    """Write an array as a ``.npy`` file, or as an image by the suffix."""
    path = Path(path)
    data = encode_array(path, array)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def initial_lmem(config, *, pattern="zeros", seed=0, file=None):
    """What lies in an lmem before: an array (lanes, cells).

    Raises
    ------
    OSError, ValueError
        If there is no such pattern, seed or file.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"pattern must be one of {', '.join(PATTERNS)}, not {pattern!r}")
    if type(seed) is not int or seed < 0:
        raise ValueError(f"seed must be an integer of at least 0, not {seed!r}")
    if file is not None:
        return read_array(file)
    shape, dtype = (config.lanes, config.cells), cell_dtype(config)
    if pattern == "zeros":
        return np.zeros(shape, dtype)
    if pattern == "random":
        return np.random.default_rng(seed).integers(0, 1 << config.cell_width, shape, dtype)
    lane, cell = np.indices(shape)
    return ((16 * lane + cell) % (1 << config.cell_width)).astype(dtype)


def _npy(file):
    return np.lib.format.read_array(file, allow_pickle=False)


def _image(file):
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with Image.open(file) as image:
            return np.asarray(image if image.mode in IMAGE_MODES else image.convert("RGB"))
