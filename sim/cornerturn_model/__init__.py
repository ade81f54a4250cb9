"""The bit- and cycle-exact model of the engine: written from the specification, in numpy.

::

    instruction --descriptor--> checks --accepted--> golden: what the memories hold afterwards
                                   |                    |
                 rows ---regions---+--------------> cycles: when it happens, and the counters
                                   |
                                   +--------------> traffic: beats of the chain and of memory

    layouts: tensors in blocks and dense --> instructions
"""
