"""The experiments of `reproduce.py`: each has `plan(request)`, its cells, and `tell(lines, request)`, its page."""
