"""The register map: a sound table, and documents and headers that say the same."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from cornerturn import fields, registers
from cornerturn.registers import ADDRESS_BITS, INTERRUPTS, RECORD, REGISTERS, Access
from cornerturn_sim import regs
from cornerturn_sim.regs import FORMATS, write_regs

# Read off the documents, not off the table: software relies on these.
PLACES = {
    "id": 0x000,
    "version": 0x004,
    "control": 0x020,
    "command": 0x024,
    "status": 0x028,
    "irq_enable": 0x040,
    "irq_status": 0x044,
    "ring_base": 0x050,
    "ring_base_high": 0x054,
    "ring_size": 0x058,
    "ring_tail": 0x05C,
    "ring_head": 0x060,
    "completion_base": 0x068,
    "window_first": 0x080,
    "window_last": 0x088,
    "watchdog": 0x090,
    "block_h": 0x0C0,
    "out_offset_high": 0x0DC,
    "counter_cycles": 0x100,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with everything."""
    for name in ("peakrdl_cheader", "peakrdl_html", "peakrdl_markdown"):
        pytest.importorskip(name)
    folder = tmp_path_factory.mktemp("regs")
    write_regs(FORMATS, folder)
    return folder


@pytest.mark.parametrize(("name", "offset"), PLACES.items())
def test_place(name, offset):
    assert REGISTERS[name].offset == offset


def test_no_two_registers_share_an_address():
    offsets = [register.offset for register in REGISTERS.values()]
    assert offsets == sorted(set(offsets))
    assert all(offset % 4 == 0 and offset < 1 << ADDRESS_BITS for offset in offsets)
    assert list(REGISTERS) == [register.name for register in REGISTERS.values()]


@pytest.mark.parametrize("register", REGISTERS.values(), ids=REGISTERS)
def test_no_two_fields_share_a_bit(register):
    taken = 0
    for bits in register.fields:
        mask = ((1 << bits.width) - 1) << bits.low
        assert bits.width >= 1
        assert not taken & mask
        assert 0 <= bits.reset < 1 << bits.width
        assert bits.doc
        assert register.doc
        taken |= mask
    assert taken < 1 << 32
    names = [bits.name for bits in register.fields]
    assert len(set(names)) == len(names)
    assert ("value" in names) == (names == ["value"])


def test_every_number_of_64_bits_has_both_halves():
    for name, register in REGISTERS.items():
        if name.endswith("_high"):
            assert REGISTERS[name.removesuffix("_high")].offset == register.offset - 4


def test_the_map_has_everything():
    assert [f"counter_{name}" for name in fields.COUNTERS] == [
        name for name in REGISTERS if name.startswith("counter_")
    ]
    for name in ("irq_enable", "irq_status"):
        assert [bits.name for bits in REGISTERS[name].fields] == list(INTERRUPTS)
    assert registers.ID.to_bytes(4, "little") == b"CTRN"


def test_records_have_room_for_every_status():
    assert max(fields.Status).bit_length() <= RECORD["status"].width
    taken = [set(range(part.offset, part.offset + part.width)) for part in RECORD.values()]
    assert len(set().union(*taken)) == sum(map(len, taken))
    assert max(set().union(*taken)) < 8 * registers.RECORD_BYTES


def test_peakrdl_reads_the_same_map(written, tmp_path):
    found = {}
    for node in regs._nodes(tmp_path):
        for register in node.registers():
            for part in register.fields():
                place = (8 * register.absolute_address + part.low, part.width)
                found[node.inst_name, register.inst_name, part.inst_name] = place
    expected = {
        ("cornerturn", register.name, bits.name): (8 * register.offset + bits.low, bits.width)
        for register in REGISTERS.values()
        for bits in register.fields
    }
    assert {key: place for key, place in found.items() if key[0] == "cornerturn"} == expected
    places = {key[2]: place for key, place in found.items() if key[0] == "cornerturn_descriptor"}
    assert places == {name: (field.offset, field.width) for name, field in fields.FIELDS.items()}
    places = {key[2]: place for key, place in found.items() if key[0] == "cornerturn_record"}
    assert places == {name: (field.offset, field.width) for name, field in RECORD.items()}


def test_documents_name_every_register_field_and_code(written):
    text = (written / "cornerturn.md").read_text()
    names = [*REGISTERS, *fields.FIELDS, *RECORD]
    names += [item.name for item in fields.Status]
    for name in names:
        assert re.search(rf"\b{name}\b", text), name
    data = json.loads((written / "html/data/ral-data-0.json").read_text())
    assert set(REGISTERS) <= set(re.findall(r"\w+", json.dumps(data)))


def test_nothing_depends_on_time_or_place(written, tmp_path):
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from cornerturn_sim.regs import FORMATS, write_regs\n"
        "write_regs(FORMATS, Path(sys.argv[1]))\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "other")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1"},
        check=True,
    )
    files = {path.relative_to(written) for path in written.rglob("*") if path.is_file()}
    others = tmp_path / "other"
    assert files == {path.relative_to(others) for path in others.rglob("*") if path.is_file()}
    for name in files:
        content = (written / name).read_bytes()
        assert content == (others / name).read_bytes(), name
        assert str(written).encode() not in content
        assert sys.prefix.encode() not in content


def test_files_are_written_only_when_they_change(tmp_path):
    files = write_regs(["rdl"], tmp_path)
    assert files == [tmp_path / "cornerturn.rdl"]
    os.utime(files[0], (1, 1))
    write_regs(["rdl"], tmp_path)
    assert files[0].stat().st_mtime == 1
    files[0].write_text("another")
    write_regs(["rdl"], tmp_path)
    assert files[0].stat().st_mtime > 1


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^format must be one of rdl, html, md, c, not 'x'$"):
        write_regs(["x"], tmp_path)


def test_without_peakrdl_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(regs.importlib.util, "find_spec", lambda name: None)
    message = r"^peakrdl_html must be installed: pip install 'cornerturn\[docs\]'$"
    with pytest.raises(RuntimeError, match=message):
        write_regs(["html"], tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_headers_compile_and_agree_with_pack(written, tmp_path):
    """C11 without an operating system and without a warning; the same bits as `fields.pack`."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    values = {
        name: (field.limits[0] if index % 2 else field.limits[1] // 3)
        for index, (name, field) in enumerate(fields.FIELDS.items())
    }
    sets = "\n".join(
        f"    cornerturn_set(words, CORNERTURN_DESCRIPTOR_{name.upper()}, (uint64_t)({value}LL));"
        for name, value in values.items()
    )
    gets = "\n".join(
        f"    if (cornerturn_get(words, CORNERTURN_DESCRIPTOR_{name.upper()})"
        f" != {value & ((1 << fields.FIELDS[name].width) - 1)}ULL) return 2;"
        for name, value in values.items()
    )
    words = [fields.pack(values) >> 32 * word & 0xFFFFFFFF for word in range(64)]
    offsets = "\n".join(
        f'_Static_assert(offsetof(cornerturn_t, {register.name}) == {register.offset}, "offset");'
        for register in REGISTERS.values()
    )
    codes = "\n".join(
        f'_Static_assert(CORNERTURN_STATUS_{item.name} == {item.value}, "code");'
        for item in fields.Status
    )
    (tmp_path / "use.c").write_text(
        f"""#include <stddef.h>
#include "cornerturn.h"
{offsets}
{codes}
static const uint32_t expected[CORNERTURN_DESCRIPTOR_WORDS] = {{{", ".join(map(str, words))}}};
int main(void)
{{
    uint32_t words[CORNERTURN_DESCRIPTOR_WORDS] = {{0}};
{sets}
    for (unsigned word = 0; word < CORNERTURN_DESCRIPTOR_WORDS; word++)
        if (words[word] != expected[word]) return 1;
{gets}
    return CORNERTURN__STATUS__BUS_HUNG_bp - 7;
}}
"""
    )
    options = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffreestanding", f"-I{written}"]
    for command in (["gcc", *options, "use.c", "-o", "use"], ["./use"]):
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_access_kinds_are_all_in_use():
    used = {bits.access for register in REGISTERS.values() for bits in register.fields}
    assert used == set(Access)
