"""The register map and the layouts in memory as SystemRDL, documents and C headers.

::

    registers.py, fields.py --> cornerturn.rdl --PeakRDL--> html/, cornerturn.md, cornerturn_regs.h
                           +--> cornerturn.h: codes, descriptor and record for C

Everything is made from the two tables, and is the same bytes every time.
"""

import importlib.util
import tempfile
from pathlib import Path

from cornerturn import fields, registers
from cornerturn.registers import Access

__all__ = ["FORMATS", "header_text", "rdl_text", "write_regs"]

FORMATS = ("rdl", "html", "md", "c")
"""What can be written."""

_MAPS = ("cornerturn", "cornerturn_descriptor", "cornerturn_record")
_ENUMS = (fields.Opcode, fields.Mode, fields.Pair, fields.Tag, fields.Status)
_NOTE = (
    "SPDX-License-Identifier: Apache-2.0",
    "Made by `cornerturn regs` from the tables of the generator.",
)
_ACCESS = {
    Access.CONSTANT: "sw = r; hw = na;",
    Access.BUILD: "sw = r; hw = w;",
    Access.STATE: "sw = r; hw = w;",
    Access.SETTING: "sw = rw; hw = r;",
    Access.DOORBELL: "sw = rw; hw = r; swmod;",
    Access.PULSE: "sw = w; hw = r; singlepulse;",
    Access.EVENT: "sw = rw; hw = r; woclr; hwset;",
}
_RESET = (Access.CONSTANT, Access.SETTING, Access.DOORBELL, Access.PULSE, Access.EVENT)
_CODED = {
    "opcode": fields.Opcode,
    "in_mode": fields.Mode,
    "out_mode": fields.Mode,
    "pair": fields.Pair,
    "row_tag": fields.Tag,
    "code": fields.Status,
    "status": fields.Status,
} | {f"{record}_tag": fields.Tag for record in fields.RECORDS}
_WORDS = {0: "kind", 1: "lane_steps", 6: "tags"}
"""Words of the descriptor that hold several fields."""


def write_regs(formats, folder):
    """Write the register map and the layouts in memory.

    Files that would not change are left alone.

    Parameters
    ----------
    formats : sequence of str
        Some of :data:`FORMATS`.
    folder : Path
        Made if it does not exist.

    Returns
    -------
    list of Path
        The files of the formats in order; of the HTML only its ``index.html``.

    Raises
    ------
    ValueError
        If a format is unknown.
    RuntimeError
        If PeakRDL is needed and not installed.
    """
    for name in formats:
        if name not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {name!r}")
    writers = {"rdl": _write_rdl, "html": _write_html, "md": _write_markdown, "c": _write_headers}
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / "made"
        made.mkdir()
        shown = [file for name in formats for file in writers[name](made, Path(work))]
        for file in sorted(path for path in made.rglob("*") if path.is_file()):
            target = folder / file.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists() or target.read_bytes() != file.read_bytes():
                target.write_bytes(file.read_bytes())
    return [folder / name for name in shown]


def rdl_text():
    """The registers, the descriptor and the completion record as SystemRDL."""
    lines = [*(f"// {line}" for line in _NOTE), ""]
    for kind in _ENUMS:
        lines += [f"enum {kind.__name__} {{"]
        lines += [f"  {item.name} = 8'd{item.value};" for item in kind]
        lines += ["};", ""]
    places = [
        (register.name, register.offset, 32, register.doc, _of_register(register))
        for register in registers.REGISTERS.values()
    ]
    lines += _map("cornerturn", "Cornerturn's registers", places)
    lines += _map("cornerturn_descriptor", "A descriptor in memory", _descriptor_places())
    record = [
        ("completion", 0, 128, "answers one descriptor", _of_memory(registers.RECORD.values()))
    ]
    lines += _map("cornerturn_record", "A completion record in memory", record)
    return "\n".join(lines)


def _map(name, title, places):
    """An address map of registers (name, byte address, bits, description, fields)."""
    yield f"addrmap {name} {{"
    yield f'  name = "{title}";'
    for register, address, width, doc, parts in places:
        yield "  reg {"
        yield f'    regwidth = {width}; accesswidth = 32; desc = "{doc}";'
        for bits, first, size, access, reset in parts:
            coded = f" encode = {_CODED[bits.name].__name__};" if bits.name in _CODED else ""
            yield f'    field {{ {access}{coded} desc = "{bits.doc}"; }}'
            yield f"      {bits.name}[{first + size - 1}:{first}]{reset};"
        yield f"  }} {register} @ {address:#05x};"
    yield "};"
    yield ""


def _of_register(register):
    for bits in register.fields:
        reset = f" = {bits.width}'h{bits.reset:x}" if bits.access in _RESET else ""
        yield bits, bits.low, bits.width, _ACCESS[bits.access], reset


def _of_memory(parts, base=0):
    for field in parts:
        yield field, field.offset - base, field.width, "sw = rw; hw = na;", ""


def _descriptor_places():
    """The descriptor as registers: a word each, four words for a record of a loop or digit."""
    records = {28 + 4 * index: name for index, name in enumerate(fields.RECORDS)}
    starts = [*range(28), *records]
    for word in starts:
        size = 4 if word in records else 1
        parts = [
            field
            for field in fields.FIELDS.values()
            if 32 * word <= field.offset < 32 * (word + size)
        ]
        if not parts:
            continue
        name = f"{records[word]}_record" if word in records else _WORDS.get(word, parts[0].name)
        doc = "steps, count and multiplier" if word in records else f"word {word}"
        yield name, 4 * word, 32 * size, doc, _of_memory(parts, 32 * word)


def header_text():
    """What C needs beside the registers: the codes, and the fields in memory."""
    lines = [
        *(f"// {line}" for line in _NOTE),
        "#ifndef CORNERTURN_H",
        "#define CORNERTURN_H",
        "",
        "#include <stdint.h>",
        '#include "cornerturn_regs.h"',
        "",
    ]
    for kind in _ENUMS:
        name = kind.__name__.lower()
        lines += [f"enum cornerturn_{name} {{"]
        lines += [f"    CORNERTURN_{name.upper()}_{item.name} = {item.value}," for item in kind]
        lines += ["};", ""]
    lines += [
        f"#define CORNERTURN_ID_VALUE {registers.ID:#x}u",
        f"#define CORNERTURN_MAP_MAJOR {registers.VERSION[0]}u",
        f"#define CORNERTURN_LAYOUT_VERSION {fields.VERSION}u",
        f"#define CORNERTURN_DESCRIPTOR_WORDS {registers.DESCRIPTOR_BYTES // 4}u",
        f"#define CORNERTURN_RECORD_WORDS {registers.RECORD_BYTES // 4}u",
        "",
        "// Fields of a descriptor: first bit and bits, two arguments of the functions below.",
    ]
    lines += _places("DESCRIPTOR", fields.FIELDS.values())
    lines += ["", "// Fields of a completion record."]
    lines += _places("RECORD", registers.RECORD.values())
    lines += [_FUNCTIONS, "#endif", ""]
    return "\n".join(lines)


def _places(of, parts):
    for field in parts:
        place = f"{field.offset}u, {field.width}u"
        yield f"#define CORNERTURN_{of}_{field.name.upper()} {place} // {field.doc}"


_FUNCTIONS = """
// Sets a field to the low bits of a value; words are 32 bits, little endian in memory.
static inline void cornerturn_set(uint32_t *words, unsigned first, unsigned width, uint64_t value)
{
    while (width != 0) {
        unsigned shift = first % 32u;
        unsigned bits = width < 32u - shift ? width : 32u - shift;
        uint32_t mask = (0xffffffffu >> (32u - bits)) << shift;
        uint32_t *word = &words[first / 32u];
        *word = (*word & ~mask) | (((uint32_t)value << shift) & mask);
        value >>= bits;
        first += bits;
        width -= bits;
    }
}

// The value of a field, unsigned.
static inline uint64_t cornerturn_get(const uint32_t *words, unsigned first, unsigned width)
{
    uint64_t value = 0;
    for (unsigned done = 0; done < width;) {
        unsigned shift = (first + done) % 32u;
        unsigned bits = width - done < 32u - shift ? width - done : 32u - shift;
        uint32_t word = words[(first + done) / 32u] >> shift;
        value |= (uint64_t)(word & (0xffffffffu >> (32u - bits))) << done;
        done += bits;
    }
    return value;
}
"""


def _write_rdl(folder, work):
    (folder / "cornerturn.rdl").write_text(rdl_text(), encoding="utf-8")
    return ["cornerturn.rdl"]


def _write_html(folder, work):
    peakrdl = _peakrdl("peakrdl_html")
    # The exporter would put the time into the index.
    exporter = peakrdl.HTMLExporter(generate_source_links=False, user_context={"build_ts": 0})
    exporter.export(list(_nodes(work)), str(folder / "html"), title="Cornerturn's registers")
    return ["html/index.html"]


def _write_markdown(folder, work):
    exporter = _peakrdl("peakrdl_markdown").MarkdownExporter()
    texts = ["# Cornerturn's registers and layouts in memory\n"]
    for node in _nodes(work):
        part = work / f"{node.inst_name}.md"
        exporter.export(node, str(part))
        _, _, text = part.read_text(encoding="utf-8").partition("-->\n")
        texts.append(text)
    for kind in _ENUMS:
        rows = "".join(f"|{item.value}|{item.name}|\n" for item in kind)
        texts.append(f"\n## {kind.__name__}\n\n|Code|Name|\n|---:|----|\n{rows}")
    (folder / "cornerturn.md").write_text("".join(texts), encoding="utf-8")
    return ["cornerturn.md"]


def _write_headers(folder, work):
    exporter = _peakrdl("peakrdl_cheader.exporter").CHeaderExporter()
    name = "cornerturn_regs.h"
    exporter.export(next(_nodes(work)), str(folder / name))
    text = (folder / name).read_text(encoding="utf-8")
    # <assert.h> need not exist where there is no operating system; C11 does without.
    text = text.replace("#include <assert.h>\n", "").replace("\nstatic_assert", "\n_Static_assert")
    text = "".join(f"// {line}\n" for line in _NOTE) + text
    (folder / name).write_text(text, encoding="utf-8")
    (folder / "cornerturn.h").write_text(header_text(), encoding="utf-8")
    return ["cornerturn.h", name]


def _nodes(work):
    """The compiled address maps."""
    source = work / "source.rdl"
    source.write_text(rdl_text(), encoding="utf-8")
    systemrdl = _peakrdl("systemrdl")
    for name in _MAPS:
        compiler = systemrdl.RDLCompiler()
        compiler.compile_file(str(source))
        yield compiler.elaborate(top_def_name=name).top


def _peakrdl(module):
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        raise RuntimeError(f"{module} must be installed: pip install 'cornerturn[docs]'")
    return importlib.import_module(module)
