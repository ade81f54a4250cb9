"""Area of the hardware, measured with the pinned yosys."""
