"""What asks for rows in memory: every row once, in order, and none that must not be read."""

import random

import pytest
from cornerturn import isa
from cornerturn.tiu.demand import Demand
from unit.bench import CONFIGS, draw, each_config, plain, poke, simulate

KEPT = ("first", "last", "begin", "void", "fault", "cells")


def instruction(rng, config, *, rows, serial=False, fault=None):
    """The rows of one instruction; the one with the number `fault` ends it."""
    job = draw(rng, isa.job(config), serial=serial)
    shape = isa.row(config)
    return [
        draw(rng, shape, first=k == 0, last=k == rows - 1, job=job, fault=k == fault,
             void=k == fault or rng.random() < 0.2)
        for k in range(rows)
    ]  # fmt: skip


def address(row):
    """Where a row that is outside starts."""
    side = row["out" if row["fault_out"] else "in"]
    return ((side["lane"] & 0xFFFFFFFF) << 32) | (side["offset"] & 0xFFFFFFFF)


@each_config
@pytest.mark.parametrize(("offer", "take"), [(1, 1), (0.4, 1), (1, 0.4), (0.6, 0.6)])
@pytest.mark.parametrize("serial", [False, True])
def test_rows_are_asked_for_in_order(config, offer, take, serial):
    """Those that move something; with faults, and with ends from outside."""
    rng = random.Random(44)
    instructions = []
    for _ in range(40):
        rows = rng.choice([1, 2, 9])
        fault = rng.randrange(rows) if rng.random() < 0.2 else None
        instructions.append(instruction(rng, config, serial=serial, fault=fault, rows=rows))
    dut = Demand(config)
    offered = [row for rows in instructions for row in rows]
    asked, issues = [], []

    async def bench(ctx, reset):
        position = 0
        inside = []  # (row, cycle from which on it may land)
        open_rows = False  # the instruction that issued last has rows to land
        ended = False
        settles = 0  # the cycle from which on what has landed is written
        shown = False
        for cycle in range(4000):
            row = offered[position] if position < len(offered) else None
            shown = row is not None and (shown or rng.random() < offer)
            ctx.set(dut.i_row.valid, shown)
            if shown:
                poke(ctx, dut.i_row.payload, row)
            ctx.set(dut.o_row.ready, rng.random() < take)
            ctx.set(dut.o_request.ready, rng.random() < take)
            ctx.set(dut.go, not open_rows and rng.random() < 0.7)
            lands = bool(inside) and inside[0][1] <= cycle and rng.random() < 0.8
            ends = False
            landing = inside[0][0] if lands else None
            if lands:
                inside.pop(0)
                ends = bool(landing["fault"]) or (rng.random() < 0.05 and not landing["last"])
            settled = cycle >= settles
            if lands and not landing["void"]:
                settles = cycle + 1 + rng.choice([1, 5])
            ctx.set(dut.settled, settled)
            ctx.set(dut.landed, lands)
            ctx.set(dut.end, ends)
            if ends:
                inside.clear()
                ended = True
                if landing["fault"]:
                    assert ctx.get(dut.fault_address) == address(landing)
            if ctx.get(dut.issued):
                assert row["first"]
                assert not open_rows
                issues.append(cycle)
                open_rows, ended = True, False
            elif ends or (lands and landing["last"]):
                assert plain(ctx.get(dut.job)) == landing["job"]
                open_rows = False
            forked = ctx.get(dut.o_row.valid) and ctx.get(dut.o_row.ready)
            asks = ctx.get(dut.o_request.valid) and ctx.get(dut.o_request.ready)
            if forked:
                out = plain(ctx.get(dut.o_row.payload))
                assert {name: out[name] for name in KEPT} == {name: row[name] for name in KEPT}
                assert out["lane"] == row["out"]["lane"] % (1 << config.lane_bits)
                assert out["offset"] == row["out"]["offset"] % (1 << config.address_bits)
                assert not ends or row["first"]
                assert not ended or row["first"]
                if serial and not row["first"]:
                    assert not inside
                    assert settled
                inside.append((row, cycle + rng.choice([1, 4])))
            assert asks == bool(forked and not row["void"])
            if asks:
                request = plain(ctx.get(dut.o_request.payload))
                assert request == {
                    "address": row["in"]["offset"] % (1 << config.address_bits),
                    "bytes": row["cells"] * config.cell_width // 8,
                    "last": row["last"],
                }
                asked.append(cycle)
            if shown and ctx.get(dut.i_row.ready):
                assert forked or not row["first"]
                assert forked or ended
                position, shown = position + 1, False
            await ctx.tick()
            if position == len(offered) and not inside:
                break
        else:
            raise AssertionError(f"row {position} of {len(offered)} was not taken")

    simulate(dut, bench)
    assert len(issues) == len(instructions)
    assert asked


@each_config
def test_a_row_a_cycle(config):
    """Rows pass in the cycle in which they are offered."""
    rng = random.Random(45)
    rows = instruction(rng, config, rows=50)
    dut = Demand(config)
    cycles = []

    async def bench(ctx, reset):
        for port in (dut.go, dut.o_row.ready, dut.o_request.ready):
            ctx.set(port, 1)
        for cycle, row in enumerate(rows):
            ctx.set(dut.i_row.valid, 1)
            poke(ctx, dut.i_row.payload, row)
            if ctx.get(dut.i_row.ready) and ctx.get(dut.o_row.valid):
                cycles.append(cycle)
            await ctx.tick()

    simulate(dut, bench)
    assert cycles == list(range(50))


def test_flush_forgets_a_fault():
    """Behind a row that is outside nothing goes, until its instruction ends, or is forgotten."""
    config = CONFIGS["tiny"]
    rng = random.Random(46)
    rows = instruction(rng, config, rows=3, fault=0)
    dut = Demand(config)

    async def bench(ctx, reset):
        for port in (dut.go, dut.o_row.ready, dut.o_request.ready, dut.i_row.valid):
            ctx.set(port, 1)
        poke(ctx, dut.i_row.payload, rows[0])
        await ctx.tick()
        poke(ctx, dut.i_row.payload, rows[1])
        for _ in range(5):
            assert not ctx.get(dut.i_row.ready)
            await ctx.tick()
        ctx.set(dut.flush, 1)
        await ctx.tick()
        ctx.set(dut.flush, 0)
        poke(ctx, dut.i_row.payload, instruction(rng, config, rows=1)[0])
        assert ctx.get(dut.issued)

    simulate(dut, bench)
