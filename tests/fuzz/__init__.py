"""Any bytes at all through parse, lint, repair and patch: no crash, no hang, no lost byte.

`python -m tests.fuzz [COUNT] [FIRST]` runs 100 000 inputs; the unit tests run a slice of the same.
"""
