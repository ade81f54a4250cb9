"""All lanes in series: the first order of a row comes by construction."""

import random
import re

import pytest
from amaranth import Value
from amaranth.back import rtlil
from cornerturn.interconnect.chain import Chain, Hop
from unit.bench import CONFIGS, beat_of, cells_of, each_config, poke, ports, simulate, trace
from unit.micro_ops import Lanes, random_read, random_write

PORT_LATENCY = 2


async def fill(ctx, config, chain, rng):
    """Fill the memories of all lanes through their ports; returns them."""
    lanes = Lanes(config)
    for word in range(config.words):
        data, words = 0, 0
        for lane in range(config.lanes):
            cells = [rng.getrandbits(config.cell_width) for _ in range(config.beat_cells)]
            lanes.store(lane, word, dict(enumerate(cells)))
            data |= beat_of(config, cells) << lane * config.beat_width
            words |= word << lane * config.word_bits
        poke(ctx, chain.lane_write_valid, (1 << config.lanes) - 1)
        poke(ctx, chain.lane_write_word, words)
        poke(ctx, chain.lane_write_mask, (1 << config.lanes * config.beat_cells) - 1)
        poke(ctx, chain.lane_write_data, data)
        await ctx.tick()
    poke(ctx, chain.lane_write_valid, 0)
    return lanes


def lane_words(config, value):
    """The words of all lanes in a flat vector."""
    mask = (1 << config.beat_width) - 1
    return [value >> lane * config.beat_width & mask for lane in range(config.lanes)]


async def play(ctx, chain, cycles, latency):
    """Drive (read, write) micro-ops a cycle each; returns beats, markers and collisions.

    The beats start `latency` cycles after the first micro-op.
    """
    beats, done, collisions = [], [], []
    for cycle in range(len(cycles) + latency):
        read, write = cycles[cycle] if cycle < len(cycles) else (0, 0)
        poke(ctx, chain.i_read, read)
        poke(ctx, chain.i_write, write)
        if cycle >= latency:
            beats.append(ctx.get(chain.o_beat))
        done.append(ctx.get(chain.done))
        collisions.append(ctx.get(chain.collision))
        await ctx.tick()
    return beats, done, collisions


@each_config
def test_first_order(config):
    """Every first lane and step, N < M and N = M, a micro-op a cycle: element k is at place k."""
    rng = random.Random(14)
    chain = Chain(config, port=True, watch=True)

    async def bench(ctx, reset):
        lanes = await fill(ctx, config, chain, rng)
        reads = [
            random_read(rng, config, first=first, step=step, along=0, position=0, code=0,
                        last_position=min(n, config.beat_cells) - 1)
            for first in range(config.lanes)
            for step in range(1, config.lanes)
            for n in range(1, (config.lanes - 1 - first) // step + 2)
        ]  # fmt: skip
        expected = []
        for op in reads:
            step = op["step_m1"] + 1
            elements = [
                lanes.words[op["skip"] + k * step][op["word"]][op["offset"]]
                for k in range(op["last_position"] + 1)
            ]
            expected.append(beat_of(config, elements))
        latency = config.hops + config.sram_latency
        beats, _, collisions = await play(ctx, chain, [(op, 0) for op in reads], latency)
        assert beats == expected
        assert not any(collisions)

    simulate(chain, bench)


@each_config
def test_reads_and_writes_back_to_back(config):
    """Both trains are full: each read sees what all earlier writes left, whatever the lane.

    The beat of a read is back `hops + sram_latency` cycles after it; the marker of a write, valid
    or not, `hops` cycles after it.
    """
    rng = random.Random(15)
    chain = Chain(config, port=True, watch=True)

    async def bench(ctx, reset):
        lanes = await fill(ctx, config, chain, rng)
        cycles = []
        for _ in range(300):
            read_word, write_word = rng.sample(range(config.words), 2)
            if rng.random() < 0.1:
                read_word = write_word  # beside each other in time, see below
            read = random_read(rng, config, word=read_word, valid=rng.random() < 0.8)
            write = random_write(rng, config, word=write_word, valid=rng.random() < 0.8)
            if read_word == write_word:
                cycles += [(read, 0), (0, write), (read, 0)]
            else:
                cycles.append((read, write))
        expected, markers = [], []
        for read, write in cycles:
            expected.append(lanes.read(read) if read and read["valid"] else 0)
            markers.append(write["last"] if write else 0)
            if write and write["valid"]:
                lanes.write(write)
        latency = config.hops + config.sram_latency
        beats, done, collisions = await play(ctx, chain, cycles, latency)
        assert beats == expected
        assert done[config.hops :][: len(markers)] == markers
        assert not any(collisions)
        # The whole memory, through the ports: data two cycles after the read.
        poke(ctx, chain.lane_read_valid, (1 << config.lanes) - 1)
        for cycle in range(config.words + PORT_LATENCY):
            everywhere = sum(
                cycle % config.words << lane * config.word_bits for lane in range(config.lanes)
            )
            poke(ctx, chain.lane_read_word, everywhere)
            if cycle >= PORT_LATENCY:
                data = lane_words(config, ctx.get(Value.cast(chain.lane_read_data)))
                word = cycle - PORT_LATENCY
                assert [cells_of(config, beat) for beat in data] == [
                    lane[word] for lane in lanes.words
                ]
            assert ctx.get(chain.lane_read_ready) == (1 << config.lanes) - 1
            await ctx.tick()

    simulate(chain, bench)


@each_config
def test_each_lane_has_its_own_port(config):
    """A write of one lane changes that lane only; ready is low where the chain is busy."""
    rng = random.Random(16)
    chain = Chain(config, port=True, watch=True)

    async def bench(ctx, reset):
        lanes = await fill(ctx, config, chain, rng)
        for lane in range(config.lanes):
            word = rng.randrange(config.words)
            cells = [rng.getrandbits(config.cell_width) for _ in range(config.beat_cells)]
            mask = rng.getrandbits(config.beat_cells)
            lanes.store(lane, word, {
                place: cell for place, cell in enumerate(cells) if mask >> place & 1
            })  # fmt: skip
            poke(ctx, chain.lane_write_valid, 1 << lane)
            poke(ctx, chain.lane_write_word, word << lane * config.word_bits)
            poke(ctx, chain.lane_write_mask, mask << lane * config.beat_cells)
            poke(ctx, chain.lane_write_data, beat_of(config, cells) << lane * config.beat_width)
            await ctx.tick()
        poke(ctx, chain.lane_write_valid, 0)
        for lane in range(config.lanes):
            # An along read and an along write of other words, seen at the lane's hop.
            read = random_read(rng, config, first=lane, along=1, word=0)
            write = random_write(rng, config, first=lane, along=1, word=1, mask=0)
            poke(ctx, chain.i_read, read | {"position": 0, "last_position": 0})
            poke(ctx, chain.i_write, write | {"position": 0, "last_position": 0})
            words = sum(2 % config.words << at * config.word_bits for at in range(config.lanes))
            poke(ctx, chain.lane_read_word, words)
            poke(ctx, chain.lane_write_word, words)
            for hop in range(config.hops):
                busy = 1 << lane if hop == lane // config.lanes_per_hop else 0
                assert ctx.get(chain.lane_read_ready) == ((1 << config.lanes) - 1) ^ busy
                assert ctx.get(chain.lane_write_ready) == ((1 << config.lanes) - 1) ^ busy
                await ctx.tick()
                poke(ctx, chain.i_read, 0)
                poke(ctx, chain.i_write, 0)
        reads = [
            random_read(rng, config, first=lane, along=1, word=word, position=0, last_position=0)
            for lane in range(config.lanes)
            for word in range(config.words)
        ]
        latency = config.hops + config.sram_latency
        beats, _, _ = await play(ctx, chain, [(op, 0) for op in reads], latency)
        assert beats == [lanes.read(op) for op in reads]

    simulate(chain, bench)


@pytest.mark.parametrize("config", [CONFIGS["tiny"], CONFIGS["wide"]], ids=["tiny", "wide"])
def test_collision_is_seen_at_the_lane(config):
    """One word read and written by micro-ops of one cycle: seen when they pass the lane."""
    rng = random.Random(17)
    chain = Chain(config, port=True, watch=True)

    async def bench(ctx, reset):
        for lane in range(config.lanes):
            other = (lane + 1) % config.lanes
            place = {"along": 1, "position": 0, "last_position": 0, "word": 3}
            read = random_read(rng, config, first=lane, **place)
            for target in (lane, other):
                write = random_write(rng, config, first=target, **place)
                _, _, seen = await play(ctx, chain, [(read, write)], config.hops)
                hop = lane // config.lanes_per_hop
                expected = [at == hop and target == lane for at in range(len(seen))]
                assert seen == expected

    simulate(chain, bench)


def test_a_hop_takes_one_cycle():
    """Micro-ops and beats of a hop with fewer lanes than the others."""
    config = CONFIGS["wide"]
    rng = random.Random(18)
    stimulus = [
        {
            "i_read": random_read(rng, config, first=4, step=1),
            "i_write": random_write(rng, config, first=4, step=1),
            "i_beat": rng.getrandbits(config.beat_width),
        }
        for _ in range(10)
    ]
    hop = Hop(config, lanes=1, port=False, watch=False)
    assert not any(name.startswith("lane_") for name in ports(hop))
    seen = trace(hop, stimulus, ["o_read", "o_write", "o_beat"])
    for inputs, outputs in zip(stimulus, seen[1:], strict=False):
        assert outputs["o_read"] == inputs["i_read"] | {"skip": 3}
        assert outputs["o_write"] == inputs["i_write"] | {"skip": 3}
        assert outputs["o_beat"] == inputs["i_beat"]


@each_config
def test_there_are_as_many_lanes_as_configured(config):
    """The last hop has what is left of them."""
    text = rtlil.convert(Chain(config, port=False, watch=False), emit_src=False)
    lanes = re.findall(r"^module \\top\.(hop\d+)\.npu\d+$", text, re.MULTILINE)
    assert len(lanes) == config.lanes
    assert len(set(lanes)) == config.hops
