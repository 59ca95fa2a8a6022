"""A slice of the fuzz: the whole is `python -m tests.fuzz`."""

import pytest

from tests.fuzz.inputs import numbered
from tests.fuzz.trials import trials

SLICE = 2000
PARTS = 4


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_input_crashes_hangs_or_loses_a_byte(part: int) -> None:
    numbers = range(part * SLICE // PARTS, (part + 1) * SLICE // PARTS)
    results = list(trials(numbers))
    assert len(results) == SLICE // PARTS
    assert sum(result.findings > 0 for result in results) > SLICE // PARTS // 2


def test_an_input_is_the_same_every_time() -> None:
    assert [numbered(n) for n in range(50)] == [numbered(n) for n in range(50)]
    assert len({numbered(n) for n in range(200)}) > 150
