"""YAML, XML and JSON as uWSGI reads them. The real one: tests/contract/test_uwsgi_forms.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.uwsgi_forms import XML, YAML, Written
from tuner.uwsgi.command_line import file_of
from tuner.uwsgi.forms import SUFFIXES, Form, Malformed, Read, form_of
from tuner.uwsgi.ini import IniFile


def _form(name: str) -> Form:
    found = form_of(name)
    assert found is not None
    return found


def _read(name: str, text: str) -> Read:
    return _form(name).read(text)


def _agrees(form: Form, written: Written) -> None:
    read = form.read(written.text, written.section)
    # A value that is only white space is no value: it is named, and not taken.
    taken = [line for line in written.taken if not line.endswith("=")]
    assert read.lines == taken
    assert tuple(dict.fromkeys(each.line for each in read.misread)) == written.misread


@pytest.mark.parametrize("name", YAML)
def test_yaml_is_read_by_lines(name: str) -> None:
    _agrees(_form("a.yaml"), YAML[name])


@pytest.mark.parametrize("name", XML)
def test_xml_is_read_by_pieces(name: str) -> None:
    _agrees(_form("a.xml"), XML[name])


@pytest.mark.parametrize(
    ("name", "text", "top"),
    [
        ("a.yaml", "# c\nother:\n  x: 1\nuwsgi:\n  a: 1\nmore:\n  b: 1\n", 4),
        ("a.xml", "<r>\n<uwsgi>\n<a/></uwsgi>\n<uwsgi/></r>", 2),
        ("a.json", '{"x": 1,\n"uwsgi":\n{"a": 1}}', 3),
    ],
)
def test_a_block_begins_at_its_line(name: str, text: str, top: int) -> None:
    assert _read(name, text).top == top


def test_a_stop_says_how_many_lines_nobody_reads() -> None:
    text = "uwsgi:\n  env:\n    - A=1\n\n    # c\n    - B=2\nnext:\n  x: 1\n"
    (found,) = _read("a.yml", text).misread
    assert "ignores 2 more below it" in found.message


def test_json_has_words_numbers_and_lists_each_at_its_line() -> None:
    text = """{"other": {"threads": 9},
 "uwsgi": {"master": true, "vacuum": null,
  "threads": -2, "env": ["A=1",
   "B=2", 3],
  "listen": 1.5, "buffer-size": {}, "threads": 4
 }}"""
    read = _read("a.js", text)
    assert [(s.line, s.key, s.value) for s in read.settings] == [
        *((2, "master", "1"), (2, "vacuum", "0"), (5, "threads", "4")),
        *((3, "env", "A=1"), (4, "env", "B=2"), (4, "env", "3")),
    ]
    assert [(each.line, each.message.split(":")[0]) for each in read.misread] == [
        (5, "threads is there twice"),
        (5, "uWSGI ignores listen"),
        (5, "uWSGI ignores buffer-size"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "line", "message"),
    [
        ("a.json", "[]", 1, "no object uwsgi"),
        ("a.json", '{"uwsgi": 4}', 1, "no object uwsgi"),
        ("a.json", '{"uwsgi":\n {"a": 1,}}', 2, "double quotes"),
        ("a.json", '{"uwsgi": {"a": NaN}}', 1, "NaN"),
        ("a.json", f'{{"uwsgi": {{"listen": {"9" * 5000}}}}}', 1, "too large"),
        ("a.json", "[" * 100_000, 1, "deep"),
        ("a.json", "", 1, "Expecting value"),
        ("a.xml", "<uwsgi>\n<a></b></uwsgi>", 2, "mismatched tag"),
        ("a.xml", "", 1, "no element"),
        ("a.xml", '<!DOCTYPE u [<!ENTITY n "4">]>\n<uwsgi><a>&n;</a></uwsgi>', 1, "DOCTYPE"),
        ("a.xml", f"<uwsgi>{'<a/>' * 20_001}</uwsgi>", 1, "elements"),
        ("a.yaml", "a" * 200_001, 1, "characters"),
    ],
)
def test_what_nobody_can_read_says_where(name: str, text: str, line: int, message: str) -> None:
    with pytest.raises(Malformed, match=message) as caught:
        _read(name, text)
    assert caught.value.line == line


def test_a_number_of_json_has_32_bits() -> None:
    read = _read("a.json", '{"uwsgi": {"a": 4294967298,\n"b": "4294967298", "c": 2147483647}}')
    assert [each.line for each in read.misread] == [1]


def test_a_value_that_no_ini_can_hold_is_named() -> None:
    read = _read("a.json", '{"uwsgi": {"env": "A=\\n1", "[x": 1, "threads": "%"}}')
    assert read.lines == []
    assert len(read.misread) == 3


def test_an_ini_is_none_of_them() -> None:
    assert form_of("uwsgi.ini") is form_of("-") is form_of("yaml") is None


PIECES = (
    *("uwsgi:", "  a: b", "\n", "\r\n", "\t", "#", "- ", "[", "{", "}", "]", ":", ",", '"', "%"),
    *("<uwsgi>", "</uwsgi>", "<a>", "</a>", "<a/>", "&amp;", "&x;", "<!--", "-->", "<![CDATA["),
    *('{"uwsgi":', '"a"', "1", "1.5", "true", "null", "\0", "\udc80", "\ufeff", "é", "x"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(SUFFIXES[1:]))
def test_any_text_is_read_or_malformed(text: str, suffix: str) -> None:
    lines = len(text.split("\n"))
    read, malformed = Read(), None
    try:
        read = _read(f"a{suffix}", text)
    except Malformed as error:
        malformed = error.line
    assert 1 <= (malformed or 1) <= lines + text.count("\r")
    assert malformed or read.settings or read.misread
    assert all(1 <= setting.line <= lines + text.count("\r") for setting in read.settings)
    made = IniFile.parse(file_of(read.lines))
    assert len(made.lines) == len(read.settings) + 1
