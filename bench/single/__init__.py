"""The parts of `one_tree.py`: sets, the solvers beside us, the measurement of a cell, the
tables."""
