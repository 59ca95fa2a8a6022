"""What cannot be read as it is meant is told with its line, and never raised."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.budgets import examples
from tests.ini_bytes import dumped, parsed
from tuner.uwsgi.ini import IniFile, effective, problems, refuse_other_formats


def told(text: str, directory: str = "") -> list[tuple[int | None, str]]:
    found = problems(IniFile.parse(text), directory=directory)
    assert all(problem.message for problem in found)
    return [(problem.line, problem.code) for problem in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[uwsgi]\nmaster\n", []),
        ("", [(None, "no-section")]),
        ("[uwsgi]\n", [(None, "no-section")]),
        ("\ufeff[uwsgi]\nmaster\n", [(None, "no-section"), (1, "bom")]),
        ("[uwsgi]\nx = 1\0 2\n", [(2, "nul")]),
        ("[uwsgi] ; c\nx = 1\n", [(None, "no-section"), (1, "section-header")]),
        ("[uwsgi]\n; 5%\nx = 1\ny = 1\n", [(2, "joined-lines")]),
        ("[uwsgi]\n; 5%%\n; 5%\n\nx = 5%\n\ny = 1\n", [(5, "joined-lines")]),
        ("[uwsgi]\nif-env = X\ny = 1\n", [(2, "unclosed-block")]),
        ("[uwsgi]\ny = 1\nendif\n", [(3, "stray-end")]),
        (
            "[uwsgi]\nif-env = X\nfor = 1\ny = 1\nendfor\nendif\n",
            [(3, "nested-block"), (6, "stray-end")],
        ),
        ("[uwsgi]\nini = :prod\n", [(2, "unknown-section")]),
        ("[uwsgi]\nini = :a\n[a]\nini = :uwsgi\n", [(4, "include-cycle")]),
        ("[uwsgi]\nini =\n", [(2, "empty-include")]),
        ("[uwsgi]\ninclude = :a\n", [(2, "include-section")]),
        ("[uwsgi]\nini = $(HOME)/a.ini\n", [(2, "include-variable")]),
        ("[uwsgi]\nini = a/../b.ini\nini = %d/c.ini\nini = %dc.ini\n", []),
        ("[uwsgi]\nini = a/../../b.ini\n", [(2, "include-outside")]),
        ("[uwsgi]\nini = /etc/a.ini\n", [(2, "include-outside")]),
        ("[uwsgi]\ninclude = exec://date\n", [(2, "include-outside")]),
        ("[uwsgi]\ninherit = ../a.ini\n", [(2, "include-outside")]),
        ("[uwsgi]\na = x%(a)\n", [(2, "endless-reference")]),
    ],
)
def test_each_problem_has_its_line(text: str, found: list[tuple[int | None, str]]) -> None:
    assert told(text) == found


def test_an_include_may_lead_into_the_given_directory() -> None:
    text = "[uwsgi]\nini = /etc/uwsgi/a.ini\nini = /etc/uwsgi/../b.ini\nini = /etc/uwsgi2/c.ini\n"
    assert told(text, "/etc/uwsgi") == [(3, "include-outside"), (4, "include-outside")]


def test_includes_that_double_each_time_are_given_up() -> None:
    sections = "".join(f"[s{n}]\nini = :s{n + 1}\nini = :s{n + 1}\n" for n in range(30))
    text = f"[uwsgi]\nini = :s0\n{sections}[s30]\nx = 1\n"
    assert {code for _, code in told(text)} == {"include-depth"}


@pytest.mark.full
@pytest.mark.parametrize(
    "line",
    [b"x = 1\n", b"x = %(y)\n", b"%\n", b"[a\n", b"if-env = X\n", b"\xff\x00\xfe\n", b"ini = :b\n"],
)
def test_a_large_file_of_one_line_is_read_in_seconds(line: bytes) -> None:
    content = b"[uwsgi]\n" + line * (200_000 // len(line))
    began = time.process_time()
    ini = parsed(content)
    problems(ini)
    ini.patch({"processes": "4"})
    assert time.process_time() - began < 10


pieces = st.sampled_from(
    [
        *("[uwsgi]", "[", "]", "\n", "\r\n", "\r", "=", " ", "\0", "%", "%%", "%(", ")", "$(A)"),
        *("ini", "include", "inherit", ":", ":a", "[a]", "if-env", "for", "for-times", "endif"),
        *("set", "processes", "workers", "4", "999999999", ";", "#", "\ufeff", "\udcff", "a", "@("),
        *("; uwsgi-tuner: ", "was: ", "%(a)", "a=%(b)", "b=x%(a)", "x.ini", "/", "..", "%p"),
    ]
)
texts = st.lists(pieces, max_size=60).map("".join)


@settings(derandomize=True, deadline=None, max_examples=examples(500))
@given(st.one_of(texts, st.text(max_size=200)))
def test_nothing_is_ever_raised_and_nothing_is_lost(text: str) -> None:
    ini = IniFile.parse(f"[uwsgi]\n{text}")
    assert ini.dump() == f"[uwsgi]\n{text}"
    problems(ini)
    effective(ini, environ={"A": "%(a)"}, files={"x.ini": text}, path="/x.ini")
    refuse_other_formats(text)
    once = ini.patch({"processes": "4", "x": "1"}, {"x": "5%"})
    assert IniFile.parse(once.dump()).patch({"processes": "4", "x": "1"}, {"x": "5%"}) == once


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(st.binary(max_size=300))
def test_any_bytes_come_back(content: bytes) -> None:
    assert dumped(parsed(content)) == content


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('<?xml version="1.0"?>\n<uwsgi><processes>4</processes></uwsgi>\n', "XML"),
        ("\ufeff<uwsgi>\n</uwsgi>", "XML"),
        ('{"uwsgi": {"processes": 4}}', "JSON"),
        ("{\n", "JSON"),
        ('["uwsgi"]', "JSON"),
        ("uwsgi:\n  processes: 4\n", "YAML"),
        ("---\nuwsgi: {processes: 4}\n", "YAML"),
        ("# a comment\nuwsgi:\r\n  socket: :3031\r\n", "YAML"),
        ("processes: 4\nmaster: true\n", "YAML"),
    ],
)
def test_another_format_is_named_with_the_command_that_converts_it(text: str, name: str) -> None:
    said = refuse_other_formats(text)
    assert said is not None
    assert said.startswith(f"this is {name}, ")
    assert f"uwsgi --show-config --no-server --{name.lower()} FILE" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[uwsgi]\n",
        "[",
        "; <xml>\n[uwsgi]\n",
        "x = 1\n",
        "[uwsgi]\nuwsgi:\n",
        "# only\n",
        "[1\n",
    ],
)
def test_an_ini_is_no_other_format(text: str) -> None:
    assert refuse_other_formats(text) is None
