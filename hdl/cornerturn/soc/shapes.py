"""shapes: sizes and structures of the memory side, and the constants of its bursts.

A bus word is one beat of the bus. Places in it are counted in *units*: bytes, or cells where a beat
is one cell of 4 bits, so that a beat is a whole number of units, and a bus word of beats::

    byte address = | block | index | byte |      block: BURST_WORDS aligned bus words
                                                 a burst stays in one, so it never crosses 4 KiB
"""

from amaranth import unsigned
from amaranth.lib import data

from .. import isa
from .axi import BOUNDARY_BYTES, LONGEST_BURST

__all__ = [
    "BURST_WORDS",
    "BUS_LATENCY",
    "GIVE_UP_CYCLES",
    "PATIENCE_CYCLES",
    "ROWS_AHEAD",
    "ROWS_ELSEWHERE",
    "WORDS_AHEAD",
    "Sizes",
    "burst",
    "place",
    "row",
    "row_places",
    "row_words",
]

BURST_WORDS = 16
"""Bus words of a block, and the most beats of a burst: also what AXI3 allows."""

GIVE_UP_CYCLES = 16
"""A row that is not `last` waits so many cycles, without a request, for one to merge with."""

PATIENCE_CYCLES = 32
"""Words that are asked for by neighbouring rows wait so long for the rest of their burst, to be
read. There could be more of those rows in a burst than `ROWS_AHEAD`."""

BUS_LATENCY = 50
"""Cycles from an address to its data that cost nothing but themselves once."""

_ROUND_TRIP = BUS_LATENCY + 14  # with the stages between a buffer's end and its beginning

ROWS_AHEAD = 1 << (PATIENCE_CYCLES + _ROUND_TRIP - 1).bit_length()
"""Rows that may wait for their data: one a cycle, until it is asked for and for a round trip."""

ROWS_ELSEWHERE = 16
"""Rows in the stages before and behind those, at most."""

WORDS_AHEAD = 1 << (_ROUND_TRIP + BURST_WORDS - 2).bit_length()
"""Bus words that may be asked for: those of a round trip, and the rest of a burst."""

assert 1024 // 8 * BURST_WORDS <= BOUNDARY_BYTES
assert BURST_WORDS <= LONGEST_BURST


def _log2(value):
    return value.bit_length() - 1


class Sizes:
    """What follows from a configuration for the memory side.

    Parameters
    ----------
    config : Config

    Attributes
    ----------
    unit : int
        Bits of a unit.
    beat_units, bus_units, bus_bytes : int
        Units of a beat and of a bus word, bytes of a bus word.
    beat_bits, place_bits, index_bits, byte_bits, word_bits, block_bits : int
        Bits of a unit's place in a beat and in a bus word, of a word in its block, of a byte in a
        bus word, of a bus word's address, of a block's.
    units_bits, beats_bits : int
        Bits of the units (less one) and beats (less one) of a row.
    """

    def __init__(self, config):
        self.unit = min(8, config.beat_width)
        self.beat_units = config.beat_width // self.unit
        self.bus_units = config.bus_width // self.unit
        self.bus_bytes = config.bus_width // 8
        self.beat_bits = _log2(self.beat_units)
        self.place_bits = _log2(self.bus_units)
        self.index_bits = _log2(BURST_WORDS)
        self.byte_bits = _log2(self.bus_bytes)
        self.word_bits = config.address_bits - self.byte_bits
        self.block_bits = self.word_bits - self.index_bits
        self.units_bits = isa.MEMORY_ROW_BITS + self.place_bits - self.byte_bits
        self.beats_bits = self.units_bits - self.beat_bits


def row(config):
    """A row that knows its neighbours."""
    return data.StructLayout({"words": row_words(config), "places": row_places(config)})


def row_words(config):
    """Bus words of a row, for its bursts."""
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "block": sizes.block_bits,  # of its first byte
            "index": sizes.index_bits,
            "final_block": sizes.block_bits,  # of its last byte
            "final_index": sizes.index_bits,
            "crosses": 1,  # its last byte is in a later block than its first; than the last of the
            # row before, if it is merged
            "opens": 1,  # not merged with the row before: it does not go on where that one ended
            "closes": 1,  # nor with the row behind
            "last": 1,  # as requested
        }
    )


def row_places(config):
    """Where a row lies in its bus words."""
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "index": sizes.index_bits,
            "position": sizes.place_bits,  # of its first unit
            "beats_m1": sizes.beats_bits,
            "tail_m1": sizes.beat_bits,  # units of its last beat, less one
            "opens": 1,  # as above
            "closes": 1,
        }
    )


def place(config):
    """Where a beat lies: units `position` to `end` - 1 of a bus word and the one behind it."""
    sizes = Sizes(config)
    return data.StructLayout(
        {
            "index": sizes.index_bits,
            "position": sizes.place_bits,
            "end": unsigned(sizes.place_bits + 1),
            "crosses": 1,  # into the word behind
            "opens": 1,  # first of a row that opens
            "closes": 1,  # last of a row that closes
            "final": 1,  # last of its row
        }
    )


def burst(config):
    """A burst of bus words; `last`: of those asked for by a request that was `last`."""
    sizes = Sizes(config)
    return data.StructLayout({"word": sizes.word_bits, "words_m1": sizes.index_bits, "last": 1})
