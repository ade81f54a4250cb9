"""The walk: the place of every beat of a row, two cycles later, one a cycle."""

import random

import pytest
from cornerturn.soc.shapes import Sizes
from cornerturn.soc.walk import Walk
from unit.memory_side import CONFIGS
from unit.streams import flow


def some_row(rng, sizes, units):
    beats, tail = divmod(units - 1, sizes.beat_units)
    return {
        "index": rng.randrange(16),
        "position": rng.randrange(sizes.bus_units),
        "beats_m1": beats,
        "tail_m1": tail,
        "opens": rng.randrange(2),
        "closes": rng.randrange(2),
    }


def places(sizes, row):
    """Where the beats of a row lie, from its units one by one."""
    size = row["beats_m1"] * sizes.beat_units + row["tail_m1"] + 1
    start = row["index"] * sizes.bus_units + row["position"]
    for first in range(0, size, sizes.beat_units):
        at = start + first
        end = at % sizes.bus_units + min(sizes.beat_units, size - first)
        final = first + sizes.beat_units >= size
        yield {
            "index": at // sizes.bus_units % 16,
            "position": at % sizes.bus_units,
            "end": end,
            "crosses": int(end > sizes.bus_units),
            "opens": int(row["opens"] and first == 0),
            "closes": int(row["closes"] and final),
            "final": int(final),
        }


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.4, 1), (1, 0.5)])
def test_every_beat_has_its_place(config, offer, take):
    rng = random.Random(2)
    sizes = Sizes(config)
    rows = [some_row(rng, sizes, rng.randint(1, 3 * sizes.bus_units)) for _ in range(20)]
    rows += [some_row(rng, sizes, 1) for _ in range(10)]
    expected = [place for row in rows for place in places(sizes, row)]
    cycles = 3 * len(expected) + 100
    seen = flow(Walk(config), {"i_row": rows}, ["o_place"], cycles=cycles, offer=offer, take=take)
    assert [place for _, place in seen["o_place"]] == expected
    if offer == take == 1:
        first = seen["i_row"][0][0] + 2
        assert [cycle for cycle, _ in seen["o_place"]] == list(range(first, first + len(expected)))


def test_rows_of_greatest_length():
    config = CONFIGS["nibble"]
    sizes = Sizes(config)
    row = some_row(random.Random(1), sizes, (1 << 31) - 2)
    assert row["beats_m1"].bit_length() == sizes.beats_bits
    seen = flow(Walk(config), {"i_row": [row]}, ["o_place"], cycles=50)
    assert len(seen["o_place"]) == 48
    assert not any(place["final"] for _, place in seen["o_place"])
