"""How many examples a property test tries: few in the fast tiers, all of them in `full`.

`tests/conftest.py` loads the profile before it imports any test.
"""

from hypothesis import settings

FAST, FULL = "fast", "full"
_FAST_SHARE, _FEWEST = 10, 10

settings.register_profile(FULL, max_examples=100, deadline=None)
settings.register_profile(FAST, max_examples=_FEWEST, deadline=None)


def examples(full: int) -> int:
    """The number of examples for this run: `full`, or a tenth of it and at least ten."""
    is_full = settings.get_current_profile_name() == FULL
    return full if is_full else min(full, max(_FEWEST, full // _FAST_SHARE))
