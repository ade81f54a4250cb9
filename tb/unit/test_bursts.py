"""Bursts: every bus word of the rows once, in aligned blocks, as early as can be."""

import random

import pytest
from cornerturn.config import PRESETS
from cornerturn.soc.bursts import Bursts
from cornerturn.soc.shapes import PATIENCE_CYCLES
from unit.streams import flow

CONFIG = PRESETS["default"]
WORD = 8


def request(address, size, *, last=0):
    return {"address": address, "bytes": size, "last": last}


def run(requests, *, patience=None, cycles=300, **options):
    block = Bursts(CONFIG, patience=patience)
    return flow(block, {"i_request": requests}, ["o_row", "o_burst"], cycles=cycles, **options)


def words(bursts):
    return [b["word"] + k for _, b in bursts for k in range(b["words_m1"] + 1)]


def expected_words(requests):
    """Words of all rows; the one in which two merged rows meet is there once."""
    result, before = [], None
    for asked in requests:
        first, final = asked["address"] // WORD, (asked["address"] + asked["bytes"] - 1) // WORD
        merged = before and not before["last"]
        merged = merged and before["address"] + before["bytes"] == asked["address"]
        if merged and result[-1] == first:
            first += 1
        result += range(first, final + 1)
        before = asked
    return result


@pytest.mark.parametrize("patience", [None, 3])
@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.5, 1), (1, 0.4)])
def test_every_word_is_in_one_burst(patience, offer, take):
    rng = random.Random(5)
    requests, at = [], 1000
    for _ in range(80):
        at += rng.choice((0, 0, 0, 0, 100, -7))
        size = rng.choice((1, 2, 3, 3, 8, 20, 128, 300))
        requests.append(request(at, size, last=int(rng.random() < 0.1)))
        at += size
    requests[-1]["last"] = 1
    seen = run(requests, patience=patience, offer=offer, take=take, cycles=600)
    assert len(seen["o_row"]) == 80
    assert words(seen["o_burst"]) == expected_words(requests)
    for _, burst in seen["o_burst"]:
        assert burst["word"] // 16 == (burst["word"] + burst["words_m1"]) // 16
    lasts = sum(asked["last"] for asked in requests)
    marks = sum(burst["last"] for _, burst in seen["o_burst"])
    # What is asked for early is not marked, and a reader does not look.
    assert marks == lasts if patience is None else marks <= lasts


def test_latency_and_rate():
    seen = run([request(64 * k, 8, last=int(k == 49)) for k in range(50)])
    assert [cycle for cycle, _ in seen["i_request"]] == list(range(50))
    assert [cycle for cycle, _ in seen["o_row"]] == list(range(4, 54))
    assert [cycle for cycle, _ in seen["o_burst"]] == list(range(6, 56))


def test_neighbours_come_at_full_rate_and_a_long_row_gives_a_burst_a_cycle():
    seen = run([request(3 * k, 3, last=int(k == 199)) for k in range(200)])
    assert [cycle for cycle, _ in seen["i_request"]] == list(range(200))
    seen = run([request(100, 6400, last=1)])
    cycles = [cycle for cycle, _ in seen["o_burst"]]
    assert cycles == list(range(6, 6 + len(cycles)))


def test_rows_in_two_blocks_take_two_cycles():
    seen = run([request(125 + 128 * k, 8, last=int(k == 19)) for k in range(20)])
    assert [cycle for cycle, _ in seen["o_burst"]] == list(range(6, 46))


def test_rows_come_out_while_bursts_wait():
    """However many bursts a row has."""
    seen = run([request(0, 64000), request(64000, 64000, last=1)], take=0, cycles=60)
    assert not seen["o_row"]
    block = Bursts(CONFIG)
    rows = []

    def take_rows(ctx):
        ctx.set(block.o_row.ready, 1)
        rows.append(ctx.get(block.o_row.valid))

    flow(
        block, {"i_request": [request(0, 64000), request(64000, 64000, last=1)]}, ["o_burst"],
        take=0, cycles=60, watch=take_rows,
    )  # fmt: skip
    assert sum(rows) == 2


def test_words_wait_for_their_burst_no_longer_than_this():
    """Neighbours every 10 cycles, of which 16 are a burst."""
    block = Bursts(CONFIG, patience=PATIENCE_CYCLES)
    seen = flow(
        block, {"i_request": [request(8 * k, 8, last=int(k == 39)) for k in range(40)]},
        ["o_row", "o_burst"], cycles=800, offer=0.1,
    )  # fmt: skip
    assert words(seen["o_burst"]) == list(range(40))
    taken = [cycle for cycle, _ in seen["i_request"]]
    for cycle, burst in seen["o_burst"]:
        # 6 cycles, and until the neighbour is known.
        assert cycle - taken[burst["word"]] <= 6 + 16 + 1 + PATIENCE_CYCLES


def test_flush_drops_what_is_inside():
    requests = [request(64 * k, 8, last=1) for k in range(40)]
    seen = run(requests, flush=20, take=0.5)
    sent = [asked["address"] // WORD for cycle, asked in seen["i_request"] if cycle > 20]
    assert [burst["word"] for cycle, burst in seen["o_burst"] if cycle > 20] == sent
