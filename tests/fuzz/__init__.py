"""Any bytes at all: no crash, no hang; the linter's repair and patch lose no byte.

`python -m tests.fuzz` runs 2 000 inputs for each reader; the unit tests run a slice of the same.
"""
