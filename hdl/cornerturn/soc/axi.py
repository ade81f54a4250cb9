"""axi: the signals of AXI4 and AXI4-Lite, named as tools match them, and their constants.

A signature is seen from the manager, and the channels are flat, so that a port `m_axi` has signals
such as ``m_axi.araddr``::

    manager --aw, w--> subordinate      write: AW addresses, W data; B answers a burst
            <---b----
            --ar----->                  read: AR addresses; R data, with an answer for each beat
            <---r----

What is left out (lock, qos, region, user) is 0 to whatever has it.
"""

from amaranth import Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "BOUNDARY_BYTES",
    "LONGEST_BURST",
    "Axi4",
    "AxiLite",
    "Burst",
    "Cache",
    "Prot",
    "Resp",
    "forward",
    "is_error",
]

BOUNDARY_BYTES = 4096
"""No burst crosses a multiple of this address."""

LONGEST_BURST = 256
"""Most beats of an INCR burst."""


class Burst(enum.IntEnum, shape=2):
    """`arburst`, `awburst`: how a burst's addresses go on."""

    FIXED = 0
    INCR = 1
    WRAP = 2


class Resp(enum.IntEnum, shape=2):
    """`rresp`, `bresp`: the upper bit is an error."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class Cache(enum.IntFlag, shape=4):
    """`arcache`, `awcache`: what the way to memory may do with a transaction."""

    BUFFERABLE = 1
    MODIFIABLE = 2


class Prot(enum.IntFlag, shape=3):
    """`arprot`, `awprot`; 0 is a secure access to data without privileges."""

    PRIVILEGED = 1
    NONSECURE = 2
    INSTRUCTION = 4


def is_error(response):
    """Whether a `Resp` is an error."""
    return Value.cast(response)[1]


def _channel(name, source, sink, members):
    """A channel's signals; its source gives the payload and `valid`, its sink `ready`."""
    signals = {f"{name}{field}": source(shape) for field, shape in members.items()}
    return signals | {f"{name}valid": source(1), f"{name}ready": sink(1)}


class Axi4(wiring.Signature):
    """AXI4, or one half of it.

    Parameters
    ----------
    address_bits : int
    data_width : int
        Bits: a power of two from 8 to 1024.
    id_bits : int
    read, write : bool
        Which channels it has: AR and R, AW, W and B.

    Raises
    ------
    ValueError
        If `data_width` is no width of AXI.
    """

    def __init__(self, *, address_bits, data_width, id_bits=1, read=True, write=True):
        if data_width not in (8, 16, 32, 64, 128, 256, 512, 1024):
            raise ValueError(f"data_width must be a power of two, 8 to 1024, not {data_width!r}")
        address = {
            "id": id_bits, "addr": address_bits, "len": 8, "size": 3, "burst": Burst,
            "cache": 4, "prot": 3,
        }  # fmt: skip
        data = {"data": data_width}
        members = {}
        if write:
            members |= _channel("aw", Out, In, address)
            members |= _channel("w", Out, In, data | {"strb": data_width // 8, "last": 1})
            members |= _channel("b", In, Out, {"id": id_bits, "resp": Resp})
        if read:
            members |= _channel("ar", Out, In, address)
            members |= _channel("r", In, Out, {"id": id_bits, **data, "resp": Resp, "last": 1})
        super().__init__(members)


class AxiLite(wiring.Signature):
    """AXI4-Lite.

    Parameters
    ----------
    address_bits : int
    data_width : int
        Bits: 32 or 64.

    Raises
    ------
    ValueError
        If `data_width` is no width of AXI4-Lite.
    """

    def __init__(self, *, address_bits, data_width=32):
        if data_width not in (32, 64):
            raise ValueError(f"data_width must be 32 or 64, not {data_width!r}")
        address = {"addr": address_bits, "prot": 3}
        super().__init__(
            _channel("aw", Out, In, address)
            | _channel("w", Out, In, {"data": data_width, "strb": data_width // 8})
            | _channel("b", In, Out, {"resp": Resp})
            | _channel("ar", Out, In, address)
            | _channel("r", In, Out, {"data": data_width, "resp": Resp})
        )


def forward(m, signature, inner, outer):
    """Join a part's manager port to a port of the whole that has (at least) the same members."""
    for name, member in signature.members.items():
        mine, its = getattr(outer, name), getattr(inner, name)
        m.d.comb += mine.eq(its) if member.flow is Out else its.eq(mine)
