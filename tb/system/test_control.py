"""Stops and restarts: rejection, HALT, abort, soft reset, clear; and that FENCE waits."""

import random
import re

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn.fields import Status, Tag
from cornerturn_model import golden
from cornerturn_model.instruction import Across, Along, Digit, Fence, Halt, Limits, Nop, Swap, Tile
from cornerturn_sim.job import Access, Answer
from cornerturn_sim.pins import SimulationError
from cornerturn_sim.simulation import BACKENDS, Simulation, check_simulation
from hypothesis import given, settings
from programs import breakable, broken

CONFIG = Config(lanes=5, lanes_per_hop=2, beat_cells=2, cells=64)

FIRST = Tile(Across(0, 0), Along(0, 32), 5, (Digit(4, (0, 1), (1, 0)),))
SECOND = Tile(Along(0, 32), Across(0, 8), 5, (Digit(4, (1, 0), (0, 1)),))
LONG = Tile(Across(0, 0), Along(0, 40), 5, (Digit(12, (0, 1), (0, 0)), Digit(5, (0, 0), (1, 0))))

BUSY, HALTED, REJECTED, ABORTED = (1 << bit for bit in range(4))


def code_and_index(status):
    """The rejection's code and index in the engine's status port."""
    return Status(status >> 4 & 31), status >> 9 & 0xFFFFFFFF


def after(lmem, *program):
    """What a program leaves of an lmem."""
    return golden.run(CONFIG, lmem, program).lmem


@pytest.fixture(params=["pysim", "icarus"])
def simulation(request, simulations, noise):
    """An engine whose lmem is full of noise."""
    simulation = simulations(CONFIG, request.param)
    simulation.load(noise(CONFIG))
    return simulation


def test_halt_stands_until_cleared(simulation, noise):
    lmem = noise(CONFIG)
    result = simulation.run([FIRST, Halt(), SECOND], auto_clear=False)
    assert result.completions == [(0, Status.OK), (1, Status.OK)]
    assert result.stopped
    assert result.status & (BUSY | HALTED | REJECTED | ABORTED) == HALTED
    np.testing.assert_array_equal(simulation.read(), after(lmem, FIRST))
    result = simulation.run([])
    assert result.completions == [(2, Status.OK)]
    assert not result.stopped
    np.testing.assert_array_equal(simulation.read(), after(lmem, FIRST, SECOND))


@pytest.mark.parametrize("code", breakable(CONFIG))
def test_rejection_changes_nothing_and_the_next_good_one_runs(code, simulations, noise):
    lmem = noise(CONFIG)
    simulation = simulations(CONFIG, "icarus")

    @settings(max_examples=max(3, settings.default.max_examples // 20))
    @given(broken(CONFIG, [code]))
    def rejected(bad):
        simulation.reset()
        simulation.load(lmem)
        result = simulation.run([FIRST, bad, SECOND], auto_clear=False)
        assert result.completions == [(0, Status.OK), (1, code)]
        assert result.stopped
        assert result.status & (BUSY | HALTED | REJECTED | ABORTED) == REJECTED
        assert code_and_index(result.status) == (code, 1)
        np.testing.assert_array_equal(simulation.read(), after(lmem, FIRST))
        result = simulation.run([])
        assert result.completions == [(2, Status.OK)]
        np.testing.assert_array_equal(simulation.read(), after(lmem, FIRST, SECOND))

    rejected()


def test_a_rejection_first_of_all_has_index_0(simulation, noise):
    result = simulation.run([0, Nop()], auto_clear=False)
    assert result.completions == [(0, Status.VERSION)]
    assert code_and_index(result.status) == (Status.VERSION, 0)
    assert result.counters["instructions"] == 0
    np.testing.assert_array_equal(simulation.read(), noise(CONFIG))


def test_index_goes_on_over_runs_and_starts_again_at_reset(simulation):
    assert simulation.run([Nop(), 0, Halt()]).completions == [(0, 0), (1, 1), (2, 0)]
    assert simulation.run([Nop()]).completions == [(3, 0)]
    simulation.reset()
    assert simulation.run([Nop()]).completions == [(0, 0)]


def test_fence_waits_for_everything_before_it(simulation, compare):
    free, _ = compare(simulation, [FIRST, Nop(), LONG])
    fenced, _ = compare(simulation, [FIRST, Fence(), LONG])
    assert free.counters["stalls_fence"] == 0
    assert fenced.counters["stalls_fence"] > 0
    assert fenced.cycles > free.cycles


@pytest.mark.parametrize("seed", range(6))
def test_abort_ends_what_has_issued_and_keeps_the_rest(seed, simulations, noise):
    lmem = noise(CONFIG)
    simulation = simulations(CONFIG, "icarus")
    rng = random.Random(seed)
    program = [LONG, FIRST, Nop(), LONG]
    for _ in range(8):
        simulation.reset()
        simulation.load(lmem)
        result = simulation.run(program, pulses=((rng.randrange(240), "abort"),))
        indices, codes = zip(*result.completions, strict=True)
        assert indices == (0, 1, 2, 3)
        # Completed before the abort, issued when it came, and run after it was cleared.
        text = "".join({Status.OK: ".", Status.ABORTED: "A"}[code] for code in codes)
        assert re.fullmatch(r"\.*A*\.*", text)
        # No source was written, so the same again gives the whole result.
        simulation.run(program)
        np.testing.assert_array_equal(simulation.read(), after(lmem, *program))


def test_abort_while_the_blocks_behind_are_begun(simulations, noise):
    """In every cycle from before the first block behind is made until its instruction issues."""
    lmem = noise(CONFIG)
    simulation = simulations(CONFIG, "icarus")
    first = Tile(Across(0, 0), Along(0, 32), 5, (Digit(12, (0, 1), (0, 0)),))
    blocks = Tile(Across(0, 0), Along(0, 40), 4, ho=Digit(6, (0, 2), (0, 4)))
    for cycle in range(26, 42):
        simulation.reset()
        simulation.load(lmem)
        result = simulation.run([first, blocks], pulses=((cycle, "abort"),))
        assert result.completions == [(0, Status.ABORTED), (1, Status.OK)]
        assert result.counters["blocks"] == 1 + 6
        simulation.run([first])
        np.testing.assert_array_equal(simulation.read(), after(lmem, blocks, first))


def test_aborted_tile_leaves_whole_slots(simulation, noise):
    lmem = noise(CONFIG)
    result = simulation.run([LONG, FIRST], pulses=((60, "abort"),), auto_clear=False)
    assert result.completions == [(0, Status.ABORTED)]
    assert result.stopped
    assert result.status & (BUSY | HALTED | REJECTED | ABORTED) == ABORTED
    left = simulation.read()
    changed = left != lmem
    assert changed.any()
    assert not changed[:, :40].any()
    assert not changed[:, 46:].any()
    # The next one has waited, unharmed.
    assert simulation.run([]).completions == [(1, Status.OK)]
    np.testing.assert_array_equal(simulation.read(), after(left, FIRST))


def test_abort_of_an_idle_engine_stops_it(simulation):
    result = simulation.run([], pulses=((2, "abort"),), auto_clear=False)
    assert result.stopped
    assert result.status & ABORTED
    assert simulation.run([Nop()]).completions == [(0, Status.OK)]


@pytest.mark.parametrize("cycle", [30, 60, 90])
def test_abort_does_not_wait_for_rows_made_ahead(cycle, simulations):
    """However long they are: sixty rows of 400 slots each, and the next one runs at once."""
    simulation = simulations(Config(lanes=2, beat_cells=1, cells=512))
    rows = Tile(Along(0, 0), Along(1, 0), 400, (Digit(60),))
    result = simulation.run([rows, Nop()], pulses=((cycle, "abort"),), limit=200)
    assert result.completions == [(0, Status.ABORTED), (1, Status.OK)]


def test_a_row_outside_the_array_ends_its_instruction(simulation, noise):
    """Three rows of five run, the fourth is in cell 64: its place is reported, the rest is not."""
    rows = Tile(Across(0, 61), Along(1, 0), 3, (Digit(5, (0, 1), (0, 4)),), limits=Limits(co=100))
    good = Tile(Across(0, 61), Along(1, 0), 3, (Digit(3, (0, 1), (0, 4)),))
    result = simulation.run([FIRST, rows, SECOND], auto_clear=False)
    assert result.completions == [(0, Status.OK), (1, Status.RANGE)]
    assert result.stopped
    assert code_and_index(result.status) == (Status.RANGE, 1)
    assert result.status >> 41 == 64
    left = after(noise(CONFIG), FIRST, good)
    np.testing.assert_array_equal(simulation.read(), left)
    assert simulation.run([]).completions == [(2, Status.OK)]
    np.testing.assert_array_equal(simulation.read(), after(left, SECOND))


def test_what_a_first_row_ends_is_walked_no_further(simulation):
    """Of 2**32 rows the first is outside the array: the next instruction runs at once."""
    digits = (Digit(65535, tag=Tag.HO, multiplier=1), Digit(65535))
    rows = Tile(Along(0, 0), Along(CONFIG.lanes, 0), 1, digits, limits=Limits(ho=65535))
    result = simulation.run([rows, Nop()], limit=200)
    assert result.completions == [(0, Status.RANGE), (1, Status.OK)]


@pytest.mark.parametrize("rows", range(20, 28))
def test_rows_behind_a_fault_cost_the_next_segment_nothing(rows, simulations, compare):
    """However many are made ahead when the first one ends its instruction."""
    one = Tile(Across(0, 0), Across(0, 0), 1)
    digits = [Digit(rows, tag=Tag.HO, multiplier=1)]
    fault = Tile(Along(0, 0), Along(5, 0), 1, digits, limits=Limits(ho=1))
    compare(simulations(CONFIG), [one, fault, one, one])


def test_soft_reset_aborts_drops_and_starts_from_zero(simulation, noise):
    simulation.run([Nop()] * 3)
    result = simulation.run([LONG, FIRST, SECOND], pulses=((60, "soft_reset"),))
    assert result.completions[0] == (3, Status.ABORTED)
    # What had been accepted behind it is dropped; what had not runs, with indices from zero.
    rest = result.completions[1:]
    assert rest == [(index, Status.OK) for index in range(len(rest))]
    assert len(rest) in (1, 2)
    assert result.counters["instructions"] == len(rest)
    assert not result.status & (BUSY | HALTED | REJECTED | ABORTED)
    assert simulation.run([Nop()]).completions == [(len(rest), Status.OK)]


def test_soft_reset_ends_a_stop(simulation):
    assert simulation.run([Halt(), 0], auto_clear=False).stopped
    result = simulation.run([], pulses=((3, "soft_reset"),))
    assert not result.stopped
    assert simulation.run([Nop()]).completions[-1][1] == Status.OK


def test_soft_reset_at_any_cycle_forgets_exactly_what_it_drops(simulation):
    for cycle in range(0, 50, 3):
        simulation.reset()
        simulation.run([Nop()] * 4)
        program = [FIRST, Nop(), Halt(), SECOND]
        result = simulation.run(program, pulses=((cycle, "soft_reset"),), auto_clear=False)
        indices = [index for index, _ in result.completions]
        first = indices.index(0) if 0 in indices else len(indices)
        assert indices[:first] == list(range(4, 4 + first))
        assert indices[first:] == list(range(len(indices) - first))
        assert result.counters["instructions"] == len(indices) - first
        simulation.read()
        # The rest runs, and then nothing is left.
        indices = indices[first:] + [index for index, _ in simulation.run([Nop()]).completions]
        assert indices == list(range(len(indices)))


@pytest.mark.parametrize(
    "program", [[Swap(0, 0, 3)], [Nop(), Nop()], [FIRST, Nop(), Halt(), SECOND]]
)
def test_a_command_left_on_offer_runs_once(program, simulation, noise):
    """Between the runs cycles pass, in which the standing engine may accept it."""
    lmem = noise(CONFIG)
    for cycle in range(0, 40, 3):
        simulation.reset()
        simulation.load(lmem)
        stopped = simulation.run(program, pulses=((cycle, "abort"),), auto_clear=False)
        assert stopped.stopped
        simulation.load(simulation.read())
        completions = stopped.completions + simulation.run([]).completions
        assert [index for index, _ in completions] == list(range(len(program)))
        if cycle < 8:  # nothing has issued yet
            assert stopped.completions == []
            np.testing.assert_array_equal(simulation.read(), after(lmem, *program))


@pytest.mark.parametrize("seed", range(4))
def test_commands_offered_by_chance_run_once(seed, simulation):
    program = [Nop(), Halt(), Nop(), Nop()]
    stopped = simulation.run(program, auto_clear=False, offer=0.1, seed=seed)
    assert stopped.completions == [(0, Status.OK), (1, Status.OK)]
    simulation.read()
    assert simulation.run([]).completions == [(2, Status.OK), (3, Status.OK)]


def test_a_stopped_run_ends_its_accesses(simulation):
    """Nothing of them is left on the ports for the cycles after it."""
    accesses = (Access(cycle=200, lane=1, word=3, data=0x0201, mask=3),)
    result = simulation.run([Halt()], accesses=accesses, auto_clear=False)
    assert result.stopped
    assert result.answers == (Answer(200),)
    simulation.load(np.array([[7, 8]], np.uint8), lane=1, cell=6)
    np.testing.assert_array_equal(simulation.read(lane=1, cell=6, lanes=1, cells=2), [[7, 8]])


def test_pulses_of_one_cycle_are_all_given(simulation):
    simulation.run([Nop()])
    # Without the soft reset the index would go on, without the abort nothing would stop.
    pulses = ((2, "soft_reset"), (2, "clear"), (9, "clear"), (9, "abort"))
    result = simulation.run([], pulses=pulses, auto_clear=False)
    assert result.stopped
    assert simulation.run([Nop()]).completions == [(0, Status.OK)]


def test_clear_of_a_running_engine_changes_nothing(simulation, noise):
    program = [FIRST, Swap(0, 0, 4), SECOND]
    model = golden.run(CONFIG, noise(CONFIG), program)
    pulses = tuple((cycle, "clear") for cycle in range(0, 80, 3))
    result = simulation.run(program, pulses=pulses)
    assert result.completions == model.completions
    assert result.counters == model.counters
    np.testing.assert_array_equal(simulation.read(), model.lmem)


def test_completions_not_taken_hold_the_engine_up_and_lose_nothing(simulation, compare):
    result, _ = compare(simulation, [Nop()] * 12, take=0.01, timed=False)
    assert result.counters["stalls_completion"] > 0


@pytest.mark.parametrize("options", [{"offer": 0.0002}, {"take": 0.0002}])
def test_a_host_may_take_any_time(options, simulations):
    simulation = simulations(CONFIG, "icarus")
    result = simulation.run([Nop(), FIRST, Nop()], seed=1, **options)
    assert result.completions == [(index, Status.OK) for index in range(3)]


def test_rows_that_no_counter_shows_are_waited_for(simulations, compare):
    digits = (Digit(100, tag=Tag.HO, multiplier=1), Digit(150))
    tile = Tile(Across(0, 0), Along(0, 40), 1, digits, limits=Limits(ho=1))
    result, _ = compare(simulations(CONFIG, "icarus"), [tile])
    assert result.counters["rows"] == 150
    assert result.cycles > 15000


def test_an_idle_host_may_come_back_late(simulations):
    simulation = simulations(CONFIG, "icarus")
    accesses = (Access(cycle=15000, lane=0, word=0),)
    result = simulation.run([Nop()], accesses=accesses, pulses=((12000, "clear"),))
    assert result.answers[0].cycle == 15000
    result = simulation.run([Halt()], accesses=accesses, auto_clear=False)
    assert (result.stopped, result.answers[0].cycle) == (True, 15000)


def test_a_run_without_end_is_given_up(simulations):
    simulation = simulations(CONFIG)
    with pytest.raises(SimulationError, match="run must end within 20 cycles"):
        simulation.run([LONG], limit=20)


def test_there_are_three_backends():
    with pytest.raises(
        ValueError, match="backend must be one of pysim, icarus, verilator, not 'x'"
    ):
        Simulation(CONFIG, "x")


def test_a_memory_of_the_users_is_not_simulated():
    for sim in BACKENDS:
        with pytest.raises(
            ValueError, match=r"^lmem must be 'inferred' for simulation, not 'blackbox'$"
        ):
            Simulation(CONFIG.replace(lmem="blackbox"), sim)
    with pytest.raises(ValueError, match=r"^sim must be one of model, pysim, icarus, verilator"):
        check_simulation(CONFIG, "x")


@pytest.mark.parametrize(("options", "message"), [
    ({"offer": 0}, "offer must be above 0 and at most 1, not 0"),
    ({"pulses": ((1, "x"),)}, "pulse must be one of clear, abort, soft_reset, not 'x'"),
    ({"pulses": ((-1, "abort"),)}, "cycle of a pulse must be at least 0, not -1"),
    ({"pulses": ((1.5, "abort"),)}, "cycle of a pulse must be an integer, not 1.5"),
    ({"accesses": (Access(cycle=-1, lane=0, word=0),)},
     "cycle of an access must be at least 0, not -1"),
    ({"accesses": (Access(cycle=0, lane=5, word=0),)}, "lane of an access must be 0 to 4, not 5"),
    ({"accesses": (Access(cycle=0, lane=0, word=32),)},
     "word of an access must be 0 to 31, not 32"),
    ({"accesses": (Access(cycle=0, lane=0, word=0, data=1 << 16, mask=3),)},
     "data of an access must be 0 to 65535, not 65536"),
    ({"accesses": (Access(cycle=0, lane=0, word=0, data=1, mask=4),)},
     "mask of an access must be 0 to 3, not 4"),
])  # fmt: skip
def test_a_job_is_checked(options, message, simulations):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        simulations(CONFIG).run([], **options)


@pytest.mark.parametrize(("item", "message"), [
    (Swap(-1, 0, 2), "instruction 1: in_lane must be 0 to 4294967295, not -1"),
    (1 << 2048, f"instruction 1: descriptor must be 0 to 2**2048 - 1, not {1 << 2048}"),
    ("nop", "instruction 1: program item must be an instruction or a descriptor, not 'nop'"),
])  # fmt: skip
def test_a_bad_instruction_is_named(item, message, simulations):
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}$"):
        simulations(CONFIG).run([Nop(), item])
