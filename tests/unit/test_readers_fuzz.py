"""A slice of the fuzz: the whole is `python -m tests.fuzz`."""

import pytest

from tests.fuzz.readers import READERS, check

SLICE = 15


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_any_text_or_says_what_is_wrong_with_it(name: str) -> None:
    for number in range(SLICE):
        check(name, number)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_its_seeds(name: str) -> None:
    reader = READERS[name]
    for seed in reader.seeds():
        reader.read(seed)
