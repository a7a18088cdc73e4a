"""One file an experiment; each has `run(session)`, which measures, and `tell(frame)`: its tables
and its demands."""
