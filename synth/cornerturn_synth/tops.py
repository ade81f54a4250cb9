"""What can be synthesized: the engine, one lane, any block of the engine; as RTLIL.

::

    config, "lane"  --> Hop(1 lane) --+
    config, "check" --> Engine -------+--> rtlil_text --> names, memories --> text, top module
    a component     ------------------+

The blocks are the modules of the engine's RTLIL, by their class: a block that is added is known.
"""

import re

from amaranth.lib import wiring
from cornerturn.engine import Engine
from cornerturn.interconnect.chain import Hop
from cornerturn.verilog import NAME, rtlil_text

__all__ = ["HOPS", "LMEM", "SRAM", "netlist", "tops"]

HOPS = f"{NAME}_hop*"
"""Modules of the lanes between two registers of the chain, as a pattern."""

LMEM = f"{NAME}_lmem"
"""The module of a lane's memory, and what its name begins with if there are several."""

SRAM = f"""
(* blackbox *)
module {NAME}_sram #(parameter WIDTH = 8, DEPTH = 16, CELL_WIDTH = 8) (
  input clk, read_enable, input [$clog2(DEPTH)-1:0] read_word, output [WIDTH-1:0] read_data,
  input [WIDTH/CELL_WIDTH-1:0] write_enable, input [$clog2(DEPTH)-1:0] write_word,
  input [WIDTH-1:0] write_data);
endmodule
"""
"""The black box of `Lmem` (its ports are described in docs/architecture.md) for yosys."""


def netlist(config, top):
    """RTLIL that holds a top.

    Parameters
    ----------
    config : Config
    top : str or wiring.Component
        ``"engine"``, ``"lane"`` (with its hop registers), another block by its class in snake case
        as ``"tiu"`` or ``"dp_r0"``, or any component.

    Returns
    -------
    str, str
        The text, and the name of the top's module.

    Raises
    ------
    ValueError
        If the engine has no such block.
    """
    if isinstance(top, wiring.Component):
        return _prepared(rtlil_text(top)), NAME
    if top == "lane":
        lane = Hop(config, lanes=1, port=config.lane_ports, watch=False)
        return _prepared(rtlil_text(lane)), NAME
    text = rtlil_text(Engine(config))
    if top == "engine":
        return _prepared(text), NAME
    if top not in tops(text):
        raise ValueError(f"top must be engine, lane, {', '.join(tops(text))}, not {top!r}")
    return _prepared(text), f"{NAME}_{top}"


def tops(text):
    """The blocks in some RTLIL: its modules but the topmost, without the project's name."""
    return sorted(re.findall(rf"^module \\{NAME}_(\w+)$", text, re.M))


def _prepared(text):
    """RTLIL as yosys can map it."""
    return _memories(_plain_names(text))


def _plain_names(text):
    """Call an element of an array `x.3`, not `x[3]`.

    That is how the mapper (ABC9) calls a bit of `x`, and it aborts if there are both.
    """
    return re.sub(r"\\\S+\[\S+", lambda name: re.sub(r"\[(\d+)\]", r".\1", name[0]), text)


def _memories(text):
    """Tell yosys in its own terms what the attribute `no_rw_check` of a memory says.

    From Verilog yosys takes it from the attribute. RTLIL has its memory ports made already, and
    there it is a parameter of the read port.
    """
    modules = re.split(r"^(?=module )", text, flags=re.M)
    return "".join(
        module.replace("COLLISION_X_MASK 1'0", "COLLISION_X_MASK 1'1")
        if "attribute \\no_rw_check 1\n" in module
        else module
        for module in modules
    )
