"""The linter around its rules: order, fixes, what is no file at all."""

import pytest

from tuner.uwsgi.ini.lines import MAX_CHARS
from tuner.uwsgi.lint import (
    RULES,
    Edit,
    Finding,
    Fix,
    Severity,
    applicable,
    fixed,
    is_usable,
    lint,
    repaired,
    rule_of,
    subject_of,
    worst,
)
from tuner.uwsgi.options import known


def _finding(*edits: Edit, is_safe: bool = True, line: int = 1) -> Finding:
    fix = Fix(sentence="do it", edits=edits, is_safe=is_safe)
    return Finding(
        rule="U001",
        name="not-utf-8",
        severity=Severity.NOTE,
        line=line,
        message="is wrong",
        fix=fix,
    )


def _rules(text: str) -> list[str]:
    return [finding.rule for finding in lint(subject_of(text, known()))]


def test_ids_and_names_are_given_once_and_in_order() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    assert len({rule.name for rule in RULES}) == len(RULES) >= 30


def test_a_rule_is_found_by_id_and_by_name() -> None:
    assert rule_of("U019") is rule_of("misspelt-key") is not None
    assert rule_of("U999") is None


def test_findings_stand_in_the_order_of_lines_the_worst_first() -> None:
    text = "[uwsgi]\nmodule = app\nthreads = 2 ; two\nvaccum = 1\nmodul: x\nthreads = 2\n"
    found = lint(subject_of(text, known()))
    places = [(finding.line or 0, finding.severity.rank) for finding in found]
    assert places == sorted(places)
    assert worst(found) is Severity.WARNING
    assert worst(()) is None


@pytest.mark.parametrize(
    ("text", "edits", "better"),
    [
        ("a\nb\nc\n", [Edit(first=2, last=2)], "a\nc\n"),
        ("a\nb\nc", [Edit(first=3, last=3)], "a\nb\n"),
        ("a\nb\nc", [Edit(first=3, last=3, lines=("x", "y"))], "a\nb\nx\ny"),
        ("a\r\nb", [Edit(first=1, last=1, lines=("x", "y"))], "x\r\ny\r\nb"),
        ("a\nb\n", [Edit(first=3, last=2, lines=("x",))], "a\nb\nx\n"),
        ("a\nb", [Edit(first=3, last=2, lines=("x",))], "a\nb\nx\n"),
        ("a\n", [Edit(first=1, last=0, lines=("x", "y"))], "x\ny\na\n"),
        ("a\nb\n", [Edit(first=1, last=1), Edit(first=2, last=2, lines=("c",))], "c\n"),
        ("a\n", [Edit(first=5, last=5)], "a\n"),
    ],
)
def test_edits_keep_the_line_endings_that_are_there(
    text: str, edits: list[Edit], better: str
) -> None:
    assert fixed(text, [_finding(*edits)]) == better


def test_of_two_fixes_of_one_line_the_first_is_made() -> None:
    first = _finding(Edit(first=1, last=1, lines=("x",)))
    second = _finding(Edit(first=1, last=2, lines=("y",)))
    assert fixed("a\nb\n", [first, second]) == "x\nb\n"


def test_a_fix_is_made_as_a_whole_or_not_at_all() -> None:
    first = _finding(Edit(first=2, last=2, lines=("x",)))
    second = _finding(Edit(first=1, last=1), Edit(first=2, last=2))
    assert fixed("a\nb\n", [first, second]) == "a\nx\n"


def test_a_fix_that_is_not_safe_is_made_only_when_asked_for() -> None:
    finding = _finding(Edit(first=1, last=1), is_safe=False)
    assert fixed("a\nb\n", [finding]) == "a\nb\n"
    assert fixed("a\nb\n", [finding], unsafe=True) == "b\n"
    assert applicable([finding]) == ()


def test_a_file_is_repaired_until_nothing_is_left_to_repair() -> None:
    text = "\ufeff[uwsgi] ; app\r\nprocesses = 2 ; two\r\nprocesses = 2\r\nlog-date = %Y"
    subject = subject_of(text, known())
    better, left = repaired(text, subject)
    assert better == "; app\r\n[uwsgi]\r\n; two\r\nprocesses = 2\r\nlog-date = %%Y"
    assert not applicable(left)
    assert repaired(better, subject_of(better, known())) == (better, left)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[uwsgi]\nvaccum = 1\nmodule = a\0b\n", "U002"),
        ("[uwsgi]\nvaccum = 1\n" + "; x\n" * 60_000, "U003"),
        ('{"uwsgi": {"vaccum": 1}}', "U004"),
        ("<uwsgi><vaccum/></uwsgi>", "U004"),
        ("uwsgi:\n  vaccum: 1\n", "U004"),
    ],
)
def test_of_what_is_no_ini_nothing_else_is_said(text: str, rule: str) -> None:
    found = lint(subject_of(text, known()))
    assert [finding.rule for finding in found] == [rule]
    assert not is_usable(found)
    assert repaired(text, subject_of(text, known()), unsafe=True)[0] == text


def test_a_file_of_the_longest_size_is_looked_at() -> None:
    text = "[uwsgi]\nvaccum = 1\n"
    text += ";" * (MAX_CHARS - len(text) - 1) + "\n"
    assert "U003" not in _rules(text)
    assert "U003" in _rules(f"{text};")


def test_messages_hold_nothing_that_a_terminal_would_obey() -> None:
    found = lint(subject_of("[uwsgi]\n\x1b[31mvaccum\udcff = 1\n", known()))
    assert found
    assert all(f.message.isprintable() for f in found)
    assert any(r"\x1b[31mvaccum\udcff" in f.message for f in found)


def test_messages_about_endless_values_are_short() -> None:
    found = lint(subject_of(f"[uwsgi]\n{'x' * 50_000} = {'y' * 50_000}\n", known()))
    assert found
    assert all(len(f.message) < 600 for f in found)


def test_entries_of_included_sections_count_and_others_do_not() -> None:
    text = "[uwsgi]\nini = :base\n[base]\nthreads = 2\n[other]\nworkers = 3\n"
    subject = subject_of(text, known())
    assert [(entry.number, entry.name) for entry in subject.entries] == [(2, "ini"), (4, "threads")]
    assert subject.named("processes") == ()


def test_entries_are_found_by_any_of_their_names() -> None:
    text = "[uwsgi]\nworkers = 2\nthreads = 1\nprocesses = 3\n"
    found = subject_of(text, known()).named("processes", "threads", "workers")
    assert [entry.key for entry in found] == ["workers", "threads", "processes"]


def test_a_file_whose_includes_cannot_all_be_followed_is_left_alone() -> None:
    sections = [f"[s{n}]\nini = :s{n + 1}\nini = :s{n + 1}\n" for n in range(30)]
    text = "".join(["[uwsgi]\nini = :s0\nthreads = 2 ; two\n", *sections, "[s30]\nvacuum = 1\n"])
    subject = subject_of(text, known())
    assert "U014" in _rules(text)
    assert repaired(text, subject, unsafe=True)[0] == text


def test_a_fix_that_gives_another_value_keeps_the_comment_behind_the_old_one() -> None:
    text = "[uwsgi]\nhttp-socket = :8000\nmodule = app\nchmod-socket = 0666 ; for nginx\n"
    fixed, _ = repaired(text, subject_of(text, known()), unsafe=True)
    assert "; for nginx\n" in fixed
    assert "; for nginx" not in next(
        line for line in fixed.splitlines() if line.startswith("chmod-socket")
    )
