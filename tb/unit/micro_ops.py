"""Micro-ops at random, and what they mean for the memory of all lanes (plain Python)."""

from cornerturn import isa
from unit.bench import beat_of, cells_of, draw

__all__ = ["Lanes", "random_read", "random_write"]


def _op(rng, config, layout, *, first=None, step=None, **fixed):
    """A micro-op whose hits are all inside the lanes; what it does not use is random."""
    code = rng.randrange(config.element_codes)
    size = 1 << code
    first = rng.randrange(config.lanes) if first is None else first
    step = rng.randint(1, config.lanes - 1) if step is None else step
    start = rng.randrange(0, config.beat_cells, size)
    most = min((config.lanes - 1 - first) // step + 1, (config.beat_cells - start) >> code)
    last = start + (rng.randint(1, most) - 1) * size
    along = rng.random() < 0.3
    return draw(
        rng, layout, valid=1, along=along, skip=first, step_m1=step - 1, code=code,
        position=0 if along else start, last_position=0 if along else last,
        word=rng.randrange(config.words),
    ) | fixed  # fmt: skip


def random_read(rng, config, **fixed):
    """A read micro-op; `first`, `step` and fields as given."""
    op = _op(rng, config, isa.read_op(config), **fixed)
    return op | {"offset": rng.randrange(0, config.beat_cells, 1 << op["code"])}


def random_write(rng, config, **fixed):
    """A write micro-op: an element at any place of the word, or any cells of the word."""
    op = _op(rng, config, isa.write_op(config), **fixed)
    size = 1 << op["code"]
    if not op["along"]:
        op["mask"] = ((1 << size) - 1) << rng.randrange(0, config.beat_cells, size)
    return op


def _hits(op):
    """Lane and position of every hit."""
    count = ((op["last_position"] - op["position"]) >> op["code"]) + 1
    for k in range(count):
        yield op["skip"] + k * (op["step_m1"] + 1), op["position"] + (k << op["code"])


class Lanes:
    """The memories of all lanes, cell by cell."""

    def __init__(self, config):
        self._config = config
        self.words = [[[0] * config.beat_cells] * config.words for _ in range(config.lanes)]

    def read(self, op):
        """The beat that a read micro-op brings back."""
        config = self._config
        if op["along"]:
            return beat_of(config, self.words[op["skip"]][op["word"]])
        beat = [0] * config.beat_cells
        for lane, position in _hits(op):
            for cell in range(1 << op["code"]):
                beat[position + cell] = self.words[lane][op["word"]][op["offset"] + cell]
        return beat_of(config, beat)

    def write(self, op):
        """Obey a write micro-op."""
        config = self._config
        beat = cells_of(config, op["beat"])
        places = [cell for cell in range(config.beat_cells) if op["mask"] >> cell & 1]
        if op["along"]:
            self.store(op["skip"], op["word"], {place: beat[place] for place in places})
            return
        for lane, position in _hits(op):
            size = 1 << op["code"]
            self.store(lane, op["word"], {p: beat[position + p % size] for p in places})

    def store(self, lane, word, cells):
        """Put cells into a word."""
        old = self.words[lane][word]
        self.words[lane][word] = [cells.get(place, cell) for place, cell in enumerate(old)]
