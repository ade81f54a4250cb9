"""The cycle model against a clock: every slot of a program on a time axis, acting on memories.

The reference here lists slots one by one and lets each read and write act when its micro-op passes
its lane. It shows two things at once: that the counters are those of the schedule, and that the
schedule keeps the meaning of the program without ever reading and writing a word in one cycle.
"""

from collections import Counter

import numpy as np
import plain
import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import COUNTERS, Opcode, Status, Tag, unpack
from cornerturn_model import checks, cycles, golden
from cornerturn_model.instruction import (
    Across,
    Along,
    Digit,
    Fence,
    Halt,
    Limits,
    Nop,
    Segment,
    Swap,
    Tile,
    as_descriptor,
)
from hypothesis import given
from hypothesis import strategies as st
from programs import programs

CONFIGS = {
    **PRESETS,
    "one hop": Config(lanes=9, lanes_per_hop=9, cells=256, beat_cells=4),
    "one cell": Config(lanes=5, lanes_per_hop=2, cells=32, beat_cells=1),
    "long words": Config(lanes=16, lanes_per_hop=8, cells=256, beat_cells=64),
}


class Clock:
    """Slots of one segment in order of issue, and the places they touch in time."""

    def __init__(self, config):
        self.config = config
        self.counters = Counter()
        self.next = 0  # the first free cycle
        self.issued = []  # (first slot, last writing slot, write region or None)
        self.crossing = {}  # of this SWAP: slot -> words that its across write touches
        self.stopped = False  # by a row outside the array
        self.events = []  # (cycle, is_write, row, [((lane, cell), place in the row)])

    def slot(self, row, reads, writes, hold=0):
        """One slot now, with the elements' cells it reads, and those it writes `hold` later."""
        at = self.next
        self.next += 1
        for is_write, cells, time in (
            (False, reads, at + 1),
            (True, writes, at + hold + self.config.write_delay),
        ):
            if cells:
                self.counters["beats_written" if is_write else "beats_read"] += 1
                self.events.append((time, is_write, row, cells))
        return at + hold

    def instruction(self, descriptor):
        """Issue one accepted instruction at its earliest cycle."""
        config, f = self.config, unpack(descriptor)
        read, write = checks.regions(config, descriptor)
        ready = max(self.next, self.issued[-1][0] + config.check_interval) if self.issued else 0
        first = ready
        if read is not None:
            for _, last_write, region in self.issued:
                if region is not None and region.meets(read):
                    first = max(first, last_write + config.write_delay + config.raw_gap)
            self.counters["stalls_hazard"] += first - ready
        elif f["opcode"] in (Opcode.FENCE, Opcode.HALT):
            for _, last_write, _ in self.issued:
                first = max(first, last_write + config.completion_delay + 1)
            self.counters["stalls_fence"] += first - ready
        self.next = first
        if read is None:
            last_write = self.slot(None, [], [])
        elif f["opcode"] == Opcode.SWAP:
            last_write = self.swap(f)
            self.counters["blocks"] += 1
        else:
            last_write = self.tile(descriptor)
        self.issued.append((first, last_write, write))
        self.counters["instructions"] += 1

    def tile(self, descriptor):
        """All rows of a tile, beat by beat; the last slot that writes, or the last of all."""
        config, f = self.config, unpack(descriptor)
        serial = checks.serial(config, descriptor)
        limited = f["limit_ho"] or f["limit_wo"] or f["limit_co"]
        written = None  # the slot of the last write of any row before
        for row in plain.rows(f):
            if serial and written is not None:
                wait = written + config.write_delay + config.raw_gap - self.next
                self.counters["stalls_hazard"] += max(0, wait)
                self.next += max(0, wait)
            self.counters["blocks"] += row.begins
            if limited and plain.touches_outside(config, f, row):
                self.stopped = True
                return self.slot(None, [], [])
            if row.length == 0:
                last = self.slot(None, [], [])
                continue
            data = {}
            reads = self.beats(f, "in", row.source, row.length)
            writes = self.beats(f, "out", row.destination, row.length)
            hold = config.hold_beats if serial and len(reads) > config.protected_beats else 0
            start = self.next
            for b in range(max(len(reads), len(writes))):
                at = self.slot(data, reads[b : b + 1], writes[b : b + 1], hold)
                last = written = at if b < len(writes) else written
            self.next = start + max(len(reads), len(writes)) + hold
            self.counters["rows"] += 1
        return last

    def beats(self, f, side, start, length):
        """The beats of a row's side: for each, the cells in it and their places in the row."""
        word, beats = self.config.beat_cells, {}
        for k, cells in enumerate(plain.places(self.config, f, side, start, length)):
            for c, (lane, cell) in enumerate(cells):
                place = k * len(cells) + c
                beat = place // word if f[f"{side}_mode"] == 0 else cell // word - start[1] // word
                beats.setdefault(beat, []).append(((lane, cell), place))
        assert list(beats) == list(range(len(beats)))
        return list(beats.values())

    def swap(self, f):
        """All rows of a SWAP, word by word; the cycle of the last slot."""
        config, g, n = self.config, 1 << f["element"], f["n"]
        self.crossing = {}
        for i in range(n - 1):
            words = {}
            for j in range(i + 1, n):
                words.setdefault((f["in_cell"] + j * g) // config.beat_cells, []).append(j)
            for elements in words.values():
                across, along = (
                    [((f["in_lane"] + a, f["in_cell"] + b * g + c), (j, c))
                     for j in elements for c in range(g) for a, b in [(j, i) if turn else (i, j)]]
                    for turn in (True, False)
                )  # fmt: skip
                upwards, downwards = {}, {}
                self.swap_slot(upwards, across, along, crossing=False)
                at = self.swap_slot(downwards, along, across, crossing=True)
            self.counters["rows"] += 1
        return at

    def swap_slot(self, row, reads, writes, crossing):
        """One slot of a SWAP, after the cycles in which its read would meet an across write."""
        word = self.config.beat_cells
        touched = {(lane, cell // word) for (lane, cell), _ in reads}
        while touched & self.crossing.get(self.next + 1 - self.config.write_delay, set()):
            self.next += 1
            self.counters["stalls_port"] += 1
        if crossing:
            self.crossing[self.next] = {(lane, cell // word) for (lane, cell), _ in writes}
        return self.slot(row, [reads], [writes])

    @property
    def cycles(self):
        """First issue to last completion."""
        return max((v + self.config.completion_delay for _, v, _ in self.issued), default=0)

    def act(self, lmem):
        """Let every beat pass its lanes, in time; the memories change in place."""
        config = self.config
        acts = []
        for time, is_write, row, beats in self.events:
            for (lane, cell), place in beats[0]:
                acts.append((time + lane // config.lanes_per_hop, is_write, lane, cell, row, place))
        ports = {False: set(), True: set()}
        for time, is_write, lane, cell, _, _ in acts:
            ports[is_write].add((time, lane, cell // config.beat_cells))
        assert not ports[False] & ports[True], "a word is read and written in one cycle"
        for _, is_write, lane, cell, row, place in sorted(acts, key=lambda act: act[:2]):
            if is_write:
                lmem[lane, cell] = row[place]
            else:
                row[place] = lmem[lane, cell]


def on_a_clock(config, lmem, program):
    """The counters of a program, and the memories that its slots leave behind."""
    counters, lmem = Counter(dict.fromkeys(COUNTERS, 0)), lmem.copy()
    clock = Clock(config)
    for descriptor in [*map(as_descriptor, program), None]:
        accepted = descriptor is not None and checks.check(config, descriptor) == Status.OK
        if accepted:
            clock.instruction(descriptor)
        if not accepted or clock.stopped or unpack(descriptor)["opcode"] == Opcode.HALT:
            clock.act(lmem)
            counters.update(clock.counters)
            counters["cycles"] += clock.cycles
            clock = Clock(config)
    return dict(counters), lmem


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@given(data=st.data())
def test_against_a_clock(config, data):
    program = data.draw(programs(config, max_size=5, loops=data.draw(st.booleans())))
    generator = np.random.default_rng(len(program))
    before = generator.integers(0, 256, (config.lanes, config.cells), np.uint8)
    counters, after = on_a_clock(config, before, program)
    assert cycles.count(config, program) == counters
    assert (golden.run(config, before, program).lmem == after).all()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_swap_against_a_clock(config):
    before = np.arange(config.lanes * config.cells).astype(np.uint8)
    before = before.reshape(config.lanes, config.cells)
    for element_cells in (1 << code for code in range(config.element_codes)):
        most = min(config.lanes, config.cells // element_cells - 1)
        for n in {*range(2, min(most, 20) + 1), most}:
            for cell in {0, element_cells, config.beat_cells - element_cells}:
                if cell + n * element_cells > config.cells:
                    continue
                swap = Swap(config.lanes - n, cell, n, element_cells)
                counters, after = on_a_clock(config, before, [swap])
                assert cycles.count(config, [swap]) == counters
                assert (golden.run(config, before, [swap]).lmem == after).all()


HELD = Config(lanes=9, lanes_per_hop=9, cells=256, beat_cells=4)


@pytest.mark.parametrize("element_cells", [1, 2, 4])
@pytest.mark.parametrize("shift", [0, 1, 2, -1])
def test_long_serial_rows_are_held(element_cells, shift):
    """One hop, rows longer than the chain protects, onto themselves: read whole before written."""
    g = element_cells
    before = np.random.default_rng(5).integers(0, 256, (9, 256), np.uint8)
    row = Tile(Along(4, 40), Along(4, 40 + shift * g), 9, [Digit(3, (0, g), (0, 2 * g))], g)
    turn = Tile(Across(0, 40), Along(2, 40), 9, [Digit(2, (0, g), (0, 9 * g))], g)
    for tile in (row, turn):
        counters, after = on_a_clock(HELD, before, [tile])
        assert cycles.count(HELD, [tile]) == counters
        assert (golden.run(HELD, before, [tile]).lmem == after).all()


def test_held_rows_by_hand():
    """9 elements of 4 cells: 9 beats > 7 protected, held by 9 - 7 = 2 slots."""
    assert (HELD.write_delay, HELD.protected_beats, HELD.hold_beats) == (8, 7, 2)
    tile = Tile(Along(4, 40), Along(4, 44), 9, [Digit(2)], 4)
    counters = cycles.count(HELD, [tile])
    # First row: slots 0..10, its last write in 10; the second starts at 10 + 8 + 1.
    assert counters["stalls_hazard"] == 19 - 11
    assert counters["cycles"] == 19 + 10 + HELD.completion_delay
    # 8 beats are held, too; 7 are not.
    for n, last_write in ((8, 7 + 2), (7, 6)):
        tile = Tile(Along(4, 40), Along(4, 44), n, (), 4)
        assert cycles.count(HELD, [tile])["cycles"] == last_write + HELD.completion_delay


def test_without_rows():
    """A slot each, one check interval apart; a fence waits for what is before it."""
    config = PRESETS["tiny"]
    delay = config.completion_delay
    empty = {"cycles": 0, "beats_read": 0, "beats_written": 0, "stalls_hazard": 0,
             "stalls_fence": 0, "stalls_port": 0, "stalls_completion": 0, "rows": 0, "blocks": 0,
             "instructions": 0}  # fmt: skip
    assert cycles.count(config, []) == empty
    assert cycles.count(config, [1 << 40]) == empty
    for item in (Nop(), Fence(), Halt(), Swap(0, 0, 1), Tile(Along(0, 0), Along(0, 0), 0)):
        assert cycles.count(config, [item]) == empty | {"cycles": delay, "instructions": 1}
    nops = cycles.count(config, [Nop(), Nop()])
    assert nops == empty | {"cycles": 16 + delay, "instructions": 2}
    fenced = cycles.count(config, [Nop(), Fence()])
    assert fenced == empty | {
        "cycles": delay + 1 + delay, "instructions": 2, "stalls_fence": delay + 1 - 16,
    }  # fmt: skip


def test_stops_end_a_segment():
    config = PRESETS["tiny"]
    row = Tile(Along(0, 0), Along(1, 0), 32)
    alone = cycles.count(config, [row])
    # The second would wait for the first, if it remembered it.
    back = Tile(Along(1, 0), Along(0, 0), 32)
    assert cycles.count(config, [row, back])["stalls_hazard"] > 0
    stopped = cycles.count(config, [row, 1 << 40, back])
    assert stopped == {name: 2 * value for name, value in alone.items()}
    halted = cycles.count(config, [row, Halt(), back])
    assert halted["stalls_hazard"] == 0
    assert halted["cycles"] == alone["cycles"] + 1 + config.completion_delay + alone["cycles"]


def test_hazard_by_hand():
    config = PRESETS["tiny"]
    first, second = Tile(Along(0, 0), Along(1, 0), 128), Tile(Along(1, 0), Along(2, 0), 4)
    counters = cycles.count(config, [first, second])
    # The last of 32 beats is in slot 31; without the conflict the second would issue in 32.
    start = 31 + config.write_delay + config.raw_gap
    assert counters["stalls_hazard"] == start - 32
    assert counters["cycles"] == start + config.completion_delay


def test_segments_by_hand():
    """Words of 4: rows of 5, 5 and 3 elements from cells 0, 5 and 10 to cells 0, 8 and 16."""
    config = PRESETS["tiny"]
    tile = Tile(Along(0, 0), Along(1, 0), Segment(13, 5, (0, 5), (0, 8)))
    counters = cycles.count(config, [tile])
    # Read beats 2, 2, 2; write beats 2, 2, 1: the last write is in slot 4 of 0 .. 5.
    assert counters["cycles"] == 4 + config.completion_delay
    assert (counters["beats_read"], counters["beats_written"]) == (6, 5)
    assert (counters["rows"], counters["blocks"], counters["instructions"]) == (3, 3, 1)
    assert cycles.limit(config, [tile]) == 2 + 2 + 1
    # Twice 3 times that, with two rows in each block.
    loops = {"ho": Digit(2, (0, 0), (1, 0)), "wo": Digit(3, (0, 20), (0, 24))}
    tile = Tile(tile.src, tile.dst, tile.n, [Digit(2, (0, 120), (0, 120))], **loops)
    counters = cycles.count(config, [tile])
    assert counters["cycles"] == 12 * 6 - 2 + config.completion_delay
    assert (counters["beats_read"], counters["beats_written"]) == (72, 60)
    assert (counters["rows"], counters["blocks"], counters["instructions"]) == (36, 18, 1)


def test_limits_by_hand():
    config = PRESETS["tiny"]
    rows = [Digit(5, (0, 8), (0, 8), Tag.HO, 1)]
    tile = Tile(Along(0, 0), Along(1, 0), 8, rows, limits=Limits(ho=2))
    counters = cycles.count(config, [tile])
    # Two rows of 2 slots, three suppressed: the last of all slots counts.
    assert counters["cycles"] == 6 + config.completion_delay
    assert (counters["beats_read"], counters["beats_written"]) == (4, 4)
    assert (counters["rows"], counters["blocks"]) == (2, 1)
    assert cycles.limit(config, [tile]) == 4
    # Trimmed to 5 elements, then 3: a slot less.
    for limit, slots in ((5, 10), (4, 5), (3, 5)):
        tile = Tile(Along(0, 0), Along(1, 0), 8, rows, limits=Limits(co=limit), row_tag=Tag.CO)
        counters = cycles.count(config, [tile])
        assert counters["cycles"] == slots - 1 + config.completion_delay
        assert (counters["rows"], counters["beats_read"]) == (5, slots)
    # What comes behind may read what the tile wrote, at the earliest after its last row.
    back = Tile(Along(1, 0), Along(2, 0), 1)
    tile = Tile(Along(0, 0), Along(1, 0), 8, rows, limits=Limits(ho=1))
    counters = cycles.count(config, [tile, back])
    start = 5 + config.write_delay + config.raw_gap
    assert counters["stalls_hazard"] == start - config.check_interval
    assert counters["cycles"] == start + config.completion_delay


def test_a_block_of_suppressed_rows_has_begun():
    config = PRESETS["tiny"]
    tile = Tile(
        Along(0, 0), Along(1, 0), 4, [Digit(2, (0, 4), (0, 4))],
        ho=Digit(3, (0, 8), (0, 8), Tag.HO, 1), limits=Limits(ho=1),
    )  # fmt: skip
    counters = cycles.count(config, [tile])
    assert (counters["rows"], counters["blocks"]) == (2, 3)
    assert counters["cycles"] == 5 + config.completion_delay


def test_limits_of_a_serial_tile_by_hand():
    """Rows that move and rows that do not, by turns: all wait for the last write."""
    config = PRESETS["tiny"]
    digits = [Digit(2), Digit(2, (0, 0), (0, 0), Tag.HO, 1)]
    tile = Tile(Along(0, 0), Along(0, 1), 1, digits, limits=Limits(ho=1))
    counters = cycles.count(config, [tile])
    gap = config.write_delay + config.raw_gap
    # Slots 0, gap (suppressed), gap + 1, 2 * gap + 1 (suppressed).
    assert counters["cycles"] == 2 * gap + 1 + config.completion_delay
    assert counters["stalls_hazard"] == 2 * (gap - 1)
    assert counters["rows"] == 2


def test_a_row_outside_by_hand():
    config = PRESETS["tiny"]
    out = Tile(
        Along(0, 0), Along(1, 0), 4, [Digit(2, (0, 4), (0, 4))], ho=Digit(3, (0, 8), (2, 0)),
        limits=Limits(ho=1),
    )  # fmt: skip
    counters = cycles.count(config, [out])
    # Two blocks run; the first row of the third, in slot 4, is in lane 5.
    assert counters["cycles"] == 4 + config.completion_delay
    assert (counters["rows"], counters["blocks"], counters["instructions"]) == (4, 3, 1)
    assert (counters["beats_read"], counters["beats_written"]) == (4, 4)
    # What follows is a segment of its own.
    back = Tile(Along(1, 0), Along(2, 0), 4)
    alone = cycles.count(config, [back])
    both = cycles.count(config, [out, back])
    assert both == {name: counters[name] + alone[name] for name in alone}
    # Nothing but the row that is outside.
    counters = cycles.count(config, [Tile(Along(4, 0), Along(1, 0), 4, limits=Limits(ho=1))])
    assert counters["cycles"] == config.completion_delay
    assert (counters["rows"], counters["blocks"], counters["beats_read"]) == (0, 1, 0)


def test_a_pure_function_of_descriptors_and_fast():
    """A tile of 2**46 rows: time is a count, not a walk."""
    config = PRESETS["default"]
    digits = [Digit(65535), Digit(65535), Digit(1 << 14, (0, 0), (0, 0)), Digit(3, (0, 1), (0, 3))]
    tile = Tile(Along(0, 0), Along(1, 0), 8, digits)
    rows = 65535 * 65535 * (1 << 14)
    # Offsets 0, 1, 2 of the source and 0, 3, 6 of the destination: 1, 2 and 2 slots.
    assert cycles.count(config, [tile])["cycles"] == rows * 5 - 1 + config.completion_delay
    assert cycles.limit(config, [tile]) == rows * 3
    # The same three ways in 2 * 65535 blocks, and one in each remainder.
    segment = Segment(3 * 8 + 7, 8, (0, 1), (0, 3))
    ho, wo = Digit(2), Digit(65535)
    tile = Tile(Along(0, 0), Along(1, 0), segment, digits[:1], ho=ho, wo=wo)
    counters = cycles.count(config, [tile])
    # Offsets 0, 1, 2, 3 and 0, 3, 6, 1; the last with 7 elements, read in 2 slots, written in 1.
    assert counters["rows"] == 4 * 2 * 65535 * 65535
    assert counters["cycles"] == 7 * 2 * 65535 * 65535 - 2 + config.completion_delay


BUDGETS = {
    **{f"M={lanes} H={hop} W={beat}": Config(lanes=lanes, lanes_per_hop=hop, beat_cells=beat)
       for lanes in (4, 32, 64) for hop in (1, 4) for beat in (4, 8, 16, 64)},
    **PRESETS,
}  # fmt: skip


@pytest.mark.parametrize("config", BUDGETS.values(), ids=BUDGETS)
def test_budget_of_a_tile(config):
    """R * ceil(N*g/W) + 2 * ceil(M/H) + 12, for every N: padding lanes cost nothing."""
    hops = -(-config.lanes // config.lanes_per_hop)
    for element_cells in (1 << code for code in range(config.element_codes)):
        for n in range(1, config.lanes + 1):
            # Rows start at whole words, as the budget is about aligned ones.
            beats = -(-n * element_cells // config.beat_cells)
            rows = min(5, config.cells // 2 // (beats * config.beat_cells))
            if rows == 0:
                continue
            digits = [Digit(rows, (0, 0), (0, beats * config.beat_cells))]
            there = Tile(Across(0, 0), Along(0, config.cells // 2), n, digits, element_cells)
            flipped = [Digit(rows, digits[0].out_step, digits[0].in_step)]
            back = Tile(there.dst, there.src, n, flipped, element_cells)
            for tile in (there, back):
                count = cycles.count(config, [tile])["cycles"]
                assert count <= rows * beats + 2 * hops + 12
                assert cycles.limit(config, [tile]) == rows * beats <= count


def test_start_up():
    """At M=32, W=16, H=4: at most 28 cycles; the published silicon model has 30."""
    config = Config(lanes=32, lanes_per_hop=4, beat_cells=16)
    tile = Tile(Across(0, 0), Along(0, 64), 32, [Digit(10, (0, 1), (0, 32))])
    assert cycles.count(config, [tile])["cycles"] - 20 <= 28


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_no_bubble_between_independent_instructions(config):
    """Of 16 beats or more: the sum of the beats and one start-up."""
    word, half = config.beat_cells, config.cells // 2
    tiles = [
        Tile(Along(lane % 2, 0), Along(2 + lane % 2, half), beats * word)
        for lane, beats in enumerate((16, 17, 20, 16))
    ]
    start_up = cycles.count(config, tiles[:1])["cycles"] - 16
    counters = cycles.count(config, tiles)
    assert counters["cycles"] == 16 + 17 + 20 + 16 + start_up
    assert counters["beats_read"] == 16 + 17 + 20 + 16
    shorter = Tile(Along(0, 0), Along(2, half), 15 * word)
    assert cycles.count(config, [shorter, shorter])["cycles"] == 16 + 15 + start_up


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_a_misaligned_row_costs_one_beat_at_most(config):
    word = config.beat_cells
    for n in (1, word - 1, word, 3 * word + 1):
        aligned = cycles.count(config, [Tile(Along(0, 0), Along(1, 0), n)])["cycles"]
        for source in range(word):
            for destination in {0, 1, word // 2, word - 1, source}:
                tile = Tile(Along(0, source), Along(1, destination), n)
                assert cycles.count(config, [tile])["cycles"] - aligned in (0, 1)


@pytest.mark.parametrize("config", PRESETS.values(), ids=PRESETS)
def test_budget_of_a_swap(config):
    """The sum of 2 * A_i + L_i, and 2 * ceil(M/H) + 16, for every n, cell and element."""
    word = config.beat_cells
    hops = -(-config.lanes // config.lanes_per_hop)
    for g in (1 << code for code in range(config.element_codes)):
        for cell in range(0, word, g):
            for n in range(2, config.lanes + 1):
                left = [(n - 1 - i) * g for i in range(n - 1)]
                starts = [(cell + (i + 1) * g) % word for i in range(n - 1)]
                across = sum(-(-cells // word) for cells in left)
                along = sum(-(-(start + cells) // word)
                            for start, cells in zip(starts, left, strict=True))  # fmt: skip
                swap = Swap(0, cell, n, g)
                counters = cycles.count(config, [swap])
                assert counters["cycles"] <= 2 * across + along + 2 * hops + 16
                assert counters["beats_read"] == counters["beats_written"] == 2 * along
                assert cycles.limit(config, [swap]) == 2 * across


def test_limit():
    config = PRESETS["tiny"]
    tile = Tile(Along(0, 1), Along(1, 2), 5, [Digit(3)], 1)
    assert cycles.limit(config, [tile, Fence(), 1 << 40, tile, Swap(0, 0, 1)]) == 2 * 3 * 2
    assert cycles.limit(config, [Swap(0, 0, 4, 2)]) == 2 * (2 + 1 + 1)
    assert cycles.limit(config, [Tile(Along(0, 0), Along(1, 0), 5, [Digit(0)])]) == 0
