"""One lane: a micro-op reads and writes its memory; the lane port uses the rest of the time."""

import random

import pytest
from cornerturn import isa
from cornerturn.npu.npu import Npu
from unit.bench import beat_of, cells_of, draw, each_config, trace
from unit.micro_ops import Lanes, random_read, random_write

PORT_LATENCY = 2


def chain_traffic(rng, config, cycles):
    """Reads and writes of lane 0 and of others, never of one word of lane 0 in one cycle."""
    none = {
        "i_read": draw(rng, isa.read_op(config), valid=0, skip=0),
        "i_write": draw(rng, isa.write_op(config), valid=0, skip=0),
    }
    for _ in range(cycles):
        read, write = rng.sample(range(config.words), 2)
        inputs = dict(none)
        if rng.random() < 0.6:
            first = rng.choice([0, 0, 1])
            inputs["i_read"] = random_read(rng, config, first=first, word=read)
        if rng.random() < 0.6:
            first = rng.choice([0, 0, 1])
            inputs["i_write"] = random_write(rng, config, first=first, word=write)
        yield inputs


def hits(op):
    """Whether a micro-op hits lane 0."""
    return op["valid"] and op["skip"] == 0


def part(op):
    """What lane 0 does of an across micro-op: its first hit."""
    return op | {"last_position": op["position"]}


@each_config
@pytest.mark.parametrize("port", [False, True])
def test_reads_and_writes(config, port):
    """A lane's part joins the beat that passes three cycles behind its micro-op."""
    rng = random.Random(12)
    stimulus = list(chain_traffic(rng, config, 500))
    lane, parts, port_data = Lanes(config), [], []
    for inputs in stimulus:
        read, write = inputs["i_read"], inputs["i_write"]
        parts.append(lane.read(part(read)) if hits(read) else 0)
        # The beat is empty where this lane's part will be: its own bits, shifted out of the way.
        if len(parts) > config.sram_latency:
            passing = cells_of(config, rng.getrandbits(config.beat_width))
            mine = cells_of(config, parts[-1 - config.sram_latency])
            inputs["i_beat"] = beat_of(
                config, [a if not b else 0 for a, b in zip(passing, mine, strict=True)]
            )
        port_data.append(None)
        if port:
            words = range(config.words)
            inputs["read"] = {"valid": rng.random() < 0.7, "word": rng.choice(words)}
            inputs["write"] = draw(rng, isa.lane_write(config), word=rng.choice(words))
            mine = inputs["read"]["word"]
            writes = inputs["write"]["valid"] and not hits(write)
            writes &= not (hits(read) and read["word"] == inputs["write"]["word"])
            written = write["word"] if hits(write) else inputs["write"]["word"] if writes else None
            if inputs["read"]["valid"] and not hits(read) and written != mine:
                port_data[-1] = beat_of(config, lane.words[0][mine])
            if writes:
                data = enumerate(cells_of(config, inputs["write"]["beat"]))
                mask = inputs["write"]["mask"]
                cells = {cell: value for cell, value in data if mask >> cell & 1}
                lane.store(0, inputs["write"]["word"], cells)
        if hits(write):
            lane.write(part(write))
    names = ["o_beat", "collision", "o_read", "o_write"]
    names += ["read_data", "read_ready", "write_ready"] * port
    seen = trace(Npu(config, port=port, watch=True), stimulus, names)
    for cycle, (inputs, outputs) in enumerate(zip(stimulus, seen, strict=True)):
        expected = inputs.get("i_beat", 0)
        if cycle >= config.sram_latency:
            expected |= parts[cycle - config.sram_latency]
            assert outputs["o_beat"] == expected
        assert not outputs["collision"]
        assert outputs["o_write"]["last"] == inputs["i_write"]["last"]
        for name in ("read", "write"):
            if not inputs[f"i_{name}"]["valid"]:
                assert not outputs[f"o_{name}"]["valid"]
        if port and port_data[cycle] is not None:
            assert outputs["read_ready"]
            if cycle + PORT_LATENCY < len(seen):
                assert seen[cycle + PORT_LATENCY]["read_data"] == port_data[cycle]
    assert any(parts)
    assert not port or sum(data is not None for data in port_data) > 20


@each_config
def test_collision_is_a_read_and_a_write_of_one_word(config):
    """In the same cycle, and only then."""
    rng = random.Random(13)
    stimulus = [
        {
            "i_read": random_read(rng, config, first=0, word=rng.randrange(2)),
            "i_write": random_write(rng, config, first=rng.randrange(2), word=rng.randrange(2)),
        }
        for _ in range(40)
    ]
    seen = trace(Npu(config, port=False, watch=True), stimulus, ["collision"])
    for inputs, outputs in zip(stimulus, seen, strict=True):
        same = inputs["i_read"]["word"] == inputs["i_write"]["word"]
        assert outputs["collision"] == (same and hits(inputs["i_write"]))
