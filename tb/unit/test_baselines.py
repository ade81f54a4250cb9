"""The transposers that ours is compared with: right, and as fast as they say."""

import random

import numpy as np
import pytest
from cornerturn_synth.baselines import PingPong, RegisterArray, Serial
from unit.bench import poke, simulate

TILES = pytest.mark.parametrize("kind", [RegisterArray, PingPong])
SIZES = pytest.mark.parametrize(("size", "width"), [(2, 3), (4, 8), (5, 4), (8, 8)])


def transpose(block, blocks, *, valid=1.0, ready=1.0, seed=1):
    """Columns of some blocks as they come out, and the cycles from first in to last out.

    `valid` and `ready`: how likely input and output go on in a cycle.
    """
    rng = random.Random(seed)
    rows = [row for values in blocks for row in values.tolist()]
    size = block.size
    columns, times = [], []

    async def bench(ctx, reset):
        cycle, row, held = 0, 0, None
        while len(columns) < len(rows):
            offers = row < len(rows) and (held or rng.random() < valid)
            held = offers
            ctx.set(block.i.valid, offers)
            if offers:
                poke(ctx, block.i.payload, packed(block, rows[row]))
            ctx.set(block.o.ready, rng.random() < ready)
            if ctx.get(block.o.valid) and ctx.get(block.o.ready):
                columns.append([ctx.get(block.o.payload[index]) for index in range(size)])
                times.append(cycle)
            if offers and ctx.get(block.i.ready):
                times.append(cycle)
                row, held = row + 1, None
            await ctx.tick()
            cycle += 1
        assert not ctx.get(block.o.valid)

    simulate(block, bench)
    return columns, times[-1] - times[0] + 1


def packed(block, row):
    return sum(value << index * block.width for index, value in enumerate(row))


def matrices(size, width, number, seed=2):
    return np.random.default_rng(seed).integers(0, 1 << width, (number, size, size))


@TILES
@SIZES
def test_blocks_at_full_rate(kind, size, width):
    blocks = matrices(size, width, 5)
    block = kind(size, width)
    columns, cycles = transpose(block, blocks)
    np.testing.assert_array_equal(columns, blocks.swapaxes(1, 2).reshape(-1, size))
    assert cycles == block.cycles(size, size, 5 * size) == 6 * size


@TILES
@SIZES
@pytest.mark.parametrize(("valid", "ready"), [(0.3, 1), (1, 0.3), (0.5, 0.5)])
def test_blocks_with_stalls(kind, size, width, valid, ready):
    blocks = matrices(size, width, 7, seed=3)
    columns, _ = transpose(kind(size, width), blocks, valid=valid, ready=ready)
    np.testing.assert_array_equal(columns, blocks.swapaxes(1, 2).reshape(-1, size))


@TILES
def test_cycles_of_a_padded_matrix(kind):
    assert kind.cycles(8, 64, 64) == 520
    assert kind.cycles(8, 9, 17) == (2 * 3 + 1) * 8


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (3, 7), (8, 8)])
def test_serial(shape):
    """Two matrices back to back; nothing but their places is written."""
    rows, columns = shape
    words, block = 256, Serial(8, 8)
    memory = np.random.default_rng(4).integers(0, 256, words).tolist()
    places = [(3, 100), (20, 180)]
    expected = np.array(memory)
    for source, destination in places:
        matrix = expected[source : source + rows * columns].reshape(shape)
        expected[destination : destination + rows * columns] = matrix.T.reshape(-1)
    written = []

    async def bench(ctx, reset):
        queue = [
            {"rows_m1": rows - 1, "columns_m1": columns - 1, "source": a, "destination": b}
            for a, b in places
        ]
        data, cycle, idle = 0, 0, 0
        while idle < 3:
            poke(ctx, block.read_data, data)
            ctx.set(block.i.valid, bool(queue))
            if queue:
                ctx.set(block.i.payload, queue[0])
                if ctx.get(block.i.ready):
                    queue.pop(0)
            if ctx.get(block.read_valid):
                data = memory[ctx.get(block.read_address)]
            if ctx.get(block.write_valid):
                memory[ctx.get(block.write_address)] = ctx.get(block.write_data)
                written.append(cycle)
            idle = 0 if ctx.get(block.write_valid) or ctx.get(block.read_valid) else idle + 1
            idle = 0 if queue else idle
            await ctx.tick()
            cycle += 1

    simulate(block, bench)
    np.testing.assert_array_equal(memory, expected)
    # Counted from the command, in cycle 0; the second costs its elements and nothing else.
    assert written[rows * columns - 1] + 1 == block.cycles(rows, columns)
    assert len(written) == 2 * rows * columns == written[-1] - written[0] + 1
