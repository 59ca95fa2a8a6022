"""`tuner options`: what a person is told of an option."""

import json

import pytest

from tuner.cli.options import options
from tuner.nouns.errors import NotFound
from tuner.uwsgi.options import known

Captured = pytest.CaptureFixture[str]


def test_an_option_is_explained_under_any_of_its_names(capsys: Captured) -> None:
    options("workers")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "processes"
    assert lines[2].split() == ["also", "workers"]
    assert lines[4].split() == ["default", "1"]
    assert "  - Must be above `cheaper`." in lines


def test_what_trials_leave_out_says_so(capsys: Captured) -> None:
    options("cron")
    assert "trials   left out: it starts programs" in capsys.readouterr().out


def test_what_a_build_needs_is_told_where_no_image_was_asked(capsys: Captured) -> None:
    options("https-socket")
    assert "needs    ssl" in capsys.readouterr().out


def test_json_holds_every_field(capsys: Captured) -> None:
    options("gevent", as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["uwsgi_version"] == known().version
    assert found["needs"] == "plugin gevent"
    assert found["kind"] == "integer"
    assert found["is_immediate"] is False


def test_without_a_name_all_are_listed(capsys: Captured) -> None:
    options()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(known().options)
    assert lines == [line.rstrip() for line in lines]
    options(as_json=True)
    assert len(json.loads(capsys.readouterr().out)["options"]) == len(lines)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("vaccum", "has no option vaccum; did you mean vacuum?"),
        ("log-buffering", "has no option log-buffering$"),
        ("thunder-lock-watchdog", "no option thunder-lock-watchdog: 2.1 is the first release"),
    ],
)
def test_what_there_is_not_is_refused_with_a_hint(name: str, sentence: str) -> None:
    with pytest.raises(NotFound, match=sentence):
        options(name)
