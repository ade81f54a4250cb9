"""bounds: the coordinates of every row, and how much of it the limits leave.

It follows the row generator through three of its registers. A loop that goes on adds its multiplier
to the coordinates at which it last stood with all loops inside it at 0 (its base); these then are
the bases of the loops inside it, too. A base is kept once, in a RAM, by the loop that made it::

    turns        placed                          left                   trimmed
    --> [which base, --> base --> + multiplier --> [limit - coordinate] --> [min, any at 0?] -->
         multiplier]      ^---- RAM <----+                                   elements, empty
"""

from amaranth import Cat, Module, Mux, Signal, signed, unsigned
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from ..fields import RECORDS, Tag

__all__ = ["Bounds"]

_TAGS = (Tag.HO, Tag.WO, Tag.CO)  # of the limits, in their order
_START = len(RECORDS)  # in the RAM: the coordinates of the first row
_BITS = 33  # a limit, and a bit that says: beyond all limits


class Bounds(wiring.Component):
    """Trims rows. Latency: 3 steps of the row generator, each when it takes one.

    Members
    -------
    limits : In(limits)
        Of the instruction; stands while its rows turn, and until the first one is placed.
    turn : In(1)
        A row leaves the walk; `first` (of its instruction) or `level` say how.
    first : In(1)
    level : In(range(9))
        The loop or digit that went on, outermost first.
    place : In(1)
        The row that turned last is placed.
    leave, trim : In(1)
        The row placed (the row left) goes on to the next register.
    elements : In(24)
        Of the row that goes on with `trim`, untrimmed.
    trimmed : Out(24), empty : Out(1), limited : Out(1)
        What is left of it; nothing is; its instruction has limits.
    """

    def __init__(self):
        super().__init__(
            {
                "limits": In(isa.limits()),
                "turn": In(1),
                "first": In(1),
                "level": In(range(len(RECORDS))),
                "place": In(1),
                "leave": In(1),
                "trim": In(1),
                "elements": In(24),
                "trimmed": Out(24),
                "empty": Out(1),
                "limited": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        limits = self.limits
        coordinates = data.ArrayLayout(unsigned(_BITS), len(_TAGS))
        m.submodules.bases = bases = memory.Memory(shape=coordinates, depth=_START + 1, init=[])
        read, write = bases.read_port(domain="comb"), bases.write_port()

        # turn: which base, and what to add
        holders = [Signal(range(_START + 1), name=f"holder_{name}") for name in RECORDS]
        entry = Signal(range(_START + 1), reset_less=True)  # to read
        made_by = Signal(range(_START + 1), reset_less=True)
        begins = Signal(reset_less=True)
        tag = Signal(2, reset_less=True)
        multiplier = Signal(16, reset_less=True)
        holder = Signal(range(_START + 1))
        with m.Switch(self.level):
            for level in range(len(RECORDS)):
                with m.Case(level):
                    m.d.comb += holder.eq(holders[level])
        with m.If(self.turn):
            m.d.sync += [
                entry.eq(holder),
                made_by.eq(Mux(self.first, _START, self.level)),
                begins.eq(self.first),
                tag.eq(limits.tag[self.level]),
                multiplier.eq(limits.multiplier[self.level]),
            ]
            for level in range(len(RECORDS)):
                with m.If(self.first):
                    m.d.sync += holders[level].eq(_START)
                with m.Elif(self.level <= level):
                    m.d.sync += holders[level].eq(self.level)

        # placed: its coordinates
        placed = Signal(coordinates, reset_less=True)
        limit = Signal(limits.limit.shape(), reset_less=True)
        row_tag = Signal(2, reset_less=True)
        limited = [Signal(name=f"limited{stage}", reset_less=True) for stage in range(3)]
        following = Signal(coordinates)
        m.d.comb += [
            read.addr.eq(entry),
            write.addr.eq(made_by),
            write.data.eq(following),
            write.en.eq(self.place),
        ]
        for index, name in enumerate(_TAGS):
            base = read.data[index]
            added = base[:-1] + Mux(tag == name, multiplier, 0)
            m.d.comb += following[index].eq(
                Mux(begins, 0, Cat(added[: _BITS - 1], base[-1] | added[_BITS - 1]))
            )
        with m.If(self.place):
            m.d.sync += placed.eq(following)
            with m.If(begins):
                m.d.sync += [
                    limit.eq(limits.limit),
                    row_tag.eq(limits.row_tag),
                    limited[0].eq(limits.any),
                ]

        # left: to each limit, and on the row's own axis
        room = Signal(signed(_BITS + 1), reset_less=True)
        bounded = Signal(reset_less=True)
        beyond = Signal(len(_TAGS), reset_less=True)
        with m.If(self.leave):
            m.d.sync += [room.eq(0), bounded.eq(0), limited[1].eq(limited[0])]
            for index, name in enumerate(_TAGS):
                distance = limit[index] - placed[index]
                mine = (row_tag == name) & (limit[index] != 0)
                m.d.sync += beyond[index].eq((limit[index] != 0) & (distance <= 0))
                with m.If(mine):
                    m.d.sync += [room.eq(distance), bounded.eq(1)]

        # trimmed
        trimmed = Signal(24, reset_less=True)
        void = Signal(reset_less=True)
        with m.If(self.trim):
            m.d.sync += [
                trimmed.eq(Mux(bounded & (room < self.elements), room, self.elements)),
                void.eq(beyond.any()),
                limited[2].eq(limited[1]),
            ]
        m.d.comb += [
            self.trimmed.eq(trimmed),
            self.empty.eq(void),
            self.limited.eq(limited[2]),
        ]
        return m
