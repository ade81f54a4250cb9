"""The aligner: from the beats of a source to those of a destination, one a cycle."""

import random

import pytest
from cornerturn import isa
from cornerturn.config import Config
from cornerturn.tiu.aligner import Aligner
from unit.bench import CONFIGS, beat_of, cells_of, draw, each_config, trace

OUTPUTS = ("o_op", "early", "early_lane_high", "launched")
CARRIED = ("last", "along", "skip", "step_m1", "word", "code")
"""What a micro-op takes from its slot as it is."""


def idle_slot(rng, config):
    """No slot: nothing but noise, and no mark that anybody acts on."""
    return draw(
        rng, isa.slot_write(config), valid=0, fresh=0, last=0, row_end=0, swap_across=0, held=0
    )


class Train:
    """Slots, the beats that come for them, and what must be launched."""

    def __init__(self, rng, config, delay=None):
        self.rng, self.config = rng, config
        self.delay = delay
        self.slots, self.beats, self.expected = [], [], []

    def row(self, source, destination, cells, *, across=False, held=False, gaps=False):
        """A row of so many cells, from offset to offset; `across` writes elements of one cell.

        With `gaps` slots are apart: only where no beat is merged with the one behind it.
        """
        rng, config = self.rng, self.config
        word = config.beat_cells
        values = [rng.getrandbits(config.cell_width) for _ in range(cells)]
        reads, writes = -(-(source + cells) // word), -(-(destination + cells) // word)
        delay = config.hold_beats if held else 0
        common = {"rotate": (destination - source) % word, "late": destination < source}
        common |= {"along": not across, "held": held, "code": 0} if across else {
            "along": 1, "held": held}  # fmt: skip
        for b in range(max(reads, writes) + delay):
            write = b - delay
            if gaps:
                self.pause(rng.choice([0, 0, 1, 4]))
            slot = idle_slot(rng, config) | common | {"fresh": 1}
            expected = None
            if 0 <= write < writes:
                first = destination if write == 0 else 0
                final = (destination + cells - 1) % word if write == writes - 1 else word - 1
                slot |= {"valid": 1, "first": first, "final": final}
                places = {
                    place: values[k]
                    for place in range(first, final + 1)
                    if 0 <= (k := write * word + place - destination) < cells
                }
                expected = (slot, places)
            beat = [rng.getrandbits(config.cell_width) for _ in range(word)]
            if b < reads:
                for place in range(word):
                    if 0 <= b * word + place - source < cells:
                        beat[place] = values[b * word + place - source]
            self.add(slot, beat, expected)
        return self

    def add(self, slot, beat, expected):
        """One slot, its beat as cells, and what it writes: (slot, {place: cell}) or None."""
        self.slots.append(slot)
        self.beats.append(beat_of(self.config, beat))
        self.expected.append(expected)

    def pause(self, cycles):
        """Cycles in which no slot issues."""
        for _ in range(cycles):
            noise = cells_of(self.config, self.rng.getrandbits(self.config.beat_width))
            self.add(idle_slot(self.rng, self.config), noise, None)

    def check(self):
        """Drive it all, and compare every launch."""
        config = self.config
        delay, align = self.delay or config.write_delay, config.align_latency
        self.pause(delay + 2)
        stimulus = [{"slot": slot} for slot in self.slots]
        for cycle, beat in enumerate(self.beats[: len(self.slots) - delay]):
            stimulus[cycle + delay - align]["beat"] = beat
        seen = trace(Aligner(config, delay=self.delay), stimulus, OUTPUTS)
        for cycle, slot in enumerate(self.slots[: len(self.slots) - delay]):
            early, outputs = seen[cycle + delay - 1], seen[cycle + delay]
            assert early["early"] == outputs["launched"] == slot
            op = outputs["o_op"]
            assert op["valid"] == slot["valid"]
            assert op["last"] == slot["last"]
            if self.expected[cycle] is None:
                assert not op["valid"]
                continue
            self._compare(op, *self.expected[cycle])
            if not slot["along"]:
                # With a lane step of 1, so many lanes.
                elements = (slot["final"] - slot["first"]) >> slot["code"]
                high = (slot["skip"] + elements) % (1 << config.lane_bits)
                assert early["early_lane_high"] == high

    def _compare(self, op, slot, places):
        config = self.config
        assert {name: op[name] for name in CARRIED} == {name: slot[name] for name in CARRIED}
        beat = cells_of(config, op["beat"])
        assert {place: beat[place] for place in places} == places
        if slot["along"]:
            assert op["mask"] == sum(1 << place for place in places)
            # It ends at its first hit.
            assert op["position"] == op["last_position"]
        else:
            size = 1 << slot["code"]
            assert op["mask"] == ((1 << size) - 1) << slot["offset"]
            assert (op["position"], op["last_position"]) == (slot["first"], slot["final"])


@each_config
def test_every_pair_of_offsets(config):
    """Rows of several lengths from every offset to every offset, without a cycle between them."""
    rng = random.Random(32)
    train = Train(rng, config)
    word = config.beat_cells
    for source in range(word):
        for destination in range(word):
            few = word > 8
            for cells in [rng.randint(1, word)] * few or [1, word, rng.randint(1, 4 * word)]:
                train.row(source, destination, cells)
    assert len(train.slots) >= word * word
    train.check()


@each_config
def test_rows_and_pauses(config):
    """Rows of any length with pauses among them: nothing is launched but what was issued."""
    rng = random.Random(33)
    train = Train(rng, config)
    word = config.beat_cells
    for _ in range(40):
        across = rng.random() < 0.3
        destination = 0 if across else rng.randrange(word)
        train.row(rng.randrange(word), destination, rng.randint(1, 5 * word), across=across)
        train.pause(rng.choice([0, 0, 1, 2, 5]))
    train.check()


@each_config
@pytest.mark.parametrize("more", [1, 2, 6])
def test_slots_that_wait_within_rows(config, more):
    """Beats that come when they like, with a delay of its own: the one before is kept."""
    rng = random.Random(37)
    train = Train(rng, config, delay=config.align_latency + more)
    word = config.beat_cells
    for destination in range(word):
        for _ in range(4 if word < 16 else 1):
            source = rng.randint(0, destination)
            train.row(source, destination, rng.randint(1, 5 * word), gaps=True)
            train.pause(rng.choice([0, 0, 1, 2, 5]))
    train.check()


@each_config
def test_elements_to_every_offset(config):
    """Across writes: the mask is that of the element's place in the word, whatever its size."""
    rng = random.Random(34)
    train = Train(rng, config)
    word = config.beat_cells
    for code in range(config.element_codes):
        size = 1 << code
        for offset in range(0, word, size):
            # As a SWAP has it: the first element anywhere, nothing turned.
            first = rng.randrange(0, word, size)
            final = rng.randrange(first, word, size)
            fields = {"along": 0, "code": code, "offset": offset, "first": first, "final": final}
            slot = idle_slot(rng, config) | fields | {"valid": 1, "rotate": 0, "late": 0}
            slot |= {"fresh": 1, "swap_across": rng.getrandbits(1), "last": rng.getrandbits(1)}
            beat = cells_of(config, rng.getrandbits(config.beat_width))
            train.add(slot, beat, (slot, dict(enumerate(beat))))
    train.check()


HELD = {
    "one rotation": CONFIGS["narrow"].replace(lanes=24, lanes_per_hop=24, beat_cells=2),
    "two rotations": Config(lanes=40, lanes_per_hop=40, cells=64, beat_cells=16),
}


@pytest.mark.parametrize("config", HELD.values(), ids=HELD)
def test_held_rows(config):
    """Held and other rows in turn: the beats of a held row come out of the hold."""
    assert config.hold_beats > 0
    rng = random.Random(35)
    train = Train(rng, config)
    word = config.beat_cells
    for _ in range(25):
        held = rng.random() < 0.6
        train.row(rng.randrange(word), rng.randrange(word), rng.randint(1, 9 * word), held=held)
        # Rows of one tile wait for each other; the next instruction may follow at once.
        train.pause(rng.choice([0, 0, 1, config.write_delay]))
    train.check()


@each_config
def test_markers_need_no_write(config):
    """`last` launches with an invalid slot: an instruction without rows, or one that was ended."""
    rng = random.Random(36)
    train = Train(rng, config)
    for _ in range(30):
        slot = idle_slot(rng, config) | {"last": rng.getrandbits(1), "row_end": rng.getrandbits(1)}
        train.add(slot, [0] * config.beat_cells, None)
    train.check()
