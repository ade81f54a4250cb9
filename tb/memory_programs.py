"""Random programs that touch memory, pairs among them: hypothesis strategies.

As those of `programs`, for a memory of `MEMORY_BYTES` of which the `WINDOW` may be touched.
"""

import dataclasses
import itertools

from cornerturn.fields import Pair
from cornerturn_model.instruction import Across, Along, Digit, Fence, Mem, Segment, Tile
from hypothesis import strategies as st
from programs import (
    MEMORY_BYTES,
    WINDOW,
    element_cells,
    instructions,
    limit_tiles,
    limited,
    looped,
    place_in_lmem,
    place_in_memory,
)

__all__ = ["MEMORY_BYTES", "WINDOW", "memory_programs", "memory_tiles", "pairs"]

KINDS = (Mem, Across, Along)


@st.composite
def memory_programs(draw, config, max_size=6):
    """Programs of up to `max_size` instructions and pairs, in which lone halves are rejected."""
    item = st.one_of(
        memory_tiles(config).map(lambda tile: [tile]),
        limit_tiles(config, KINDS).map(lambda tile: [tile]),
        pairs(config),
        pairs(config, limits=True),
        halves(config),
        instructions(config, loops=True).map(lambda item: [item]),
    )
    return list(itertools.chain(*draw(st.lists(item, min_size=1, max_size=max_size))))


@st.composite
def memory_tiles(draw, config):
    """Valid tiles between any two of lanes and memory, with loops."""
    tile, _ = draw(looped(config, KINDS))
    return tile


@st.composite
def pairs(draw, config, *, limits=False):
    """The two tiles of a valid pair (but for what limits do), through a stage in a few words."""
    word = config.beat_cells
    half_words = max(2, 8 // word)
    base = word * draw(st.integers(0, config.cells // word - 2 * half_words))
    align = 2 * draw(st.integers(1, 3))
    co = 2 * draw(st.integers(1, align))
    repeats = [draw(st.integers(1, 2)), draw(st.integers(1, 3))]
    middle = draw(st.integers(400, 600))
    windows = [(WINDOW[0], middle), (middle + 1, WINDOW[1])]
    half_cells = word * (half_words + draw(st.integers(0, 1)) * (base + 2 * word < config.cells))
    if base + half_cells + half_words * word > config.cells:
        half_cells = half_words * word
    tiles = []
    for pair, window in zip((Pair.LOAD, Pair.STORE), draw(st.permutations(windows)), strict=True):
        tile = draw(_half(config, pair, co, align, repeats, half_words * word, window))
        side = "dst" if pair == Pair.LOAD else "src"
        stage = getattr(tile, side)
        stage = dataclasses.replace(stage, cell=base + stage.cell)
        tile = dataclasses.replace(tile, half_cells=half_cells, **{side: stage})
        if limits:
            tagged = draw(limited(config, tile, max(co, align)))
            # Which stage rows reach is the pair's business, not that of the limits.
            tile = dataclasses.replace(tagged, **{side: stage})
        tiles.append(tile)
    return tiles


@st.composite
def _half(draw, config, pair, co, align, repeats, stage_cells, window):
    cells = draw(element_cells(config))
    sizes = [draw(st.integers(1, 2)) for _ in range(draw(st.integers(0, 2)))]
    n, as_digit = align, draw(st.booleans())
    if as_digit:
        n = 2 * draw(st.integers(1, 2))
        sizes.insert(0, min(align, co))
    arena = stage_cells // cells
    across = draw(st.booleans()) and n <= config.lanes
    if not across and n > arena:
        cells, arena = 1, stage_cells
    kind = Across if across else Along
    stage, steps = place_in_lmem(draw, config, kind, 1, cells, arena, n, sizes)
    counts = [*repeats, -(-co // align), *sizes]
    place, memory_steps = place_in_memory(draw, config, window, cells, n, counts)
    all_steps = [(0, 0)] * 3 + steps
    if pair == Pair.LOAD:
        sides, both = (place, stage), list(zip(memory_steps, all_steps, strict=True))
    else:
        sides, both = (stage, place), list(zip(all_steps, memory_steps, strict=True))
    segment = Segment(co, align, *both[2])
    digits = [Digit(count, *step) for count, step in zip(sizes, both[3:], strict=True)]
    if as_digit:
        digits[0] = dataclasses.replace(digits[0], count=segment)
    ho, wo = (Digit(count, *step) for count, step in zip(repeats, both[:2], strict=True))
    return Tile(
        *sides, n if as_digit else segment, tuple(digits), cells, ho=ho, wo=wo, pair=pair
    )  # fmt: skip


@st.composite
def halves(draw, config):
    """Pairs that are none: torn apart, of unlike tiles, or with a stage too small."""
    load, store = draw(pairs(config))
    kind = draw(st.sampled_from(["alone", "apart", "reversed", "unlike", "small", "broken"]))
    change = dataclasses.replace
    return {
        "alone": [load],
        "apart": [load, Fence(), store],
        "reversed": [store, load],
        "unlike": [load, change(store, ho=change(store.ho, count=store.ho.count + 1))],
        "small": [change(load, half_cells=0), change(store, half_cells=0)],
        "broken": [load, change(store, dst=Mem(store.dst.address + MEMORY_BYTES))],
    }[kind]
