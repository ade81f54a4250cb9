"""Reports of synthesis as tables for a terminal."""

from rich.table import Table

from .results import COLUMNS

__all__ = ["area_table", "comparison_table", "results_table", "timing_lines"]

_TITLES = {
    "lut": "LUT",
    "ff": "FF",
    "ram": "RAM",
    "carry": "carry",
    "lutram": "LUT RAM",
    "dsp": "DSP",
    "um2": "um2",
    "ge": "GE",
    "lmem_bits": "lmem bits",
    "fmax_mhz": "MHz",
}


def _text(value):
    if value is None or value == "":
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def area_table(report):
    """Figures of `flow.measure`: the whole, a lane, and each block with all it contains."""
    config = report["config"]
    size = f"{config['lanes']} lanes, W = {config['beat_cells']}, {config['cell_width']}-bit cells"
    table = Table(box=None, title=f"{report['top']}, {size}", title_justify="left")
    columns = list(report["area"])
    table.add_column("block")
    table.add_column("instances", justify="right")
    for column in columns:
        table.add_column(_TITLES.get(column, column), justify="right")

    def add(name, number, figures):
        table.add_row(name, str(number), *(_text(figures[column]) for column in columns))

    add("all", 1, report["area"])
    if "lane" in report:
        add("a lane with its hop registers", config["lanes"], report["lane"])
    for row in report.get("blocks", ()):
        add(f"  {row['block']}", row["instances"], row)
    return table


def timing_lines(timing):
    """What `timing.place_and_route` found, a line each."""
    yield f"{timing['fmax_mhz']} MHz after place and route, seed {timing['seed']}; slowest paths:"
    for path in timing["paths"]:
        through = f"; through {', '.join(path['through'])}" if path["through"] else ""
        yield f"  {path['words']}{through}"


def comparison_table(rows):
    """The rows of `compare.compare`."""
    unit = "GE" if "ge" in rows[0] else "LUT"
    table = Table(box=None)
    table.add_column("")
    columns = [name for name in rows[0] if name not in ("name", "source")]
    for column in columns:
        title = {"area_time": f"k{unit} x time", "time_us": "us"}.get(column, column)
        table.add_column(_TITLES.get(column, title), justify="right")
    for row in rows:
        table.add_row(row["name"], *(_text(row.get(column)) for column in columns))
    return table


def results_table(rows):
    """Recorded rows, without what they depend on."""
    table = Table(box=None)
    columns = [name for name in COLUMNS if name not in ("seed", "tools", "input")]
    for column in columns:
        words = column in ("config", "changes", "top", "target", "library")
        table.add_column(_TITLES.get(column, column), justify="left" if words else "right")
    for row in rows:
        table.add_row(*(row[column] for column in columns))
    return table
