"""The table of doubts: each has its row in docs/measuring.md, and says what an answer may advise.

`python -m tests.unit.test_doubts` prints the table for the page.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tuner.nouns.model import Advice, Doubt

PAGE = Path(__file__).parents[2] / "docs" / "measuring.md"


def rows() -> Iterator[str]:
    yield "| doubt | an answer says | what to do |"
    yield "|---|---|---|"
    for doubt in Doubt:
        some = ", if over a tenth of the windows are void" if doubt.voids else ""
        if doubt.advice_on_candidate is not doubt.advice:
            some = f"; {doubt.advice_on_candidate}, if your own file does not have it"
        yield f"| `{doubt}` | {doubt.advice}{some} | {doubt.remedy} |"


def test_the_page_has_the_table_of_the_code() -> None:
    assert "\n".join(rows()) in PAGE.read_text(), "python -m tests.unit.test_doubts prints it"


@pytest.mark.parametrize("doubt", Doubt)
def test_the_page_says_when_a_doubt_holds_and_whether_it_voids(doubt: Doubt) -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{doubt}` |")]
    when, consequence = lines
    assert when.endswith("| yes |" if doubt.voids else "| |")
    assert consequence in [*rows()]


def test_a_doubt_that_voids_leaves_no_file_to_deploy() -> None:
    assert {doubt.advice for doubt in Doubt if doubt.voids} == {Advice.NOT_YET}


def test_the_worst_advice_counts() -> None:
    assert Advice.worst([]) is Advice.DEPLOY
    assert Advice.worst([Advice.ONE_FIRST, Advice.NOT_YET, Advice.DEPLOY]) is Advice.NOT_YET


if __name__ == "__main__":
    print("\n".join(rows()))  # noqa: T201  for the page
