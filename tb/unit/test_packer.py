"""The packer: bus words out of beats, so many cycles after the beat that fills them."""

import random

import pytest
from cornerturn.soc.packer import Packer
from unit.memory_side import CONFIGS
from unit.streams import flow

CONFIG = CONFIGS["default"]
BEATS = [random.Random(k).getrandbits(64) for k in range(60)]


def place(position, size, *, index=0, closes=0):
    end = position + size
    return {
        "index": index, "position": position, "end": end, "crosses": int(end > 8), "opens": 0,
        "closes": closes, "final": 1,
    }  # fmt: skip


def words_of(places, cycles=100, **options):
    inputs = {"i_place": places, "i_beat": BEATS[: len(places)]}
    return flow(Packer(CONFIG), inputs, ["o_word"], cycles=cycles, **options)


def written(words):
    """Bytes that count, in order."""
    return [
        word["data"] >> 8 * byte & 0xFF
        for _, word in words
        for byte in range(8)
        if word["strobes"] >> byte & 1
    ]


def bytes_of(places):
    return [
        beat >> 8 * byte & 0xFF
        for beat, where in zip(BEATS, places, strict=False)
        for byte in range(where["end"] - where["position"])
    ]


@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.5, 0.8), (0.8, 0.5)])
@pytest.mark.parametrize("position", [0, 1, 7])
def test_a_long_row(position, offer, take):
    places = [place(position, 8, index=k % 16, closes=int(k == 39)) for k in range(40)]
    seen = words_of(places, cycles=160, offer=offer, take=take)
    words = [word for _, word in seen["o_word"]]
    assert len(words) == 40 + bool(position)
    assert written(seen["o_word"]) == bytes_of(places)
    assert words[0]["strobes"] == 0xFF << position & 0xFF
    assert words[-1]["strobes"] == (0xFF >> 8 - position if position else 0xFF)
    assert all(word["strobes"] == 0xFF for word in words[1:-1])
    final = len(words) - 1
    assert [k for k, word in enumerate(words) if word["last"]] == sorted({15, 31, final})


def test_short_neighbours_fill_a_word():
    places = [place(3 * k % 8, 3, closes=int(k == 39)) for k in range(40)]
    seen = words_of(places)
    assert written(seen["o_word"]) == bytes_of(places)
    assert len(seen["o_word"]) == 15
    assert [cycle for cycle, _ in seen["i_beat"]] == list(range(40))


@pytest.mark.parametrize(("name", "cycles"), [("default", 2), ("wide", 3)])
def test_latency(name, cycles):
    config = CONFIGS[name]
    where = place(0, config.bus_width // 8) | {"crosses": 0}
    seen = flow(Packer(config), {"i_place": [where], "i_beat": [7]}, ["o_word"], cycles=20)
    assert seen["o_word"][0][0] == seen["i_beat"][0][0] + cycles


def test_a_beat_that_closes_in_two_words_takes_two_cycles():
    places = [place(6, 5, closes=1) for _ in range(30)]
    seen = words_of(places)
    assert [cycle for cycle, _ in seen["i_beat"]] == list(range(0, 60, 2))
    assert [cycle for cycle, _ in seen["o_word"]] == list(range(2, 62))
    assert written(seen["o_word"]) == bytes_of(places)
    assert all(word["last"] for _, word in seen["o_word"][1::2])


def test_flush_drops_what_is_inside():
    """What is kept of a word, too."""
    places = [place(3 * k % 8, 3) for k in range(5)] + [place(0, 8) for _ in range(20)]
    seen = words_of(places, flush=5)
    after = [(cycle, word) for cycle, word in seen["o_word"] if cycle > 5]
    assert [word["data"] for _, word in after] == BEATS[6:25]
    assert all(word["strobes"] == 0xFF for _, word in after)
