"""The hardware's structures against the tables they are made from."""

import itertools
import random

import pytest
from amaranth.hdl import Shape
from cornerturn import fields, isa
from unit.bench import CONFIGS, each_config, plain


def places(layout):
    """Every bit of a layout by the path of its field; the paths of a flat one are its names."""
    return {name: range(f.offset, f.offset + Shape.cast(f.shape).width) for name, f in layout}


def test_descriptor_has_every_field_at_its_place():
    """Name, first bit, width and sign."""
    layout = isa.descriptor()
    assert layout.size == fields.DESCRIPTOR_WIDTH == 64 * 32
    assert {name for name, _ in layout} == set(fields.FIELDS)
    for name, field in fields.FIELDS.items():
        assert layout[name].offset == field.offset
        assert Shape.cast(layout[name].shape) == Shape(field.width, field.signed)


def test_a_packed_descriptor_reads_the_same_in_hardware():
    """Random values in every field, the limits among them."""
    rng = random.Random(19)
    for _ in range(20):
        values = {
            name: rng.choice([*field.limits, rng.randint(*field.limits)])
            for name, field in fields.FIELDS.items()
        }
        constant = isa.descriptor().from_bits(fields.pack(values))
        assert plain(constant) == values


@each_config
def test_sizes_follow_from_the_configuration(config):
    """Lanes, words, places and masks have the bits the configuration says."""
    widths = {
        "skip": config.lane_bits, "step_m1": config.lane_bits,
        "lane": config.lane_bits, "lane_low": config.lane_bits, "lane_high": config.lane_bits,
        "in_step_m1": config.lane_bits, "out_step_m1": config.lane_bits,
        "word": config.word_bits, "word_low": config.word_bits, "word_high": config.word_bits,
        "cell": config.cell_bits, "mask": config.beat_cells, "beat": config.beat_width,
        "position": config.offset_bits, "last_position": config.offset_bits,
        "offset": config.offset_bits, "rotate": config.offset_bits,
        "first": config.offset_bits, "final": config.offset_bits,
        "code": (config.element_codes - 1).bit_length(),
    }  # fmt: skip
    for make in (isa.read_op, isa.write_op, isa.read_request, isa.write_request, isa.lane_read,
                 isa.lane_write, isa.region, isa.address, isa.job, isa.slot_write):  # fmt: skip
        for name, bits in places(make(config)).items():
            assert len(bits) == widths.get(name, 1), name


@each_config
def test_rows_have_bits_for_the_longest(config):
    """Of 2**24 - 1 elements of 8 cells: its cells, and its beats from the last cell of a word."""
    row = places(isa.row(config))
    cells = ((1 << 24) - 1) * 8
    assert cells < 1 << len(row["cells"])
    for name in ("read_beats", "write_beats"):
        assert -(-(cells + config.beat_cells - 1) // config.beat_cells) < 1 << len(row[name])
    for make in (isa.instruction, isa.block, isa.block_trace):
        assert len(places(make(config))["segment"]) == 24
    assert len(places(isa.walk(config))["elements"]) == 24


@each_config
def test_places_are_exact_outside_the_array_too(config):
    """A start, nine loops and digits and the step on to the remainder, each as far as may be."""
    ends = {"lane": config.lane_bits + 4, "offset": config.address_bits}
    for name, field in isa.place(config):
        shape = Shape.cast(field.shape)
        assert shape.signed
        farthest = (1 + len(fields.RECORDS) + 1) << ends[name]
        assert farthest < 1 << (shape.width - 1)
        ends.pop(name)
    assert not ends
    sides = isa.instruction(config)["start"].shape
    assert {name for name, _ in sides} == {"in", "out"}
    # Wherever a place is kept or added up, it is such a place.
    for layout in (sides, isa.instruction(config)["step"].shape.elem_shape,
                   isa.walk(config)["jump"].shape.elem_shape, isa.block(config)["start"].shape,
                   isa.block_trace(config)["offset"].shape, isa.row(config)):  # fmt: skip
        assert layout["in"].shape == layout["out"].shape == isa.place(config)


@each_config
def test_loops_digits_and_limits_have_the_bits_of_their_fields(config):
    """Counts less one, tags, multipliers and limits, in the order of the records."""
    instruction, walk = isa.instruction(config), isa.walk(config)
    loops, digits = 3, 6
    for layout, name, length, bits in (
        (instruction, "repeat_m1", loops, 16), (walk, "count_m1", digits, 16),
        (isa.block_trace(config), "index", loops, 16), (isa.limits(), "limit", loops, 32),
        (isa.limits(), "tag", loops + digits, 2), (isa.limits(), "multiplier", loops + digits, 16),
    ):  # fmt: skip
        array = layout[name].shape
        assert (array.length, Shape.cast(array.elem_shape)) == (length, Shape(bits)), name
    assert instruction["step"].shape.length == loops
    assert walk["jump"].shape.length == digits
    assert list(isa.LOOPS) == ["ho", "wo", "co"]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_fields_do_not_overlap_and_leave_no_gap(config):
    """Of the structures that are made by hand."""
    for make in (isa.read_op, isa.write_op, isa.slot_write, isa.slot, isa.instruction, isa.walk,
                 isa.block, isa.block_trace, isa.place, isa.row):  # fmt: skip
        layout = make(config)
        bits = list(itertools.chain(*places(layout).values()))
        assert sorted(bits) == list(range(layout.size))


def test_outputs_of_the_engine():
    """Index low, status above; the counters in the order of the specification."""
    assert places(isa.completion())["index"] == range(32)
    assert places(isa.completion())["status"] == range(32, 32 + isa.STATUS_BITS)
    assert max(fields.Status) < 1 << isa.STATUS_BITS
    assert list(places(isa.counters())) == [
        "cycles", "beats_read", "beats_written", "stalls_hazard", "stalls_fence", "stalls_port",
        "stalls_completion", "rows", "blocks", "instructions",
    ]  # fmt: skip
    assert all(len(bits) == 32 for bits in places(isa.counters()).values())
    status = places(isa.engine_status())
    assert status["busy"] == range(1)
    assert len(status["index"]) == 32
    assert len(status["address"]) == 64  # lane * 2**32 + cell, or bytes
