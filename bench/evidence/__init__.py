"""The experiments of `reproduce.py`.

Each has `plan(request)`, its cells, `asked_for(line, request)`, which lines of the cache are its
own, and, beside it or a module of tables, `tell(lines, request)`, its page.
"""
