"""Files of users: what can be read and written is; the rest is refused in one line, by its name."""

import os
import re
import struct
import zlib

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn.files import check_output, read_toml
from cornerturn_sim.arrays import encode_array, initial_lmem, read_array, write_array


def npy(shape):
    """A .npy file that claims a shape and holds three bytes."""
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"abc"


def png(size):
    """A PNG file that claims to be square, of so many pixels a side."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0"))


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("x.npy", b"", "EOF: reading magic string, expected 8 bytes got 0"),
    ("x.npy", b"PK\3\4abc", "EOF: reading magic string, expected 8 bytes got 7"),
    ("x.npy", b"PK\3\4abcdefgh", "the magic string is not correct; expected "),
    ("x.npy", npy(f"({2**60},)"), "Unable to allocate 4.00 EiB for an array with shape "),
    ("x.npy", npy(f"({2**70},)"), "Python int too large to convert to C long"),
    ("x.npy", npy("(3, 4)"), "Failed to read all data for array. Expected (3, 4) = 12 "),
    ("x.npy", npy("(3, 4"), ""),
    ("x.npy", npy("'''"), ""),
    ("x.png", b"", "cannot identify image file "),
    ("x.png", png(100_000), "Image size (10000000000 pixels) exceeds limit of 178956970 pixels"),
    ("x.png", png(12_000), "Image size (144000000 pixels) exceeds limit of 89478485 pixels"),
    ("x.png", png(8), "image file is truncated"),
])  # fmt: skip
def test_contents_that_are_no_array(name, content, reason, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    kind = {".npy": "a .npy file", ".png": "an image"}[path.suffix]
    message = f"{path} must be {kind} that can be read: {reason}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        read_array(path)


@pytest.mark.parametrize("suffix", [".npy", ".png", ".bmp"])
def test_arrays_come_back_as_they_were(suffix, tmp_path):
    array = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)
    path = tmp_path / "deep" / f"x{suffix}"
    write_array(path, array)
    np.testing.assert_array_equal(read_array(path), array)
    assert encode_array(path, array) == path.read_bytes()


@pytest.mark.parametrize(("name", "message"), [
    ("x.xyz", "output must be a .npy file or an image, not 'x.xyz'"),
    ("x", "output must be a .npy file or an image, not 'x'"),
    ("x.png", "output must be a .npy file for float32 of shape (2, 3), not 'x.png'"),
    ("x.jpg", "output must be a .npy file for float32 of shape (2, 3), not 'x.jpg'"),
])  # fmt: skip
def test_arrays_that_no_such_file_holds(name, message, tmp_path):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        write_array(tmp_path / name, np.zeros((2, 3), np.float32))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [-4, "x", 1.0, True, None])
def test_seeds_are_numbers(seed):
    message = f"seed must be an integer of at least 0, not {seed!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        initial_lmem(Config(), pattern="random", seed=seed)


@pytest.mark.parametrize(("content", "message"), [
    (b"a = ", "table {} must be valid TOML: Invalid value (at end of document)"),
    (b"# \xff", "table {} must be valid TOML: 'utf-8' codec can't decode byte 0xff in "),
    (b"a = " + 5000 * b"[" + 5000 * b"]", "table {} must not be nested so deep"),
])  # fmt: skip
def test_contents_that_are_no_toml(content, message, tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"^{re.escape(message.format(path))}"):
        read_toml("table", path)
    with pytest.raises(FileNotFoundError):
        read_toml("table", tmp_path / "none.toml")


@pytest.mark.parametrize(("name", "folders", "error"), [
    ("new", False, None),
    ("old", False, None),
    ("a/b/new", True, None),
    ("a/b/new", False, FileNotFoundError),
    ("old/new", True, NotADirectoryError),
    ("old/new", False, NotADirectoryError),
    ("folder", True, IsADirectoryError),
    (".", False, IsADirectoryError),
    ("kept", True, PermissionError),
])  # fmt: skip
def test_where_a_file_can_be_written(name, folders, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for file in ("old", "kept"):
        (tmp_path / file).touch()
    access = os.access  # root may write anything, so its answer is made up
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "kept" and access(path, mode))
    if error is None:
        check_output(name, folders=folders)
    else:
        with pytest.raises(error) as raised:
            check_output(name, folders=folders)
        assert raised.value.filename == name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "kept", "old"]
