"""Running the RTL from Python: simulation and its backends, the host's driver, the commands.

::

    cli --> relayout, demo --> simulation --> pysim | icarus, verilator
                  driver ----->     |              session --pins--> engine
"""
