"""The unpacker: beats out of bus words, so many cycles after the last word they need."""

import random

import pytest
from cornerturn.soc.unpacker import Unpacker
from unit.memory_side import CONFIGS
from unit.streams import flow

CONFIG = CONFIGS["default"]
WORDS = [{"data": random.Random(k).getrandbits(64), "error": int(k == 5)} for k in range(60)]


def place(position, size, *, opens=0, final=1):
    end = position + size
    return {
        "index": 0, "position": position, "end": end, "crosses": int(end > 8), "opens": opens,
        "closes": 0, "final": final,
    }  # fmt: skip


def memory(first, size, at=0):
    """`size` bytes from byte `first` of word `at` on."""
    data = sum(word["data"] << 64 * k for k, word in enumerate(WORDS))
    return data >> 64 * at + 8 * first & ((1 << 8 * size) - 1)


def beats_of(places, cycles=100, **options):
    inputs = {"i_place": places, "i_word": WORDS}
    return flow(Unpacker(CONFIG), inputs, ["o_beat"], cycles=cycles, **options)


@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.5, 0.8), (0.8, 0.5)])
@pytest.mark.parametrize("position", [0, 1, 7])
def test_a_long_row(position, offer, take):
    places = [place(position, 8, opens=int(k == 0)) for k in range(40)]
    seen = beats_of(places, cycles=160, offer=offer, take=take)
    assert len(seen["o_beat"]) == 40
    for k, (_, beat) in enumerate(seen["o_beat"]):
        assert beat["beat"] == memory(position, 8, k)
        assert beat["error"] == (5 in (k, k + bool(position)))


def test_short_neighbours_share_a_word():
    places = [place(3 * k % 8, 3, opens=int(k == 0)) for k in range(40)]
    seen = beats_of(places)
    for k, (_, beat) in enumerate(seen["o_beat"]):
        assert beat["beat"] & 0xFFFFFF == memory(3 * k, 3)
    assert len(seen["i_word"]) == 15
    cycles = [cycle for cycle, _ in seen["o_beat"]]
    assert cycles == list(range(cycles[0], cycles[0] + 40))


@pytest.mark.parametrize(("name", "cycles"), [("default", 3), ("wide", 4)])
def test_latency(name, cycles):
    config = CONFIGS[name]
    places = [place(0, 8, opens=1)]
    words = [{"data": 5, "error": 0}]
    inputs = {"i_place": places, "i_word": words}
    seen = flow(Unpacker(config), inputs, ["o_beat"], cycles=20)
    assert seen["o_beat"][0][0] == seen["i_word"][0][0] + cycles


def test_a_beat_that_opens_in_two_words_takes_two_cycles():
    seen = beats_of([place(6, 5, opens=1) for _ in range(30)])
    cycles = [cycle for cycle, _ in seen["o_beat"]]
    assert cycles == list(range(4, 64, 2))
    for k, (_, beat) in enumerate(seen["o_beat"]):
        assert beat["beat"] & (1 << 40) - 1 == memory(6, 5, 2 * k)


@pytest.mark.parametrize("cycle", [20, 21])
def test_flush_drops_what_is_inside(cycle):
    """The word before, too: the row that follows opens."""
    places = [place(6, 5, opens=1) for _ in range(60)]
    seen = beats_of(places, flush=cycle)
    after = [beat for now, beat in seen["o_beat"] if now > cycle]
    first = sum(now <= cycle for now, _ in seen["i_word"])
    for k, beat in enumerate(after):
        assert beat["beat"] & (1 << 40) - 1 == memory(6, 5, first + 2 * k)
