"""The benchmark: its data, its cycles and budgets, the peers' figures, and what it concludes."""

import collections
import itertools
import json
import math

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn.fields import Status
from cornerturn_model import cycles, golden
from cornerturn_model.instruction import Swap
from cornerturn_model.rows import rows_of
from cornerturn_sim import bench, peers
from rich.console import Console

CONFIGS = [
    Config(beat_cells=beat_cells, lanes_per_hop=lanes_per_hop)
    for beat_cells, lanes_per_hop in itertools.product((8, 16, 32, 64), bench.HOPS)
]


@pytest.fixture(scope="module")
def results():
    return bench.rows()


def matrix(rows, columns, element_bytes, **options):
    return bench.Transpose((1, columns, 1, rows), element_bytes, **options)


def find(results, section, name, bus_bits, lanes_per_hop):
    wanted = (section, name, bus_bits, lanes_per_hop)
    keys = ("section", "name", "bus_bits", "lanes_per_hop")
    return next(row for row in results if tuple(row[key] for key in keys) == wanted)


def test_all_right(results):
    assert all(row["match"] for row in results)
    assert len(results) == len(list(bench.works())) * len(bench.HOPS)
    assert collections.Counter(row["section"] for row in results if "cycles" in row) == {
        "matrix": 132,
        "pair": 30,
        "in place": 36,
        "tensor": 58,
        "tiles": 10,
    }


def test_rows_are_plain(results):
    assert json.loads(json.dumps(results))[0]["name"] == "8x8x1"


@pytest.mark.parametrize(
    ("section", "name", "bus_bits", "lanes_per_hop", "expected"),
    [
        # beats + start-up, which is 2 * hops + 7, and one more for the aligner above W = 8
        ("matrix", "8x8x1", 64, 4, 8 + 23),
        ("matrix", "8x8x1", 64, 1, 8 + 71),
        ("matrix", "8x8x1", 256, 4, 8 + 24),
        ("matrix", "32x32x1", 64, 4, 128 + 23),
        ("matrix", "32x32x1", 256, 4, 32 + 24),
        ("matrix", "5x3x4", 128, 4, 5 + 24),  # spread: 5 rows of 3, rather than 3 of 5 in two beats
        ("matrix", "64x32x4", 64, 1, 1024 + 71),
        ("matrix", "128x128x1", 128, 4, 1024 + 24),
        ("matrix", "130x70x1", 64, 4, 1138 + 23),  # padding would take 32 * (4*160 + 70)/8 and more
        ("pair", "8x8x1, 8x8x1", 64, 4, 16 + 8 + 23),  # a check takes 16 cycles
        ("pair", "64x32x1, 64x32x4", 256, 4, 320 + 24),  # and is free behind 16 beats
        ("in place", "8x8x1", 64, 4, 14 + 23),
        ("tensor", "1,1,1,1024 x1", 128, 4, 64 + 24),
        ("tensor", "1,1024,1,1 x1", 128, 4, 64 + 24),
        ("tensor", "2,17,1,4 x1", 128, 4, 16 + 24),
        ("tensor", "3,16,7,1 x4", 128, 1, 84 + 72),
        ("tiles", "256 of 8x8x1", 512, 4, 2048 + 24),
    ],
)
def test_cycles(results, section, name, bus_bits, lanes_per_hop, expected):
    assert find(results, section, name, bus_bits, lanes_per_hop)["cycles"] == expected


def test_budgets(results):
    """One start-up for a whole program; short of a check, an instruction takes the time of one."""
    budgets = 0
    for work in bench.works():
        row = find(results, work.section, work.name, work.bus_bits, 4)
        if "cycles" not in row or work.section == "in place":
            continue
        config = Config(beat_cells=work.bus_bits // 8, lanes_per_hop=4)
        program = bench.plan(config, work.parts).program
        beats = [cycles.limit(config, [tile]) for tile in program]
        if work.section == "tensor":
            # At most one beat more for a row that does not begin at a word.
            rows = [rows_of(config, tile.encode()).number for tile in program]
            beats = [sum(pair) for pair in zip(beats, rows, strict=True)]
        slots = sum(max(number, config.check_interval) for number in beats[:-1]) + beats[-1]
        assert row["cycles"] <= slots + 2 * config.hops + 12, row
        budgets += 1
    assert budgets == 115


@pytest.mark.parametrize("config", CONFIGS, ids=lambda one: f"{one.beat_width}-{one.lanes_per_hop}")
def test_budgets_of_swaps(config):
    def words(cells):
        return math.ceil(cells / config.beat_cells)

    for n, size in itertools.product((2, 5, 8, 17, 32), (1, 2)):
        beats = sum(
            2 * words((n - i) * size) + words(i * size % config.beat_cells + (n - i) * size)
            for i in range(1, n)
        )
        count = cycles.count(config, [Swap(0, 0, n, size)])["cycles"]
        assert count <= beats + 2 * config.hops + 16


@pytest.mark.parametrize("first", peers.MATRICES[::3])
def test_any_two_back_to_back(first):
    """The beats of both and one start-up, if the first one's last tile is as long as a check."""
    config = Config(lanes_per_hop=4)

    def run(*works):
        program = bench.plan(config, [matrix(*sizes) for sizes in works]).program
        startup = config.completion_delay - 1
        return cycles.count(config, program)["cycles"] - startup, program[-1]

    alone, last = run(first)
    bubble = max(0, config.check_interval - cycles.limit(config, [last]))
    for second in peers.MATRICES[::2]:
        assert run(first, second)[0] == alone + bubble + run(second)[0]


@pytest.mark.parametrize("config", CONFIGS[::2], ids=lambda one: str(one.beat_width))
@pytest.mark.parametrize("sizes", [(8, 8, 1), (64, 32, 2), (130, 70, 1), (9, 5, 4), (1, 1, 1)])
def test_a_matrix_by_its_rows(config, sizes):
    """Read back by hand: row i of the matrix in lane i % 32, row j of the transpose in j % 32."""
    rows, columns, size = sizes
    plan = bench.plan(config, [matrix(*sizes)])
    ((source, destination),) = plan.places
    lmem = np.random.default_rng(1).integers(0, 256, (32, config.cells), np.uint8)
    after = golden.run(config, lmem, plan.program)
    assert {status for _, status in after.completions} == {Status.OK}
    for i, j in itertools.product(range(rows), range(columns)):
        here = source.cell + i // 32 * source.pitch + j * size
        there = destination.cell + j // 32 * destination.pitch + i * size
        np.testing.assert_array_equal(
            after.lmem[j % 32, there : there + size], lmem[i % 32, here : here + size]
        )


def test_padded_lanes_cost_nothing():
    config = Config(lanes_per_hop=4)
    plan = bench.plan(config, [matrix(33, 3, 1)])
    rows = [rows_of(config, tile.encode()) for tile in plan.program]
    assert sum(row.length * row.number for row in rows) == 99
    assert all(row.length <= 32 for row in rows)


def test_plan_of_other_cells():
    with pytest.raises(ValueError, match=r"^cell_width must be 8, not 16$"):
        bench.plan(Config(cell_width=16, beat_cells=4), [matrix(8, 8, 1)])


def test_what_does_not_fit(results):
    absent = {row["name"]: row["needs_cells"] for row in results if "cycles" not in row}
    assert absent["1,128,32,128 x1"] == 32768
    assert all(cells > 4096 for cells in absent.values())
    assert len(absent) == 16


def test_peers_are_complete(results):
    assert len(peers.measured()) == 29
    for figure in [*peers.measured().values(), *(work.figure for work in bench.works())]:
        assert figure.peer in peers.MOVES
        assert figure.cycles > 0
        assert figure.kind in ("measured", "published", "derived")
        assert figure.source
    assert all(row["peer_source"] and row["comparison"] for row in results)


def test_idma_formula_meets_all_that_was_measured():
    for (_, *work), figure in peers.measured().items():
        assert figure.kind == "measured"
        assert sum(peers.idma_formula(*work)) == figure.cycles


def test_published_formulas():
    assert peers.bm1688(1, 1, 1, 1024, 1).cycles == 30 + 32 * 64
    assert peers.bm1688(20, 35, 3, 2, 4).cycles == 30 + 20 * 3 * 64
    assert peers.xdma(16 * 24, 2).cycles == 12


def test_reasons(results):
    assert find(results, "matrix", "8x8x1", 64, 4)["behind_by"] == "start-up"
    assert find(results, "matrix", "8x8x1", 256, 4)["behind_by"] == ""
    assert find(results, "tiles", "256 of 8x8x1", 512, 4)["behind_by"] == "short rows"
    for row in results:
        assert ("ratio" in row) == ("cycles" in row)
        if "cycles" in row:
            assert (row["behind_by"] == "") == (row["cycles"] <= row["peer_cycles"])
            assert row["limit_cycles"] >= row["bus_limit_cycles"] or row["section"] == "in place"
            assert row["utilisation"] == row["limit_cycles"] / row["cycles"] <= 1


def test_summary(results):
    lines = list(bench.summary(results))
    assert lines[0] == (
        "matrix, 64 bit, H = 4: 1.36 of iDMA's cycles (geometric mean), at most as many in 1 of "
        "22; behind in 21 by the start-up of 23 cycles, paid once in a queue of work, 2.13 at "
        "worst (5x3x4)"
    )
    assert lines[-1].startswith("left out, as they need more cells a lane than there are: ")
    assert len(lines) == 2 * (3 + 3 + 3 + 1 + 1) + 1


def test_tables(results):
    console = Console(width=120, record=True, file=None, quiet=False)
    with console.capture() as capture:
        for table in bench.tables(results):
            console.print(table)
    text = capture.get()
    assert text.count("ours: lmem to lmem; iDMA: streams memory to memory") == 3
    assert "MISMATCH" not in text
    wrong = [{**results[0], "match": False}]
    with console.capture() as capture:
        console.print(*bench.tables(wrong))
    assert "MISMATCH" in capture.get()


class Engine:
    """Stands for the RTL: the model, or one that goes wrong."""

    wrong = None

    def __init__(self, config, backend, *, seed):
        self.config, self.backend = config, backend
        self.lmem = np.zeros((config.lanes, config.cells), np.uint8)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def load(self, array):
        self.lmem[:, : array.shape[1]] = array

    def run(self, program):
        result = golden.run(self.config, self.lmem, program)
        self.lmem = result.lmem
        if self.wrong == "data":
            self.lmem[31, 0] ^= 1
        if self.wrong == "status":
            return result._replace(completions=[(0, Status.ABORTED)])
        return result._replace(cycles=result.cycles + (self.wrong == "cycles"))

    def read(self, *, cells):
        return self.lmem[:, :cells]


@pytest.mark.parametrize("wrong", [None, "data", "status", "cycles"])
def test_rtl_must_be_the_same(monkeypatch, wrong):
    monkeypatch.setattr(Engine, "wrong", wrong)
    monkeypatch.setattr(bench, "Simulation", Engine)
    jobs = []
    selection = [work for work in bench.works() if work.name == "16x8x1"]
    results = bench.rows(
        "icarus", selection=selection, track=lambda seen: jobs.extend(seen) or jobs
    )
    assert len(jobs) == len(results) == 6
    for row in results:
        assert row["sim"] == "icarus"
        assert row["match"] == (wrong is None)


@pytest.mark.full
def test_rtl_is_the_same():
    (row,) = bench.rows("pysim", selection=[next(bench.works())], lanes_per_hop=(4,))
    assert row["match"]
