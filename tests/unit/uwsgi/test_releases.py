"""What each release of uWSGI brought, and the rules that hold for some of them only."""

from dataclasses import replace

import pytest

from tests import option_tables
from tuner.uwsgi.lint import RULES, Rule, lint, subject_of
from tuner.uwsgi.options import Kind, Option, Takes, known, later_release, of_release
from tuner.uwsgi.options.releases import (
    AT_ONCE,
    NEW,
    OLDEST,
    changed_after,
    changes,
    first_releases,
    is_before,
    numbers_of,
)

LATER = {
    "http11-socket": "2.0.16",
    "shutdown-sockets": "2.0.17",
    "ssl-enable-tlsv1": "2.0.17.1",
    "max-worker-lifetime-delta": "2.0.19",
    "py-executable": "2.0.20",
    "py-call-uwsgi-fork-hooks": "2.0.21",
    "harakiri-queue-threshold": "2.0.22",
    "max-requests-delta": "2.0.29",
    "thunder-lock-watchdog": "2.1",
}
WORKERS = "[uwsgi]\nmodule = app\nprocesses = 4\n"


@pytest.mark.parametrize(("name", "first"), LATER.items())
def test_an_option_has_a_first_release(name: str, first: str) -> None:
    assert later_release(name, OLDEST) == first
    assert later_release(name, first) is None
    assert later_release("processes", OLDEST) is None
    assert later_release(name, "") is None


def test_the_options_of_a_release_are_those_of_the_newest_without_what_came_later() -> None:
    assert of_release(known().version) == known()
    oldest = of_release(OLDEST)
    assert set(known().spellings) - set(oldest.spellings) == first_releases().keys()
    assert len(oldest.spellings) == 1234
    option = oldest.find("ssl-enable3")
    assert option is not None
    assert "ssl-enable-sslv3" not in option.names


def test_what_a_release_changed_in_an_option_is_undone_for_earlier_ones() -> None:
    for version, is_immediate, takes in (
        ("2.0.17.1", False, Takes.NOTHING),
        ("2.0.18", True, Takes.NOTHING),
        ("2.0.28", True, Takes.MAYBE),
    ):
        release = of_release(version)
        listen, need_app = release.find("listen"), release.find("need-app")
        assert listen is not None
        assert need_app is not None
        assert (listen.is_immediate, need_app.takes) == (is_immediate, takes)


def test_changes_are_in_order_and_of_options_that_exist() -> None:
    releases = [numbers_of(change.release) for change in changes()]
    assert releases == sorted(releases)
    assert all(change.names <= set(known().spellings) for change in changes())
    assert changed_after("2.0.17.1", AT_ONCE) == {"listen"}
    assert changed_after("2.0.28", NEW) == {"max-requests-delta"}
    assert changed_after("2.0.32", NEW) == frozenset()


def test_a_version_is_numbers_and_what_a_packager_adds() -> None:
    assert numbers_of("2.0.25.1") == (2, 0, 25, 1)
    assert numbers_of("2.0.26-debian") == (2, 0, 26)
    assert numbers_of("dev") == ()
    assert is_before("2.0.9", "2.0.15")
    assert not is_before("dev", "2.0.15")


@pytest.mark.parametrize(
    ("rule", "text", "holds", "does_not"),
    [
        ("U105", f"{WORKERS}max-requests = 5000\n", "2.0.29", "2.0.28"),
        ("U109", f"{WORKERS}max-worker-lifetime = 60\n", "2.0.19", "2.0.18"),
        ("U131", f"{WORKERS}enable-threads = false\n", "2.0.27", "2.0.26"),
        ("U132", WORKERS, "2.0.26", "2.0.27"),
    ],
)
def test_a_rule_for_some_versions_is_quiet_for_others(
    rule: str, text: str, holds: str, does_not: str
) -> None:
    def found(version: str) -> bool:
        findings = lint(subject_of(text, of_release(version)))
        return rule in {finding.rule for finding in findings}

    assert found(holds)
    assert not found(does_not)
    nameless = subject_of(text, replace(known(), version=""))
    assert rule not in {finding.rule for finding in lint(nameless)}


def test_a_rule_says_its_versions_in_words() -> None:
    said = {rule.id: rule.versions for rule in RULES if rule.versions}
    assert said == {
        "U105": "uWSGI 2.0.29 and later",
        "U109": "uWSGI 2.0.19 and later",
        "U131": "uWSGI 2.0.27 and later",
        "U132": "uWSGI 2.0.26 and earlier",
    }
    assert all(
        (rule.uwsgi_since or "before 2.0.27") in rule.text for rule in RULES if rule.versions
    )
    both = _rule(uwsgi_since="2.0.16", uwsgi_until="2.0.26")
    assert both.versions == "uWSGI 2.0.16 to 2.0.26"
    held = [
        version
        for version in ("2.0.15", "2.0.16", "2.0.26", "2.0.27", "")
        if both.holds_for(version)
    ]
    assert held == ["2.0.16", "2.0.26"]


def _rule(uwsgi_since: str, uwsgi_until: str) -> Rule:
    return replace(RULES[0], uwsgi_since=uwsgi_since, uwsgi_until=uwsgi_until)


# ---- The maker of the file


def _option(*names: str, **fields: object) -> Option:
    option = Option(name=names[0], names=names, kind=Kind.INTEGER, takes=Takes.NOTHING)
    return replace(option, **fields)  # type: ignore[arg-type]


def test_the_maker_says_what_each_release_brought() -> None:
    tables = {
        "2.0.1": [_option("a"), _option("b")],
        "2.0.2": [_option("a", "also-a"), _option("b", takes=Takes.MAYBE), _option("c")],
        "2.0.3": [
            _option("a", "also-a", is_immediate=True),
            _option("b", takes=Takes.MAYBE),
            _option("c"),
        ],
    }
    assert option_tables.changes(tables) == [
        "2.0.2\tnew\talso-a c",
        "2.0.2\ttakes a value\tb",
        "2.0.3\tat once\ta also-a",
    ]


def test_the_maker_refuses_a_change_that_its_file_cannot_say() -> None:
    with pytest.raises(ValueError, match=r"2\.0\.2 has no \['a'\]"):
        option_tables.changes({"2.0.1": [_option("a")], "2.0.2": []})
    text = _option("a", kind=Kind.TEXT)
    with pytest.raises(ValueError, match="there is no word for"):
        option_tables.changes({"2.0.1": [_option("a")], "2.0.2": [text]})
