"""The hardware's structures, made from `fields.py` and sized by a `Config`.

Lanes and TIU meet here and nowhere else: in the micro-ops that travel on the chain. A micro-op
counts lanes down as it passes (`skip`), so that a lane needs no number, and dies at its last hit::

    TIU --{valid, along, skip, step_m1, position, last_position, ...}--> lane 0 --> lane 1 --> ...

Element `position`s are in cells of the beat.
"""

from amaranth import signed, unsigned
from amaranth.hdl import Shape
from amaranth.lib import data

from . import fields

__all__ = [
    "LOOPS",
    "MEMORY_ROW_BITS",
    "PLACE_ROOM",
    "ROW_CELL_BITS",
    "STATUS_BITS",
    "awaited_row",
    "block",
    "block_trace",
    "byte_region",
    "completion",
    "counters",
    "descriptor",
    "engine_status",
    "instruction",
    "lane_read",
    "lane_write",
    "limits",
    "memory_answer",
    "memory_beat",
    "memory_request",
    "place",
    "read_op",
    "read_request",
    "region",
    "row",
    "slot",
    "slot_write",
    "walk",
    "write_op",
    "write_request",
]

MEMORY_ROW_BITS = 30
"""Bits of a row's length in bytes: 2**24 - 1 elements of 8 cells of 32 bits."""

ROW_CELL_BITS = 27
"""Bits of a row's length in cells: 2**24 - 1 elements of 8 cells."""

LOOPS = fields.RECORDS[:3]
"""The loops around a block, outermost first."""

PLACE_ROOM = 5
"""Bits of a place above those of its terms: a start, up to eleven terms, and a sign."""

STATUS_BITS = max(fields.Status).bit_length()
"""Bits of a status code."""


def descriptor():
    """One command: every field of `fields.FIELDS` at its place, 2048 bits."""
    return data.FlexibleLayout(
        fields.DESCRIPTOR_WIDTH,
        {
            name: data.Field(Shape(field.width, signed=field.signed), field.offset)
            for name, field in fields.FIELDS.items()
        },
    )


def completion():
    """What answers a command: its index (modulo 2**32) and a `fields.Status`."""
    return data.StructLayout({"index": 32, "status": STATUS_BITS})


def counters():
    """All performance counters."""
    return data.StructLayout(dict.fromkeys(fields.COUNTERS, 32))


def engine_status():
    """State of the engine: why it stands, and the last rejection's code and index."""
    return data.StructLayout(
        {
            "busy": 1,
            "halted": 1,
            "rejected": 1,
            "aborted": 1,
            "code": STATUS_BITS,
            "index": 32,
            "address": 64,  # of the row that ended an instruction: lane * 2**32 + cell, or bytes
        }
    )


# --- the chain ---------------------------------------------------------------------------------


def read_op(config):
    """A read micro-op: fill the beat behind it from the lanes it hits."""
    return data.StructLayout(
        {
            "valid": 1,
            "along": 1,  # the whole word of one lane, else one element of each lane hit
            "skip": config.lane_bits,  # lanes still to pass before the next hit
            "step_m1": config.lane_bits,  # lanes between hits, less one
            "position": config.offset_bits,  # of the next element in the beat
            "last_position": config.offset_bits,  # of the last one
            "word": config.word_bits,
            "offset": config.offset_bits,  # of the element in the word
            "code": (config.element_codes - 1).bit_length(),  # log2 of the element's cells
        }
    )


def write_op(config):
    """A write micro-op, travelling with its beat: the lanes it hits keep their part."""
    return data.StructLayout(
        {
            "valid": 1,
            "along": 1,
            "skip": config.lane_bits,
            "step_m1": config.lane_bits,
            "position": config.offset_bits,
            "last_position": config.offset_bits,
            "word": config.word_bits,
            "mask": config.beat_cells,  # cells of the word to write
            "code": (config.element_codes - 1).bit_length(),
            "last": 1,  # marks the end of an instruction; goes all the way round, valid or not
            "beat": config.beat_width,
        }
    )


def read_request(config):
    """What a hit asks of the lane's xbar."""
    return data.StructLayout(
        {
            "valid": 1,
            "along": 1,
            "position": config.offset_bits,
            "word": config.word_bits,
            "offset": config.offset_bits,
            "code": (config.element_codes - 1).bit_length(),
        }
    )


def write_request(config):
    """What a hit hands to the lane's dis_w."""
    return data.StructLayout(
        {
            "valid": 1,
            "along": 1,
            "position": config.offset_bits,
            "word": config.word_bits,
            "mask": config.beat_cells,
            "code": (config.element_codes - 1).bit_length(),
            "beat": config.beat_width,
        }
    )


def lane_read(config):
    """A word read of an lmem."""
    return data.StructLayout({"valid": 1, "word": config.word_bits})


def lane_write(config):
    """A word write of an lmem under a mask of cells."""
    return data.StructLayout(
        {"valid": 1, "word": config.word_bits, "mask": config.beat_cells, "beat": config.beat_width}
    )


# --- system memory -----------------------------------------------------------------------------


def memory_request(config):
    """A row in system memory: `bytes` (at least 1) from `address` on, at any alignment.

    Its beats are dense: beat i holds bytes i*B .. i*B+B-1 of the row, B = beat_width / 8 (half a
    byte a beat, the low one first, if a beat is one cell of 4 bits).
    """
    return data.StructLayout(
        {
            "address": config.address_bits,
            "bytes": MEMORY_ROW_BITS,
            "last": 1,  # nothing that could be merged with it follows soon
        }
    )


def memory_beat(config):
    """A beat that was read; `error`: the bus answered some byte of it with an error."""
    return data.StructLayout({"beat": config.beat_width, "error": 1})


def memory_answer(config):
    """Everything up to a `last` request is written; or where the bus answered with an error."""
    return data.StructLayout({"error": 1, "address": config.address_bits})


# --- the TIU -----------------------------------------------------------------------------------


def region(config):
    """A box of lanes and words, bounds included; not valid: it is empty."""
    return data.StructLayout(
        {
            "valid": 1,
            "lane_low": config.lane_bits,
            "lane_high": config.lane_bits,
            "word_low": config.word_bits,
            "word_high": config.word_bits,
        }
    )


def address(config):
    """A local address."""
    return data.StructLayout({"lane": config.lane_bits, "cell": config.cell_bits})


def byte_region(config):
    """A range of bytes in system memory, ends included."""
    return data.StructLayout({"valid": 1, "low": config.address_bits, "high": config.address_bits})


def place(config):
    """Where a row starts, exactly, inside the array or not: a lane, and a cell or byte."""
    return data.StructLayout(
        {
            "lane": signed(config.lane_span_bits + PLACE_ROOM),
            "offset": signed(config.address_bits + PLACE_ROOM),
        }
    )


def _sides(shape):
    return data.StructLayout({"in": shape, "out": shape})


def instruction(config):
    """A checked instruction, for the tiler: the loops around its blocks, and the walk in each.

    Counts are less one; all of it means nothing if the instruction is empty.
    """
    return data.StructLayout(
        {
            "start": _sides(place(config)),
            "step": data.ArrayLayout(_sides(place(config)), len(LOOPS)),
            "repeat_m1": data.ArrayLayout(unsigned(16), len(LOOPS)),
            "segment": 24,  # of every block
            "rest": 24,  # of the last one of each co loop, if not 0
            "walk": walk(config),
        }
    )


def walk(config):
    """The walk through a block, the same for all blocks of an instruction.

    `jump[d]` leads from the last row of all digits inside d to the next value of d.
    """
    return data.StructLayout(
        {
            "jump": data.ArrayLayout(_sides(place(config)), len(fields.DIGITS)),
            "count_m1": data.ArrayLayout(unsigned(16), len(fields.DIGITS)),
            "segment_is_digit": 1,  # the count of digit 0 is the segment
            "elements": 24,  # of a row; else they are the segment
            "limits": limits(),
            "job": job(config),
        }
    )


def limits():
    """What trims rows: see `fields.py`."""
    return data.StructLayout(
        {
            "any": 1,
            "limit": data.ArrayLayout(unsigned(32), len(LOOPS)),
            "row_tag": 2,
            "tag": data.ArrayLayout(unsigned(2), len(fields.RECORDS)),
            "multiplier": data.ArrayLayout(unsigned(16), len(fields.RECORDS)),
        }
    )


def block(config):
    """A block for the row generator; `walk` counts in the first of an instruction only."""
    return data.StructLayout(
        {
            "first": 1,  # of its instruction
            "last": 1,
            "advanced": range(len(LOOPS)),  # the loop that led to it, if it is not the first
            "start": _sides(place(config)),
            "segment": 24,
            "walk": walk(config),
        }
    )


def block_trace(config):
    """The block last begun: its indices, and its offsets from the starts."""
    return data.StructLayout(
        {
            "index": data.ArrayLayout(unsigned(16), len(LOOPS)),
            "repeat_co_m1": 16,
            "segment": 24,
            "offset": _sides(place(config)),
        }
    )


def job(config):
    """What stays the same for all rows of an instruction."""
    return data.StructLayout(
        {
            "empty": 1,  # no rows: one slot that touches nothing
            "swap": 1,
            "fence": 1,  # issues when the engine has drained
            "halt": 1,
            "serial": 1,  # source and destination meet: one row at a time
            "in_along": 1,
            "out_along": 1,
            "out_memory": 1,  # its destination is system memory: dense beats
            "in_step_m1": config.lane_bits,
            "out_step_m1": config.lane_bits,
            "code": (config.element_codes - 1).bit_length(),
        }
    )


def row(config):
    """A row for the sequencer: its places and beats, and what its instruction is."""
    return data.StructLayout(
        {
            "first": 1,  # of its instruction
            "last": 1,
            "begin": 1,  # first of its block
            "void": 1,  # moves nothing
            "fault": 1,  # is outside the array, and ends its instruction
            "fault_out": 1,  # not its source, but its destination
            "job": job(config),
            "in": place(config),
            "out": place(config),
            "cells": ROW_CELL_BITS,
            "read_beats": ROW_CELL_BITS,
            "write_beats": ROW_CELL_BITS,
        }
    )


def awaited_row(config):
    """A row whose source is memory, from its request until its beats come."""
    return data.StructLayout(
        {
            "first": 1,  # of its instruction
            "last": 1,
            "begin": 1,  # first of its block
            "void": 1,
            "fault": 1,
            "lane": config.lane_bits,  # of its destination
            "offset": config.address_bits,  # cells, or bytes in memory
            "cells": ROW_CELL_BITS,
        }
    )


def slot(config):
    """What the sequencer issues in a cycle: a read micro-op, and the write that belongs to it."""
    return data.StructLayout(
        {
            "starts": 1,  # first slot of its instruction
            "ends": 1,  # last slot of its instruction
            "begin": 1,  # first slot of its row
            "end": 1,  # last slot of its row
            "block": 1,  # first slot of its block
            "more_rows": 1,  # its row is not the last
            "empty": 1,
            "void": 1,  # its row moves nothing
            "fault": 1,  # its row ends the instruction
            "swap": 1,
            "fence": 1,
            "halt": 1,
            "serial": 1,
            "read_lane_high": config.lane_bits,  # highest lane it reads, of a SWAP
            "read": read_op(config),
            "write": slot_write(config),
        }
    )


def slot_write(config):
    """The write half of a slot, on its way to its launch."""
    return data.StructLayout(
        {
            "valid": 1,
            "fresh": 1,  # there is a beat, which may be merged with the one of the next slot
            "memory": 1,  # bound for system memory
            "last": 1,  # of the instruction
            "row_end": 1,  # last write of a serial row that has a successor
            "swap_across": 1,  # an across write of a SWAP: later reads of the SWAP must look out
            "held": 1,  # its beat comes out of the hold
            "late": 1,  # its first cells come with the next beat (destination offset < source's)
            "along": 1,
            "rotate": config.offset_bits,
            "skip": config.lane_bits,
            "step_m1": config.lane_bits,
            "first": config.offset_bits,  # first cell of the beat (along) or position (across)
            "final": config.offset_bits,  # last cell or position
            "word": config.word_bits,
            "offset": config.offset_bits,
            "code": (config.element_codes - 1).bit_length(),
        }
    )
