"""Sizes and durations as Compose writes them."""

import math
import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?", re.IGNORECASE)
_PART = r"(\d+(?:\.\d+)?)(h|ms|us|m|s)"
_IN_MB = {"": 2**-20, "b": 2**-20, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
_IN_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6}


def megabytes(text: str) -> int | None:
    """`512m`, `1.5gb` or a number of bytes, rounded up; None for anything else."""
    found = _SIZE.fullmatch(text.strip())
    return math.ceil(float(found[1]) * _IN_MB[found[2].lower()]) if found else None


def seconds(text: str) -> float | None:
    """`500ms` or `1m30s`; None for anything else."""
    if not re.fullmatch(f"(?:{_PART})+", text):
        return None
    return sum(float(number) * _IN_S[unit] for number, unit in re.findall(_PART, text))
