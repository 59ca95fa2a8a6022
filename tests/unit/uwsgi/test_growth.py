"""Texts that were made to take long: twice the text takes about twice the time."""

import pytest

from tests.fuzz.growth import FAMILIES, cpu_s
from tests.patience import quickest
from tuner.uwsgi.ini import IniFile, effective

SIZE = 25_000
DOUBLINGS = 2
MOST = 2.5**DOUBLINGS  # 4 is linear, 16 quadratic
FLOOR_S = 0.05  # below, the clock, the start of a lint and busy neighbours decide


@pytest.mark.full
@pytest.mark.parametrize("family", FAMILIES)
def test_twice_the_text_takes_at_most_two_and_a_half_times_as_long(family: str) -> None:
    text = FAMILIES[family]

    def growth() -> float:
        large, small = cpu_s(text(2**DOUBLINGS * SIZE)), cpu_s(text(SIZE))
        return max(FLOOR_S, large) / max(FLOOR_S, small)

    assert quickest(MOST, growth, times=5) <= MOST


@pytest.mark.parametrize(
    "text",
    [
        "[uwsgi]\nfor-times = 1000000000\na = " + "%(_)" * 20_000 + "\nend =\n",
        f"[uwsgi]\nfor = {'x' * 50_000}\na = " + "%(_)" * 10_000 + "\nend =\n",
        "[uwsgi]\nb = " + "1" * 50_000 + "\na = %(" + "b " * 20_000 + ")\n",
        "[uwsgi]\ne =\nfor-times = 1000000000\na = " + "%(e)" * 20_000 + "\nend =\n",
    ],
    ids=["numbers of a loop", "words of a loop", "sums", "references to nothing"],
)
def test_what_a_small_file_becomes_stays_small(text: str) -> None:
    read = effective(IniFile.parse(text))
    assert sum(len(setting.value) for setting in read) < 100 * len(text)
