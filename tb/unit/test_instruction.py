"""Encodings of the instruction objects, field by field, and what they refuse."""

import re

import pytest
from cornerturn.fields import FIELDS, Pair, Tag, unpack
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Mem,
    Nop,
    Segment,
    Swap,
    Tile,
    as_descriptor,
)


def _set_fields(descriptor):
    """The fields that are not zero."""
    return {name: value for name, value in unpack(descriptor).items() if value}


ONE_ROW = {
    "version": 1, "opcode": 1, "repeat_ho": 1, "repeat_wo": 1, "d0_count": 1, "d1_count": 1,
    "d2_count": 1, "d3_count": 1, "d4_count": 1, "d5_count": 1,
}  # fmt: skip


def test_plain_row_is_one_whole_segment():
    tile = Tile(Across(lane=3, cell=8, step=2), Along(lane=5, cell=16), n=10, element_cells=4)
    assert _set_fields(tile.encode()) == ONE_ROW | {
        "out_mode": 1, "element": 2, "in_lane": 3, "in_cell": 8, "in_lane_step": 2,
        "out_lane": 5, "out_cell": 16, "co": 10, "co_align": 10,
    }  # fmt: skip


def test_sides_exchanged():
    tile = Tile(Along(lane=5, cell=16), Across(lane=3, cell=8), n=2)
    assert _set_fields(tile.encode()) == ONE_ROW | {
        "in_mode": 1, "in_lane": 5, "in_cell": 16, "out_lane": 3, "out_cell": 8,
        "out_lane_step": 1, "co": 2, "co_align": 2,
    }  # fmt: skip


def test_empty_row_keeps_a_legal_alignment():
    fields = unpack(Tile(Along(0, 0), Along(0, 0), n=0).encode())
    assert (fields["co"], fields["co_align"]) == (0, 1)


def test_digits_end_at_d5():
    digits = (Digit(7, (1, -2), (-3, 4)), Digit(9, out_step=(0, 5)))
    assert _set_fields(Tile(Along(0, 0), Along(0, 0), 1, digits).encode()) == ONE_ROW | {
        "in_mode": 1, "out_mode": 1, "co": 1, "co_align": 1,
        "d4_count": 7, "d4_in_lane": 1, "d4_in_cell": -2, "d4_out_lane": -3, "d4_out_cell": 4,
        "d5_count": 9, "d5_out_cell": 5,
    }  # fmt: skip


def test_six_digits_fill_the_descriptor():
    digits = [Digit(count) for count in range(2, 8)]
    fields = unpack(Tile(Along(0, 0), Along(0, 0), 1, digits).encode())
    assert [fields[f"d{index}_count"] for index in range(6)] == [2, 3, 4, 5, 6, 7]


def test_segment_as_row():
    tile = Tile(Along(0, 0), Along(1, 0), Segment(co=5, co_align=8))
    assert _set_fields(tile.encode()) == ONE_ROW | {
        "in_mode": 1, "out_mode": 1, "out_lane": 1, "co": 5, "co_align": 8,
    }  # fmt: skip


def test_segment_as_digit_is_digit_0():
    digits = (Digit(Segment(co=5, co_align=8), (1, 0), (0, 2)), Digit(3, (0, 1), (0, 10)))
    tile = Tile(Along(0, 0), Along(1, 0), 4, digits)
    fields = _set_fields(tile.encode())
    without_count = {name: value for name, value in ONE_ROW.items() if name != "d0_count"}
    assert fields == without_count | {
        "in_mode": 1, "out_mode": 1, "out_lane": 1, "segment_is_digit": 1, "n": 4, "co": 5,
        "co_align": 8, "d0_in_lane": 1, "d0_out_cell": 2,
        "d5_count": 3, "d5_in_cell": 1, "d5_out_cell": 10,
    }  # fmt: skip


def test_loops_limits_and_tags():
    tile = Tile(
        Along(0, 0), Along(1, 0), Segment(9, 4, (1, 2), (-3, -4), Tag.CO, 5),
        (Digit(6, (7, 8), (9, 10), Tag.HO, 11),),
        ho=Digit(12, (13, 14), (15, 16), Tag.HO, 17), wo=Digit(18, (19, 20), (21, 22), Tag.WO, 23),
        limits=Limits(ho=24, wo=25, co=26), row_tag=Tag.WO,
    )  # fmt: skip
    assert _set_fields(tile.encode()) == ONE_ROW | {
        "in_mode": 1, "out_mode": 1, "out_lane": 1, "co": 9, "co_align": 4, "row_tag": 2,
        "co_in_lane": 1, "co_in_cell": 2, "co_out_lane": -3, "co_out_cell": -4,
        "co_tag": 3, "co_multiplier": 5,
        "d5_count": 6, "d5_in_lane": 7, "d5_in_cell": 8, "d5_out_lane": 9, "d5_out_cell": 10,
        "d5_tag": 1, "d5_multiplier": 11,
        "repeat_ho": 12, "ho_in_lane": 13, "ho_in_cell": 14, "ho_out_lane": 15, "ho_out_cell": 16,
        "ho_tag": 1, "ho_multiplier": 17,
        "repeat_wo": 18, "wo_in_lane": 19, "wo_in_cell": 20, "wo_out_lane": 21, "wo_out_cell": 22,
        "wo_tag": 2, "wo_multiplier": 23,
        "limit_ho": 24, "limit_wo": 25, "limit_co": 26,
    }  # fmt: skip


def test_segment_as_digit_keeps_both_its_steps():
    """Those of the digit, from element to element, and those of co, from segment to segment."""
    segment = Segment(5, 2, (0, 1), (0, 2), Tag.CO, 2)
    tile = Tile(Along(0, 0), Along(1, 0), 3, (Digit(segment, (0, 3), (0, 4), Tag.CO, 1),))
    fields = unpack(tile.encode())
    assert [fields[f"{name}_in_cell"] for name in ("co", "d0")] == [1, 3]
    assert [fields[f"{name}_out_cell"] for name in ("co", "d0")] == [2, 4]
    assert [fields[f"{name}_multiplier"] for name in ("co", "d0")] == [2, 1]
    assert (fields["d0_tag"], fields["co_tag"], fields["n"]) == (3, 3, 3)


def test_memory_side_is_one_number():
    tile = Tile(
        Mem(0x1_2345_6789), Mem((1 << 64) - 1), 1, [Digit(2, -1, 1 << 31)],
        ho=Digit(1, -(1 << 32), (1 << 47) - 1), wo=Digit(1, -(1 << 47), 0x1_8000_0001),
        pair=Pair.STORE, half_cells=9,
    )  # fmt: skip
    assert _set_fields(tile.encode()) == ONE_ROW | {
        "in_mode": 2, "out_mode": 2, "co": 1, "co_align": 1, "pair": 2, "half_cells": 9,
        "in_lane": 1, "in_cell": 0x2345_6789, "out_lane": (1 << 32) - 1, "out_cell": (1 << 32) - 1,
        "d5_count": 2, "d5_in_lane": -1, "d5_in_cell": -1, "d5_out_cell": -(1 << 31),
        "ho_in_lane": -1, "ho_out_lane": 32767, "ho_out_cell": -1,
        "wo_in_lane": -32768, "wo_out_lane": 1, "wo_out_cell": 1 - (1 << 31),
    }  # fmt: skip


def test_swap():
    assert _set_fields(Swap(lane=2, cell=8, n=7, element_cells=8).encode()) == {
        "version": 1, "opcode": 2, "element": 3, "in_lane": 2, "in_cell": 8, "n": 7,
    }  # fmt: skip


@pytest.mark.parametrize(("item", "bits"), [(Nop(), 0x01), (Fence(), 0x31), (Halt(), 0x41)])
def test_without_operands(item, bits):
    assert item.encode() == bits


def test_as_descriptor():
    assert as_descriptor(Fence()) == 0x31
    assert as_descriptor(0x31) == 0x31
    assert as_descriptor((1 << 2048) - 1) == (1 << 2048) - 1


@pytest.mark.parametrize("item", [None, "FENCE", 1.0, [1]])
def test_as_descriptor_refuses_types(item):
    message = f"program item must be an instruction or a descriptor, not {item!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        as_descriptor(item)


@pytest.mark.parametrize("item", [-1, 1 << 2048])
def test_as_descriptor_refuses_values(item):
    message = f"descriptor must be 0 to 2**2048 - 1, not {item!r}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        as_descriptor(item)


ROW = {"src": Along(0, 0), "dst": Along(1, 0)}
SEGMENT = Segment(2, 2)


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        (Tile(**ROW, n=1, element_cells=3), "element_cells must be 1, 2, 4 or 8, not 3"),
        (Swap(0, 0, 1, element_cells=16), "element_cells must be 1, 2, 4 or 8, not 16"),
        (Tile(Mem(-1), Along(0, 0), 1), "address must be 0 to 2**64 - 1, not -1"),
        (Tile(Along(0, 0), Mem(1 << 64), 1), f"address must be 0 to 2**64 - 1, not {1 << 64}"),
        (Tile(**ROW, n=1, digits=[Digit(2, 4)]),
         "step of an lmem side must be (lanes, cells), not 4"),
        (Tile(Mem(0), Along(0, 0), 1, [Digit(2, (0, 4))]),
         "step of a Mem side must be -2**47 to 2**47 - 1 bytes, not (0, 4)"),
        (Tile(Mem(0), Along(0, 0), 1, [Digit(2, 1 << 47)]),
         f"step of a Mem side must be -2**47 to 2**47 - 1 bytes, not {1 << 47}"),
        (Tile(**ROW, n=1, digits=[Digit(1)] * 7), "digits must be at most 6, not 7"),
        (Tile(**ROW, n=SEGMENT, digits=[Digit(SEGMENT)]),
         f"n must be a number if a digit counts a segment, not {SEGMENT!r}"),
        (Tile(**ROW, n=1, digits=[Digit(1), Digit(SEGMENT)]),
         f"count must be a number in all digits but the first, not {SEGMENT!r}"),
        (Tile(Along(-1, 0), Along(0, 0), 1), "in_lane must be 0 to 4294967295, not -1"),
        (Tile(**ROW, n=1, digits=[Digit(1 << 16)]), "d5_count must be 0 to 65535, not 65536"),
    ],
)  # fmt: skip
def test_refused(tile, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tile.encode()


def test_every_field_can_be_reached():
    """What no object encodes is what this build does not support."""
    digits = [Digit(Segment(2, 3), (1, 1), (1, 1)), *[Digit(3, (1, 1), (1, 1))] * 5]
    reached = _set_fields(Tile(Along(1, 4), Along(1, 4), 1, digits, 2).encode())
    reached |= _set_fields(Tile(Across(1, 4), Across(1, 4), 1, digits[1:], 2).encode())
    left = set(FIELDS) - set(reached)
    assert {name.split("_")[0] for name in left} == {
        "pair", "row", "half", "limit", "ho", "wo", "co", "d0", "d1", "d2", "d3", "d4", "d5",
    }  # fmt: skip
    assert all(name.endswith(("_tag", "_multiplier")) for name in left if name[0] == "d")
