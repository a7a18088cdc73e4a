"""The parts of the experiment `equal-size`: sets, contenders, the measurement of a cell, the cache,
the tables."""
