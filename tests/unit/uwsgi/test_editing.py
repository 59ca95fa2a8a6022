"""Fixes of YAML, XML and JSON: the finding goes, and nothing else changes."""

import pytest

from tests.lint_pages import example
from tuner.cli.placing import Asked, of_file
from tuner.uwsgi.converting import WRITERS, of_ini
from tuner.uwsgi.forms import Form, form_of
from tuner.uwsgi.forms.editing import Change, rewritten
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import RULES, Box, Finding, Rule, applicable, repaired, subject_of
from tuner.uwsgi.lint.linting import mended
from tuner.uwsgi.options import known

BOX = Box(cpus=2, memory_mb=512, somaxconn=128, nofile=1024)
OF_INI_ALONE = "U006"  # carriage returns, of which other forms make nothing
YAML = """\
# top
uwsgi:
  http-socket: :8000   # port
  module: shop

  # workers
  processes:   '4'  # four
  vaccum: true
  lazy-apps: false ; for now
other:
  threads: '2'
"""
XML = """\
<config>
  <!-- port -->
  <uwsgi id="prod">
    <module>shop</module><vaccum/>
    <virtualenv>"/opt/venv"</virtualenv>
    <lazy-apps>false ; for now</lazy-apps>
  </uwsgi>
</config>
"""
JSON = """\
{"other": {"vaccum": true},
 "uwsgi": {
   "module":   "shop", "vaccum": true,
   "env": ["A=1", "B=2"],
   "virtualenv": "'/opt/venv'"
 }}
"""


def _form(name: str) -> Form:
    found = form_of(f"app.{name}")
    assert found is not None
    return found


def _found(text: str, name: str, rules: list[Rule]) -> tuple[Finding, ...]:
    return of_file(text, _form(name), "", Asked(known(), BOX, rules, lambda _name: None))


def _fixed(text: str, name: str, *rules: str, unsafe: bool = False) -> str:
    chosen = [rule for rule in RULES if not rules or rule.id in rules]

    def look(text: str) -> tuple[Finding, ...]:
        return _found(text, name, chosen)

    done = mended(text, look, unsafe=unsafe)
    assert mended(done, look, unsafe=unsafe) == done
    assert not applicable(look(done), unsafe=unsafe)
    return done


@pytest.mark.parametrize(
    ("text", "form", "changes"),
    [
        (
            YAML,
            "yaml",
            {
                "processes:   '4'  # four": "processes:   4  # four",
                "vaccum": "vacuum",
                "  lazy-apps: false ; for now": "  # for now\n  lazy-apps: false",
            },
        ),
        (
            XML,
            "xml",
            {
                "<vaccum/>": "<vacuum/>",
                '"/opt/venv"': "/opt/venv",
                "    <lazy-apps>false ; ": "    <!-- for now -->\n    <lazy-apps>false",
                "false" + "for now": "false",
            },
        ),
        (JSON, "json", {'shop", "vaccum': 'shop", "vacuum', "'/opt/venv'": "/opt/venv"}),
    ],
)
def test_a_fix_changes_the_text_of_the_option_alone(
    text: str, form: str, changes: dict[str, str]
) -> None:
    wanted = text
    for old, new in changes.items():
        assert old in wanted
        wanted = wanted.replace(old, new)
    assert _fixed(text, form, "U019", "U027", "U034", unsafe=True) == wanted


@pytest.mark.parametrize("form", ["yaml", "xml", "json"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_fix_of_a_form_means_what_the_fix_of_an_ini_means(rule: Rule, form: str) -> None:
    pieces = of_ini(IniFile.parse(example(rule)))
    text = WRITERS[form](pieces, known())
    ini = WRITERS["ini"](pieces, known())
    if pieces.lost or rule.id == OF_INI_ALONE:
        return
    wanted, _ = repaired(ini, subject_of(ini, known(), BOX), [rule], unsafe=True)
    seen = _found(text, form, [rule])
    fixed = _fixed(text, form, rule.id, unsafe=True)
    if any("comment" in (f.fix.sentence if f.fix else "") for f in seen) and form == "json":
        return
    got = [(each.key, each.value) for each in _form(form).read(fixed, "").settings]
    want = [(each.key, each.value) for each in IniFile.parse(wanted).lines if each.key]
    assert _without_words(got) == _without_words(want)


def _without_words(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """JSON's true is 1 for uWSGI, its false is 0, and its options have no order."""
    words = {"true": "1", "false": "0"}
    return sorted((key, words.get(value, value)) for key, value in pairs)


@pytest.mark.parametrize(
    ("name", "text", "change"),
    [
        ("json", '{"uwsgi": {"a": "b"}}', Change(0, 1, ("; c", "a = d"))),
        ("json", '{"uwsgi": {"a": "\\u0062"}}', Change(0, 1, ("a = d",))),
        ("json", '{"uwsgi": {"a":\n 4}}', Change(0, 1, ())),
        ("yaml", "uwsgi:\n  a: b\n", Change(0, 1, ("a = d#e",))),
        ("yaml", "uwsgi:\r\n  a: b", Change(1, 1, ("c = d",))),
        ("xml", "<uwsgi><a>b</a></uwsgi>", Change(0, 1, ("; c", "a = d"))),
        ("xml", "<uwsgi><a>b&#99;</a></uwsgi>", Change(0, 1, ("a = d",))),
        ("xml", "<uwsgi>\n<a>b</a>\n</uwsgi>", Change(0, 1, ("; c -- d", "a = d"))),
        ("xml", "<uwsgi/>", Change(0, 0, ("a = d",))),
    ],
)
def test_there_is_no_edit_where_the_text_would_mean_something_else(
    name: str, text: str, change: Change
) -> None:
    assert rewritten(text, _form(name), "", [change]) is None


@pytest.mark.parametrize(
    ("name", "text", "change", "wanted"),
    [
        ("json", '{"uwsgi": {"a": 1, "b": true}}', Change(1, 2, ()), '{"uwsgi": {"a": 1}}'),
        ("json", '{"uwsgi": {"a": 1, "b": true}}', Change(0, 1, ()), '{"uwsgi": {"b": true}}'),
        (
            "json",
            '{"uwsgi": {\n "a": 1,\n "b": 2\n}}',
            Change(1, 2, ()),
            '{"uwsgi": {\n "a": 1\n}}',
        ),
        (
            "json",
            '{"uwsgi": {"env": ["A=1", "B=1"]}}',
            Change(1, 2, ("env = B=2",)),
            '{"uwsgi": {"env": ["A=1", "B=2"]}}',
        ),
        ("yaml", "uwsgi:\n  a: 1 # c", Change(1, 1, ("b = 2",)), "uwsgi:\n  a: 1 # c\n  b: 2"),
        ("yaml", "uwsgi:\n  a: 1\n", Change(0, 0, ("b = 2",)), "uwsgi:\n  b: 2\n  a: 1\n"),
        (
            "xml",
            "<uwsgi>\n  <a>1</a><!-- c -->\n</uwsgi>",
            Change(1, 1, ("b = 2 & 3",)),
            "<uwsgi>\n  <a>1</a>\n  <b><![CDATA[2 & 3]]></b><!-- c -->\n</uwsgi>",
        ),
    ],
)
def test_settings_are_removed_and_added(name: str, text: str, change: Change, wanted: str) -> None:
    assert rewritten(text, _form(name), "", [change]) == wanted
