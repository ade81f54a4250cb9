"""xbar: from an address to the cells of the lmem, and their data to dp_r0 (or the lane port).

Any element of a word goes to any place of a beat. The element is chosen with a butterfly of
two-way selections that leaves it repeated over max_element_cells, so that dp_r0 only enables it::

    cycle        t             t+1          t+2              t+3
    request --> lmem.read
                       data --> [word_q] --> pick element --> [element]
                                         --> along ?      --> [word]     (0 if not along)
                                    position, code        --> [enable]   (0 if not across)

The RAM's output goes into a register with nothing in between: its clock-to-out is the longest of
any FPGA primitive here.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .. import isa

__all__ = ["Xbar", "pick"]


def pick(config, beat, position, code):
    """The element of 1 << code cells at cell `position` of `beat`, repeated.

    Returns a value of max_element_cells cells: cell q is cell position | (q mod 2**code) of the
    beat; `position` is a multiple of the element.
    """
    cells = [beat.word_select(index, config.cell_width) for index in range(config.beat_cells)]
    for bit in reversed(range(config.offset_bits)):
        size = 1 << bit
        if size >= config.max_element_cells:  # no element is this large: keep one half
            cells = [Mux(position[bit], cells[index + size], cells[index]) for index in range(size)]
        else:  # each half keeps its own if the element spans both, else both get the chosen one
            spans = code > bit
            choice = (position[bit] & ~spans, position[bit] | spans)
            cells = [
                Mux(choice[bool(index & size)], cells[index | size], cells[index & ~size])
                for index in range(len(cells))
            ]
    return Cat(cells)


class Xbar(wiring.Component):
    """Read crossbar of a lane. Latency: 3 cycles (`Config.sram_latency`), lane port 2 cycles.

    Parameters
    ----------
    config : Config

    Members
    -------
    request : In(read_request)
        From dp_r0.
    data : In(beat_width)
        From the lmem, one cycle after its read.
    word_q : Out(beat_width)
        `data` one cycle later: what the lane port reads.
    word, element, enable : Out
        To dp_r0, 3 cycles after the request.
    """

    def __init__(self, config):
        self._config = config
        super().__init__(
            {
                "request": In(isa.read_request(config)),
                "data": In(config.beat_width),
                "word_q": Out(config.beat_width),
                "word": Out(config.beat_width),
                "element": Out(config.max_element_cells * config.cell_width),
                "enable": Out(config.beat_cells),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self._config
        word_q = Signal(config.beat_width, reset_less=True)
        word = Signal(config.beat_width, reset_less=True)
        element = Signal(self.element.shape(), reset_less=True)
        enable = Signal(config.beat_cells, reset_less=True)
        request_q = Signal(isa.read_request(config), reset_less=True)
        request_q2 = Signal(isa.read_request(config), reset_less=True)
        m.d.sync += [request_q.eq(self.request), request_q2.eq(request_q)]
        m.d.sync += [
            word_q.eq(self.data),
            word.eq(Mux(request_q2.valid & request_q2.along, word_q, 0)),
            element.eq(pick(config, word_q, request_q2.offset, request_q2.code)),
        ]
        across = request_q2.valid & ~request_q2.along
        for cell in range(config.beat_cells):
            differs = request_q2.position ^ cell
            m.d.sync += enable[cell].eq(across & ((differs >> request_q2.code) == 0))
        m.d.comb += [
            self.word_q.eq(word_q),
            self.word.eq(word),
            self.element.eq(element),
            self.enable.eq(enable),
        ]
        return m
