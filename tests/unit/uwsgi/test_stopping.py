"""A container that is killed before uWSGI's own time limits end."""

import pytest

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.stopping import Stop, killed_early

GRACE = "terminationGracePeriodSeconds"
HOOK = "hook-master-start = unix_signal:15 gracefully_kill_them_all\n"


def found(lines: str, stop: Stop) -> list[str]:
    return list(killed_early(IniFile.parse(f"[uwsgi]\n{lines}"), stop))


@pytest.mark.parametrize(
    ("lines", "stop"),
    [
        ("harakiri = 30\n", Stop(GRACE, 30)),
        ("harakiri = 25\nworker-reload-mercy = 10\n", Stop(GRACE, 30, 5)),
        ("processes = 4\n", Stop(GRACE, 1)),
    ],
)
def test_a_stop_that_leaves_enough_time_is_fine(lines: str, stop: Stop) -> None:
    assert found(lines, stop) == []


@pytest.mark.parametrize("option", ["harakiri", "worker-reload-mercy"])
def test_each_time_that_is_longer_is_named_with_what_to_set(option: str) -> None:
    assert found(f"{option} = 60\n", Stop(GRACE, 60, 5)) == [
        f"the container is killed 55 s after SIGTERM ({GRACE} 60 s, of which preStop takes 5 s),"
        f" before {option} = 60 ends: set {GRACE} above 65, or lower {option}"
    ]


def test_a_longer_grace_does_not_help_where_sigterm_ends_uwsgi_at_once() -> None:
    lines = "harakiri = 60\ndie-on-term = true\n"
    (at_once,) = found(lines, Stop(GRACE, 30))
    assert "die-on-term ends the requests at once" in at_once
    (graceful,) = found(lines + HOOK, Stop(GRACE, 30))
    assert f"set {GRACE} above 60" in graceful


def test_a_prestop_that_takes_all_the_time_leaves_none() -> None:
    (told,) = found("harakiri = 5\n", Stop(GRACE, 30, 40))
    assert "killed 0 s after SIGTERM" in told
