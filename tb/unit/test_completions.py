"""Completions in order, stops, and the three pulses that control the engine."""

import random

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.fields import Status
from cornerturn.tiu.completions import Completions
from unit.bench import plain, ports, simulate

CONFIG = PRESETS["tiny"]
OUTPUTS = ("hold", "drained", "room", "aborting", "flush", "stopped", "idle", "i_code__ready")


class Bench:
    """Drives one cycle after the other, and takes down what happens."""

    def __init__(self, config=CONFIG):
        self.block = Completions(config)
        self.ports = ports(self.block)
        self.taken = []  # (index, status)
        self.cycle = 0

    async def step(self, ctx, *names, code=None, take=True, address=0):
        """One cycle in which the named inputs are high; returns its outputs."""
        block = self.block
        for name in ("issued", "halt_issued", "fault_issued", "done", "clear", "abort",
                     "soft_reset"):  # fmt: skip
            ctx.set(self.ports[name], name in names)
        ctx.set(block.fault_address, address)
        ctx.set(block.i_code.valid, code is not None)
        ctx.set(block.i_code.payload, code or 0)
        ctx.set(block.o_rsp.ready, take)
        outputs = {name: ctx.get(self.ports[name]) for name in OUTPUTS}
        outputs["status"] = plain(ctx.get(block.status))
        outputs["offered"] = None
        if ctx.get(block.o_rsp.valid):
            payload = plain(ctx.get(block.o_rsp.payload))
            outputs["offered"] = (payload["index"], Status(payload["status"]))
            if take:
                self.taken.append(outputs["offered"])
        await ctx.tick()
        self.cycle += 1
        return outputs

    async def steps(self, ctx, cycles, **options):
        """Cycles in which nothing happens; returns the outputs of the last."""
        for _ in range(cycles):
            outputs = await self.step(ctx, **options)
        return outputs


def check(play, config=CONFIG):
    """Run `play(bench, ctx)`; returns the bench."""
    bench = Bench(config)

    async def drive(ctx, reset):
        await play(bench, ctx)

    simulate(bench.block, drive)
    return bench


def test_latencies_of_one_instruction():
    """Offered a cycle after its marker is back; drained a cycle later."""

    async def play(bench, ctx):
        await bench.steps(ctx, 3)
        await bench.step(ctx, "issued")
        outputs = await bench.steps(ctx, 5)
        assert not outputs["drained"]
        assert not outputs["idle"]
        outputs = await bench.step(ctx, "done")
        assert outputs["offered"] is None
        outputs = await bench.step(ctx, take=False)
        assert outputs["offered"] == (0, Status.OK)
        assert not outputs["drained"]
        outputs = await bench.step(ctx, take=False)
        assert outputs["drained"]
        assert not outputs["idle"]  # it is still to be taken
        assert outputs["offered"] == (0, Status.OK)
        await bench.step(ctx)
        outputs = await bench.step(ctx)
        assert outputs["offered"] is None
        assert outputs["idle"]

    check(play)


LARGE = Config(lanes=100, cells=16, beat_cells=4)  # many instructions between issue and completion


@pytest.mark.parametrize("config", [CONFIG, LARGE], ids=["tiny", "large"])
@pytest.mark.parametrize("take", [1, 0.3, 0.04], ids=["free", "slow", "stalled"])
def test_every_instruction_is_answered_once_and_in_order(config, take):
    """Whatever the pace at which completions are taken; `room` stops the issue in time."""
    rng = random.Random(46)
    waiting = []  # cycles in which the markers of the issued ones come back
    total, most = 0, 0

    async def play(bench, ctx):
        nonlocal total, most
        age = 0
        room = drained = 0
        while bench.cycle < 1500:
            names = []
            if age >= config.check_interval and room and rng.random() < 0.3:
                age = 0
                names.append("issued")
                soonest = max([bench.cycle + config.completion_delay - 1, *waiting])
                waiting.append(soonest + rng.choice([0, 0, rng.randrange(20)]) + bool(waiting))
            if waiting and waiting[0] == bench.cycle:
                names.append("done")
                waiting.pop(0)
            outstanding = len(waiting) - ("issued" in names)
            outputs = await bench.step(ctx, *names, take=rng.random() < take)
            # As of the cycle before.
            assert outputs["drained"] == drained or bench.cycle == 1
            drained = outstanding + ("done" in names) == 0
            room = outputs["room"]
            total += "issued" in names
            most = max(most, total - len(bench.taken))
            assert outputs["idle"] == (
                outstanding + ("done" in names) == 0 and outputs["offered"] is None
            )
            age += 1
        while waiting:
            names = ["done"] * (waiting[0] <= bench.cycle)
            waiting[: len(names)] = []
            await bench.step(ctx, *names)
        await bench.steps(ctx, config.outstanding + 4)

    bench = check(play, config)
    assert bench.taken == [(index, Status.OK) for index in range(total)]
    assert total > 10
    if take < 0.1:
        assert most == config.outstanding  # `room` was the limit


def test_room_is_for_what_can_be_outstanding():
    """At the fastest pace, with completions always taken, it never runs out."""
    config = LARGE

    async def play(bench, ctx):
        for cycle in range(40 * config.check_interval):
            names = ["issued"] * (cycle % config.check_interval == 1)
            back = cycle - (config.completion_delay - 1)
            names += ["done"] * (back > 0 and back % config.check_interval == 1)
            outputs = await bench.step(ctx, *names)
            assert outputs["room"] or cycle == 0

    check(play, config)


def test_halt_stops_when_it_has_completed():
    """Nothing issues from its own issue on; a clear counts once its completion is taken."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued")
        outputs = await bench.step(ctx, "issued", "halt_issued")
        assert not outputs["hold"]
        for _ in range(10):
            outputs = await bench.step(ctx, code=Status.RANGE)
            assert outputs["hold"]
            assert not outputs["stopped"]
            assert not outputs["i_code__ready"]
        await bench.step(ctx, "done", code=Status.RANGE)
        await bench.step(ctx, "done", take=False, code=Status.RANGE)
        outputs = await bench.step(ctx, take=False, code=Status.RANGE)
        assert not outputs["i_code__ready"]  # drained, and about to stand
        outputs = await bench.step(ctx, "clear", take=False)
        assert outputs["stopped"]
        assert outputs["status"]["halted"]
        assert not outputs["status"]["rejected"]
        outputs = await bench.steps(ctx, 5, take=False)
        assert outputs["stopped"]  # the completion is still there
        await bench.steps(ctx, 2)
        outputs = await bench.step(ctx)
        outputs = await bench.step(ctx)
        assert not outputs["stopped"]
        assert not outputs["hold"]
        assert not outputs["status"]["halted"]

    assert check(play).taken == [(0, Status.OK), (1, Status.OK)]


def test_a_rejection_waits_for_all_before_it_and_stops():
    """It has its own index, and the status shows it; nothing issues until software clears."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued")
        for _ in range(5):
            assert not (await bench.step(ctx, code=Status.ALIGN))["i_code__ready"]
        await bench.step(ctx, "done", code=Status.ALIGN, take=False)
        outputs = await bench.step(ctx, code=Status.ALIGN, take=False)
        assert outputs["i_code__ready"]
        # One stop at a time.
        for _ in range(5):
            outputs = await bench.step(ctx, code=Status.RANGE, take=False)
            assert outputs["stopped"]
            assert outputs["hold"]
            assert not outputs["i_code__ready"]
            assert outputs["offered"] == (0, Status.OK)
        state = outputs["status"]
        assert (state["rejected"], state["code"], state["index"]) == (1, Status.ALIGN, 1)
        # It stands already: an abort changes nothing.
        await bench.step(ctx, "abort", take=False)
        outputs = await bench.steps(ctx, 3, take=False)
        assert not outputs["aborting"]
        assert not outputs["status"]["aborted"]
        await bench.step(ctx, "clear", code=Status.RANGE)
        outputs = await bench.step(ctx, code=Status.RANGE)
        assert outputs["offered"] == (1, Status.ALIGN)
        while not outputs["i_code__ready"]:
            outputs = await bench.step(ctx, code=Status.RANGE)
        outputs = await bench.steps(ctx, 4)
        state = outputs["status"]
        assert outputs["stopped"]
        assert (state["rejected"], state["code"], state["index"]) == (1, Status.RANGE, 2)
        await bench.step(ctx, "clear")
        outputs = await bench.steps(ctx, 3)
        assert not outputs["stopped"]
        # What the last rejection was can still be read.
        assert outputs["status"]["code"] == Status.RANGE
        assert outputs["status"]["index"] == 2

    expected = [(0, Status.OK), (1, Status.ALIGN), (2, Status.RANGE)]
    assert check(play).taken == expected


def test_abort():
    """What has completed is OK, taken or not; the others are aborted; then the engine stands."""

    async def play(bench, ctx):
        for _ in range(3):
            await bench.step(ctx, "issued")
        await bench.step(ctx, "done", take=False)
        outputs = await bench.step(ctx, "abort", "done", take=False)
        assert not outputs["aborting"]
        outputs = await bench.steps(ctx, 6, take=False, code=Status.MODE)
        assert outputs["aborting"]
        assert outputs["hold"]
        assert not outputs["stopped"]
        assert not outputs["i_code__ready"]
        await bench.step(ctx, "done", take=False, code=Status.MODE)
        outputs = await bench.step(ctx, take=False, code=Status.MODE)
        assert not outputs["i_code__ready"]  # drained, and about to stand
        outputs = await bench.step(ctx, take=False)
        assert outputs["stopped"]
        assert not outputs["aborting"]
        assert outputs["status"]["aborted"]
        await bench.step(ctx, "clear")
        outputs = await bench.steps(ctx, 5)
        assert not outputs["stopped"]
        assert not outputs["hold"]
        assert not outputs["flush"]
        await bench.step(ctx, "issued")
        await bench.step(ctx, "done")
        await bench.steps(ctx, 3)

    expected = [(0, Status.OK), (1, Status.OK), (2, Status.ABORTED), (3, Status.OK)]
    assert check(play).taken == expected


def test_abort_of_an_idle_engine():
    """There is nothing to abort; it stands all the same, two cycles later."""

    async def play(bench, ctx):
        await bench.steps(ctx, 3)
        await bench.step(ctx, "abort")
        assert not (await bench.step(ctx))["stopped"]
        assert (await bench.step(ctx))["stopped"]
        await bench.step(ctx, "clear")
        await bench.step(ctx)
        assert not (await bench.step(ctx))["stopped"]

    assert check(play).taken == []


def test_abort_of_a_halt():
    """A HALT that is still outstanding is aborted like any other."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued", "halt_issued")
        await bench.step(ctx, "abort")
        await bench.step(ctx)
        await bench.step(ctx, "done")
        outputs = await bench.steps(ctx, 3)
        assert outputs["status"]["aborted"]
        assert not outputs["status"]["halted"]
        await bench.step(ctx, "clear")
        assert not (await bench.steps(ctx, 3))["hold"]

    assert check(play).taken == [(0, Status.ABORTED)]


@pytest.mark.parametrize("pending", [0, 1, 2])
@pytest.mark.parametrize("take", [True, False], ids=["free", "stalled"])
def test_a_row_outside_the_array_stops_the_engine(pending, take):
    """Its instruction completes as RANGE, in order; nothing issues from that row on."""
    address = (3 << 32) + 77

    async def play(bench, ctx):
        for _ in range(pending):
            await bench.step(ctx, "issued")
        outputs = await bench.step(ctx, "issued")
        outputs = await bench.step(ctx, "fault_issued", address=address)
        assert not outputs["hold"]
        options = {"code": Status.MODE, "take": take, "address": 1}
        for index in range(pending + 1):
            for _ in range(2):
                outputs = await bench.step(ctx, **options)
                assert outputs["hold"]
                assert not outputs["stopped"]
                assert not outputs["i_code__ready"]
                if not take and index:
                    assert outputs["offered"] == (0, Status.OK)
            await bench.step(ctx, "done", **options)
        wanted = {"rejected": 1, "code": Status.RANGE, "index": pending, "address": address}
        wanted |= {"halted": 0, "aborted": 0}
        for _ in range(6):
            outputs = await bench.step(ctx, **options)
            assert outputs["stopped"]
            assert outputs["hold"]
            assert not outputs["i_code__ready"]
            assert {name: outputs["status"][name] for name in wanted} == wanted
        if not take:
            assert bench.taken == []
            assert outputs["offered"] == (0, Status.OK if pending else Status.RANGE)
            await bench.step(ctx, "clear", take=False)
            outputs = await bench.steps(ctx, 3, take=False)
            assert outputs["stopped"]  # they are still there
            outputs = await bench.steps(ctx, pending + 1)
        else:
            await bench.step(ctx, "clear")
        outputs = await bench.steps(ctx, 3)
        assert not outputs["stopped"]
        assert not outputs["hold"]
        assert outputs["status"]["address"] == address  # it can still be read
        # What is behind is numbered on.
        await bench.step(ctx, "issued")
        await bench.step(ctx, "done")
        await bench.steps(ctx, 3)

    expected = [Status.OK] * pending + [Status.RANGE, Status.OK]
    assert check(play).taken == list(enumerate(expected))


def test_the_first_row_may_end_its_instruction():
    """In the cycle in which it issues, while the one before completes."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued")
        await bench.step(ctx, "issued", "fault_issued", "done", address=5)
        outputs = await bench.steps(ctx, 4)
        assert not outputs["stopped"]
        await bench.step(ctx, "done")
        outputs = await bench.step(ctx)
        assert outputs["stopped"]
        assert outputs["offered"] == (1, Status.RANGE)
        assert (outputs["status"]["index"], outputs["status"]["address"]) == (1, 5)

    assert check(play).taken == [(0, Status.OK), (1, Status.RANGE)]


@pytest.mark.parametrize("pulse", ["abort", "soft_reset"])
@pytest.mark.parametrize("take", [True, False], ids=["free", "stalled"])
def test_abort_of_what_a_row_ended(pulse, take):
    """It is aborted like any other that has not completed; the next one is judged by itself."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued")
        await bench.step(ctx, "issued", "fault_issued", address=9)
        await bench.step(ctx, "done", take=take)
        await bench.step(ctx, pulse, take=take)
        await bench.steps(ctx, 2, take=take)
        await bench.step(ctx, "done", take=take)
        outputs = await bench.steps(ctx, 4, take=take)
        if pulse == "abort":
            assert outputs["stopped"]
            assert outputs["status"]["aborted"]
            assert not outputs["status"]["rejected"]
            await bench.step(ctx, "clear")
        outputs = await bench.steps(ctx, 6)
        assert not outputs["stopped"]
        assert not outputs["hold"]
        if pulse == "soft_reset":
            assert not any(outputs["status"].values())
        await bench.step(ctx, "issued")
        await bench.step(ctx, "done")
        outputs = await bench.steps(ctx, 3)
        assert not outputs["stopped"]

    ended = [(0, Status.OK), (1, Status.ABORTED)]
    assert check(play).taken == [*ended, (2 if pulse == "abort" else 0, Status.OK)]


@pytest.mark.parametrize("config", [CONFIG, LARGE], ids=["tiny", "large"])
def test_rooms_are_given_back(config):
    """However instructions end: then there is room for as many as before, and no more."""
    ends = ("ok", "range", "aborted", "rejected", "halted", "range and aborted")

    async def play(bench, ctx):
        for end in ends * (config.outstanding + 1):
            if end == "rejected":
                await bench.step(ctx, code=Status.COUNT)
            else:
                names = {"halted": ["halt_issued"]}.get(end, [])
                await bench.step(ctx, "issued", *names, *["fault_issued"] * ("range" in end))
                await bench.step(ctx, *["abort"] * ("aborted" in end))
                await bench.step(ctx)
                await bench.step(ctx, "done", take=False)
            outputs = await bench.steps(ctx, 3)
            assert outputs["stopped"] == (end != "ok")
            assert outputs["idle"]
            await bench.step(ctx, "clear")
            outputs = await bench.steps(ctx, 3)
            assert outputs["room"]
            assert not outputs["hold"]
        for number in range(config.outstanding):
            assert outputs["room"], number
            await bench.step(ctx, "issued")
            outputs = await bench.steps(ctx, 2)
        assert not outputs["room"]

    names = {"ok": Status.OK, "range": Status.RANGE, "rejected": Status.COUNT, "halted": Status.OK}
    expected = [names.get(end, Status.ABORTED) for end in ends] * (config.outstanding + 1)
    assert check(play, config).taken == list(enumerate(expected))


@pytest.mark.parametrize("stop", ["none", "halt", "rejection", "abort", "fault"])
def test_soft_reset(stop):
    """As an abort, then a flush of one cycle; the index is zero, and the engine runs."""

    async def play(bench, ctx):
        await bench.step(ctx, "issued")
        await bench.step(ctx, "done")
        await bench.steps(ctx, 3)
        if stop == "halt":
            await bench.step(ctx, "issued", "halt_issued")
            await bench.step(ctx, "done")
        elif stop == "rejection":
            await bench.step(ctx, code=Status.COUNT)
        elif stop == "abort":
            await bench.step(ctx, "abort")
        elif stop == "fault":
            await bench.step(ctx, "issued", "fault_issued", address=1)
            await bench.step(ctx, "done")
        outputs = await bench.steps(ctx, 4)
        assert outputs["stopped"] == (stop != "none")
        if stop == "none":
            await bench.step(ctx, "issued")
        await bench.step(ctx, "soft_reset", take=False)
        if stop == "none":
            outputs = await bench.steps(ctx, 4, take=False)
            assert outputs["aborting"]
            assert outputs["hold"]
            await bench.step(ctx, "done", take=False)
            for _ in range(4):  # not before its completion is taken
                outputs = await bench.step(ctx, take=False, code=Status.COUNT)
                assert not outputs["flush"]
                assert not outputs["stopped"]
                assert not outputs["i_code__ready"]
            await bench.step(ctx)
        assert (await bench.step(ctx))["flush"]
        for _ in range(4):
            outputs = await bench.step(ctx)
            assert not outputs["flush"]
            assert not outputs["stopped"]
            assert not outputs["hold"]
            assert not any(outputs["status"].values())
        await bench.step(ctx, "issued")
        await bench.step(ctx, "done")
        await bench.steps(ctx, 3)

    taken = {
        "none": [(1, Status.ABORTED)],
        "halt": [(1, Status.OK)],
        "rejection": [(1, Status.COUNT)],
        "fault": [(1, Status.RANGE)],
        "abort": [],
    }[stop]
    assert check(play).taken == [(0, Status.OK), *taken, (0, Status.OK)]


@pytest.mark.parametrize("seed", range(4))
def test_anything_at_any_time(seed):
    """Issues, HALTs, faults, rejections, aborts, clears at random: no answer is lost or wrong."""
    rng = random.Random(seed)
    expected, waiting = [], []

    async def play(bench, ctx):
        aborting = False  # an abort is going on
        age, code = 0, None
        fault, ended = None, False  # when a row is to end what issued last; it did
        state = await bench.step(ctx) | {"names": [], "code": None}
        ending = 0
        while ending < 60:
            names = []
            busy = bench.cycle < 3000
            ending += not busy
            # The sequencer sees `hold` and `room` of this cycle: here they are registers, so the
            # ones of the cycle before and what changes them are enough.
            held = state["hold"] or {"abort", "halt_issued", "fault_issued"} & set(state["names"])
            held = held or (state["code"] and state["i_code__ready"]) or fault is not None
            if busy and age >= CONFIG.check_interval and not held and state["room"]:
                kind = rng.choice(["issued"] * 6 + ["rejection", "halt", "fault", "fault"])
                if kind == "rejection" and code is None:
                    code = rng.choice([Status.COUNT, Status.MODE])
                elif kind != "rejection" and code is None:
                    names += ["issued"] + ["halt_issued"] * (kind == "halt")
                    late = rng.randrange(6) * (kind == "fault")
                    fault = bench.cycle + late if kind == "fault" else None
                    back = max([bench.cycle + late + CONFIG.completion_delay - 1, *waiting])
                    waiting.append(back + bool(waiting))
                    age = 0
            if fault == bench.cycle:  # aborted, the row is dropped
                names += ["fault_issued"] * (not aborting)
                ended, fault = not aborting, None
            if waiting and waiting[0] == bench.cycle:
                waiting.pop(0)
                names.append("done")
                last = Status.RANGE if ended and not waiting else Status.OK
                expected.append(Status.ABORTED if aborting else last)
                ended = ended and bool(waiting)
            if busy and rng.random() < 0.01:
                names.append("abort")
            if state["stopped"] and (rng.random() < 0.05 or not busy):
                names.append("clear")
            state = await bench.step(ctx, *names, code=code, take=rng.random() < 0.2 or not busy)
            state |= {"names": names, "code": code}
            if code is not None and state["i_code__ready"]:
                expected.append(code)
                code = None
            aborting = (aborting and state["aborting"]) or (
                "abort" in names and not state["stopped"]
            )
            age += 1

    bench = check(play)
    assert bench.taken == list(enumerate(expected))
    assert {Status.OK, Status.RANGE, Status.ABORTED} < {status for _, status in bench.taken}
