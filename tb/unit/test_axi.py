# amaranth: UnusedElaboratable=no
"""The signals of AXI, by the names and in the directions that tools match."""

import pytest
from cornerturn.config import PRESETS
from cornerturn.soc.axi import Axi4, AxiLite
from cornerturn.soc.mem_reader import MemReader
from cornerturn.soc.mem_writer import MemWriter
from cornerturn.verilog import port_table

AR = ["arid", "araddr", "arlen", "arsize", "arburst", "arcache", "arprot", "arvalid", "arready"]
R = ["rid", "rdata", "rresp", "rlast", "rvalid", "rready"]
W = ["wdata", "wstrb", "wlast", "wvalid", "wready"]
B = ["bid", "bresp", "bvalid", "bready"]


def names(signature, flow):
    return {name for name, member in signature.members.items() if member.flow.name == flow}


def test_axi4():
    aw = [name.replace("ar", "aw", 1) for name in AR]
    signature = Axi4(address_bits=40, data_width=64, id_bits=3)
    assert set(signature.members) == {*AR, *R, *aw, *W, *B}
    inputs = {"arready", "awready", "wready", *R, *B} - {"rready", "bready"}
    assert names(signature, "In") == inputs
    widths = {name: signature.members[name].shape for name in ("araddr", "rdata", "wstrb", "bid")}
    assert widths == {"araddr": 40, "rdata": 64, "wstrb": 8, "bid": 3}
    reads = Axi4(address_bits=40, data_width=64, write=False)
    assert set(reads.members) == {*AR, *R}


def test_axi_lite():
    signature = AxiLite(address_bits=12)
    assert set(signature.members) == {
        "awaddr", "awprot", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp",
        "bvalid", "bready", "araddr", "arprot", "arvalid", "arready", "rdata", "rresp", "rvalid",
        "rready",
    }  # fmt: skip
    inputs = {"awready", "wready", "bresp", "bvalid", "arready", "rdata", "rresp", "rvalid"}
    assert names(signature, "In") == inputs


def test_widths_are_checked():
    with pytest.raises(ValueError, match=r"^data_width must be a power of two, 8 to 1024, not 48$"):
        Axi4(address_bits=32, data_width=48)
    with pytest.raises(ValueError, match=r"^data_width must be 32 or 64, not 128$"):
        AxiLite(address_bits=32, data_width=128)


@pytest.mark.parametrize("kind", [MemReader, MemWriter])
def test_bus_id_is_checked(kind):
    with pytest.raises(ValueError, match=r"^bus_id must be 0 to 3, not 4$"):
        kind(PRESETS["tiny"], bus_id=4, id_bits=2)


def test_ports_have_the_names_of_their_signals():
    ports = {port["name"]: port for port in port_table(MemReader(PRESETS["tiny"], id_bits=2))}
    assert ports["axi__araddr"] == {"name": "axi__araddr", "direction": "output", "width": 32}
    assert ports["axi__rid"] == {"name": "axi__rid", "direction": "input", "width": 2}
