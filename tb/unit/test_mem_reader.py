"""The reader: every byte of every row, whatever the memory does, and at full rate."""

import random

import pytest
from cornerturn.soc.mem_reader import MemReader
from unit.memory_side import BASE, CONFIGS, Side, beats_of, some_rows

each = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def check(side, rows):
    """The beats are those of the rows, with the errors of their words."""
    config, memory = side.config, side.memory
    size = config.bus_width // 8
    got = [payload for _, payload in side.beats]
    expected = []
    for row in rows:
        at = row["address"]
        data = memory.data[at - BASE : at - BASE + row["bytes"]]
        for number, (value, bits) in enumerate(beats_of(config, data)):
            first = at + number * config.beat_width // 8
            final = at + (number * config.beat_width + bits - 1) // 8
            words = {first - first % size, final - final % size}
            expected.append((value, bits, bool(words & memory.errors)))
    assert len(got) == len(expected)
    for payload, (value, bits, error) in zip(got, expected, strict=True):
        assert payload & ((1 << bits) - 1) == value
        assert payload >> config.beat_width == error


def read(config, rows, **options):
    side = Side(MemReader(config), config, **options)
    side.requests = [dict(row) for row in rows]
    side.run()
    check(side, rows)
    return side


@each
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_every_kind(config, seed):
    rng = random.Random(seed)
    rows = some_rows(config, rng, 60)
    latency = rng.choice((0, 3, 20, 200))
    chance = {name: rng.choice((0.2, 0.7, 1)) for name in ("ar", "r", "request", "beat")}
    wait = rng.random() < 0.5
    read(
        config, rows, seed=seed, chance=chance,
        latency=(lambda: rng.randint(0, latency)) if wait else latency,
    )  # fmt: skip
