"""Parameters of a build: what is refused and with which words, presets, files, latencies."""

import dataclasses
import re

import pytest
from cornerturn.config import PRESETS, Config


def _exactly(message):
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lanes": 1}, "lanes must be 2 to 256, not 1"),
        ({"lanes": 257}, "lanes must be 2 to 256, not 257"),
        ({"lanes_per_hop": 0}, "lanes_per_hop must be 1 to lanes (32), not 0"),
        ({"lanes_per_hop": 33}, "lanes_per_hop must be 1 to lanes (32), not 33"),
        ({"cell_width": 12}, "cell_width must be 4, 8, 16 or 32, not 12"),
        ({"beat_cells": 12}, "beat_cells must be a power of two from 1 to 64, not 12"),
        ({"beat_cells": 0}, "beat_cells must be a power of two from 1 to 64, not 0"),
        ({"beat_cells": 128}, "beat_cells must be a power of two from 1 to 64, not 128"),
        (
            {"beat_cells": 64, "cell_width": 32},
            "beat_cells must be at most 1024 / cell_width (32), not 64",
        ),
        ({"cells": 8}, "cells must be a power of two from 2 * beat_cells (16) to 65536, not 8"),
        (
            {"cells": 4095},
            "cells must be a power of two from 2 * beat_cells (16) to 65536, not 4095",
        ),
        (
            {"cells": 1 << 17},
            "cells must be a power of two from 2 * beat_cells (16) to 65536, not 131072",
        ),
        (
            {"max_element_cells": 3},
            "max_element_cells must be 1, 2, 4 or 8 and at most beat_cells (8), not 3",
        ),
        (
            {"max_element_cells": 8, "beat_cells": 4},
            "max_element_cells must be 1, 2, 4 or 8 and at most beat_cells (4), not 8",
        ),
        (
            {"lanes": 65, "beat_cells": 64},
            "lane_ports must be false if lanes * beat_width (33280) > 32768, not True",
        ),
        ({"lmem": "register"}, "lmem must be 'inferred' or 'blackbox', not 'register'"),
        ({"address_bits": 19}, "address_bits must be 20 to 48, not 19"),
        ({"address_bits": 49}, "address_bits must be 20 to 48, not 49"),
        (
            {"memory_requests": 48},
            "memory_requests must be a power of two from 4 to 256, not 48",
        ),
    ],
)
def test_refused_values(parameters, message):
    with pytest.raises(ValueError, match=_exactly(message)):
        Config(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lanes": "32"}, "lanes must be an integer, not '32'"),
        ({"cells": 4096.0}, "cells must be an integer, not 4096.0"),
        ({"beat_cells": None}, "beat_cells must be an integer, not None"),
        ({"lanes_per_hop": True}, "lanes_per_hop must be an integer, not True"),
        ({"lane_ports": 1}, "lane_ports must be true or false, not 1"),
    ],
)
def test_refused_types(parameters, message):
    with pytest.raises(TypeError, match=_exactly(message)):
        Config(**parameters)


def test_limits_are_legal():
    Config(lanes=2, lanes_per_hop=2, cell_width=4, beat_cells=1, cells=2)
    Config(lanes=256, lanes_per_hop=256, beat_cells=64, cells=65536, lane_ports=False)
    Config(lanes=64, beat_cells=64)
    Config(cell_width=32, beat_cells=32)


def test_largest_element_follows_the_beat():
    assert Config(beat_cells=2).max_element_cells == 2
    assert Config(beat_cells=64).max_element_cells == 8
    assert Config(beat_cells=64, max_element_cells=1).element_codes == 1
    assert Config().replace(beat_cells=4).max_element_cells == 4
    assert Config(max_element_cells=2).replace(lanes=4).max_element_cells == 2


def test_is_frozen_and_compares_by_value():
    config = Config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.lanes = 4
    assert config == PRESETS["default"]
    assert hash(config) == hash(PRESETS["default"])
    assert Config(**config.parameters()) == config


@pytest.mark.parametrize("name", PRESETS)
def test_load_preset(name):
    assert Config.load(name) is PRESETS[name]


def test_load_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("lanes = 12\nlanes_per_hop = 5\nbeat_cells = 4\n")
    assert Config.load(path) == Config(lanes=12, lanes_per_hop=5, beat_cells=4)


def test_load_refuses_what_is_neither_preset_nor_file(tmp_path):
    missing = str(tmp_path / "missing.toml")
    for name in ("huge", missing):
        message = (
            f"config must be one of {', '.join(PRESETS)} or an existing .toml file, not {name!r}"
        )
        with pytest.raises(ValueError, match=_exactly(message)):
            Config.load(name)


def test_load_refuses_unknown_parameters(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("lanes = 12\nlane = 3\n")
    names = ", ".join(sorted(field.name for field in dataclasses.fields(Config)))
    message = f"config file {path} must name only {names}, not lane"
    with pytest.raises(ValueError, match=_exactly(message)):
        Config.load(path)


def test_load_refuses_bad_syntax(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("lanes =\n")
    with pytest.raises(ValueError, match=f"^{re.escape(f'config file {path} must be valid TOML')}"):
        Config.load(path)


def test_sizes():
    config = Config(lanes=33, lanes_per_hop=4, cell_width=16, beat_cells=16, cells=1024)
    assert config.derived().items() >= {
        "words": 64, "beat_width": 256, "lane_bits": 6, "cell_bits": 10, "offset_bits": 4,
        "word_bits": 6, "element_codes": 4, "hops": 9,
    }.items()  # fmt: skip


@pytest.mark.parametrize(
    ("name", "write_delay", "completion_delay", "longest_serial_row", "hold_beats"),
    [
        ("tiny", 11, 16, 4, 0),
        ("default", 39, 72, 32, 0),
        ("wide", 16, 25, 9, 0),
        ("npu64", 72, 137, 33, 0),
    ],
)
def test_latencies(name, write_delay, completion_delay, longest_serial_row, hold_beats):
    config = PRESETS[name]
    assert config.write_delay == write_delay
    assert config.completion_delay == completion_delay
    assert config.longest_serial_row == longest_serial_row
    assert config.hold_beats == hold_beats


def test_few_hops_need_a_hold():
    # 32 lanes behind one register: a row of 32 words is longer than the chain protects.
    config = Config(lanes_per_hop=32)
    assert config.protected_beats == config.write_delay - 1 == 7
    assert config.hold_beats == 32 - 7


def test_every_derived_value_is_a_plain_number():
    for config in PRESETS.values():
        derived = config.derived()
        assert all(type(value) is int for value in derived.values())
        assert derived["completion_delay"] > derived["write_delay"]
