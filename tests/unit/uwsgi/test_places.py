"""Changed options as variables, as lines of an env file, and as keys of a chart's values."""

import pytest

from tuner.nouns.errors import InvalidInput
from tuner.uwsgi.places import (
    Change,
    Places,
    env_file,
    helm_scalar,
    values,
    variables,
    variables_beside,
)

NOWHERE = Places()


def places(*texts: str) -> Places:
    return Places.parse(texts, "--values-map")


def test_a_variable_has_the_name_that_uwsgi_reads() -> None:
    found = variables([Change("max-requests", "500"), Change("thunder-lock", "true")], NOWHERE)
    assert found.placed == {"UWSGI_MAX_REQUESTS": "500", "UWSGI_THUNDER_LOCK": "true"}
    assert not found.homeless


def test_a_script_has_its_own_names_under_each_name_of_the_option() -> None:
    found = variables([Change("processes", "6")], places("workers=DD_UWSGI_PROCESSES"))
    assert found.placed == {"DD_UWSGI_PROCESSES": "6"}


def test_what_comes_out_is_named_and_not_set_to_nothing() -> None:
    found = variables([Change("harakiri", None, "60")], NOWHERE)
    assert (found.placed, found.out) == ({}, ["UWSGI_HARAKIRI"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ([Change("chdir", "%d/app")], "chdir: uWSGI replaces `%` and a letter in files only"),
        ([Change("if_x", "1")], "if_x: no variable means this name"),
        ([Change("env", "A=1"), Change("env", "B=2")], "env: a variable has one value"),
    ],
)
def test_what_no_variable_can_hold_is_named(changes: list[Change], why: str) -> None:
    assert variables(changes, NOWHERE).homeless == [why]


def test_an_env_file_names_a_value_that_its_readers_take_in_several_ways() -> None:
    found = env_file([Change("processes", "6"), Change("log-format", '"%(addr)" x')], NOWHERE)
    assert found.placed == "UWSGI_PROCESSES=6\n"
    assert len(found.homeless) == 1
    assert found.homeless[0].startswith("UWSGI_LOG_FORMAT: env files are read in several ways")


def test_an_option_keeps_the_variable_that_sets_it_today() -> None:
    there = ["UWSGI_WORKERS", "UWSGI_INI"]
    found = variables_beside([Change("processes", "6"), Change("threads", "2")], NOWHERE, there)
    assert found.placed == {"UWSGI_WORKERS": "6", "UWSGI_THREADS": "2"}


def test_the_variables_of_a_script_are_not_guessed() -> None:
    there = ["DD_UWSGI_NUM_OF_PROCESSES", "DD_UWSGI_NUM_OF_THREADS"]
    changes = [Change("processes", "6"), Change("threads", "2")]
    found = variables_beside(changes, places("processes=DD_UWSGI_NUM_OF_PROCESSES"), there)
    assert found.placed == {"DD_UWSGI_NUM_OF_PROCESSES": "6"}
    assert len(found.homeless) == 1
    assert found.homeless[0].startswith("threads: a script reads DD_UWSGI_NUM_OF_PROCESSES")


def test_values_stand_under_their_own_key_or_under_that_of_the_rest() -> None:
    found = values(
        [Change("workers", "6", "2"), Change("harakiri", "60")],
        places("processes=web.uwsgi.processes,*=web.extra"),
    )
    assert found.placed == {"web": {"uwsgi": {"processes": 6}, "extra": {"harakiri": 60}}}


def test_a_dot_in_a_key_is_written_as_helm_takes_it() -> None:
    found = values([Change("processes", "6")], places(r"processes=a.b\.c"))
    assert found.placed == {"a": {"b.c": 6}}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *(("60", 60), ("0", 0), ("999999", 999999)),
        # Helm prints these otherwise than they are written: 1e+06, 2.097152e+08, true, 18.
        *((text, text) for text in ("1000000", "209715200", "true", "on", "no", "022", "1e3", "")),
    ],
)
def test_what_helm_would_print_otherwise_is_a_text(value: str, written: int | str) -> None:
    assert helm_scalar(value) == written
    assert type(helm_scalar(value)) is type(written)


def test_a_key_cannot_take_an_option_out_but_a_switch_goes_off() -> None:
    found = values(
        [Change("harakiri", None, "60"), Change("lazy-apps", None, "true")], places("*=extra")
    )
    assert found.placed == {"extra": {"lazy-apps": "false"}}
    assert found.homeless == [
        "harakiri: no key takes an option out: remove it where the chart sets it"
    ]


def test_a_list_cannot_be_replaced_below_the_lines_of_the_chart() -> None:
    found = values([Change("route", "/b log:", "/a log:"), Change("env", "A=1")], places("*=x"))
    assert found.placed == {"x": {"env": "A=1"}}
    assert found.homeless == ["route: a key of x adds a line, and the line '/a log:' stays"]


def test_an_option_without_a_place_is_named() -> None:
    found = values([Change("processes", "6"), Change("harakiri", "60")], places("processes=p"))
    assert found.placed == {"p": 6}
    assert found.homeless == [
        "harakiri: --values-map has no place for it: add harakiri=KEY or *=KEY"
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("processes", "is not OPTION=PLACE"),
        ("=a.b", "is not OPTION=PLACE"),
        ("processes=a,workers=b", "processes has the place a already"),
        ("processes=a,threads=a", "processes has the place a already"),
        ("processes=a,threads=a.b", "processes has the place a already"),
        ("*=a.b,threads=a", "* has the place a.b already"),
    ],
)
def test_a_map_that_cannot_be_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match="--values-map") as error:
        places(text)
    assert why in str(error.value)


def test_the_rest_may_stand_around_an_own_place() -> None:
    found = values([Change("processes", "6"), Change("threads", "2")], places("*=a,processes=a.p"))
    assert found.placed == {"a": {"p": 6, "threads": 2}}
