"""Lines of real logs by which services refuse connections."""

import pytest

from tuner.bench.measurement import refusal_in


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-24 02:58:24.577 UTC [97] FATAL:  sorry, too many clients already",
        "2026-11-24 02:58:24.501 UTC [92] shop@shop FATAL:  remaining connection slots are reserved"
        " for roles with the SUPERUSER attribute",
        "2020-10-14 04:24:09 UTC [9992] FATAL:  remaining connection slots are reserved for"
        " non-replication superuser connections",
        'psycopg.OperationalError: connection failed: connection to server at "10.99.0.3", port'
        " 5432 failed: FATAL:  sorry, too many clients already",
        'FATAL:  too many connections for role "shop"',
        "server error: FATAL: trop de clients sont d\u00e9j\u00e0 connect\u00e9s (SQLSTATE 53300)",
        "django.db.utils.OperationalError: (1040, 'Too many connections')",
        "ERROR 1040 (HY000): Too many connections",
        "SQLSTATE[HY000] [1040] Too many connections",
        "2026-11-24  3:01:44 7 [Warning] Too many connections",
        "redis.exceptions.ConnectionError: max number of clients reached",
        "-ERR max number of clients reached",
    ],
)
def test_a_refusal_is_found_among_other_lines(line: str) -> None:
    log = f"*** Operational MODE: preforking ***\n{line}\nGET / => generated 53300 bytes\n"
    assert refusal_in(log) == line


@pytest.mark.parametrize(
    "log",
    [
        "",
        "2026-11-24 02:58:24.577 UTC [97] FATAL:  the database system is starting up",
        "[pid: 7|app: 0|req: 9/9] 127.0.0.1 () GET /clients => generated 53300 bytes in 2 msecs",
        '*** uWSGI listen queue of socket "127.0.0.1:8000" (fd: 3) full !!! (101/100) ***',
        'connection to server at "postgres", port 5432 failed: Connection refused',
    ],
)
def test_other_lines_are_no_refusal(log: str) -> None:
    assert refusal_in(log) is None


def test_the_last_refusal_counts_and_a_long_line_is_cut_around_it() -> None:
    first, last = "FATAL:  sorry, too many clients already", "ERR max number of clients reached"
    assert refusal_in(f"{first}\n{last}\n") == last
    found = refusal_in(f"{'x' * 5000} {first} {'y' * 5000}")
    assert found is not None
    assert len(found) <= 300
    assert first in found


def test_a_refusal_shows_no_secret_and_no_control_sequence() -> None:
    line = "\x1b[31mpassword=hunter2 FATAL:  sorry, too many clients already\x1b[0m"
    found = refusal_in(line)
    assert found is not None
    assert "hunter2" not in found
    assert found.isprintable()
