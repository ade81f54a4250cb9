"""The bit- and cycle-exact model of the engine: written from the specification, in numpy.

::

    instruction --descriptor--> checks --accepted--> golden: what the memories hold afterwards
                                   |                    |
                                   +----regions----> cycles: when it happens, and the counters
"""
