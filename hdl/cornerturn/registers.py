"""The register map of the SoC top, and what the host finds in memory (plain Python).

Written once: `soc/csr.py` makes the registers and its ports from this table, the SystemRDL, the
documents and the C header follow from it. Registers of 32 bits at byte addresses::

    000 identity | 010 shape of the build | 020 control | 028 status | 040 interrupts | 050 ring
    080 memory window | 090 watchdog | 0C0 the block at work | 100 performance counters

A number of 64 bits is two registers, NAME and NAME_HIGH.
"""

import enum
from typing import NamedTuple

from . import fields

__all__ = [
    "ADDRESS_BITS",
    "DESCRIPTOR_BYTES",
    "ID",
    "INTERRUPTS",
    "RECORD",
    "RECORD_BYTES",
    "REGISTERS",
    "VERSION",
    "Access",
    "Bits",
    "Register",
    "port_of",
]

ADDRESS_BITS = 12
"""Bits of a register's byte address: the map is 4 KiB."""

ID = 0x4E525443
"""What the register ID reads: the letters CTRN, the first one lowest."""

VERSION = (1, 0)
"""Version of the register map: the first number changes when software must."""

DESCRIPTOR_BYTES = fields.DESCRIPTOR_WIDTH // 8
"""Bytes of an entry of the ring."""

RECORD_BYTES = 16
"""Bytes of an entry of the completion array."""

RECORD = {
    field.name: field
    for field in (
        fields.Field("index", 0, 32, False, "commands accepted before this one, modulo 2**32"),
        fields.Field("status", 32, 8, False, "how the instruction ended (Status)"),
        fields.Field("phase", 63, 1, False, "1 in the first pass of the ring, then 0, then 1 ..."),
        fields.Field("address", 64, 64, False, "where it failed, if its status has an address"),
    )
}
"""What answers the descriptor of entry i, at COMPLETION_BASE + 16*i; the other bits are 0."""

INTERRUPTS = {
    "halted": "a HALT has completed",
    "rejected": "an instruction was rejected, or ended by a fault",
    "aborted": "an abort has ended",
    "completion": "a completion record was written",
    "empty": "the record of the last descriptor in the ring was written",
    "ring_error": "the ring met a bus error, or a doorbell beyond its size",
    "bus_hung": "the bus did not answer within WATCHDOG",
}
"""Causes of an interrupt, lowest bit first. The first three come when all records are written."""


class Access(enum.Enum):
    """Who changes a field, and how."""

    CONSTANT = "the same in every build"
    BUILD = "a property of the build's `Config`, of the same name"
    STATE = "hardware changes it, software reads it"
    SETTING = "software writes and reads it"
    DOORBELL = "a setting; hardware is told whenever it is written"
    PULSE = "software writes a one; reads as zero"
    EVENT = "hardware sets it, software clears it by writing a one"


class Bits(NamedTuple):
    """One field of a register."""

    name: str
    low: int  # first bit
    width: int
    access: Access
    doc: str
    reset: int = 0


class Register(NamedTuple):
    """One register."""

    name: str
    offset: int  # byte address
    fields: tuple
    doc: str


def port_of(register, bits):
    """Name of the port that a field is driven by, or drives: both names, or one if it is alone."""
    return register.name if bits.name == "value" else f"{register.name}_{bits.name}"


def _whole(name, offset, access, doc, *, width=32, reset=0):
    """A register of one field."""
    return Register(name, offset, (Bits("value", 0, width, access, doc, reset),), doc)


def _wide(name, offset, access, doc, *, reset=0):
    """Two registers for a number of 64 bits."""
    yield _whole(name, offset, access, f"{doc}: low half", reset=reset & 0xFFFFFFFF)
    yield _whole(f"{name}_high", offset + 4, access, f"{doc}: high half", reset=reset >> 32)


def _build(*places):
    """Fields (name, first bit, width, meaning) that show the build's configuration."""
    return tuple(Bits(name, low, width, Access.BUILD, doc) for name, low, width, doc in places)


def _flags(access, names):
    """A field of one bit for each name, bit 0 first."""
    return tuple(Bits(name, bit, 1, access, doc) for bit, (name, doc) in enumerate(names.items()))


def _identity():
    yield _whole("id", 0x000, Access.CONSTANT, "the letters CTRN, the first one lowest", reset=ID)
    yield Register(
        "version",
        0x004,
        (
            Bits("minor", 0, 8, Access.CONSTANT, "additions to the map", VERSION[1]),
            Bits("major", 8, 8, Access.CONSTANT, "changes of the map", VERSION[0]),
            Bits("descriptor", 16, 8, Access.CONSTANT, "layout of the descriptors", fields.VERSION),
        ),
        "version of this map and of the descriptors",
    )
    yield Register(
        "shape_lanes",
        0x010,
        _build(
            ("lanes", 0, 9, "M, lanes"),
            ("lanes_per_hop", 16, 9, "H, lanes behind one register of the chain"),
        ),
        "the lanes of this build",
    )
    yield Register(
        "shape_cells",
        0x014,
        _build(
            ("cell_width", 0, 6, "bits of a cell"),
            ("beat_cells", 8, 7, "W, cells of a beat and of a word"),
            ("max_element_cells", 16, 4, "g of the largest element"),
            ("lane_ports", 20, 1, "whether the lanes have ports of their own"),
        ),
        "the cells of this build",
    )
    yield Register(
        "shape_depth", 0x018, _build(("cells", 0, 17, "cells of a lane")), "the lmem of this build"
    )
    yield Register(
        "shape_memory",
        0x01C,
        _build(
            ("address_bits", 0, 6, "bits of a byte address"),
            ("bus_width", 8, 11, "bits of the memory bus"),
            ("memory_requests", 20, 9, "bursts that may be outstanding, each way"),
        ),
        "the memory side of this build",
    )


def _control():
    yield Register(
        "control",
        0x020,
        (Bits("enable", 0, 1, Access.SETTING, "the ring fetches descriptors"),),
        "what the ring may do",
    )
    yield Register(
        "command",
        0x024,
        _flags(
            Access.PULSE,
            {
                "clear": "leave a stop: of the engine, or of the ring after an error",
                "abort": "end what has issued, then stand; what is queued stays",
                "soft_reset": "abort, forget what is queued, and reset every register but "
                "STATUS.bus_hung; done when STATUS.busy is 0",
            },
        ),
        "one bit, one command",
    )
    yield Register(
        "status",
        0x028,
        (
            *_flags(
                Access.STATE,
                {
                    "busy": "the engine or the ring has something to do",
                    "halted": "stands after a HALT",
                    "rejected": "stands after a rejection or a fault",
                    "aborted": "stands after an abort",
                    "fetch_error": "the ring stands: a descriptor could not be read",
                    "record_error": "the ring stands: a record could not be written",
                    "doorbell_error": "a RING_TAIL beyond RING_SIZE was ignored",
                    "bus_hung": "the bus did not answer; until reset",
                },
            ),
            Bits(
                "code",
                16,
                max(fields.Status).bit_length(),
                Access.STATE,
                "of the last rejection or fault (Status)",
            ),
        ),
        "how the engine and the ring are",
    )
    yield _whole("status_index", 0x02C, Access.STATE, "index of the last rejection or fault")
    yield from _wide("fault_address", 0x030, Access.STATE, "address of the last fault")
    yield from _wide(
        "ring_fault_address", 0x038, Access.STATE, "address of the ring's last bus error"
    )


def _interrupts():
    yield Register(
        "irq_enable",
        0x040,
        _flags(Access.SETTING, INTERRUPTS),
        "which causes raise the interrupt",
    )
    yield Register(
        "irq_status",
        0x044,
        _flags(Access.EVENT, INTERRUPTS),
        "what has happened; the interrupt is high while a cause is set and enabled",
    )


def _ring():
    yield from _wide(
        "ring_base", 0x050, Access.SETTING, "address of the ring's descriptors, a multiple of 256"
    )
    yield _whole(
        "ring_size",
        0x058,
        Access.SETTING,
        "entries of the ring, which holds one descriptor less",
        width=16,
    )
    yield _whole(
        "ring_tail",
        0x05C,
        Access.DOORBELL,
        "the entry behind the last descriptor; writing it is the doorbell",
        width=16,
    )
    yield _whole(
        "ring_head",
        0x060,
        Access.STATE,
        "the entry behind the last descriptor whose record is written",
        width=16,
    )
    yield from _wide(
        "completion_base", 0x068, Access.SETTING, "address of the records, a multiple of 16"
    )


def _memory():
    yield from _wide("window_first", 0x080, Access.SETTING, "first byte that tiles may touch")
    yield from _wide(
        "window_last",
        0x088,
        Access.SETTING,
        "last byte that tiles may touch",
        reset=(1 << 64) - 1,
    )
    yield _whole(
        "watchdog",
        0x090,
        Access.SETTING,
        "cycles (to twice as many) that the bus may take for an answer; 0: any number",
        reset=1 << 20,
    )


def _trace():
    for index, (name, doc) in enumerate(
        {
            "block_h": "h of the block at work",
            "block_w": "w of the block at work",
            "block_k": "k of the block at work",
            "repeat_co": "blocks along co",
        }.items()
    ):
        yield _whole(name, 0x0C0 + 4 * index, Access.STATE, doc)
    for index, side in enumerate(("in", "out")):
        offset = 0x0D0 + 8 * index
        doc = f"{side} offset of the block at work"
        yield _whole(f"{side}_offset", offset, Access.STATE, f"{doc}: cells, or bytes: low half")
        yield _whole(
            f"{side}_offset_high", offset + 4, Access.STATE, f"{doc}: lanes, or bytes: high half"
        )


def _counters():
    for index, name in enumerate(fields.COUNTERS):
        doc = f"performance counter {name}"
        yield _whole(f"counter_{name}", 0x100 + 4 * index, Access.STATE, doc)


REGISTERS = {
    register.name: register
    for part in (_identity, _control, _interrupts, _ring, _memory, _trace, _counters)
    for register in part()
}
"""Every register, by name, lowest address first."""
