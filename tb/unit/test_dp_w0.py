"""The write side of a lane's data path: passes the micro-op and its beat on."""

import random

from cornerturn import isa
from cornerturn.npu.dp_w0 import DpW0
from unit.bench import draw, each_config, plain, poke, simulate, trace

CARRIED = ("along", "word", "mask", "code", "beat")


@each_config
def test_a_micro_op_hits_its_lanes_and_goes_on(config):
    """Across: each lane of the step, one element further in the beat. Along: one lane."""
    rng = random.Random(8)
    block = DpW0(config)

    async def bench(ctx, reset):
        for first in range(config.lanes):
            for step in range(1, config.lanes):
                along, code = rng.getrandbits(1), rng.randrange(config.element_codes)
                start = 0 if along else rng.randrange(0, config.beat_cells, 1 << code)
                places = range(start, config.beat_cells, 1 << code)
                hits = list(zip(range(first, config.lanes, step), places, strict=False))
                hits = hits[: 1 if along else rng.randint(1, config.lanes)]
                op = draw(
                    rng, isa.write_op(config), valid=1, along=along, skip=first, code=code,
                    step_m1=step - 1, position=start, last_position=hits[-1][1],
                )  # fmt: skip
                poke(ctx, block.i_op, op)
                seen = []
                for lane in range(config.lanes):
                    await ctx.delay(1e-9)
                    request = plain(ctx.get(block.request))
                    passed = plain(ctx.get(block.o_op))
                    if request["valid"]:
                        seen.append((lane, request["position"]))
                    assert all(request[name] == passed[name] == op[name] for name in CARRIED)
                    assert passed["last"] == op["last"]
                    assert passed["valid"] == (lane < hits[-1][0])
                    poke(ctx, block.i_op, passed)
                assert seen == hits

    simulate(block, bench)


@each_config
def test_a_marker_needs_no_valid_micro_op(config):
    """`last` goes by; nothing is hit."""
    rng = random.Random(9)
    stimulus = [{"i_op": draw(rng, isa.write_op(config), valid=0, skip=0)} for _ in range(30)]
    seen = trace(DpW0(config), stimulus, ["request", "o_op"])
    for inputs, outputs in zip(stimulus, seen, strict=True):
        assert outputs["request"]["valid"] == outputs["o_op"]["valid"] == 0
        assert outputs["o_op"]["last"] == inputs["i_op"]["last"]
