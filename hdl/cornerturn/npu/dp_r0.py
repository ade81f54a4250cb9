"""dp_r0: takes a read micro-op from the TIU or the lane before, and drives data onward.

It forwards the micro-op in the same cycle (forward before execute) and hands a hit to xbar; three
cycles later, when the empty beat passes, it drops what xbar brings into it::

    i_op ----+--> [skip - 1 | step_m1] --> o_op
             | hit
             v
          request --> xbar --(L = 3 cycles)--> word, element, enable
                                                   v
    i_beat ------------------------------------> [ or ] --> o_beat

Registers: none; the hop behind a group of lanes holds them (`interconnect/chain.py`).
"""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .step import step_op

__all__ = ["DpR0"]


class DpR0(wiring.Component):
    """Read side of a lane's data path. Latency: 0 cycles for micro-op and beat.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_op, o_op : read_op
        The micro-op as it arrives, and as the next lane gets it.
    request : Out(read_request)
        To xbar, valid if the micro-op hits this lane.
    word, element, enable : In
        From xbar, 3 cycles after the request: the whole word or 0; an element, repeated over
        max_element_cells; the cells of the beat that take it.
    i_beat, o_beat : beat_width
        The beat as it arrives, and with this lane's part.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_op": In(isa.read_op(config)),
                "o_op": Out(isa.read_op(config)),
                "request": Out(isa.read_request(config)),
                "word": In(config.beat_width),
                "element": In(config.max_element_cells * config.cell_width),
                "enable": In(config.beat_cells),
                "i_beat": In(config.beat_width),
                "o_beat": Out(config.beat_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        hit = step_op(m, self.i_op, self.o_op)
        m.d.comb += self.request.valid.eq(hit)
        for name in ("along", "position", "word", "offset", "code"):
            m.d.comb += self.request[name].eq(self.i_op[name])

        # Word and element are merged in one expression, so that a bit costs one 4-input LUT.
        mask = Cat(bit.replicate(config.cell_width) for bit in self.enable)
        elements = self.element.replicate(config.beat_cells // config.max_element_cells)
        m.d.comb += self.o_beat.eq(self.i_beat | self.word | (elements & mask))
        return m
