"""A compute unit's own access to a lane's lmem, beside the chain's."""

import itertools
import random

import numpy as np
import pytest
from cornerturn import isa
from cornerturn.config import PRESETS, Config
from cornerturn.npu.lane_port import LanePort
from cornerturn_model import golden
from cornerturn_model.instruction import Across, Along, Digit, Tile
from cornerturn_sim.job import Access
from cornerturn_sim.simulation import Simulation
from unit.bench import draw, trace

OUTPUTS = ("read_ready", "write_ready", "lmem_read", "lmem_write")
TWO_WORDS = Config(lanes=2, cells=8, beat_cells=4)


def test_every_combination_of_accesses():
    """Four accesses, each none or of one of two words: who is served, and with what."""
    rng = random.Random(11)
    choices = list(itertools.product((None, 0, 1), repeat=4))
    stimulus = []
    for words in choices:
        names = ("chain_read", "chain_write", "read", "write")
        layouts = (isa.lane_read, isa.lane_write) * 2
        stimulus.append({
            name: draw(rng, layout(TWO_WORDS), valid=word is not None)
            | ({} if word is None else {"word": word})
            for name, layout, word in zip(names, layouts, words, strict=True)
        })  # fmt: skip
    seen = trace(LanePort(TWO_WORDS), stimulus, OUTPUTS)
    for inputs, outputs, words in zip(stimulus, seen, choices, strict=True):
        chain_read, chain_write, read, write = words
        served_read, served_write = outputs["lmem_read"], outputs["lmem_write"]
        # The chain is always served.
        if chain_read is not None:
            assert served_read == inputs["chain_read"]
        if chain_write is not None:
            assert served_write == inputs["chain_write"]
        # The port's write: when the chain neither writes nor reads this word.
        writes = write is not None and chain_write is None and chain_read != write
        # The port's read: when the chain does not read, and nobody writes this word.
        written = chain_write if chain_write is not None else write if writes else None
        reads = read is not None and chain_read is None and written != read
        if write is not None:
            assert outputs["write_ready"] == writes
        if read is not None:
            assert outputs["read_ready"] == reads
        if writes:
            assert served_write == inputs["write"]
        if reads:
            assert served_read == inputs["read"]
        assert served_read["valid"] == (reads or chain_read is not None)
        assert served_write["valid"] == (writes or chain_write is not None)
        if served_read["valid"] and served_write["valid"] and chain_read != chain_write:
            assert served_read["word"] != served_write["word"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
def test_ports_beside_tiles_that_use_parts_of_the_same_words(seed):
    """Tiles move the low halves of words, the ports the high halves: nothing is lost, or mixed up.

    The simulation itself fails if a word is ever read and written in one cycle.
    """
    config = PRESETS["default"].replace(cells=128)
    rng = random.Random(seed)
    memory = np.random.default_rng(seed).integers(
        0, 256, (config.lanes, config.cells), golden.cell_dtype(config)
    )
    half = config.beat_cells // 2
    # Words 0-3 to words 4-7, across and along, in both directions: low halves only.
    digits = (Digit(4, (0, 8), (0, 8)), Digit(4, (0, 1), (1, 0)))
    program = [
        Tile(Across(4 * part, 0), Along(4 * part, 32), half, digits) for part in range(8)
    ] + [
        Tile(
            Along(0, 32), Along(0, 64), half, (Digit(32, (1, 0), (1, 0)), Digit(4, (0, 8), (0, 8)))
        )
    ]
    expected = golden.run(config, memory, program).lmem
    accesses, touched = [], set()
    for number in range(600):
        lane, word = rng.randrange(config.lanes), rng.randrange(12)
        cycle = number // 2
        if rng.random() < 0.5 and (lane, word) not in touched:
            touched.add((lane, word))
            data, mask = rng.getrandbits(64), rng.getrandbits(half) << half
            accesses.append(Access(cycle=cycle, lane=lane, word=word, data=data, mask=mask))
        else:
            accesses.append(Access(cycle=cycle, lane=lane, word=word))
    with Simulation(config) as simulation:
        simulation.load(memory)
        result = simulation.run(program, accesses=tuple(accesses))
        end = simulation.read()
    written = {}
    for access, answer in zip(accesses, result.answers, strict=True):
        if access.data is None:
            continue
        cells = access.data.to_bytes(8, "little")
        masks = [access.mask >> cell & 1 for cell in range(8)]
        written[access.lane, access.word] = answer.cycle, cells, masks
        for cell in range(8):
            if masks[cell]:
                expected[access.lane, 8 * access.word + cell] = cells[cell]
    assert (end == expected).all()
    # A read sees the high half as it was before or after the port's only write of the word.
    for access, answer in zip(accesses, result.answers, strict=True):
        if access.data is not None:
            continue
        word = memory[access.lane, 8 * access.word :][:8].tolist()
        when, cells, masks = written.get((access.lane, access.word), (1 << 30, [], []))
        if when < answer.cycle:
            word = [new if mask else old for old, new, mask in zip(word, cells, masks, strict=True)]
        assert list(answer.data.to_bytes(8, "little"))[half:] == word[half:]
    assert result.counters["beats_read"] == 8 * 16 + 32 * 4
    assert result.cycles == golden.run(config, memory, program).cycles
