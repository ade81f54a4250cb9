"""The host's driver: allocation of lanes and cells, arrays in and out, submit and collect."""

import re

import numpy as np
import pytest
from cornerturn.config import PRESETS
from cornerturn.fields import Status
from cornerturn_model.instruction import Across, Along, Digit, Swap, Tile
from cornerturn_sim.driver import Allocator, Buffer, Driver, InstructionError
from hypothesis import given
from hypothesis import strategies as st

TINY = PRESETS["tiny"]


@pytest.fixture
def driver(simulations):
    """A driver of a `tiny` engine."""
    return Driver(simulations(TINY))


def test_transpose_through_allocated_buffers(driver):
    source, destination = driver.allocate(4, 16), driver.allocate(4, 16)
    matrix = np.arange(64, dtype=np.uint8).reshape(4, 16)
    driver.write(source, matrix)
    ticket = driver.submit(Tile(
        Across(source.lane, source.cell), Along(destination.lane, destination.cell), 4,
        (Digit(4, (0, 4), (0, 4)), Digit(4, (0, 1), (1, 0))),
    ))  # fmt: skip
    assert driver.collect() == [(ticket, 0, Status.OK)]
    # Every block of 4 x 4 has been transposed.
    blocks = matrix.reshape(4, 4, 4).transpose(2, 1, 0).reshape(4, 16)
    np.testing.assert_array_equal(driver.read(destination), blocks)
    np.testing.assert_array_equal(driver.read(source), matrix)


def test_rejected_instruction_is_named_and_the_others_run(driver):
    buffer = driver.allocate(4, 4)
    driver.write(buffer, np.arange(16, dtype=np.uint8).reshape(4, 4))
    driver.submit(Swap(buffer.lane, buffer.cell, 5))
    driver.submit(Swap(buffer.lane, buffer.cell, 4))
    with pytest.raises(InstructionError) as error:
        driver.collect()
    assert str(error.value) == "instructions must be accepted, not rejected (0: RANGE)"
    assert error.value.completions == [(0, 0, Status.RANGE), (1, 1, Status.OK)]
    np.testing.assert_array_equal(driver.read(buffer), np.arange(16).reshape(4, 4).T)
    assert driver.submit(Swap(0, 0, 1)) == 2
    assert driver.collect() == [(2, 2, Status.OK)]
    assert driver.collect() == []


def test_part_of_a_buffer(driver):
    buffer = driver.allocate(2, 10)
    assert buffer.cells == 12
    driver.write(buffer, np.array([[1, 2, 3]], np.uint8))
    np.testing.assert_array_equal(driver.read(buffer, 3)[0], [1, 2, 3])
    with pytest.raises(ValueError, match=r"array must be at most \(2, 12\), not \(3, 1\)"):
        driver.write(buffer, np.zeros((3, 1), np.uint8))
    with pytest.raises(ValueError, match=r"^cells must be 0 to 12, not 13$"):
        driver.read(buffer, 13)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 100)) | st.integers(0, 9), max_size=25))
def test_buffers_never_meet(requests):
    """Numbers free the buffer of that place, if there is one."""
    allocator, taken = Allocator(TINY), []
    for request in requests:
        if isinstance(request, int):
            if request < len(taken):
                allocator.free(taken.pop(request))
            continue
        try:
            box = allocator.allocate(*request)
        except MemoryError:
            continue
        assert box.lanes == request[0]
        assert 0 <= box.cells - request[1] < TINY.beat_cells
        assert box.lane + box.lanes <= TINY.lanes
        assert box.cell + box.cells <= TINY.cells
        assert box.cell % TINY.beat_cells == 0
        assert not any(box.meets(other) for other in taken)
        taken.append(box)


def test_all_of_the_lmem_can_be_taken_and_given_back():
    allocator = Allocator(TINY)
    boxes = [allocator.allocate(2, 128) for _ in range(4)]
    assert boxes == [(0, 0, 2, 128), (2, 0, 2, 128), (0, 128, 2, 128), (2, 128, 2, 128)]
    with pytest.raises(MemoryError, match="no box of 1 lanes x 4 cells is free"):
        allocator.allocate(1, 4)
    for box in boxes:
        allocator.free(box)
    assert allocator.allocate(4, 256) == (0, 0, 4, 256)


@pytest.mark.parametrize(("lanes", "cells", "message"), [
    (5, 1, "lanes must be 1 to 4, not 5"),
    (1, 257, "cells must be 1 to 256, not 257"),
])  # fmt: skip
def test_what_no_lmem_has_is_refused(lanes, cells, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Allocator(TINY).allocate(lanes, cells)


def test_a_buffer_is_freed_once():
    allocator = Allocator(TINY)
    box = allocator.allocate(1, 1)
    allocator.free(box)
    with pytest.raises(ValueError, match="buffer must be an allocated one"):
        allocator.free(Buffer(*box))
