"""Neighbours: which rows go on where the row before ended, and how long that takes to know."""

import random

import pytest
from cornerturn.config import PRESETS
from cornerturn.soc.neighbours import Neighbours
from cornerturn.soc.shapes import GIVE_UP_CYCLES
from unit.streams import flow

CONFIG = PRESETS["default"]


def request(address, size, *, last=0):
    return {"address": address, "bytes": size, "last": last}


def rows_of(requests, cycles=200, **options):
    seen = flow(Neighbours(CONFIG), {"i_request": requests}, ["o_row"], cycles=cycles, **options)
    return seen["i_request"], seen["o_row"]


def test_a_row_is_where_its_request_was():
    rng = random.Random(3)
    requests = [request(rng.getrandbits(31), rng.randint(1, 5000), last=1) for _ in range(40)]
    _, rows = rows_of(requests)
    assert len(rows) == 40
    for (_, row), asked in zip(rows, requests, strict=True):
        first, final = asked["address"], asked["address"] + asked["bytes"] - 1
        words, places = row["words"], row["places"]
        assert (words["block"], words["index"]) == (first >> 7, first >> 3 & 15)
        assert (words["final_block"], words["final_index"]) == (final >> 7, final >> 3 & 15)
        assert words["crosses"] == (final >> 7 != first >> 7)
        assert places["position"] == first % 8
        assert 8 * places["beats_m1"] + places["tail_m1"] + 1 == asked["bytes"]
        assert words["opens"] == words["closes"] == words["last"] == 1


@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.5, 1), (1, 0.4)])
def test_neighbours_are_merged(offer, take):
    """Not behind a `last`, nor when the address is another; either side agrees."""
    rng = random.Random(4)
    requests, at = [], 1000
    for _ in range(60):
        at += rng.choice((0, 0, 0, 1, -1))
        requests.append(request(at, rng.randint(1, 300), last=int(rng.random() < 0.2)))
        at += requests[-1]["bytes"]
    _, rows = rows_of(requests, offer=offer, take=take, cycles=500)
    assert len(rows) == 60
    before = None
    for (_, row), asked in zip(rows, requests, strict=True):
        merged = before is not None and before["address"] + before["bytes"] == asked["address"]
        merged = merged and not before["last"]
        assert row["words"]["opens"] == row["places"]["opens"] == (not merged)
        if merged:
            final = asked["address"] + asked["bytes"] - 1
            crosses = final >> 7 != asked["address"] - 1 >> 7
            assert row["words"]["crosses"] == crosses
        before = asked
    opens = [row["words"]["opens"] for _, row in rows]
    closes = [row["words"]["closes"] for _, row in rows]
    assert closes == [*opens[1:], 1]


def test_latency_and_rate():
    """Four cycles if the row behind follows at once, or if there is none to wait for."""
    sent, rows = rows_of([request(10 * k, 10, last=int(k == 49)) for k in range(50)])
    assert [cycle for cycle, _ in sent] == list(range(50))
    assert [cycle for cycle, _ in rows] == list(range(4, 54))


def test_a_row_without_a_row_behind_waits_no_longer_than_this():
    sent, rows = rows_of([request(0, 10)])
    assert rows[0][0] == sent[0][0] + 4 + GIVE_UP_CYCLES
    assert rows[0][1]["words"]["closes"]


def test_flush_drops_what_is_inside():
    requests = [request(10 * k, 10) for k in range(20)]
    sent, rows = rows_of(requests, flush=10)
    after = sum(cycle > 10 for cycle, _ in sent)
    assert sum(cycle > 10 for cycle, _ in rows) == after
    assert next(row for cycle, row in rows if cycle > 10)["words"]["opens"]
