"""The registers behind AXI4-Lite: every field as its access kind says, strobes, the interrupt."""

import random

import pytest
from cornerturn.config import PRESETS, Config
from cornerturn.registers import REGISTERS, Access, port_of
from cornerturn.soc.csr import Csr, register_ports
from unit.axi import Host
from unit.bench import simulate, trace

CONFIG = Config(lanes=5, lanes_per_hop=2, cell_width=4, beat_cells=16, cells=64, address_bits=40)
OKAY, SLVERR = 0, 2
FIELDS = [(register, bits) for register in REGISTERS.values() for bits in register.fields]


def of_kind(*kinds):
    """Every register and field of some access kinds."""
    return [(register, bits) for register, bits in FIELDS if bits.access in kinds]


def check(play, *, go=1.0, seed=0, config=CONFIG):
    """Run `play(ctx, csr, host)`."""
    csr = Csr(config)
    host = Host(csr.bus, seed=seed, go=go)

    async def drive(ctx, reset):
        await play(ctx, csr, host)

    simulate(csr, drive, *host.benches)


def expected(register, state):
    """What a register reads as, with the values of its ports."""
    value = 0
    for bits in register.fields:
        if bits.access is Access.CONSTANT:
            field = bits.reset
        elif bits.access is Access.BUILD:
            field = int(getattr(CONFIG, bits.name))
        else:
            field = state.get(port_of(register, bits), bits.reset)
        if bits.access is not Access.PULSE:
            value |= field << bits.low
    return value


@pytest.mark.parametrize("config", [*PRESETS.values(), CONFIG])
def test_properties_of_a_build_fit(config):
    for _, bits in of_kind(Access.BUILD):
        assert int(getattr(config, bits.name)) < 1 << bits.width


@pytest.mark.parametrize("go", [1.0, 0.3])
def test_registers_after_reset(go):
    async def play(ctx, csr, host):
        for register in REGISTERS.values():
            assert await host.read(ctx, register.offset) == (expected(register, {}), OKAY)

    check(play, go=go)


@pytest.mark.parametrize("seed", range(3))
def test_any_writes_and_reads(seed):
    """With strobes, state that changes, and addresses that are no registers."""
    rng = random.Random(seed)
    by_offset = {register.offset: register for register in REGISTERS.values()}

    async def play(ctx, csr, host):
        state = {}
        for _ in range(400):
            offset = rng.choice([*by_offset, *by_offset, rng.randrange(1024) * 4])
            register = by_offset.get(offset)
            answer = OKAY if register else SLVERR
            if rng.random() < 0.5:
                for reg, bits in of_kind(Access.STATE):
                    if rng.random() < 0.1:
                        value = rng.getrandbits(bits.width)
                        state[port_of(reg, bits)] = value
                        ctx.set(getattr(csr, port_of(reg, bits)), value)
                value = expected(register, state) if register else 0
                assert await host.read(ctx, offset + rng.randrange(4)) == (value, answer)
                continue
            data, strobe = rng.getrandbits(32), rng.getrandbits(4)
            ones = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            if register and register.name == "command":
                ones &= ~4  # soft reset has a test of its own
                strobe &= ~1
            assert await host.write(ctx, offset + rng.randrange(4), data, strobe) == answer
            for bits in register.fields if register else ():
                if bits.access in (Access.SETTING, Access.DOORBELL):
                    mask = (1 << bits.width) - 1
                    name = port_of(register, bits)
                    old = state.get(name, bits.reset)
                    new = (old & ~(ones >> bits.low)) | (data & ones) >> bits.low & mask
                    state[name] = new & mask
            for reg, bits in of_kind(Access.SETTING, Access.DOORBELL):
                name = port_of(reg, bits)
                assert ctx.get(getattr(csr, name)) == state.get(name, bits.reset)

    check(play, go=rng.choice([1.0, 0.5, 0.2]), seed=seed)


def cycles_of(names, stimulus):
    """The cycles in which some outputs are high."""
    records = trace(Csr(CONFIG), stimulus, names, idle={"bus__bready": 1, "bus__rready": 1})
    return {name: [t for t, record in enumerate(records) if record[name]] for name in names}


def write_of(register, data, strobe=15):
    """The inputs that write a register, in one cycle."""
    return {
        "bus__awaddr": REGISTERS[register].offset,
        "bus__awvalid": 1,
        "bus__wdata": data,
        "bus__wstrb": strobe,
        "bus__wvalid": 1,
    }


@pytest.mark.parametrize("bit", range(3))
def test_pulses_last_a_cycle_two_cycles_behind_the_write(bit):
    names = [f"command_{bits.name}" for bits in REGISTERS["command"].fields]
    seen = cycles_of([*names, "bus__bvalid"], [write_of("command", 1 << bit), *[{}] * 6])
    assert seen.pop("bus__bvalid") == [2]
    assert seen == {name: [2] if index == bit else [] for index, name in enumerate(names)}
    seen = cycles_of(names, [write_of("command", 7, strobe=14), *[{}] * 6])
    assert not any(seen.values())


def test_doorbell():
    """`written` is there with the value, also if the value is the same, not without a strobe."""
    names = ["ring_tail_written", "ring_tail"]
    once = [write_of("ring_tail", 3), *[{}] * 3]
    seen = cycles_of(names, [*once, *once])
    assert seen == {"ring_tail_written": [2, 6], "ring_tail": [2, 3, 4, 5, 6, 7]}
    seen = cycles_of(names, [write_of("ring_tail", 3, strobe=12), *[{}] * 5])
    assert not any(seen.values())


def test_a_read_takes_two_cycles():
    stimulus = [{"bus__araddr": 0, "bus__arvalid": 1}, *[{}] * 4]
    assert cycles_of(["bus__rvalid"], stimulus) == {"bus__rvalid": [2]}


def test_an_event_raises_the_interrupt_two_cycles_later():
    """While its cause is enabled, until it is cleared; an event beats its clearing."""
    stimulus = [write_of("irq_enable", 1 << 3), *[{}] * 3]
    stimulus += [{"irq_status_halted": 1}, {}, {}, {"irq_status_completion": 1}, *[{}] * 4]
    stimulus += [write_of("irq_status", 1), *[{}] * 3]  # another bit
    stimulus += [write_of("irq_status", 8), {"irq_status_completion": 1}, *[{}] * 3]
    stimulus += [write_of("irq_status", 8), *[{}] * 5]
    seen = cycles_of(["irq"], stimulus)
    # Cleared by the write of cycle 21, two cycles later, and one more to the pin.
    assert seen["irq"] == list(range(9, 24))


def test_every_cause_has_its_enable():
    async def play(ctx, csr, host):
        for bit, bits in enumerate(REGISTERS["irq_status"].fields):
            port = getattr(csr, port_of(REGISTERS["irq_status"], bits))
            ctx.set(port, 1)
            await ctx.tick()
            ctx.set(port, 0)
            assert await host.read(ctx, REGISTERS["irq_status"].offset) == (1 << bit, OKAY)
            for enable in (0, 0x7F ^ 1 << bit, 1 << bit):
                await host.write(ctx, REGISTERS["irq_enable"].offset, enable)
                await ctx.tick()
                assert ctx.get(csr.irq) == (enable == 1 << bit)
            await host.write(ctx, REGISTERS["irq_status"].offset, 1 << bit)

    check(play)


def test_soft_reset_resets_settings_and_events():
    async def play(ctx, csr, host):
        for register, bits in of_kind(Access.SETTING, Access.DOORBELL):
            await host.write(ctx, register.offset, 0x5A5A5A5A & ((1 << bits.low + bits.width) - 1))
        ctx.set(csr.irq_status_bus_hung, 1)
        await ctx.tick()
        ctx.set(csr.irq_status_bus_hung, 0)
        await host.write(ctx, REGISTERS["command"].offset, 4)
        for register, bits in of_kind(Access.SETTING, Access.DOORBELL, Access.EVENT):
            value, _ = await host.read(ctx, register.offset)
            assert value >> bits.low & ((1 << bits.width) - 1) == bits.reset

    check(play)


def test_every_field_that_is_no_constant_has_a_port():
    fields = [f"{register.name} {bits.name}" for register, bits in FIELDS]
    assert len(set(fields)) == len(fields)
    names = [
        port_of(register, bits)
        for register, bits in FIELDS
        if bits.access not in (Access.CONSTANT, Access.BUILD)
    ]
    bells = [f"{port_of(*place)}_written" for place in of_kind(Access.DOORBELL)]
    assert sorted(register_ports()) == sorted(names + bells)
