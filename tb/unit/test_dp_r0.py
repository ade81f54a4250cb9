"""The read side of a lane's data path: passes the micro-op on, and fills its place in the beat."""

import random

from cornerturn import isa
from cornerturn.npu.dp_r0 import DpR0
from unit.bench import beat_of, cells_of, draw, each_config, plain, poke, simulate, trace


@each_config
def test_an_across_micro_op_hits_every_step_th_lane(config):
    """For each first lane and step: lane by lane, one element further in the beat at each hit."""
    rng = random.Random(4)
    block = DpR0(config)

    async def bench(ctx, reset):
        for first in range(config.lanes):
            for step in range(1, config.lanes):
                code = rng.randrange(config.element_codes)
                size = 1 << code
                start = rng.randrange(0, config.beat_cells, size)
                places = range(start, config.beat_cells, size)
                lanes = range(first, config.lanes, step)
                hits = list(zip(lanes, places, strict=False))[: rng.randint(1, config.lanes)]
                op = draw(
                    rng, isa.read_op(config), valid=1, along=0, skip=first, step_m1=step - 1,
                    position=start, last_position=hits[-1][1], code=code,
                )  # fmt: skip
                poke(ctx, block.i_op, op)
                seen = []
                for lane in range(config.lanes):
                    await ctx.delay(1e-9)
                    request = plain(ctx.get(block.request))
                    passed = plain(ctx.get(block.o_op))
                    if request["valid"]:
                        seen.append((lane, request["position"]))
                    same = ("along", "word", "offset", "code")
                    assert all(request[name] == passed[name] == op[name] for name in same)
                    assert passed["valid"] == (lane < hits[-1][0])
                    poke(ctx, block.i_op, passed)
                assert seen == hits

    simulate(block, bench)


@each_config
def test_an_along_micro_op_hits_one_lane(config):
    """It dies there; nothing else is hit, whatever the step."""
    rng = random.Random(5)
    block = DpR0(config)

    async def bench(ctx, reset):
        for lane in range(config.lanes):
            op = draw(rng, isa.read_op(config), valid=1, along=1, skip=lane, position=0)
            poke(ctx, block.i_op, op | {"last_position": 0})
            for passing in range(config.lanes):
                await ctx.delay(1e-9)
                assert ctx.get(block.request.valid) == (passing == lane)
                passed = plain(ctx.get(block.o_op))
                assert passed["valid"] == (passing < lane)
                poke(ctx, block.i_op, passed)

    simulate(block, bench)


@each_config
def test_nothing_hits_without_a_valid_micro_op(config):
    """Whatever the other fields are."""
    rng = random.Random(6)
    stimulus = [{"i_op": draw(rng, isa.read_op(config), valid=0, skip=0)} for _ in range(20)]
    for outputs in trace(DpR0(config), stimulus, ["request", "o_op"]):
        assert outputs["request"]["valid"] == outputs["o_op"]["valid"] == 0


@each_config
def test_the_beat_takes_what_xbar_brings(config):
    """In the same cycle: the cells of a word, or of an element where it is enabled."""
    rng = random.Random(7)
    narrow = config.max_element_cells
    stimulus, expected = [], []
    for _ in range(100):
        element = rng.getrandbits(narrow * config.cell_width)
        # Either a word into an empty beat, or elements into cells that are still empty.
        word = rng.choice([0, rng.getrandbits(config.beat_width)])
        enable = 0 if word else rng.getrandbits(config.beat_cells)
        free = [1 - (enable >> cell & 1) for cell in range(config.beat_cells)]
        beat = [0 if word else rng.getrandbits(config.cell_width) * bit for bit in free]
        stimulus.append(
            {"i_beat": beat_of(config, beat), "element": element, "enable": enable, "word": word}
        )
        taken = cells_of(config, element)[:narrow] * (config.beat_cells // narrow)
        filled = [a * (1 - bit) + b * bit for a, b, bit in zip(taken, beat, free, strict=True)]
        expected.append(word or beat_of(config, filled))
    seen = trace(DpR0(config), stimulus, ["o_beat"])
    assert [outputs["o_beat"] for outputs in seen] == expected
