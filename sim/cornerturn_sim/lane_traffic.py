"""The compute units' side of the lane ports during a run: timed accesses, held until done."""

from .job import Answer

__all__ = ["LaneTraffic"]

READ_LATENCY = 2
"""Cycles from a read's transfer to its data."""


class LaneTraffic:
    """Offers accesses, and collects when each was done and what it read.

    Parameters
    ----------
    pins : Pins
    config : Config
    accesses : sequence of Access

    Members
    -------
    offering : bool
        Some access is offered in this cycle.
    """

    def __init__(self, pins, config, accesses):
        self._pins = pins
        self._config = config
        self._accesses = accesses
        self._answers = [None] * len(accesses)
        self._queues = {}  # (writes?, lane) -> numbers of its accesses, the next one first
        for number, access in enumerate(accesses):
            self._queues.setdefault((access.data is not None, access.lane), []).append(number)
        self._reading = []  # (cycle of the data, number of the access)
        self.offering = False

    @property
    def idle(self):
        """Nothing is offered, left to offer or to wait for."""
        return not self._queues and not self._reading and not self.offering

    def answers(self):
        """One :class:`Answer` an access, in their order."""
        return tuple(self._answers)

    def drive(self, cycle):
        """Offer what is due in this cycle of the run."""
        if self.idle:
            return
        config = self._config
        vectors = dict.fromkeys(
            ("read_valid", "read_word", "write_valid", "write_word", "write_mask", "write_data"), 0
        )
        for (writes, lane), queue in self._queues.items():
            access = self._accesses[queue[0]]
            if access.cycle > cycle:
                continue
            kind = "write" if writes else "read"
            vectors[f"{kind}_valid"] |= 1 << lane
            vectors[f"{kind}_word"] |= access.word << (lane * config.word_bits)
            if writes:
                vectors["write_mask"] |= access.mask << (lane * config.beat_cells)
                vectors["write_data"] |= access.data << (lane * config.beat_width)
        self.offering = bool(vectors["read_valid"] | vectors["write_valid"])
        for name, value in vectors.items():
            self._pins.set(f"lane_{name}", value)

    def observe(self, cycle):
        """Take note of what was done in this cycle of the run."""
        if self.idle:
            return
        self._collect(cycle)
        ready = {True: self._pins.get("lane_write_ready"), False: self._pins.get("lane_read_ready")}
        for (writes, lane), queue in list(self._queues.items()):
            if self._accesses[queue[0]].cycle > cycle or not ready[writes] >> lane & 1:
                continue
            number = queue.pop(0)
            if writes:
                self._answers[number] = Answer(cycle)
            else:
                self._reading.append((cycle + READ_LATENCY, number))
            if not queue:
                del self._queues[writes, lane]

    def _collect(self, cycle):
        due = [number for at, number in self._reading if at == cycle]
        width = self._config.beat_width
        for number in due:
            first = self._accesses[number].lane * width
            word = self._pins.get("lane_read_data", first, width)
            self._answers[number] = Answer(cycle - READ_LATENCY, word)
        self._reading = [entry for entry in self._reading if entry[0] != cycle]
