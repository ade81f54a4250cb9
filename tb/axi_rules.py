"""The rules of AXI4, for the manager's side: watches a bus cycle by cycle, in any simulator.

It knows nothing of the design: a bench hands it the signals of every clock cycle, by their names
without prefix, as they are just before the edge, and asks at the end that nothing is left::

    rules = Rules(bus_bytes=8)
    rules.cycle({"arvalid": 1, "arready": 0, "araddr": 0x40, ...})
    rules.finish()
"""

import dataclasses

__all__ = ["Burst", "Rules"]

BOUNDARY = 4096
LONGEST = 256
INCR = 1

CHANNELS = {
    "ar": ("id", "addr", "len", "size", "burst", "cache", "prot"),
    "aw": ("id", "addr", "len", "size", "burst", "cache", "prot"),
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
    "r": ("id", "data", "resp", "last"),
}
"""The payload of each channel."""


@dataclasses.dataclass
class Burst:
    """A burst that was asked for: its address, its length, and what has come of it.

    `beats` are (cycle, data, strobes or answer).
    """

    address: int
    length: int
    cycle: int
    beats: list = dataclasses.field(default_factory=list)


class Rules:
    """Checks every cycle; keeps what was transferred.

    Parameters
    ----------
    bus_bytes : int
    longest : int
        Most beats of a burst.
    outstanding : int
        Most bursts, each way, that may wait for their (last) answer.
    """

    def __init__(self, *, bus_bytes, longest=LONGEST, outstanding=1 << 30):
        self.bus_bytes = bus_bytes
        self.longest = longest
        self.outstanding = outstanding
        self.now = 0
        self.reads, self.writes = [], []  # all bursts
        self.unanswered = []  # writes
        self._reading = []
        self._offered = {}  # address bursts on the bus and not taken: they may have data already
        self._waiting = {}  # payload on each channel that was not taken
        self._filled = 0  # writes whose data is complete

    def cycle(self, signals):
        """Look at a cycle."""
        for name, fields in CHANNELS.items():
            if f"{name}valid" in signals:
                self._channel(name, fields, signals)
        self.now += 1

    def finish(self):
        """Nothing may be left over."""
        assert not self._waiting, f"offered and not taken: {self._waiting}"
        assert not self._offered
        assert not self._reading, "reads without their last beat"
        assert not self.unanswered, "writes without an answer"
        assert self._filled == len(self.writes), "writes without their last beat"

    def _channel(self, name, fields, signals):
        valid, ready = signals[f"{name}valid"], signals[f"{name}ready"]
        payload = {field: signals[f"{name}{field}"] for field in fields} if valid else None
        if name in self._waiting:
            assert payload == self._waiting[name], f"{name} changed while it waited"
        if valid and name in ("ar", "aw") and name not in self._offered:
            self._offered[name] = self._address(name, payload)
        if valid and ready:
            self._waiting.pop(name, None)
            self._taken(name, payload)
        elif valid:
            if name == "w":
                self._write_beat(payload)  # must have its address on the bus, taken or not
            self._waiting[name] = payload

    def _taken(self, name, payload):
        if name in ("ar", "aw"):
            burst = self._offered.pop(name)
            burst.cycle = self.now
            if name == "ar":
                self._reading.append(burst)
                assert len(self._reading) <= self.outstanding
        elif name == "w":
            burst = self._write_beat(payload)
            burst.beats.append((self.now, payload["data"], payload["strb"]))
            self._filled += payload["last"]
        elif name == "b":
            assert self.unanswered, "an answer to nothing"
            burst = self.unanswered.pop(0)
            assert len(burst.beats) == burst.length, "an answer before the last beat"
        else:
            assert self._reading, "data for nothing"
            burst = self._reading[0]
            burst.beats.append((self.now, payload["data"], payload["resp"]))
            assert payload["last"] == (len(burst.beats) == burst.length)
            if payload["last"]:
                self._reading.pop(0)

    def _write_beat(self, payload):
        assert self._filled < len(self.writes), "data before its address"
        burst = self.writes[self._filled]
        assert payload["last"] == (len(burst.beats) + 1 == burst.length), "wlast"
        return burst

    def _address(self, name, payload):
        address, length = payload["addr"], payload["len"] + 1
        size = length * self.bus_bytes
        assert 1 << payload["size"] == self.bus_bytes
        assert payload["burst"] == INCR
        assert length <= self.longest
        assert address % self.bus_bytes == 0
        assert address // BOUNDARY == (address + size - 1) // BOUNDARY, "crosses 4 KiB"
        burst = Burst(address, length, self.now)
        if name == "ar":
            self.reads.append(burst)
        else:
            self.writes.append(burst)
            self.unanswered.append(burst)
            assert len(self.unanswered) <= self.outstanding
        return burst
