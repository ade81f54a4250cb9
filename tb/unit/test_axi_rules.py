"""The checker of the bus: a good trace passes, and each rule broken is seen."""

import copy

import pytest
from axi_rules import Rules

ADDRESS = {"id": 0, "len": 1, "size": 3, "burst": 1, "cache": 3, "prot": 0}
IDLE = {f"{channel}{side}": 0 for channel in ("ar", "aw", "w", "b", "r") for side in (
    "valid", "ready")}  # fmt: skip


def channel(name, ready=1, **payload):
    signals = {f"{name}{field}": value for field, value in payload.items()}
    return signals | {f"{name}valid": 1, f"{name}ready": ready}


def good():
    """A write of two words and a read of two, each waiting for a cycle on every channel."""
    write = ADDRESS | {"addr": 0x1000}
    words = [{"data": 5, "strb": 0xFF, "last": 0}, {"data": 6, "strb": 0x0F, "last": 1}]
    read = [{"id": 0, "data": 7, "resp": 0, "last": 0}, {"id": 0, "data": 8, "resp": 0, "last": 1}]
    cycles = [
        channel("aw", 0, **write) | channel("ar", 0, **write),
        channel("aw", **write) | channel("w", 0, **words[0]) | channel("ar", **write),
        channel("w", **words[0]) | channel("r", 0, **read[0]),
        channel("w", **words[1]) | channel("r", **read[0]),
        channel("b", 0, id=0, resp=0) | channel("r", **read[1]),
        channel("b", id=0, resp=0),
    ]
    return [IDLE | cycle for cycle in cycles]


def check(cycles, **options):
    rules = Rules(bus_bytes=8, **options)
    for cycle in cycles:
        rules.cycle(cycle)
    rules.finish()
    return rules


def test_a_good_trace():
    rules = check(good())
    (write,), (read,) = rules.writes, rules.reads
    assert (write.address, write.length, write.cycle) == (0x1000, 2, 1)
    assert write.beats == [(2, 5, 0xFF), (3, 6, 0x0F)]
    assert read.beats == [(3, 7, 0), (4, 8, 0)]


@pytest.mark.parametrize(
    ("cycles", "changes"),
    [
        ([0, 1], {"araddr": 0x1FF8}),  # crosses 4 KiB
        ([0, 1], {"awaddr": 0x1004}),  # not a word
        ([0, 1], {"arsize": 2}),
        ([0, 1], {"awburst": 2}),
        ([0, 1], {"arlen": 200}),  # longer than this bench allows
        ([0], {"araddr": 0x1008}),  # each channel changes while it waits
        ([0], {"awlen": 2}),
        ([1], {"wdata": 4}),
        ([2], {"rdata": 4}),
        ([4], {"bresp": 2}),
        ([1], {"awvalid": 0}),  # withdrawn
        ([1, 2], {"wlast": 1}),
        ([3], {"wlast": 0}),
        ([4], {"rlast": 0}),
        ([5], {"bvalid": 0}),  # left over
        ([3], {"wvalid": 0}),
        ([0, 1], {"awvalid": 0}),  # data before its address
        ([3], {"bvalid": 1, "bready": 1, "bid": 0, "bresp": 0}),  # answered before the last beat
        ([0, 1], {"arvalid": 0}),  # data for nothing
    ],
)
def test_each_rule(cycles, changes):
    trace = copy.deepcopy(good())
    for cycle in cycles:
        trace[cycle] |= changes
    with pytest.raises(AssertionError):
        check(trace, longest=128)


def test_outstanding_bursts_are_counted():
    trace = good()
    with pytest.raises(AssertionError):
        check([*trace[:2], *trace[:2]], outstanding=1)
