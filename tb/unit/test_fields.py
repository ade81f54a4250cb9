"""The descriptor's layout: every field in its place, and values that come back as they went in."""

import re

import pytest
from cornerturn.fields import (
    DESCRIPTOR_WIDTH,
    DIGITS,
    FIELDS,
    RECORDS,
    USED,
    Opcode,
    Status,
    named_mask,
    pack,
    unpack,
)
from hypothesis import given
from hypothesis import strategies as st

# (word, first bit in the word): read off the published diagram, not off the table.
PLACES = {
    "version": (0, 0),
    "opcode": (0, 4),
    "in_mode": (0, 8),
    "out_mode": (0, 10),
    "pair": (0, 12),
    "element": (0, 14),
    "segment_is_digit": (0, 16),
    "row_tag": (0, 17),
    "in_lane_step": (1, 0),
    "out_lane_step": (1, 16),
    "n": (2, 0),
    "co": (3, 0),
    "co_align": (4, 0),
    "half_cells": (5, 0),
    "ho_tag": (6, 0),
    "d5_tag": (6, 16),
    "limit_ho": (7, 0),
    "limit_co": (9, 0),
    "in_cell": (10, 0),
    "in_lane": (11, 0),
    "out_cell": (12, 0),
    "out_lane": (13, 0),
    "ho_in_cell": (28, 0),
    "ho_in_lane": (29, 0),
    "ho_out_cell": (29, 16),
    "ho_out_lane": (30, 16),
    "repeat_ho": (31, 0),
    "ho_multiplier": (31, 16),
    "co_multiplier": (39, 16),
    "d0_in_cell": (40, 0),
    "d5_count": (63, 0),
    "d5_multiplier": (63, 16),
}


def _values(field):
    low, high = field.limits
    return st.sampled_from([low, high, 0]) | st.integers(low, high)


def test_no_two_fields_share_a_bit():
    assert named_mask(FIELDS).bit_count() == sum(field.width for field in FIELDS.values())
    assert named_mask(FIELDS) < 1 << DESCRIPTOR_WIDTH


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_place(name, place):
    word, bit = place
    assert pack({name: 1}) == 1 << (32 * word + bit)


def test_the_co_record_has_no_count():
    counts = {name for name in FIELDS if name.endswith("_count") or name.startswith("repeat_")}
    assert counts == {"repeat_ho", "repeat_wo", *(f"{digit}_count" for digit in DIGITS)}
    assert named_mask(FIELDS) >> (39 * 32) & 0xFFFF == 0


def test_only_steps_are_signed():
    steps = {
        f"{record}_{side}_{unit}"
        for record in RECORDS
        for side in ("in", "out")
        for unit in ("lane", "cell")
    }
    assert {name for name, field in FIELDS.items() if field.signed} == steps


@given(st.fixed_dictionaries({name: _values(field) for name, field in FIELDS.items()}))
def test_round_trip(values):
    descriptor = pack(values)
    assert unpack(descriptor) == values
    assert descriptor & ~named_mask(FIELDS) == 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("in_lane", -1, "in_lane must be 0 to 4294967295, not -1"),
        ("n", 1 << 24, "n must be 0 to 16777215, not 16777216"),
        ("d0_in_lane", -32769, "d0_in_lane must be -32768 to 32767, not -32769"),
        ("rows", 1, "descriptor field must be one of fields.FIELDS, not 'rows'"),
    ],
)
def test_pack_refuses(name, value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        pack({name: value})


def test_codes():
    assert [(opcode.name, opcode.value) for opcode in Opcode] == [
        ("NOP", 0), ("TILE", 1), ("SWAP", 2), ("FENCE", 3), ("HALT", 4),
    ]  # fmt: skip
    assert set(USED) == set(Opcode)
    # The rejections stand in order of priority, the order of the specification's table.
    assert [status.name for status in Status][:13] == [
        "OK", "VERSION", "RESERVED", "OPCODE", "MODE", "UNSUPPORTED", "ELEMENT", "COUNT", "ALIGN",
        "RANGE", "WINDOW", "NIBBLE", "OVERLAP",
    ]  # fmt: skip
    assert [status.value for status in Status] == list(range(18))
