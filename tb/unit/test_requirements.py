"""Every file and test that the table of requirements names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
NAMES = sorted(set(re.findall(r"`((?:hdl|sim|synth|tb|docs|examples)/[^`]+)`", TEXT)))


def test_every_name_exists():
    missing = []
    for name in NAMES:
        path, _, function = name.partition("::")
        there = (ROOT / path).exists()
        if there and function:
            source = (ROOT / path).read_text(encoding="utf-8")
            there = re.search(rf"^def {function}\(", source, re.M) is not None
        if not there:
            missing.append(name)
    assert not missing


def test_every_row_of_the_first_design_is_there():
    rows = re.findall(r"^\| (S0-\d\d) \|", TEXT, re.M)
    assert rows == [f"S0-{number:02}" for number in range(1, 49)]


def test_every_row_says_how_it_is_shown():
    for row in re.findall(r"^\| S[01]-.*$", TEXT, re.M):
        shown = row.split("|")[4].strip()
        assert shown == "later" or "`tb/" in shown, row
