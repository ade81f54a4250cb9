"""The SRAM of one lane: a read port, a write port with a mask of cells."""

import random

import pytest
from amaranth.back import rtlil
from cornerturn.npu.lmem import Lmem
from unit.bench import CONFIGS, beat_of, cells_of, each_config, trace


def traffic(rng, config, cycles):
    """Reads and writes at random, never of one word in one cycle."""
    for _ in range(cycles):
        read, write = rng.randrange(config.words), rng.randrange(config.words)
        yield {
            "read": {"valid": rng.random() < 0.8, "word": read},
            "write": {
                "valid": read != write and rng.random() < 0.8,
                "word": write,
                "mask": rng.getrandbits(config.beat_cells),
                "beat": rng.getrandbits(config.beat_width),
            },
        }


@each_config
def test_words_come_a_cycle_after_their_read(config):
    """Only the cells under the mask of a valid write change."""
    rng = random.Random(1)
    stimulus = list(traffic(rng, config, 40 * config.words))
    memory = [[0] * config.beat_cells for _ in range(config.words)]
    expected, seen = [], []
    for inputs, outputs in zip(stimulus, trace(Lmem(config), stimulus, ["data"]), strict=True):
        if expected:
            seen.append((outputs["data"], expected.pop()))
        read, write = inputs["read"], inputs["write"]
        if read["valid"]:
            expected.append(beat_of(config, memory[read["word"]]))
        if write["valid"]:
            for cell, value in enumerate(cells_of(config, write["beat"])):
                if write["mask"] >> cell & 1:
                    memory[write["word"]][cell] = value
    assert len(seen) > 10 * config.words
    assert all(got == wanted for got, wanted in seen)


@pytest.mark.parametrize("lmem", ["inferred", "blackbox"])
def test_memory_is_described_or_an_instance(lmem):
    """A black box has no memory of its own, and knows its sizes."""
    config = CONFIGS["tiny"].replace(lmem=lmem)
    text = rtlil.convert(Lmem(config), emit_src=False)
    assert ("\\cornerturn_sram" in text) == (lmem == "blackbox")
    assert ("memory width" in text) == (lmem == "inferred")
    if lmem == "blackbox":
        for name, value in (("WIDTH", config.beat_width), ("DEPTH", config.words),
                            ("CELL_WIDTH", config.cell_width)):  # fmt: skip
            assert f"parameter \\{name} {value}\n" in text
