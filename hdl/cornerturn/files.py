"""Files that users name: read whole or refused in one line, and known to be writable before work.

::

    config, program --read_toml--> table          check_output --> nothing, or the error of writing
"""

import errno
import os
import tomllib
from pathlib import Path

__all__ = ["check_output", "read_toml"]


def read_toml(what, path):
    """The table in a TOML file.

    Parameters
    ----------
    what : str
        Of the file, for the errors.
    path : Path

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{what} {path} must not be nested so deep") from None
    except ValueError as error:
        raise ValueError(f"{what} {path} must be valid TOML: {error}") from None


def check_output(path, *, folders=True):
    """Find out whether a file can be written; nothing is made.

    Parameters
    ----------
    path : Path
    folders : bool
        Whether folders that are missing will be made.

    Raises
    ------
    OSError
        As writing it would.
    """
    path = Path(path)
    folder = path.parent
    while folders and not folder.exists():
        folder = folder.parent
    code = None
    if path.is_dir():
        code = errno.EISDIR
    elif not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
    elif not os.access(path if path.exists() else folder, os.W_OK):
        code = errno.EACCES
    if code is not None:
        raise OSError(code, os.strerror(code), str(path))
