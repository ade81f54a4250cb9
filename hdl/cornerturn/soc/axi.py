"""axi: the signatures of the buses, AXI4 and AXI4-Lite, as a manager sees them.

The names are the standard's, so that `m_axi__awvalid` becomes the pin `m_axi_awvalid`::

    write   aw* --> w* --> ... b* <--       a burst's address, its beats, one response
    read    ar* --> ... r* <--              a burst's address, its beats

Everything here is one clock, and only bursts of the kind INCR are used. Optional signals that would
be constant in this design (lock, qos, region, user) are left out.
"""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["CACHE", "INCR", "Resp", "axi4", "axi4_read", "axi4_write", "axi_lite", "forward"]

INCR = 1
"""The burst type: addresses count up."""

CACHE = 0b0011
"""Memory attributes: bufferable and modifiable, not cached."""


class Resp:
    """Responses that are made here; of those received, bit 1 says that it is an error."""

    OKAY = 0
    SLVERR = 2


def _address(channel, address_width, id_width):
    return {
        f"{channel}id": Out(id_width),
        f"{channel}addr": Out(address_width),
        f"{channel}len": Out(8),  # beats less one
        f"{channel}size": Out(3),  # log2 of a beat's bytes
        f"{channel}burst": Out(2),
        f"{channel}cache": Out(4),
        f"{channel}prot": Out(3),
        f"{channel}valid": Out(1),
        f"{channel}ready": In(1),
    }


def axi4_write(address_width, data_width, id_width):
    """The write half of an AXI4 manager."""
    return wiring.Signature(
        {
            **_address("aw", address_width, id_width),
            "wdata": Out(data_width),
            "wstrb": Out(data_width // 8),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
            "bid": In(id_width),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
        }
    )


def axi4_read(address_width, data_width, id_width):
    """The read half of an AXI4 manager."""
    return wiring.Signature(
        {
            **_address("ar", address_width, id_width),
            "rid": In(id_width),
            "rdata": In(data_width),
            "rresp": In(2),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        }
    )


def axi4(address_width, data_width, id_width):
    """An AXI4 manager."""
    write = axi4_write(address_width, data_width, id_width)
    read = axi4_read(address_width, data_width, id_width)
    return wiring.Signature(dict(write.members.items()) | dict(read.members.items()))


def axi_lite(address_width):
    """An AXI4-Lite manager with 32 bits of data."""
    return wiring.Signature(
        {
            "awaddr": Out(address_width),
            "awprot": Out(3),
            "awvalid": Out(1),
            "awready": In(1),
            "wdata": Out(32),
            "wstrb": Out(4),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "araddr": Out(address_width),
            "arprot": Out(3),
            "arvalid": Out(1),
            "arready": In(1),
            "rdata": In(32),
            "rresp": In(2),
            "rvalid": In(1),
            "rready": Out(1),
        }
    )


def forward(m, signature, inner, outer):
    """Join a part's manager port to a port of the whole that has (at least) the same members."""
    for name, member in signature.members.items():
        mine, its = getattr(outer, name), getattr(inner, name)
        m.d.comb += mine.eq(its) if member.flow is Out else its.eq(mine)
