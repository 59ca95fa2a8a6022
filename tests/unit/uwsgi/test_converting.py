"""A configuration in other forms. The real uWSGI: tests/contract/test_uwsgi_forms.py."""

import json

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.uwsgi.command_line import ini_of
from tuner.uwsgi.converting import WRITERS, Pieces, of_command, of_environment, of_form, of_ini
from tuner.uwsgi.forms import Form, form_of
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

INI = """\
[uwsgi]
; the port
http-socket = :8000
processes = 4
master = true
base = /app
chdir = %(base)
env = A=a b
env = B=it's "q"
"""


def _form(name: str) -> Form:
    found = form_of(name)
    assert found is not None
    return found


def _pieces(*lines: str) -> Pieces:
    return of_ini(IniFile.parse("\n".join(("[uwsgi]", *lines, ""))))


def _converted(to: str, *lines: str) -> tuple[str, list[str]]:
    pieces = _pieces(*lines)
    return WRITERS[to](pieces, known()), pieces.lost


def test_yaml_and_back_is_the_same_file() -> None:
    pieces = of_ini(IniFile.parse(INI))
    text = WRITERS["yaml"](pieces, known())
    assert text.startswith("uwsgi:\n  # the port\n  http-socket: :8000\n  processes: 4\n")
    back = of_form(text, _form("a.yaml"))
    assert WRITERS["ini"](back, known()) == INI
    assert pieces.lost == back.lost == []


def test_xml_and_back_is_the_same_file_without_its_comments() -> None:
    pieces = of_ini(IniFile.parse(f"{INI}env = C=a & b <c>\n"))
    text = WRITERS["xml"](pieces, known())
    assert text.startswith("<uwsgi>\n  <!-- the port -->\n  <http-socket>:8000</http-socket>\n")
    assert "  <env><![CDATA[C=a & b <c>]]></env>\n</uwsgi>\n" in text
    back = of_form(text, _form("a.xml"))
    assert WRITERS["ini"](back, known()).splitlines() == [
        *INI.replace("; the port\n", "").splitlines(),
        "env = C=a & b <c>",
    ]
    assert pieces.lost == []
    assert back.lost == ["the comments of XML"]


@pytest.mark.parametrize("to", ["ini", "yaml", "xml", "json", "env"])
def test_a_command_becomes_a_file_of_any_form(to: str) -> None:
    pieces = of_command("uwsgi --http :80 -p 4 -M -L --env 'A=a b'", known())
    assert [piece.text for piece in pieces.settings] == [
        *("http = :80", "processes = 4", "master = true", "disable-logging = true", "env = A=a b")
    ]
    text = WRITERS[to](pieces, known())
    assert pieces.lost == []
    if to == "env":
        assert of_environment(text).settings[-1].text == "env = A=a b"
    elif to != "ini":
        back = of_form(text, _form(f"a.{to}"))
        assert [piece.text for piece in back.settings] == [p.text for p in pieces.settings]


def test_what_only_a_shell_knows_is_not_carried_over() -> None:
    pieces = of_command("uwsgi -p $(nproc --all) --threads `cat n` --listen $N", known())
    assert [piece.text for piece in pieces.settings] == ["listen = $(N)"]
    assert pieces.lost == [
        "`-p $(nproc --all)`: only a shell knows this value",
        "`--threads `cat n``: only a shell knows this value",
    ]
    with pytest.raises(InvalidInput, match="only a shell knows"):
        ini_of("uwsgi -p $(nproc)", known())


def test_a_file_that_a_command_reads_is_included_where_uwsgi_reads_it() -> None:
    pieces = of_command("uwsgi app.yaml --json b.json --threads 2", known())
    assert WRITERS["ini"](pieces, known()) == (
        "[uwsgi]\njson = b.json\nthreads = 2\nyaml = app.yaml\n"
    )


def test_an_env_file_becomes_a_file_with_its_comments_and_names_what_is_no_option() -> None:
    text = (
        "# the port\nexport UWSGI_HTTP_SOCKET=':8000'\nDEBUG=1\n"
        "UWSGI_PROCESSES=4\nUWSGI_RELOADS=2\n"
    )
    pieces = of_environment(text)
    assert WRITERS["ini"](pieces, known()) == (
        "[uwsgi]\n; the port\nhttp-socket = :8000\nprocesses = 4\n"
    )
    (lost,) = pieces.lost
    assert lost.startswith("DEBUG, UWSGI_RELOADS: no option of uWSGI")
    with pytest.raises(ValueError, match="UWSGI_HTTP: a variable needs a value"):
        of_environment("UWSGI_HTTP\n")


def test_json_has_everything_but_comments() -> None:
    pieces = of_ini(IniFile.parse(INI))
    text = WRITERS["json"](pieces, known())
    assert json.loads(text)["uwsgi"]["env"] == ["A=a b", 'B=it\'s "q"']
    assert json.loads(text)["uwsgi"]["processes"] == 4
    assert pieces.lost == ["1 comment: JSON has none"]
    back = of_form(text, _form("a.json"))
    assert WRITERS["ini"](back, known()) == INI.replace("; the port\n", "")


def test_a_command_means_the_same_file() -> None:
    text, lost = _converted("command", *INI.splitlines()[2:])
    assert lost == []
    wanted = INI.replace("; the port\n", "").replace("base = ", "set-placeholder = base=")
    assert ini_of(text, known()) == wanted


def test_an_env_file_has_one_variable_for_an_option() -> None:
    text, lost = _converted("env", "; c", "listen = 10", "listen = 20", "env = A=1", "env = B=2")
    assert text == "# c\nUWSGI_LISTEN=20\nUWSGI_ENV=A=1\n"
    assert lost == ["line 6: `env = B=2`: a variable has one value"]


def test_an_included_section_is_in_its_place_and_an_unread_one_is_named() -> None:
    lines = ("ini = :more", "threads = 2", "[more]", "listen = 10", "[other]", "listen = 20")
    text, lost = _converted("yaml", *lines)
    assert text == "uwsgi:\n  listen: 10\n  threads: 2\n"
    assert lost == ["section [other], which nothing reads"]


@pytest.mark.parametrize(
    ("to", "lines", "why"),
    [
        ("yaml", ("env = A=a#b",), "cuts YAML at every `#`"),
        ("yaml", ("-x = 1",), "YAML cannot have this key"),
        ("yaml", ("if-env = X", "threads = 2", "endif ="), "a block counts in ini files only"),
        ("xml", ("1a = 1",), "cannot read this from XML"),
        ("xml", ("a =",), "cannot read this from XML"),
        ("xml", ("a = ]]>",), "cannot read this from XML"),
        ("xml", ("; \udc80",), "cannot read this from XML"),
        ("json", ("a = 1", "ini = b.ini", "a = 2"), "the order of the options"),
        ("json", ("workers = 1", "processes = 2", "workers = 3"), "the order of the options"),
        ("command", ("logto = /log/%n.log",), "in files only"),
        ("command", ("so-send-timeout = 5",), "takes no value on a command line"),
        ("command", ("master = true", "master = false"), "cannot turn off"),
        ("env", ("My_name = 1",), "no variable means this name"),
        ("env", ("logto = /log/%n.log",), "in files only"),
        ("env", ("env = A=1 # b",), "read in several ways"),
    ],
)
def test_what_a_form_cannot_hold_is_said(to: str, lines: tuple[str, ...], why: str) -> None:
    _, lost = _converted(to, *lines)
    assert lost
    assert all(why in each for each in lost)


def test_what_uwsgi_misreads_and_comments_of_xml_are_said() -> None:
    lost = of_form("uwsgi:\n  env:\n    - A=1\n", _form("a.yaml")).lost
    assert len(lost) == 1
    assert lost[0].startswith("line 2: uWSGI stops reading")
    read = of_form("<uwsgi><!-- c --><threads>2</threads></uwsgi>", _form("a.xml"))
    assert WRITERS["ini"](read, known()) == "[uwsgi]\nthreads = 2\n"
    assert read.lost == ["the comments of XML"]


def test_a_comment_behind_a_value_of_yaml_is_above_it() -> None:
    read = of_form("# top\nuwsgi:\n  threads: 2 # two\n  # end\n", _form("a.yaml"))
    assert WRITERS["ini"](read, known()) == "[uwsgi]\n; top\n; two\nthreads = 2\n; end\n"
