"""The command line: options, tables and exit codes; what a command does is in a module of its own.

::

    cornerturn verilog | regs | info | run | relayout | bench | demo | synth
        status 0: done     1: a mismatch, or a simulation that failed     2: bad usage

An error is one line on stderr. With ``--json`` a command prints one JSON object and nothing else.
"""

import dataclasses
import functools
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from cornerturn.config import PRESETS, Config
from rich.console import Console
from rich.progress import track
from rich.table import Table

from .pins import SimulationError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cornerturn",
    help="An open tensor re-layout engine: its Verilog, its model and its simulation.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Sim = Annotated[
    Literal["model", "pysim", "icarus", "verilator"],
    typer.Option(help="The model alone, the Amaranth simulator, or the Verilog under one of two."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Vcd = Annotated[Path | None, typer.Option(help="Write the waveform there.")]


def main(arguments=None):
    """Run the command line; returns never."""
    arguments = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    command = typer.main.get_command(app)
    try:
        status = command.main(args=arguments, prog_name="cornerturn", standalone_mode=False)
    except typer.TyperException as error:
        status = _fail(error.format_message(), 2)
    except SimulationError as error:
        status = _fail(error, 1)
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename else error
        status = _fail(named, 2)
    except (ValueError, TypeError, RuntimeError) as error:
        status = _fail(error, 2)
    sys.exit(status or 0)


def _fail(error, status):
    print("error:", " ".join(str(error).split()), file=sys.stderr)
    return status


def configured(function):
    """Give a command ``--config`` and an option for every parameter of a configuration.

    The function gets ``configure``, which makes the :class:`Config` out of them; its argument is
    what there is if ``--config`` is not given.
    """
    names = [field.name for field in dataclasses.fields(Config)]

    @functools.wraps(function)
    def command(config, **options):
        changes = {name: options.pop(name) for name in names}
        changes = {name: value for name, value in changes.items() if value is not None}

        def configure(default=PRESETS["default"]):
            return (Config.load(config) if config else default).replace(**changes)

        return function(configure=configure, **options)

    about = f"{', '.join(PRESETS)}, or a .toml file; the options below are changes to it."
    added = {"config": Annotated[str | None, typer.Option(help=about)]}
    descriptions = dict(re.findall(r"^(\w+) : .*\n((?: +.*\n)+)", inspect.getdoc(Config), re.M))
    for field in dataclasses.fields(Config):
        kind = field.type if field.type in (bool, str) else int
        about = " ".join(descriptions[field.name].replace("``", "").split())
        added[field.name] = Annotated[kind | None, typer.Option(help=about)]
    signature = inspect.signature(function)
    kept = [item for item in signature.parameters.values() if item.name != "configure"]
    new = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in added.items()
    ]
    command.__signature__ = signature.replace(parameters=[*kept, *new])
    command.__annotations__ = {item.name: item.annotation for item in [*kept, *new]}
    return command


# Every command imports what it needs by itself, so that help and errors are quick.


@app.command()
@configured
def verilog(
    *,
    configure,
    top: Annotated[
        Literal["engine", "axi"], typer.Option(help="With streams, or for an SoC.")
    ] = "engine",
    output: Annotated[Path, typer.Option("-o", "--output")] = Path("build/cornerturn.v"),
    as_json: AsJson = False,
):
    """Write the Verilog of an engine; beside it a .json, and a .core (with .vlt) for FuseSoC.

    Example: cornerturn verilog --config wide --lanes 16 --top axi -o build/wide16.v
    """
    from cornerturn.verilog import write_verilog

    config = configure()
    files = write_verilog(config, output, top)
    lines = len(output.read_text(encoding="utf-8").splitlines())
    report = {"files": [str(file) for file in files], "lines": lines, "config": config.parameters()}
    if as_json:
        _print_json(report)
    else:
        print(f"{output}: {lines} lines, {config.lanes} lanes; its description: {files[1]}")


@app.command()
def regs(
    *,
    formats: Annotated[
        str, typer.Option("--format", help="Some of rdl, html, md, c, with commas.")
    ] = "rdl,html,md,c",
    output: Annotated[Path, typer.Option("-o", "--output", help="A folder.")] = Path("build/regs"),
    as_json: AsJson = False,
):
    """Write the register map and the layouts in memory: SystemRDL, documents, C headers.

    Example: cornerturn regs --format html,c -o build/regs
    """
    from .regs import write_regs

    files = [str(file) for file in write_regs(formats.split(","), output)]
    if as_json:
        _print_json({"files": files})
    else:
        print("written:", *files, sep="\n  ")


@app.command()
@configured
def info(*, configure, as_json: AsJson = False):
    """Print a configuration, what follows from it, and the limits of an instruction.

    Example: cornerturn info --config npu64 --beat-cells 8
    """
    from cornerturn.verilog import versions

    config = configure()
    report = {
        "config": config.parameters(),
        "derived": config.derived(),
        "limits": _limits(config),
        "versions": versions(),
    }
    if as_json:
        _print_json(report)
        return
    console = _console()
    about = {name: _first_line(getattr(Config, name)) for name in report["derived"]}
    for title, values in report.items():
        table = Table(title=title, title_justify="left", box=None, show_header=False)
        for name, value in values.items():
            table.add_row(name, str(value), about.get(name, "") if title == "derived" else "")
        console.print(table)


@app.command()
@configured
def run(
    program: Annotated[Path, typer.Argument(help="A file as examples/transpose.toml.")],
    *,
    configure,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the lmem afterwards as .npy.")
    ] = None,
    sim: Sim = "pysim",
    vcd: Vcd = None,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the program's.")] = None,
    as_json: AsJson = False,
):
    """Run a written program, and check data, completions and counters against the model.

    Example: cornerturn run examples/transpose.toml --sim icarus --vcd build/transpose.vcd
    """
    from cornerturn.files import check_output

    from .arrays import write_array
    from .program import read_program, run_program

    if output is not None:
        if output.suffix != ".npy":
            raise ValueError(f"output must be a .npy file, not {str(output)!r}")
        check_output(output)
    written = read_program(program)
    lmem, report = run_program(
        written, config=configure(written.config), sim=sim, vcd=vcd, seed=seed
    )
    report = {"program": str(program), **report}
    if output is not None:
        write_array(output, lmem)
        report["output"] = str(output)
    if as_json:
        _print_json(report)
    else:
        console = _console()
        table = Table(box=None)
        for name in ("index", "op", "status"):
            table.add_column(name, justify="right" if name == "index" else "left")
        for completion in report["completions"]:
            table.add_row(*(str(value) for value in completion.values()))
        console.print(table)
        console.print(_pairs(report["counters"]))
        console.print(_pairs(_plain(report, leave=("counters",))))
    return _status(report)


@app.command()
@configured
def relayout(
    pattern: Annotated[str, typer.Argument(help="Of einops, as 'h w c -> c h w'.")],
    source: Annotated[Path, typer.Argument(metavar="IN", help="A .npy file or an image.")],
    *,
    configure,
    output: Annotated[Path, typer.Option("-o", "--output", help="A .npy file or an image.")],
    size: Annotated[
        list[str] | None, typer.Option(metavar="NAME=N", help="Length of an axis; repeatable.")
    ] = None,
    sim: Sim = "pysim",
    vcd: Vcd = None,
    seed: Annotated[int, typer.Option(min=0, help="Of what lies in the lmem before.")] = 0,
    as_json: AsJson = False,
):
    """Re-lay an array or image out through the engine, and check it against numpy.

    Example: cornerturn relayout 'h w c -> w h c' photo.png -o turned.png --sim verilator
    """
    from .relayout import relayout_file

    report = relayout_file(
        pattern,
        source,
        output,
        sizes=dict(_size(item) for item in size or ()),
        sim=sim,
        config=configure(),
        vcd=vcd,
        seed=seed,
    )
    if as_json:
        _print_json(report)
    else:
        _console().print(_pairs(_plain(report)))
    return _status(report)


@app.command()
def bench(*, sim: Sim = "model", as_json: AsJson = False):
    """Print the benchmark: cycles beside the limits of the bus and the figures of peers.

    Example: cornerturn bench --sim verilator
    """
    from .bench import rows, summary, tables

    watched = sys.stderr.isatty() and not as_json
    progress = functools.partial(
        track, description="bench", console=Console(stderr=True), disable=not watched
    )
    results = rows(sim, track=progress)
    if as_json:
        _print_json({"rows": results, "summary": list(summary(results))})
    else:
        console = _console()
        for table in tables(results):
            console.print(table)
        for line in summary(results):
            console.print(line)
    return max(_status(row) for row in results)


@app.command()
def demo(
    *,
    photo: Annotated[
        bool, typer.Option("--photo", help="A photograph under Verilator; needs the extra dev.")
    ] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="A folder.")] = Path("build/demo"),
    as_json: AsJson = False,
):
    """Run a small re-layout on the Amaranth simulator, and write Verilog, arrays and a report.

    Example: cornerturn demo --photo -o build/demo
    """
    from . import demo as demos

    report = demos.photo(output) if photo else demos.small(output)
    if as_json:
        _print_json(report)
    else:
        console = _console()
        parts = {name: part for name, part in report.items() if name in ("crop", "plane")}
        for title, part in (parts or {"re-layout": report}).items():
            console.print(title)
            console.print(_pairs(_plain(part)))
        console.print("written:", *report["files"], sep="\n  ")
    return _status(report)


@app.command()
@configured
def synth(
    *,
    configure,
    target: Annotated[
        str, typer.Option(help="ecp5, ice40, xilinx, generic (gate equivalents) or asic.")
    ] = "ecp5",
    top: Annotated[
        str, typer.Option(help="engine, tiu, lane, or any other block as xbar or check.")
    ] = "engine",
    liberty: Annotated[
        Path | None, typer.Option(help="Cells for asic; without: Debian's qflow-tech-osu018.")
    ] = None,
    blocks: Annotated[bool, typer.Option(help="Measure every block as well.")] = True,
    pnr: Annotated[bool, typer.Option("--pnr", help="Place and route, for fmax: minutes.")] = False,
    seed: Annotated[int, typer.Option(help="Of place and route.")] = 1,
    compare: Annotated[
        bool, typer.Option("--compare", help="Area and time beside other transposers.")
    ] = False,
    results: Annotated[
        bool, typer.Option("--results", help="Print synth/results.csv; fail past a bound.")
    ] = False,
    record: Annotated[
        bool, typer.Option("--record", help="Measure what has changed in synth/results.csv first.")
    ] = False,
    as_json: AsJson = False,
):
    """Synthesize the engine or a part of it: area, and with --pnr fmax and the slowest paths.

    Example: cornerturn synth --config tiny --target ecp5 --top tiu --pnr
    """
    from cornerturn_synth import report as reports
    from cornerturn_synth.compare import compare as compared
    from cornerturn_synth.flow import measure
    from cornerturn_synth.results import failures, load
    from cornerturn_synth.results import record as recorded

    watched = sys.stderr.isatty() and not as_json
    screen = Console(stderr=True, quiet=not watched)
    progress = functools.partial(track, description="synth", console=screen, disable=not watched)
    options = {"liberty": liberty, "pnr": pnr, "seed": seed}
    lines = []
    if results or record:
        rows = recorded(liberty, track=progress) if record else load()
        lines = failures(rows)
        report = {"rows": rows, "failures": lines, "match": not lines}
        table = reports.results_table(rows)
    elif compare:
        rows = compared(configure(), target, **options, track=progress)
        report, table = {"rows": rows}, reports.comparison_table(rows)
    else:
        with screen.status("synth"):
            report = measure(configure(), target, top=top, blocks=blocks, **options)
        table = reports.area_table(report)
        lines = reports.timing_lines(report["timing"]) if pnr else []
    if as_json:
        _print_json(report)
    else:
        console = _console()
        console.print(table)
        for line in lines:
            console.print(line, soft_wrap=True)
    return _status(report)


def _limits(config):
    """What an instruction can say at most, by the width of its fields."""
    from cornerturn.fields import DIGITS, FIELDS

    steps = FIELDS["d0_in_cell"].limits
    return {
        "lmem_bits": config.lanes * config.cells * config.cell_width,
        "element_cells": config.max_element_cells,
        "digits": len(DIGITS),
        "elements_of_a_row": FIELDS["n"].limits[1],
        "count_of_a_digit": FIELDS["d0_count"].limits[1],
        "cell_step": f"{steps[0]} to {steps[1]}",
    }


def _size(text):
    name, sign, number = text.partition("=")
    if not (sign and name and number.isdecimal()):
        raise ValueError(f"size must be NAME=N, not {text!r}")
    return name, int(number)


def _status(report):
    """The exit status of something that has a `match`."""
    return 0 if report.get("match", True) else 1


def _print_json(report):
    print(json.dumps(report, indent=2))


def _console():
    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)


def _pairs(values):
    table = Table(box=None, show_header=False)
    for name, value in values.items():
        table.add_row(name, str(value))
    return table


def _plain(report, leave=()):
    """The entries of a report that are one value, for a table."""
    return {
        name: value
        for name, value in report.items()
        if name not in leave and not isinstance(value, dict | list)
    }


def _first_line(item):
    return inspect.getdoc(item).splitlines()[0]
