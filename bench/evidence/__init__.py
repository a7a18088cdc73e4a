"""The experiments of `reproduce.py`.

Each has `plan(request)`, its cells, or `PLANS`, which are carried out one after the other,
`asked_for(line, request)`, which lines of the cache are its own, and, beside it or a module of
tables, `tell(lines, request)`, its page.
"""
