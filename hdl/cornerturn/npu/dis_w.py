"""dis_w: writes the data a micro-op carries into the addressed cells.

An along write keeps the beat as it is; an across write keeps the element at `position` and offers
it at every place of the word. The mask, made by the TIU, says which cells are written::

    request.beat --+-----------------> [ along ] --> write.beat
                   +--> pick element -->[      ]
    request.mask --------------------------------->  write.mask
"""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa
from .xbar import pick

__all__ = ["DisW"]


class DisW(wiring.Component):
    """Write distribution of a lane. Latency: 0 cycles (the lmem takes it at the cycle's end).

    Parameters
    ----------
    config : Config

    Members
    -------
    request : In(write_request)
        From dp_w0.
    write : Out(lane_write)
        To the lmem.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "request": In(isa.write_request(config)),
                "write": Out(isa.lane_write(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        element = pick(config, self.request.beat, self.request.position, self.request.code)
        elements = element.replicate(config.beat_cells // config.max_element_cells)
        m.d.comb += [
            self.write.valid.eq(self.request.valid),
            self.write.word.eq(self.request.word),
            self.write.mask.eq(self.request.mask),
            self.write.beat.eq(Mux(self.request.along, self.request.beat, elements)),
        ]
        return m
