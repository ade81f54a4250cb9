"""How far the terms of a box reach, exactly, and the jumps that walk them."""

import random

import pytest
from cornerturn.fields import DIGITS
from cornerturn.tiu.span import Span
from unit.bench import trace

SIZES = [(5, 1), (12, 8), (20, 4), (32, 16), (48, 12)]
"""Bits of what may be added up, and of the coordinate."""

STEP = 1 << 47  # the largest step is one less
OUTPUTS = ("low", "high", "outside", "spill", "jump")

# In the order in which they come: five digits, two loops, then what the segment changes.
INNER, LOOPS = tuple(reversed(DIGITS[1:])), ("wo", "ho")
TERMS = (*INNER, *LOOPS, "other", "whole", "co", "rest")
CYCLES = len(TERMS) + 3  # of a walk: the sums are done two cycles behind the last step


class Walk:
    """Terms of a box: (step, count less one) each, those of the co loop whether it goes on or not.

    If the segment is a digit, `whole` and `rest` are this digit and `other` is the row; else they
    are the row, and `other` is the outermost digit.
    """

    def __init__(
        self, size, terms, *, start=0, digit=0, has_whole=1, has_rest=1, ignore=0, long=()
    ):
        self.width, self.bits = size
        self.terms = dict.fromkeys(TERMS, (0, 0)) | terms
        self.start, self.digit, self.ignore = start, digit, ignore
        self.has_whole, self.has_rest = has_whole, has_rest
        self.long = long  # rows whose counts have more than 16 bits: these here are the low ones

    @classmethod
    def draw(cls, rng, size):
        """Near the bounds, or far beyond."""
        width, bits = size
        reach = rng.choice([1, 1 << bits - 1, 1 << bits, 1 << width - 1])
        wild = rng.random() < 0.3

        def term():
            count_m1 = rng.choice([0, 0, 1, 1, 2, 3])
            step = rng.choice([0, rng.randint(-reach, reach) // max(1, count_m1)])
            if wild and rng.random() < 0.3:
                ends = [1 << width, -1 << width, (1 << width) - 1, STEP - 1, -STEP, 1 << 32]
                step = max(-STEP, min(rng.choice([*ends, rng.randint(-reach, reach)]), STEP - 1))
                count_m1 = rng.choice([count_m1, 1, 65535, rng.getrandbits(16)])
            return step, count_m1

        terms = {name: term() for name in TERMS}
        digit = rng.getrandbits(1)
        has_whole, has_rest = rng.choice([(1, 0), (0, 1), (1, 1)])
        step = terms["whole"][0]
        counts = sorted((terms["whole"][1], terms["rest"][1]), reverse=True)
        if not digit:
            step = abs(step) % STEP
        else:
            terms["other"] = (abs(terms["other"][0]) % STEP, terms["other"][1])
        terms |= {"whole": (step, counts[0]), "rest": (step, counts[1])}
        if not has_whole:
            terms["co"] = (terms["co"][0], 0)
        start = rng.choice([0, (1 << bits) - 1, 1 << bits, rng.getrandbits(bits), (1 << width) - 1])
        if wild:
            start = rng.choice([start, 1 << width, 1 << 31, rng.getrandbits(width + 1)])
        return cls(size, terms, start=start, digit=digit, has_whole=has_whole, has_rest=has_rest)

    def rows(self):
        """The names of the terms that are rows."""
        return ("other",) if self.digit else ("whole", "rest")

    def stimulus(self):
        """A term a cycle; the start comes before the first of them is added."""
        for cycle in range(CYCLES):
            inputs = {
                "start": self.start, "onward": self.terms["co"][0], "clear": cycle == 1,
                "no_whole": not self.has_whole, "no_rest": not self.has_rest,
                "ignore": self.ignore, "finish": cycle == CYCLES - 1,
            }  # fmt: skip
            if cycle < len(TERMS):
                inputs["step"] = self.terms[TERMS[cycle]][0]
            if 1 <= cycle <= len(TERMS):
                name = TERMS[cycle - 1]
                inputs |= {"count_m1": self.terms[name][1], "long": name in self.long}
            if 2 <= cycle < len(TERMS) + 2:
                name = TERMS[cycle - 2]
                digit = "whole" if self.digit else "other"
                inputs["term"] = {
                    "whole": name != "rest", "rest": name != "whole", "loop": name == "co",
                    "digit": name in INNER or name == digit, "row": name in self.rows(),
                }  # fmt: skip
            yield inputs

    def ways(self):
        """How far each term goes, exactly."""
        return {
            name: step * (count_m1 + (1 << 16) * (name in self.long))
            for name, (step, count_m1) in self.terms.items()
        }

    def box(self):
        """Lowest and highest place of everything."""
        ways = self.ways()
        bounds = []
        common = [ways[name] for name in (*INNER, *LOOPS, "other")]
        if self.has_whole:
            mine = [*common, ways["whole"], ways["co"]]
            bounds.append((self.start, mine))
        if self.has_rest:  # behind the last whole segment
            first = self.start + self.has_whole * (self.terms["co"][0] + ways["co"])
            bounds.append((first, [*common, ways["rest"]]))
        if self.ignore:
            bounds = [(self.start, [])]
        low = min(first + sum(way for way in mine if way < 0) for first, mine in bounds)
        high = max(first + sum(way for way in mine if way > 0) for first, mine in bounds)
        return low, high

    def spills(self):
        """Whether the start, or some loop or digit in force alone, goes too far."""
        end = 1 << self.width
        ways = self.ways()
        names = {*INNER, *LOOPS, "other", "co"} - {*self.rows()}
        names |= {name for name in ("whole", "rest") if self.digit and getattr(self, f"has_{name}")}
        ways = [ways[name] for name in names]
        if self.has_whole and self.has_rest:
            ways.append(self.terms["co"][0])
        if self.ignore:
            ways = []
        return self.start >= end or any(not -end <= way < end for way in ways)

    def expected(self):
        """The outputs; nothing but the spill if there is one."""
        if self.spills():
            return {"spill": 1}
        top = (1 << self.bits) - 1
        low, high = self.box()
        clipped = [min(max(bound, 0), top) for bound in (low, high)]
        return {
            "low": clipped[0], "high": clipped[1], "outside": [low, high] != clipped, "spill": 0,
        }  # fmt: skip

    def jumps(self):
        """Of each digit that counts, by its number: its step less the ways inside it."""
        ways = self.ways()
        inside = 0
        outermost = "whole" if self.digit else "other"
        for index, name in enumerate((*INNER, outermost)):
            counts = [self.terms[name][1]] if index < len(INNER) or not self.digit else [
                self.terms[part][1] * getattr(self, f"has_{part}") for part in ("whole", "rest")
            ]  # fmt: skip
            if any(counts):
                yield len(DIGITS) - 1 - index, self.terms[name][0] - inside
            inside += ways[name]


def compare(size, walks):
    """Run walks one behind the other; returns how many did not spill."""
    stimulus = [inputs for walk in walks for inputs in walk.stimulus()]
    # The results come a cycle after the end of a walk, when the next begins.
    seen = trace(Span(*size), [*stimulus, {}], OUTPUTS)[CYCLES::CYCLES]
    for walk, outputs in zip(walks, seen, strict=True):
        wanted = walk.expected()
        assert {name: outputs[name] for name in wanted} == wanted, vars(walk)
        if not wanted["spill"] and not walk.ignore:
            for index, jump in walk.jumps():
                assert outputs["jump"][index] == jump, vars(walk)
    return sum(not walk.spills() for walk in walks)


@pytest.mark.parametrize("size", SIZES)
def test_boxes_are_exact(size):
    """Of whole segments, the rest or both, clipped; where nothing alone goes too far."""
    rng = random.Random(size[0])
    walks = [Walk.draw(rng, size) for _ in range(100)]
    assert 20 < compare(size, walks) < 100
    boxes = [(walk.box(), walk.expected().get("outside")) for walk in walks]
    assert any(outside == 0 and low < high for (low, high), outside in boxes)
    assert any(outside == 1 and low < 0 for (low, high), outside in boxes)
    assert any(outside == 1 and low >= 0 for (low, high), outside in boxes)


@pytest.mark.parametrize("size", SIZES)
def test_what_goes_too_far(size):
    """Each loop and digit alone, the start and the step on to the rest, on both sides."""
    end = 1 << size[0]
    walks = []

    def add(spill, terms, **options):
        walk = Walk(size, terms, **options)
        assert walk.spills() == spill
        walks.append(walk)

    for name in (*INNER, *LOOPS, "other", "co"):
        options = {"start": 1}
        for step, spill in ((end - 1, 0), (-end, 0), (end, 1), (-end - 1, 1)):
            if -STEP <= step < STEP:
                add(spill, {name: (step, 1)}, **options)
                add(0, {name: (step, 0)}, has_rest=0, **options)  # it counts only once
        if size[0] < 48:
            add(1, {name: (STEP - 1, 1)}, **options)
            add(1, {name: (-STEP, 65535)}, **options)
            # Products that would be small modulo any power of two.
            add(1, {name: (1 << 46, 4)}, **options)
            add(1, {name: (1 << 32, 1 << 15)} if size[0] < 47 else {name: (end, 1)}, **options)
        for step, count_m1, spill in (
            (end // 4, 3, 0), (end // 4, 4, 1), (-end // 4, 4, 0), (-end // 4, 5, 1)
        ):  # fmt: skip
            add(spill, {name: (step, count_m1)}, **options)
    # The segment as a digit: only where there is one.
    for name, other in (("whole", "rest"), ("rest", "whole")):
        far = {name: (end // 4, 4), other: (end // 4, 1)}
        add(1, far, digit=1)
        add(0, far, digit=1, **{f"has_{name}": 0})
        add(1, far, digit=1, **{f"has_{other}": 0})
    # The step on to the rest counts only if there is something before it, and something to come.
    for step, spill in ((end - 1, 0), (-end, 0), (end, 1), (-end - 1, 1)):
        if -STEP <= step < STEP:
            add(spill, {"co": (step, 0)})
            add(0, {"co": (step, 0)}, has_whole=0)
            add(0, {"co": (step, 0)}, has_rest=0)
    for start, spill in ((end - 1, 0), (end, 1), (end * 2, 1), ((1 << 64) - 1, 1), (1 << 63, 1)):
        add(spill, {}, start=start)
        add(spill, {}, start=start, ignore=1)
    compare(size, walks)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("digit", [0, 1])
def test_rows_that_reach_beyond_everything(size, digit):
    """They are no spill, wherever they start: what is outside of them may be trimmed away."""
    width, bits = size
    end, top = 1 << width, 1 << bits
    walks = []
    for step, count_m1 in (
        (1, top - 1), (1, top), (end - 1, 1), (end, 1), (end // 2, 2), (STEP - 1, 1),
        (STEP - 1, 65535), (STEP - 1, 0), (0, 65535),
    ):  # fmt: skip
        if count_m1 >= 1 << 16 or step >= STEP:
            continue
        row = {"other": (step, count_m1)} if digit else {
            "whole": (step, count_m1), "rest": (step, count_m1 // 2)
        }  # fmt: skip
        for down in (0, 1, end):
            for parts in ((1, 0), (0, 1), (1, 1)):
                if (parts[1] and down == end and width == 48) or -down < -STEP:
                    continue
                options = {"digit": digit, "has_whole": parts[0], "has_rest": parts[1]}
                walks.append(Walk(size, row | {"d3": (-down, 1)}, **options))
    if width <= 16:  # of lanes: counts of up to 24 bits
        for low in (0, 1, 65535):
            names = ("other",) if digit else ("whole",)
            row = {names[0]: (1, low)}
            walks.append(Walk(size, row, digit=digit, has_rest=digit, long=names))
    assert not any(walk.spills() for walk in walks)
    compare(size, walks)


@pytest.mark.parametrize("size", SIZES)
def test_terms_that_all_go_one_way(size):
    """The longest sums there are without a spill, of the box and of the jumps."""
    end = min(1 << size[0], STEP)
    walks = []
    for digit in (0, 1):
        for step in (end - 1, -end):
            terms = dict.fromkeys(TERMS, (step, 1))
            for name in ("other",) if digit else ("whole", "rest"):
                terms[name] = (abs(step) - (step < 0), 1)
            for parts in ((1, 0), (0, 1), (1, 1)):
                mine = terms | ({} if parts[0] else {"co": (step, 0)})
                walks.append(
                    Walk(size, mine, start=(1 << size[0]) - 1, digit=digit,
                         has_whole=parts[0], has_rest=parts[1])
                )  # fmt: skip
    assert compare(size, walks) == len(walks)


def test_ignored_terms_leave_the_start():
    """However large they are."""
    size = 7, 3
    terms = dict.fromkeys(TERMS, (STEP - 1, 65535))
    walks = [
        Walk(size, terms, start=start, ignore=1, has_whole=whole, has_rest=rest)
        for start in (0, 6, 7, 8, 127, 128)
        for whole, rest in ((0, 1), (1, 0), (1, 1))
    ]
    assert [walk.expected() for walk in walks[3:6]] == [
        {"low": 6, "high": 6, "outside": 0, "spill": 0}
    ] * 3
    compare(size, walks)


def test_results_stand_until_the_next_finish():
    """Whatever comes in the meantime."""
    size = 7, 3
    rng = random.Random(71)
    first, second = Walk(size, {"d2": (2, 3)}), Walk.draw(rng, size)
    inputs = [*first.stimulus(), *second.stimulus()]
    inputs[-1]["finish"] = 0
    seen = trace(Span(*size), [*inputs, {}], OUTPUTS[:4])
    assert seen[CYCLES:] == [{"low": 0, "high": 6, "outside": 0, "spill": 0}] * (CYCLES + 1)
