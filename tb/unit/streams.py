"""A block between streams: everything offered at its inputs, everything taken from its outputs."""

import random

from unit.bench import plain, poke, simulate

__all__ = ["flow"]


def flow(block, inputs, outputs, *, cycles, offer=1, take=1, flush=None, watch=None):
    """Run a block for some cycles.

    Parameters
    ----------
    block : Component
    inputs : dict
        What each input stream is offered, by the name of its port.
    outputs : sequence of str
        Output streams.
    cycles : int
    offer, take : float
        How often something is offered, and taken.
    flush : int or None
        The cycle in which `flush` is high.
    watch : callable or None
        Called with the context in each cycle.

    Returns
    -------
    dict
        (cycle, payload) of all transfers, by the name of the port.
    """
    rng = random.Random(6)
    seen = {name: [] for name in (*inputs, *outputs)}
    queues = {name: list(items) for name, items in inputs.items()}
    streams = {name: getattr(block, name) for name in seen}

    async def bench(ctx, reset):
        held = dict.fromkeys(inputs, False)
        waiting = {}
        for cycle in range(cycles):
            for name, queue in queues.items():
                held[name] = bool(queue) and (held[name] or rng.random() < offer)
                ctx.set(streams[name].valid, held[name])
                if held[name]:
                    poke(ctx, streams[name].payload, queue[0])
            for name in outputs:
                ctx.set(streams[name].ready, rng.random() < take)
            if flush is not None:
                ctx.set(block.flush, cycle == flush)
            if watch:
                watch(ctx)
            for name, stream in streams.items():
                valid, ready = ctx.get(stream.valid), ctx.get(stream.ready)
                payload = plain(ctx.get(stream.payload)) if valid else None
                if name in waiting and cycle - 1 != flush:
                    assert payload == waiting[name], f"{name} changed while it waited"
                waiting.pop(name, None)
                if valid and ready:
                    seen[name].append((cycle, payload))
                    if name in queues:
                        queues[name].pop(0)
                        held[name] = False
                elif valid:
                    waiting[name] = payload
            await ctx.tick()

    simulate(block, bench)
    return seen
