"""The house: layers that import only downwards, and nothing of a single machine in any file."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("hdl", "sim", "synth") for path in (ROOT / folder).rglob("*.py")
)

LAYERS = (
    ("cornerturn.config",),
    ("cornerturn.fields",),
    ("cornerturn.isa",),
    ("cornerturn.npu", "cornerturn.tiu"),
    ("cornerturn.interconnect",),
    ("cornerturn.engine",),
    ("cornerturn.soc",),
    ("cornerturn.verilog",),
    ("cornerturn_model",),
    ("cornerturn_synth",),
    ("cornerturn_sim",),
)
"""Packages and modules, lowest first; those of one line know nothing of each other."""

MODEL_MAY_KNOW = {"cornerturn.config", "cornerturn.fields"}


def module_of(path):
    """A file's dotted name: below hdl, sim or synth the path is the name."""
    parts = path.relative_to(ROOT).with_suffix("").parts[1:]
    return ".".join(part for part in parts if part != "__init__")


def imports_of(path):
    """Dotted names of the project that a file imports, relative ones resolved."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0].startswith("cornerturn"))


def layer_of(name):
    """Number of a module's layer and its part of it; ``None`` for a package's own name."""
    for number, layer in enumerate(LAYERS):
        for part in layer:
            if name == part or name.startswith(f"{part}."):
                return number, part
    return None


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_point_down(path):
    module = module_of(path)
    if module == "cornerturn.__main__":  # calls the command line
        return
    here = layer_of(module)
    for name in imports_of(path):
        there = layer_of(name)
        if here and there and here != there:
            assert there[0] < here[0], f"{module} imports {name}"
        if module.startswith("cornerturn_model") and not name.startswith("cornerturn_model"):
            assert name.rpartition(".")[0] in MODEL_MAY_KNOW or name in MODEL_MAY_KNOW


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_every_module_says_what_it_is(path):
    text = path.read_text(encoding="utf-8")
    assert not text or ast.get_docstring(ast.parse(text))


def tracked_files():
    """Every text file of the repository, as git lists them; all files of an unpacked archive."""
    run = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in run.stdout.split("\0") if name]


def test_no_file_names_a_machine():
    # Built from pieces, so that this file does not name what it looks for.
    words = ["/" + "tmp/", "/" + "work/", "/" + "root/", "/" + "home/", "--index" + "-url"]
    pattern = re.compile("|".join(map(re.escape, words)))
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in pattern.finditer(text)]
    assert not found


def test_cocotb_is_not_shadowed():
    # `tb` is on the path of every test; a package there would hide the real one.
    assert not (ROOT / "tb" / "cocotb" / "__init__.py").exists()
