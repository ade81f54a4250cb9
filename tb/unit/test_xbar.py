"""The read crossbar: any element of a word to any place of a beat, or the whole word."""

import random

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from cornerturn.npu.xbar import Xbar, pick
from unit.bench import CONFIGS, beat_of, cells_of, each_config, trace

LATENCY = 3
LANE_PORT_LATENCY = 2


def requests(rng, config, cycles):
    """Requests and pauses; what a request does not use is random."""
    for _ in range(cycles):
        code = rng.randrange(config.element_codes)
        places = range(0, config.beat_cells, 1 << code)
        yield {
            "valid": rng.random() < 0.8,
            "along": rng.random() < 0.4,
            "position": rng.choice(places),
            "offset": rng.choice(places),
            "word": rng.randrange(config.words),
            "code": code,
        }


@each_config
def test_element_or_word_three_cycles_later(config):
    """What comes of a word put into an empty beat is right, for every element and place."""
    rng = random.Random(2)
    stimulus = [{"request": request} for request in requests(rng, config, 400)]
    words = [rng.getrandbits(config.beat_width) for _ in stimulus]
    for cycle in range(1, len(stimulus)):
        stimulus[cycle]["data"] = words[cycle - 1]  # the memory answers a cycle later
    seen = trace(Xbar(config), stimulus, ["word", "element", "enable", "word_q"])
    for cycle, word in enumerate(words[:-LATENCY]):
        request, outputs = stimulus[cycle]["request"], seen[cycle + LATENCY]
        assert seen[cycle + LANE_PORT_LATENCY]["word_q"] == word
        size = 1 << request["code"]
        if request["valid"] and not request["along"]:
            element = cells_of(config, word)[request["offset"] :][:size]
            repeated = element * (config.max_element_cells // size)
            assert outputs["element"] == beat_of(config, repeated)
            assert outputs["enable"] == ((1 << size) - 1) << request["position"]
        else:
            assert outputs["enable"] == 0
        assert outputs["word"] == (word if request["valid"] and request["along"] else 0)


class Pick(wiring.Component):
    """`pick` with its arguments as ports."""

    def __init__(self, config):
        self._config = config
        super().__init__({
            "beat": In(config.beat_width),
            "position": In(config.offset_bits),
            "code": In(range(config.element_codes)),
            "o": Out(config.max_element_cells * config.cell_width),
        })  # fmt: skip

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(pick(self._config, self.beat, self.position, self.code))
        return m


@each_config
def test_pick_repeats_each_element(config):
    """Every element of every size at every position."""
    rng = random.Random(3)
    cases = [
        {"beat": rng.getrandbits(config.beat_width), "position": position, "code": code}
        for code in range(config.element_codes)
        for position in range(0, config.beat_cells, 1 << code)
    ]
    for case, outputs in zip(cases, trace(Pick(config), cases, ["o"]), strict=True):
        size = 1 << case["code"]
        element = cells_of(config, case["beat"])[case["position"] :][:size]
        assert cells_of(config, outputs["o"])[: config.max_element_cells] == element * (
            config.max_element_cells // size
        )


def test_latency_is_the_one_of_the_configuration():
    """The chain relies on it."""
    assert all(config.sram_latency == LATENCY for config in CONFIGS.values())
