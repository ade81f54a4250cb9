"""``python -m cornerturn``: the command line of :mod:`cornerturn_sim.cli`."""

from cornerturn_sim.cli import main

if __name__ == "__main__":
    main()
