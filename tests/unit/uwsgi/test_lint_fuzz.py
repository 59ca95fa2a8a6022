"""A slice of the fuzz: the whole is `python -m tests.fuzz`."""

import pytest

from tests.fuzz.inputs import numbered
from tests.fuzz.trials import trials

FIRST = range(40)
PARTS = [range(first, first + 490) for first in range(40, 2000, 490)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "numbers", [FIRST, *(pytest.param(p, marks=pytest.mark.full) for p in PARTS)]
)
def test_no_input_crashes_hangs_or_loses_a_byte(numbers: range) -> None:
    results = list(trials(numbers))
    assert len(results) == len(numbers)
    assert sum(result.findings > 0 for result in results) > len(numbers) // 2


def test_an_input_is_the_same_every_time() -> None:
    assert [numbered(n) for n in range(50)] == [numbered(n) for n in range(50)]
    assert len({numbered(n) for n in range(200)}) > 150
