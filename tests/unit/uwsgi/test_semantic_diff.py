from pathlib import Path

import pytest

from tuner.uwsgi.derived import OptionDifference, semantic_diff
from tuner.uwsgi.ini import IniFile

FILE = """\
[uwsgi]
http-socket = :8000
master = true
processes = 4
static-map = /a=/srv/a
static-map = /b=/srv/b
if-env = STAGING
processes = 1
endif =
"""
INIS = sorted((Path(__file__).parents[2] / "inis").rglob("*.ini"))


def _differ(first: str, second: str) -> tuple[OptionDifference, ...]:
    return semantic_diff(IniFile.parse(first), IniFile.parse(second))


def _file(*lines: str) -> str:
    return "\n".join(["[uwsgi]", *lines, ""])


@pytest.mark.parametrize(
    "written",
    [
        FILE.replace(" = ", "="),
        FILE.replace("\n", "\r\n"),
        FILE.removesuffix("\n"),
        FILE.replace("[uwsgi]", "; ours\n[uwsgi]\n# theirs"),
        FILE.replace("processes = 4", "workers = 4"),
        FILE.replace("processes = 4", "processes = 04 ; four"),
        FILE.replace("processes = 4", "processes = 2\nprocesses = 4"),
        FILE.replace("master = true", "master"),
        FILE.replace("master = true", "master = 1"),
        FILE.replace("master = true\nprocesses = 4", "processes = 4\nmaster = true"),
        FILE.replace("master = true", "thunder-lock = false\nmaster = true"),
        FILE.replace("master = true", "ini = :common") + "[common]\nmaster = true\n",
        FILE.replace("processes = 4", "for = 4\nprocesses = %(_)\nendfor ="),
        FILE + "[other]\nprocesses = 99\n",
    ],
)
def test_how_a_file_is_written_makes_no_difference(written: str) -> None:
    assert _differ(FILE, written) == ()
    assert not semantic_diff(IniFile.parse(written), IniFile.parse(FILE))


@pytest.mark.parametrize(
    ("written", "option"),
    [
        (FILE.replace("processes = 4", "processes = 6"), "processes"),
        (FILE.replace("processes = 4", "processes = 4\nprocesses = 6"), "processes"),
        (FILE.replace("if-env = STAGING", "if-env = TESTING"), "processes"),
        (FILE.replace("processes = 1", "processes = 2"), "processes"),
        (FILE.replace("master = true", "master = false"), "master"),
        (FILE.replace("master = true", "log-master = false\nmaster = true"), "log-master"),
        (FILE.replace("static-map = /a=/srv/a\n", ""), "static-map"),
        (FILE.replace("http-socket", "http"), "http"),
        (FILE.replace("master = true", "master = true\nproceses = 4"), "proceses"),
        (FILE.replace("[uwsgi]", "[uwsgy]"), "http-socket"),
    ],
)
def test_what_counts_does(written: str, option: str) -> None:
    assert option in [one.option for one in _differ(FILE, written)]
    assert semantic_diff(IniFile.parse(FILE), IniFile.parse(written))


def test_a_difference_says_what_each_file_has() -> None:
    found = _differ(FILE, FILE.replace("processes = 4", "workers = 6").replace("master", "vacuum"))
    assert found == (
        OptionDifference(option="master", first=("true",), second=()),
        OptionDifference(
            option="processes",
            first=("4", "1 [if-env = STAGING]"),
            second=("6", "1 [if-env = STAGING]"),
        ),
        OptionDifference(option="vacuum", first=(), second=("true",)),
    )


def test_the_order_of_a_list_counts_and_that_of_a_chain_of_rules() -> None:
    maps = ("static-map = /a=/srv/a", "static-map = /a=/srv/b")
    assert _differ(_file(*maps), _file(*reversed(maps)))
    rules = ("route = ^/x last:", "route-host = ^a$ break:404")
    assert [one.option for one in _differ(_file(*rules), _file(*reversed(rules)))] == ["route"]


def test_a_value_behind_a_placeholder_is_the_value() -> None:
    written = _file("cheaper = 2", "processes = %(cheaper)")
    assert _differ(written, _file("cheaper = 2", "processes = 2")) == ()
    assert _differ(written, _file("cheaper = 2", "processes = 3"))


def test_what_stands_before_the_include_of_another_file_may_be_overridden_by_it() -> None:
    before = _file("processes = 4", "include = other.ini")
    after = _file("include = other.ini", "processes = 4")
    assert [one.option for one in _differ(before, after)] == ["processes"]
    assert _differ(before, before.replace("processes", "workers")) == ()
    off = _file("include = other.ini", "thunder-lock = false")
    assert [one.option for one in _differ(_file("include = other.ini"), off)] == ["thunder-lock"]


@pytest.mark.parametrize("path", INIS, ids=lambda path: path.name)
def test_each_file_has_its_own_effect_and_another_once_it_is_patched(path: Path) -> None:
    ini = IniFile.parse(path.read_bytes().decode("latin-1"))
    assert not semantic_diff(ini, IniFile.parse(ini.dump()))
    if not ini.has_section:
        return
    patched = ini.patch({"listen": "777"})
    assert "listen" in [one.option for one in semantic_diff(ini, patched)]
    assert not semantic_diff(patched, patched.patch({"listen": "777"}))
