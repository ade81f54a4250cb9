"""dp_w0: takes a write micro-op with its beat from the TIU or the lane before, and forwards it.

It hands a hit to dis_w and passes everything on in the same cycle; the beat goes by unchanged, and
`last` goes all the way round::

    i_op --+--> [skip - 1 | step_m1] --> o_op
           | hit
           v
        request --> dis_w

Registers: none; the hop behind a group of lanes holds them.
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .step import step_op

__all__ = ["DpW0"]


class DpW0(wiring.Component):
    """Write side of a lane's data path. Latency: 0 cycles.

    Parameters
    ----------
    config : Config

    Members
    -------
    i_op, o_op : write_op
        The micro-op as it arrives, and as the next lane gets it.
    request : Out(write_request)
        To dis_w, valid if the micro-op hits this lane.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "i_op": In(isa.write_op(config)),
                "o_op": Out(isa.write_op(config)),
                "request": Out(isa.write_request(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        hit = step_op(m, self.i_op, self.o_op)
        m.d.comb += self.request.valid.eq(hit)
        for name in ("along", "position", "word", "mask", "code", "beat"):
            m.d.comb += self.request[name].eq(self.i_op[name])
        return m
