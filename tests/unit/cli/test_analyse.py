"""`tuner analyse`: numbers in, what they say and cannot say out."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tuner.cli import main
from tuner.cli.analyse import numbers_in
from tuner.nouns.errors import InvalidInput

R1 = ["2132.08", "1325.72", "1795.32", "1381.67", "1283.08", "1399.98", "1488.05"]


def run(*words: str) -> int:
    """The exit code."""
    try:
        return main(["analyse", *words])
    except SystemExit as end:
        return int(end.code or 0)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(*words) == 0
    return capsys.readouterr().out


def answered(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(said(capsys, *words, "--json"))


def test_the_articles_question_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, *R1)
    assert "centre  1 465.5  (95 % interval 1 325.7 .. 1 795.3" in text
    assert "run 1 (2 132.1, +5.6 robust deviations)" in text
    assert "so keep all. Without it the centre would be 1 400.0 (-4.5 %)" in text
    assert "the first run is the highest" in text
    assert "to resolve 5 %: 180 runs of each" in text
    assert "Smallest detectable difference: 27.9 %, with 7 runs" in text


def test_machines_get_figures_and_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, *R1)["runs"]
    assert found["centre"] == pytest.approx(1465.5, abs=0.1)
    assert found["outliers"]["far"][0]["run"] == 1
    assert [needed["effect"] for needed in found["needed"]] == [0.02, 0.05, 0.1]
    assert found["verdicts"]["resolution"].startswith("Smallest detectable")


def test_runs_come_from_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(R1).encode())))
    assert "7 runs" in said(capsys, "-")


def test_runs_come_from_a_column_of_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = tmp_path / "runs.csv"
    table.write_text("config,rps\na,100\na,110\n\na,105\n")
    assert answered(capsys, str(table), "--column", "rps")["runs"]["count"] == 3
    assert answered(capsys, str(table), "--column", "2")["runs"]["mean"] == 105


def test_two_clearly_different_groups_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    found = answered(capsys, "120", "121", "119", "122", "118", "--against", "100 101 99 102,98")
    assert found["difference"]["estimate"] == pytest.approx(0.2, abs=0.01)
    assert found["difference"]["ci_low"] > 0.1
    assert "excludes 0" in found["difference"]["verdict"]
    assert "cannot tell" not in json.dumps(found)


def test_two_groups_that_overlap_are_not_told_apart_and_it_says_what_would(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = said(capsys, *R1, "--against", "1683 1700 1650 1690 1705 1660")
    assert "The interval contains 0: you cannot tell which is larger yet." in text
    assert "runs of each would settle it" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["12"], "1 runs; at least 2 are needed"),
        (["12", "0"], "a run is a number above 0"),
        (["12", "nan"], "a run is a number above 0"),
        (["no-such-file"], "no-such-file: is neither a number nor a file"),
    ],
)
def test_what_is_no_list_of_runs_is_bad_input(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert run(*words) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "column", "numbers"),
    [
        ("1 2 3\n4 5\n", None, [1, 2, 3, 4, 5]),
        ("1,2,3\n", None, [1, 2, 3]),
        ("rps\n1\n2\n", None, [1, 2]),
        ('a;"b c"\n1;2\n3;4\n', "b c", [2, 4]),
        ("1\t2\n3\t4\n", "1", [1, 3]),
        ("rps,\n1,\n2,\n", "rps", [1, 2]),
    ],
)
def test_numbers_are_found_in_every_usual_shape(
    text: str, column: str | None, numbers: list[float]
) -> None:
    assert numbers_in(text, source="x.csv", column=column) == numbers


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "holds no numbers"),
        ("a,b\n1,2\n", None, "has several columns; pick one with --column (a, b)"),
        ("1,2\n3,4\n", None, "has several columns; pick one with --column (1 to 2)"),
        ("a,b\n1,2\n", "c", "has no column 'c'; it has a, b"),
        ("rps\n1\nfast\n", None, "line 3: 'fast' is not a number"),
    ],
)
def test_a_text_that_cannot_be_read_says_where_and_what_to_do(
    text: str, column: str | None, message: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        numbers_in(text, source="x.csv", column=column)
    assert [mistake.message for mistake in refused.value.mistakes] == [message]
