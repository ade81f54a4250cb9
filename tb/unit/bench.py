"""The one way to run a block: inputs of each cycle in, outputs of each cycle out.

A block is driven just after a clock edge and observed just before the next, so an output that
follows an input in the same cycle has a latency of 0::

    trace(block, [{"i": 1}, {}], ["o"]) == [{"o": 0}, {"o": 1}]

A test that decides from what it sees drives the block itself, with `simulate`.
"""

import pytest
from amaranth import ClockDomain, Module, Shape, Value
from amaranth.lib import data
from amaranth.sim import Simulator
from cornerturn.config import PRESETS, Config

__all__ = [
    "CONFIGS",
    "beat_of",
    "cells_of",
    "draw",
    "each_config",
    "plain",
    "poke",
    "ports",
    "simulate",
    "trace",
]

WATCHDOG_CYCLES = 50_000

CONFIGS = {
    # One cell a word: no offsets, no element sizes.
    "one cell": Config(lanes=3, cells=16, beat_cells=1),
    # Four cells a word, every element, one lane a hop.
    "tiny": PRESETS["tiny"],
    # An odd number of lanes over uneven hops, two rotating stages, int4.
    "wide": Config(lanes=5, lanes_per_hop=2, cell_width=4, beat_cells=16, cells=64),
    # Elements much smaller than the word; all lanes in one hop, so rows are held.
    "narrow": Config(lanes=7, lanes_per_hop=7, beat_cells=4, cells=64, max_element_cells=2),
}
"""Small builds that differ in everything a block can see."""


each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
"""Runs a test with the argument `config` once for each of CONFIGS."""


def simulate(component, bench, *others, cycles=WATCHDOG_CYCLES):
    """Run `bench(ctx, reset)`, a testbench, with a component and its clock until it returns.

    `reset` is the reset of the clock domain; `others` are benches of `ctx` alone that run beside
    it. A bench that does not end within `cycles` fails.
    """
    domain = ClockDomain("sync")
    top = Module()
    top.domains += domain
    top.submodules.dut = component
    simulator = Simulator(top)
    simulator.add_clock(1e-8)

    async def watchdog(ctx):
        for _ in range(cycles):
            await ctx.tick()
        raise TimeoutError(f"the bench must end within {cycles} cycles")

    async def drive(ctx):
        await bench(ctx, domain.rst)

    simulator.add_testbench(drive)
    for other in (*others, watchdog):
        simulator.add_testbench(other, background=True)
    simulator.run()


def ports(component):
    """Every port of a component as a value, by its name; the parts of a stream joined by "__"."""
    return {
        "__".join(map(str, path)): value
        for path, _, value in component.signature.flatten(component)
    }


def trace(component, stimulus, outputs, *, idle=None):
    """Drive a component cycle by cycle, and record its outputs.

    Parameters
    ----------
    component : Component
    stimulus : sequence of dict
        The inputs of each cycle by name ("rst" is the reset); what is not named is `idle` or 0.
    outputs : sequence of str
    idle : dict or None

    Returns
    -------
    list of dict
        The outputs of each cycle, as integers, dictionaries and lists.
    """
    names = ports(component)
    driven = {name for inputs in (*stimulus, idle or {}) for name in inputs} - {"rst"}
    zero = dict.fromkeys(driven, 0) | (idle or {})
    records = []

    async def bench(ctx, reset):
        for inputs in stimulus:
            ctx.set(reset, inputs.get("rst", 0))
            for name, value in (zero | inputs).items():
                if name != "rst":
                    poke(ctx, names[name], value)
            records.append({name: plain(ctx.get(names[name])) for name in outputs})
            await ctx.tick()

    simulate(component, bench)
    return records


def poke(ctx, port, value):
    """Set a port to an integer, or to a dictionary of its fields."""
    ctx.set(port if isinstance(value, (dict, list)) else Value.cast(port), value)


def plain(value):
    """A simulated value as integers, dictionaries and lists."""
    if not isinstance(value, data.Const):
        return value
    layout = value.shape()
    if isinstance(layout, data.ArrayLayout):
        return [plain(value[index]) for index in range(layout.length)]
    return {name: plain(value[name]) for name, _ in layout}


def draw(rng, layout, **fixed):
    """Random fields of a layout as a dictionary, those named as given."""
    if isinstance(layout, data.ArrayLayout):
        return [draw(rng, layout.elem_shape) for _ in range(layout.length)]
    if isinstance(layout, data.Layout):
        return {name: draw(rng, field.shape) for name, field in layout} | fixed
    shape = Shape.cast(layout)
    value = rng.getrandbits(shape.width)
    return value - (shape.signed << shape.width >> 1)


def cells_of(config, beat):
    """The cells of a beat or word as a list, the lowest first."""
    width = config.cell_width
    return [beat >> width * cell & ((1 << width) - 1) for cell in range(config.beat_cells)]


def beat_of(config, cells):
    """The opposite of `cells_of`, for any number of cells."""
    return sum(cell << config.cell_width * place for place, cell in enumerate(cells))
