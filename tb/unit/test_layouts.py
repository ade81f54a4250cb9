"""Layouts against closed formulas: every element at its place, everything else as it was."""

import math
import re

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn.fields import Status, Tag, unpack
from cornerturn_model import checks, golden
from cornerturn_model.instruction import Limits
from cornerturn_model.layouts import (
    PRESETS,
    Axis,
    Turn,
    nchw_nchwc,
    nchw_nhwc,
    nchwc_nhwc,
)
from cornerturn_model.traffic import traffic

M = 4
SMALL = Config(lanes=M, cells=2048, beat_cells=8)
HALVES = Config(lanes=M, cells=4096, beat_cells=4, cell_width=16)

# The table of hypotheses: units that share the channels, and the mixed dimension.
TABLE = {
    "forward4/group1/1x16": "16wo 4ho 4wo",
    "forward4/group1/2x8": "2ho 8wo 4ho 4wo",
    "forward4/group1/4x4": "4ho 4wo 4ho 4wo",
    "forward4/group1/8x2": "8ho 2wo 4ho 4wo",
    "forward4/group1/16x1": "16ho 4ho 4wo",
    "forward4/group4/1x4": "4co 4wo 4ho 4wo",
    "forward4/group4/2x2": "4co 2ho 2wo 4ho 4wo",
    "forward4/group4/4x1": "4co 4ho 4ho 4wo",
    "forward4/group16/1x1": "16co 4ho 4wo",
    "forward16/group1/1x16": "16wo 2ho 2wo",
    "forward16/group4/2x2": "4co 2ho 2wo 2ho 2wo",
    "forward1/group1/4x4": "4ho 4wo 8ho 8wo",
    "forward1/group16/1x1": "16co 8ho 8wo",
}


@pytest.fixture(scope="module", autouse=True)
def _with_memory():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "WITHOUT_MEMORY", False)
        yield


class Closed:
    """Index by index: where an element of the blocks is, and where in the dense tensor."""

    def __init__(self, digits, sizes, *, interleaved):
        self.sizes = sizes
        digits = [(word[-2:], int(word[:-2])) for word in digits.split()]
        product = {name: math.prod(n for of, n in digits if of == name) for name in sizes}
        loops = {name: -(-size // product[name]) for name, size in sizes.items()}
        self.Hh, self.Wm, self.Cd = (loops[name] for name in ("ho", "wo", "co"))
        self.X = math.prod(n for _, n in digits)
        # Of each axis from the most significant part to the least.
        parts = {
            name: [place for place, (of, _) in enumerate(digits) if of == name] for name in sizes
        }
        self.multipliers, self.of_loop = [0] * len(digits), {}
        for name, places in parts.items():
            low = places[-1:] if name != "co" else []
            units = [place for place in places if place not in low]
            order = ["loop", *units, *low] if interleaved else [*units, "loop", *low]
            multiplier = 1
            for part in reversed(order):
                if part == "loop":
                    self.of_loop[name] = multiplier
                    multiplier *= loops[name]
                else:
                    self.multipliers[part] = multiplier
                    multiplier *= digits[part][1]
        self.digits = digits

    def places(self):
        """(blocked, dense) index of every element that both tensors have."""
        shape = (self.Hh, self.Wm, self.Cd, *(n for _, n in self.digits))
        h, w, c, *x = np.indices(shape).reshape(len(shape), -1)
        blocked = ((h * self.Wm + w) * self.Cd + c) * self.X + np.arange(h.size) % self.X
        at = {name: i * self.of_loop[name] for name, i in (("ho", h), ("wo", w), ("co", c))}
        for (name, _), i, multiplier in zip(self.digits, x, self.multipliers, strict=True):
            at[name] = at[name] + i * multiplier
        real = np.logical_and.reduce([at[name] < size for name, size in self.sizes.items()])
        dense = (at["ho"] * self.sizes["wo"] + at["wo"]) * self.sizes["co"] + at["co"]
        return blocked[real], dense[real]

    @property
    def elements(self):
        return self.Hh * self.Wm * self.Cd * self.X


def moved(config, program, size, pairs, source, destination):
    """Run; every pair (from, to) of elements of `size` bytes is moved, nothing else is touched."""
    bytes_needed = 1 << 17
    memory = np.random.default_rng(1).integers(0, 256, bytes_needed, np.uint8)
    lmem = np.zeros((config.lanes, config.cells), golden.cell_dtype(config))
    result = golden.run(config, lmem, program, memory=memory)
    assert {status for _, status in result.completions} == {Status.OK}
    expected = memory.copy()
    for b in range(size):
        expected[destination + pairs[1] * size + b] = memory[source + pairs[0] * size + b]
    assert np.flatnonzero(result.memory != expected).tolist() == []


SIZES = [
    {"ho": 4, "wo": 64, "co": M + 1},
    {"ho": 6, "wo": 70, "co": 2 * M + 3},
    {"ho": 13, "wo": 5, "co": M - 1},
]


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("name", TABLE)
def test_presets_against_closed_formulas(name, interleaved):
    for sizes in SIZES:
        closed = Closed(TABLE[name], sizes, interleaved=interleaved)
        turn = PRESETS[name].turn(**sizes, interleaved=interleaved)
        blocked, dense = closed.places()
        assert len(set(dense.tolist())) == math.prod(sizes.values())
        # The blocks from byte 3 on, the dense tensor 5 bytes behind them.
        start = 3 + closed.elements + 5
        moved(SMALL, turn.tiles(SMALL, 3, start), 1, (blocked, dense), 3, start)
        back = turn.tiles(SMALL, 3, start, reverse=True)
        moved(SMALL, back, 1, (dense, blocked), start, 3)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("channels", [1, M - 1, M, M + 1, 2 * M, 2 * M + 3])
def test_segments_of_every_kind(channels, interleaved):
    """Only whole ones, only a remainder, and both; for a size of the dimension co of the blocks."""
    for name, groups in (("forward4/group1/1x16", 1), ("forward16/group4/1x4", 4)):
        digits = {1: "16wo 4ho 4wo", 4: "4co 4wo 2ho 2wo"}[groups]
        sizes = {"ho": 5, "wo": 66, "co": channels * groups}
        closed = Closed(digits, sizes, interleaved=interleaved)
        assert closed.Cd == channels
        turn = PRESETS[name].turn(**sizes, interleaved=interleaved)
        start = closed.elements
        moved(SMALL, turn.tiles(SMALL, 0, start), 1, closed.places(), 0, start)


def test_every_block_of_a_preset():
    """As claims 3 to 7: three loops, and both offsets of each block from the work done so far."""
    sizes = {"ho": 9, "wo": 70, "co": 2 * M + 3}
    turn = PRESETS["forward4/group1/1x16"].turn(**sizes)
    load, store = (tile.encode() for tile in turn.tiles(SMALL, 0, 40000, element_cells=2))
    f, g = unpack(load), unpack(store)
    assert (f["repeat_ho"], f["repeat_wo"], f["co"], f["co_align"]) == (3, 2, 11, 4)
    assert turn.mixed == 256
    for h, w, k in np.ndindex(3, 2, 3):
        in_offset = h * f["ho_in_cell"] + w * f["wo_in_cell"] + k * f["co_in_cell"]
        assert in_offset == 2 * ((h * 2 + w) * 11 + k * M) * 256
        out_offset = h * g["ho_out_cell"] + w * g["wo_out_cell"] + k * g["co_out_cell"]
        assert out_offset == 2 * ((h * 4 * 70 + w * 4) * 11 + k * M)
    counted = traffic(SMALL, [load, store])
    assert counted.blocks == 2 * 3 * 2 * 3
    # Loaded: 11 rows in each (h, w). Stored: each row of up to M channels of every point there is.
    assert counted.rows == 3 * 2 * 11 + 9 * 70 * 3


@pytest.mark.parametrize("element_cells", [1, 2, 4])
def test_elements_of_several_bytes(element_cells):
    sizes = {"ho": 5, "wo": 9, "co": 6}
    for config in (SMALL.replace(cells=4096), HALVES):
        if element_cells > config.max_element_cells:
            continue
        size = element_cells * config.cell_width // 8
        closed = Closed("4co 2ho 2wo 4ho 4wo", sizes, interleaved=False)
        turn = PRESETS["forward4/group4/2x2"].turn(**sizes)
        blocked, dense = closed.places()
        start = 1 + closed.elements * size
        places = {"element_cells": element_cells, "cell": config.beat_cells}
        moved(config, turn.tiles(config, 1, start, **places), size, (blocked, dense), 1, start)
        back = turn.tiles(config, 1, start, reverse=True, **places)
        moved(config, back, size, (dense, blocked), start, 1)


def test_padding_may_be_anything():
    """Long rows fill the blocks: real elements are right, the dense tensor is not touched."""
    sizes = {"ho": 6, "wo": 70, "co": 5}
    turn = PRESETS["forward4/group1/1x16"].turn(**sizes)
    closed = Closed("16wo 4ho 4wo", sizes, interleaved=False)
    blocked, dense = closed.places()
    start = closed.elements
    program = turn.tiles(SMALL, 0, start, reverse=True, padding=True)
    memory = np.random.default_rng(2).integers(0, 256, 1 << 17, np.uint8)
    result = golden.run(SMALL, np.zeros((M, 2048), np.uint8), program, memory=memory)
    assert {status for _, status in result.completions} == {Status.OK}
    assert (result.memory[blocked] == memory[start + dense]).all()
    assert (result.memory[start:] == memory[start:]).all()
    exact = turn.tiles(SMALL, 0, start, reverse=True)
    assert traffic(SMALL, program).rows < traffic(SMALL, exact).rows


def test_even_sizes_need_no_limits():
    turn = PRESETS["forward4/group4/2x2"].turn(ho=16, wo=8, co=12)
    assert not turn.ragged
    for reverse in (False, True):
        load, store = turn.tiles(SMALL, 0, 40000, reverse=reverse)
        assert load.limits == store.limits == Limits()
    assert PRESETS["forward4/group4/2x2"].turn(ho=15, wo=8, co=12).ragged
    assert PRESETS["forward4/group4/2x2"].turn(ho=16, wo=8, co=11).ragged


@pytest.mark.parametrize("order", ["2co 3wo 2ho", "2ho 2co 3wo", "3wo 2ho 2co"])
@pytest.mark.parametrize("channel_major", [True, False])
def test_digits_in_any_order(order, channel_major):
    """Channels that do not lie together are moved one by one."""
    counts = {"ho": (3, 2), "wo": (2, 3), "co": (5, 2)}  # loops and digits
    sizes = {"ho": 5, "wo": 6, "co": 9}
    strides = {"ho": 6 * 9, "wo": 9, "co": 1}
    digit_multiplier = {"ho": 1, "wo": 1, "co": 5 if channel_major else 1}
    loop_multiplier = {"ho": 2, "wo": 3, "co": 1 if channel_major else 2}
    words = [(word[1:], int(word[0])) for word in order.split()]

    def axis(name, count, multiplier, blocked=0):
        return Axis(count, blocked, multiplier * strides[name], Tag[name.upper()], multiplier)

    turn = Turn(
        ho=axis("ho", 3, loop_multiplier["ho"], 2 * 5 * 12),
        wo=axis("wo", 2, loop_multiplier["wo"], 5 * 12),
        co=axis("co", 5, loop_multiplier["co"], 12),
        digits=tuple(axis(name, count, digit_multiplier[name]) for name, count in words),
        limits=Limits(**sizes),
    )
    pairs = []
    for index in np.ndindex(3, 2, 5, *(count for _, count in words)):
        at = {name: i * loop_multiplier[name] for name, i in zip(counts, index[:3], strict=True)}
        for (name, _), i in zip(words, index[3:], strict=True):
            at[name] += i * digit_multiplier[name]
        if all(at[name] < sizes[name] for name in sizes):
            pairs.append((len(pairs), sum(at[name] * strides[name] for name in sizes), index))
    shape = (3, 2, 5, *(count for _, count in words))
    blocked = np.array([np.ravel_multi_index(index, shape) for _, _, index in pairs])
    dense = np.array([place for _, place, _ in pairs])
    moved(SMALL, turn.tiles(SMALL, 7, 1000), 1, (blocked, dense), 7, 1000)
    moved(SMALL, turn.tiles(SMALL, 7, 1000, reverse=True), 1, (dense, blocked), 1000, 7)


@pytest.mark.parametrize(
    ("n", "c", "h", "w"), [(1, 1, 1, 1), (2, 3, 4, 5), (1, 4, 3, 16), (3, 11, 2, 7)]
)
def test_images(n, c, h, w):
    i, j, k, m = np.indices((n, c, h, w)).reshape(4, -1)
    nchw = ((i * c + j) * h + k) * w + m
    nhwc = ((i * h + k) * w + m) * c + j
    turn = nchw_nhwc(n, c, h, w)
    for element_cells in (1, 2):
        there = turn.tiles(SMALL, 3, 20000, element_cells=element_cells)
        moved(SMALL, there, element_cells, (nchw, nhwc), 3, 20000)
        back = turn.tiles(SMALL, 3, 20000, element_cells=element_cells, reverse=True)
        moved(SMALL, back, element_cells, (nhwc, nchw), 20000, 3)
    for group in (1, 2, 3, 4):
        groups = -(-c // group)
        nchwc = (((i * groups + j // group) * h + k) * w + m) * group + j % group
        turn = nchw_nchwc(n, c, h, w, group)
        moved(SMALL, turn.tiles(SMALL, 3, 20000), 1, (nchw, nchwc), 3, 20000)
        moved(SMALL, turn.tiles(SMALL, 3, 20000, reverse=True), 1, (nchwc, nchw), 20000, 3)
        for element_cells in (1, 4):
            there = nchwc_nhwc(SMALL, 3, 20000, n, c, h, w, group, element_cells=element_cells)
            moved(SMALL, [there], element_cells, (nchwc, nhwc), 3, 20000)
            back = nchwc_nhwc(
                SMALL, 3, 20000, n, c, h, w, group, element_cells=element_cells, reverse=True
            )
            moved(SMALL, [back], element_cells, (nhwc, nchwc), 20000, 3)


def test_reach():
    """What the steps of a ragged tensor lead to: two tiles of 64 columns, the last row's last."""
    turn = PRESETS["forward4/group1/1x16"].turn(ho=6, wo=70, co=5)
    # Rows 0 .. 7, columns 0 .. 127, channels 0 .. 4.
    assert turn.reach == (7 * 70 + 127) * 5 + 4 + 1
    assert nchw_nhwc(2, 3, 4, 5).reach == 2 * 3 * 4 * 5
    assert nchw_nchwc(1, 5, 1, 7, 4).reach == 2 * 7 * 4
    source = turn.reach
    assert checks.judge(SMALL, [t.encode() for t in turn.tiles(SMALL, source, 0)]) == [0, 0]
    inside = [tile.encode() for tile in turn.tiles(SMALL, source - 1, 0)]
    assert checks.judge(SMALL, inside) == [Status.PAIR_REJECTED, Status.OVERLAP]


def test_refused():
    turn = nchw_nchwc(1, 8, 4, 16, 8)

    def refuses(message, make):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            make()

    nibbles = Config(lanes=8, cells=64, beat_cells=8, cell_width=4)
    refuses("element must be whole bytes, not 4 bits", lambda: turn.tiles(nibbles, 0, 0))
    refuses("element must be whole bytes, not 4 bits",
            lambda: nchwc_nhwc(nibbles, 0, 0, 1, 1, 1, 1, 1))  # fmt: skip
    refuses("group must be at most lanes (4), not 8", lambda: turn.tiles(SMALL, 0, 0))
    small = Config(lanes=8, cells=64, beat_cells=8)
    turn.tiles(small, 0, 0, element_cells=2)
    refuses("stage must end by cell 64, not 72",
            lambda: turn.tiles(small, 0, 0, element_cells=2, cell=8))  # fmt: skip


def test_names_of_presets():
    assert len(PRESETS) == 27
    assert set(TABLE) < set(PRESETS)
