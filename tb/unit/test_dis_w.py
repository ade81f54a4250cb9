"""The write distribution: a beat's element, or the whole beat, to the masked cells of a word."""

import random

from cornerturn import isa
from cornerturn.npu.dis_w import DisW
from unit.bench import cells_of, draw, each_config, trace


def masked(config, write):
    """What is written: the cells under the mask, by their places."""
    cells = enumerate(cells_of(config, write["beat"]))
    return {place: cell for place, cell in cells if write["mask"] >> place & 1}


@each_config
def test_every_element_reaches_every_place(config):
    """In the same cycle: each size, from each position of the beat to each offset of the word."""
    rng = random.Random(10)
    stimulus, expected = [], []
    for code in range(config.element_codes):
        size = 1 << code
        places = range(0, config.beat_cells, size)
        for position in places:
            for offset in places:
                request = draw(
                    rng, isa.write_request(config), valid=1, along=0, position=position, code=code,
                    mask=((1 << size) - 1) << offset,
                )  # fmt: skip
                element = cells_of(config, request["beat"])[position:][:size]
                stimulus.append({"request": request})
                expected.append(dict(enumerate(element, offset)))
    for _ in range(30):
        request = draw(rng, isa.write_request(config), along=1)
        stimulus.append({"request": request})
        expected.append(masked(config, request))
    seen = trace(DisW(config), stimulus, ["write"])
    for inputs, outputs, cells in zip(stimulus, seen, expected, strict=True):
        write = outputs["write"]
        assert masked(config, write) == cells
        assert all(write[name] == inputs["request"][name] for name in ("valid", "word", "mask"))
