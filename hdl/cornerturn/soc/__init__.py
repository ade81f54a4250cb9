"""soc: the engine at a system's buses; what reads and writes system memory for it."""
