"""Stops and restarts: rejection, HALT, abort, soft reset, clear; and that FENCE waits."""

import random
import re

import numpy as np
import pytest
from cornerturn.config import Config
from cornerturn.fields import Status
from cornerturn_model import golden
from cornerturn_model.instruction import Across, Along, Digit, Fence, Halt, Nop, Swap, Tile
from cornerturn_sim.pins import SimulationError
from cornerturn_sim.simulation import Simulation
from hypothesis import given, settings
from programs import breakable, broken

CONFIG = Config(lanes=5, lanes_per_hop=2, beat_cells=2, cells=64)

FIRST = Tile(Across(0, 0), Along(0, 32), 5, (Digit(4, (0, 1), (1, 0)),))
SECOND = Tile(Along(0, 32), Across(0, 8), 5, (Digit(4, (1, 0), (0, 1)),))
LONG = Tile(Across(0, 0), Along(0, 40), 5, (Digit(12, (0, 1), (0, 0)), Digit(5, (0, 0), (1, 0))))

BUSY, HALTED, REJECTED, ABORTED = (1 << bit for bit in range(4))


def code_and_index(status):
    """The rejection's code and index in the engine's status port."""
    return Status(status >> 4 & 31), status >> 9


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


def test_a_run_without_end_is_given_up(simulations):
    simulation = simulations(CONFIG)
    with pytest.raises(SimulationError, match="run must end within 20 cycles"):
        simulation.run([LONG], limit=20)


def test_there_are_three_backends():
    with pytest.raises(
        ValueError, match="backend must be one of pysim, icarus, verilator, not 'x'"
    ):
        Simulation(CONFIG, "x")


@pytest.mark.parametrize(("options", "message"), [
    ({"offer": 0}, "offer must be above 0 and at most 1, not 0"),
    ({"pulses": ((1, "x"),)}, "pulse must be one of clear, abort, soft_reset, not 'x'"),
])  # fmt: skip
def test_a_job_is_checked(options, message, simulations):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        simulations(CONFIG).run([], **options)
