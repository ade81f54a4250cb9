"""Parameters of one engine, their presets, and every latency that follows from them.

One :class:`Config` describes one build. The RTL, the model and the tools all read their sizes and
their cycle constants from here, so a latency is written down once::

    slot issued --1--> hop 0 --hops--> beat back in the TIU --align--> write launched --hops--> done
    |<------------------------ write_delay ------------------------>|
    |<------------------------------- completion_delay ------------------------------------->|
"""

import dataclasses
from pathlib import Path

from .files import read_toml

__all__ = ["LANE_PORT_BITS", "PRESETS", "Config"]

LANE_PORT_BITS = 1 << 15
"""Most data bits of all lane ports together: Amaranth's netlists hold 2**16 input bits a module."""


def _log2(value):
    return value.bit_length() - 1


def _is_power_of_two(value):
    return value >= 1 and value & (value - 1) == 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that is fixed when an engine is built.

    Parameters
    ----------
    lanes : int
        M, the number of lanes (NPUs), 2..256; any integer.
    lanes_per_hop : int
        H, lanes behind one pipeline register of the chain, 1..lanes. Fewer hops are fewer cycles
        and flip-flops, and a longer combinational path.
    cell_width : int
        Bits of a cell, the smallest addressable slot of a lane: 4, 8, 16 or 32.
    beat_cells : int
        W, cells of a beat and of an lmem word: a power of two, 1..64, W * cell_width <= 1024.
    cells : int
        Cells of one lane's lmem: a power of two, at least 2 * beat_cells, at most 65536.
    max_element_cells : int or None
        Largest element an instruction may name, in cells: 1, 2, 4 or 8, at most beat_cells.
        ``None`` chooses min(beat_cells, 8). Smaller values make smaller lanes.
    lane_ports : bool
        Give the compute unit of each lane its own access to its lmem; lanes * beat_cells *
        cell_width is then at most 32768.
    lmem : str
        ``"inferred"``: the memory is described, synthesis infers it; ``"blackbox"``: an instance
        of ``cornerturn_sram``, to be supplied by the user (a compiled SRAM macro).
    address_bits : int
        A, bits of a byte address in system memory, 20..48.
    memory_requests : int
        Bursts that may be outstanding at the memory, each way: a power of two, 4..256.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong kind, or the combination makes no sense.
    """

    lanes: int = 32
    lanes_per_hop: int = 1
    cell_width: int = 8
    beat_cells: int = 8
    cells: int = 4096
    max_element_cells: int | None = None
    lane_ports: bool = True
    lmem: str = "inferred"
    address_bits: int = 32
    memory_requests: int = 64

    def __post_init__(self):
        if self.max_element_cells is None and isinstance(self.beat_cells, int):
            object.__setattr__(self, "max_element_cells", min(self.beat_cells, 8))
        for name in (
            "lanes",
            "lanes_per_hop",
            "cell_width",
            "beat_cells",
            "cells",
            "max_element_cells",
            "address_bits",
            "memory_requests",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"{name} must be an integer, not {value!r}")
        if not isinstance(self.lane_ports, bool):
            raise TypeError(f"lane_ports must be true or false, not {self.lane_ports!r}")
        rules = (
            ("lanes", 2 <= self.lanes <= 256, "2 to 256"),
            ("lanes_per_hop", 1 <= self.lanes_per_hop <= self.lanes, f"1 to lanes ({self.lanes})"),
            ("cell_width", self.cell_width in (4, 8, 16, 32), "4, 8, 16 or 32"),
            (
                "beat_cells",
                _is_power_of_two(self.beat_cells) and self.beat_cells <= 64,
                "a power of two from 1 to 64",
            ),
            (
                "beat_cells",
                self.beat_cells * self.cell_width <= 1024,
                f"at most 1024 / cell_width ({1024 // max(1, self.cell_width)})",
            ),
            (
                "cells",
                _is_power_of_two(self.cells) and 2 * self.beat_cells <= self.cells <= 65536,
                f"a power of two from 2 * beat_cells ({2 * self.beat_cells}) to 65536",
            ),
            (
                "max_element_cells",
                self.max_element_cells in (1, 2, 4, 8)
                and self.max_element_cells <= self.beat_cells,
                f"1, 2, 4 or 8 and at most beat_cells ({self.beat_cells})",
            ),
            (
                "lane_ports",
                not self.lane_ports or self.lanes * self.beat_width <= LANE_PORT_BITS,
                f"false if lanes * beat_width ({self.lanes * self.beat_width}) > {LANE_PORT_BITS}",
            ),
            ("lmem", self.lmem in ("inferred", "blackbox"), "'inferred' or 'blackbox'"),
            ("address_bits", 20 <= self.address_bits <= 48, "20 to 48"),
            (
                "memory_requests",
                _is_power_of_two(self.memory_requests) and 4 <= self.memory_requests <= 256,
                "a power of two from 4 to 256",
            ),
        )
        for name, holds, rule in rules:
            if not holds:
                raise ValueError(f"{name} must be {rule}, not {getattr(self, name)!r}")

    @classmethod
    def load(cls, name):
        """A preset by its name, or the fields of a TOML file.

        Parameters
        ----------
        name : str or Path
            One of :data:`PRESETS`, or a path ending in ``.toml`` whose top-level keys are
            parameters of :class:`Config`.

        Raises
        ------
        ValueError
            If neither a preset nor a readable file of known parameters.
        """
        if str(name) in PRESETS:
            return PRESETS[str(name)]
        path = Path(name)
        if path.suffix != ".toml" or not path.is_file():
            raise ValueError(
                f"config must be one of {', '.join(PRESETS)} or an existing .toml file, "
                f"not {str(name)!r}"
            )
        values = read_toml("config file", path)
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(
                f"config file {path} must name only {', '.join(sorted(known))}, "
                f"not {', '.join(unknown)}"
            )
        return cls(**values)

    def replace(self, **changes):
        """A copy with some parameters changed (``max_element_cells`` follows ``beat_cells``)."""
        if "beat_cells" in changes:
            changes.setdefault("max_element_cells", None)
        return dataclasses.replace(self, **changes)

    def parameters(self):
        """The parameters as a plain dictionary, in their order."""
        return dataclasses.asdict(self)

    # --- sizes -----------------------------------------------------------------------------

    @property
    def words(self):
        """Words of one lmem (its depth in rows)."""
        return self.cells // self.beat_cells

    @property
    def beat_width(self):
        """Bits of a beat and of an lmem word."""
        return self.beat_cells * self.cell_width

    @property
    def bus_width(self):
        """Bits of the system memory's data bus."""
        return max(32, self.beat_width)

    @property
    def lane_bits(self):
        """Bits of a lane number."""
        return (self.lanes - 1).bit_length()

    @property
    def lane_span_bits(self):
        """Bits of lanes that a loop with limits may go: what is trimmed may lie outside."""
        return self.lane_bits + 4

    @property
    def cell_bits(self):
        """Bits of a cell address."""
        return _log2(self.cells)

    @property
    def offset_bits(self):
        """Bits of a cell's position in its word (0 if a word is one cell)."""
        return _log2(self.beat_cells)

    @property
    def word_bits(self):
        """Bits of a word address."""
        return _log2(self.words)

    @property
    def element_codes(self):
        """Number of element sizes this build moves: g = 1 << code for code < element_codes."""
        return _log2(self.max_element_cells) + 1

    # --- latencies, in cycles ----------------------------------------------------------------

    @property
    def hops(self):
        """Pipeline registers of the chain: ceil(lanes / lanes_per_hop)."""
        return -(-self.lanes // self.lanes_per_hop)

    @property
    def sram_latency(self):
        """L: a beat passes a lane this many cycles after its micro-op (RAM, output, pick)."""
        return 3

    @property
    def align_latency(self):
        """From a beat back in the TIU to its launch: rotate (two stages above W = 8), merge."""
        return 4 if self.beat_cells > 8 else 3

    @property
    def write_delay(self):
        """From the issue of a slot to the launch of its write micro-op."""
        return 1 + self.hops + self.sram_latency + self.align_latency

    @property
    def completion_delay(self):
        """From the issue of a slot to the completion its write micro-op carries round the ring."""
        return self.write_delay + self.hops + 1

    @property
    def raw_gap(self):
        """D: a read that conflicts with an earlier write issues D cycles after it launched."""
        return 1

    @property
    def row_delay(self):
        """From an instruction that passed its check to its issue."""
        return 9

    @property
    def check_cycles(self):
        """From a command offered to an idle engine to its issue."""
        return 15 + self.row_delay

    @property
    def check_interval(self):
        """Least distance of two issues: the check of one instruction behind the one ahead."""
        return 16

    @property
    def protected_beats(self):
        """Longest row, in read beats, that the chain protects: read whole before it is written."""
        return self.write_delay - 1

    @property
    def longest_serial_row(self):
        """Read beats of the longest row whose source and destination may meet (M elements)."""
        sizes = (1 << code for code in range(self.element_codes))
        return max(-(-(self.beat_cells - g + self.lanes * g) // self.beat_cells) for g in sizes)

    @property
    def hold_beats(self):
        """K: beats the TIU holds back in a serial row longer than `protected_beats` (0: never)."""
        return max(0, self.longest_serial_row - self.protected_beats)

    @property
    def in_flight(self):
        """Most instructions between issue and the launch of their last write."""
        return self.write_delay // self.check_interval + 2

    @property
    def outstanding(self):
        """Most instructions between issue and completion."""
        return self.completion_delay // self.check_interval + 2

    def derived(self):
        """Every derived size and latency by name, for `cornerturn info` and the Verilog's .json."""
        names = [name for name, item in vars(type(self)).items() if isinstance(item, property)]
        return {name: getattr(self, name) for name in names}


PRESETS = {
    "tiny": Config(lanes=4, cells=256, beat_cells=4),
    "default": Config(),
    "wide": Config(beat_cells=32, lanes_per_hop=4),
    "npu64": Config(lanes=64, beat_cells=16),
}
"""Named configurations; every command takes them as ``--config``."""
