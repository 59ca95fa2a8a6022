"""What counts as load, what is left out, and what is refused."""

from collections.abc import Sequence

import pytest

from tests.access_logs import Line, timed, uwsgi
from tuner.traffic.counting import BOTS, HEALTH, METHODS, REDIRECTS, Reading
from tuner.traffic.formats import STATIC, known_formats
from tuner.traffic.workload import Traffic, traffic_of


def combined(path: str, *, agent: str = "Firefox", status: int = 200, method: str = "GET") -> str:
    at = "28/Nov/2026:18:28:48 +0000"
    return f'192.0.2.1 - - [{at}] "{method} {path} HTTP/1.1" {status} 9 "-" "{agent}"'


def read(lines: Sequence[str], *, drops_bots: bool = False, replicas: int | None = None) -> Traffic:
    reading = Reading(known_formats(), drops_bots=drops_bots)
    reading.feed([lines])
    return traffic_of(reading, replicas=replicas)


def line(at: int, path: str = "/a", start_s: float = 1_795_890_528.0) -> Line:
    return Line(at, start_s, 0.05, "GET", path)


@pytest.mark.parametrize(
    ("left", "reason"),
    [
        (combined("/healthz"), HEALTH),
        (combined("/api/health/"), HEALTH),
        (combined("/metrics"), HEALTH),
        (combined("/", agent="kube-probe/1.30"), HEALTH),
        (combined("/", agent="Mozilla/5.0 (compatible; UptimeRobot/2.0)"), HEALTH),
        (combined("/static/app.3f2a.js"), STATIC),
        (combined("/logo.png?v=3"), STATIC),
        (combined("/", status=301), REDIRECTS),
        (combined("/api/cart", method="OPTIONS"), METHODS),
    ],
)
def test_what_is_no_load_is_left_out_with_its_reason(left: str, reason: str) -> None:
    traffic = read([combined("/"), left])
    assert (traffic.requests, traffic.left_out) == (1, {reason: 1})


def test_a_static_path_counts_if_uwsgi_served_it() -> None:
    assert read([uwsgi(line(0, "/static/app.js"))]).requests == 1


def test_bots_are_kept_and_counted_or_dropped() -> None:
    lines = [combined("/"), combined("/", agent="Googlebot/2.1"), combined("/wp-login.php")]
    kept = read(lines)
    assert (kept.requests, kept.bots) == (3, 1)
    assert read(lines, drops_bots=True).left_out == {BOTS: 2}


def test_a_request_with_a_line_of_nginx_and_one_of_uwsgi_counts_once() -> None:
    lines = [form(line(n)) for n in range(50) for form in (uwsgi, timed)]
    traffic = read(lines)
    assert (traffic.family, traffic.requests, traffic.same_requests) == ("uwsgi", 50, 50)


def test_a_log_of_errors_is_refused() -> None:
    errors = [uwsgi(line(n)).replace("HTTP/1.1 200", "HTTP/1.1 502") for n in range(9)]
    with pytest.raises(ValueError, match="errors only"):
        read(errors)


def test_errors_and_slow_requests_with_gaps_in_the_count_are_refused() -> None:
    errors = [uwsgi(line(40 * n)).replace("HTTP/1.1 200", "HTTP/1.1 502") for n in range(9)]
    with pytest.raises(ValueError, match="have no line"):
        read([*errors, uwsgi(line(361)), uwsgi(line(402))])


def test_lines_that_are_missing_are_said() -> None:
    assert read([uwsgi(line(n)) for n in (*range(10), *range(15, 20))]).missing == 5


def test_late_lines_of_slow_requests_are_not_missing() -> None:
    assert read([uwsgi(line(n)) for n in (0, 2, 3, 1, 4)]).missing == 0


def test_health_checks_alone_are_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="health checks"):
        read([combined("/healthz")])


def test_no_known_line_is_refused() -> None:
    with pytest.raises(ValueError, match="no line of 2 is a request"):
        read(["Traceback (most recent call last):", "ValueError: GET /orders/ => no page"])


def test_a_bad_line_is_counted_and_three_are_shown_without_secrets() -> None:
    reading = Reading(known_formats())
    reading.feed([["\x00\x1b[31m", *(f"bad {n} password=hunter{n}" for n in range(5)), ""]])
    assert (reading.lines, reading.unread, len(reading.shown)) == (6, 6, 3)
    assert "hunter" not in " ".join(reading.shown)


def test_a_line_that_is_shown_has_no_query_address_or_token() -> None:
    reading = Reading(known_formats())
    reading.feed([["GET /a?q=ann&s=7 by ann@shop.example, key 8Xk2mQ9vLr4TzN1bWc7Yd3"]])
    assert reading.shown == ["GET /a?*** by ***, key ***"]


def test_json_without_line_ends_is_split() -> None:
    one = '{"method": "GET", "uri": "/a", "status": 200}'
    traffic = read([one * 3])
    assert (traffic.requests, traffic.lines) == (3, 3)


def test_replicas_share_the_rate() -> None:
    prefix = "[pod/shop-6c9f-{}/uwsgi] "
    lines = [prefix.format(n % 2) + uwsgi(line(n, start_s=1.8e9 + n / 10)) for n in range(1000)]
    found = read(lines)
    assert found.replicas == 2
    assert found.arrivals is not None
    assert found.arrivals.mean_rps == pytest.approx(5, rel=0.02)
    assert found.arrivals.in_flight == pytest.approx(5 * 0.05, rel=0.02)


def test_parts_of_a_line_are_joined() -> None:
    text = combined("/long")
    cri = "2026-11-28T18:28:51.1Z stdout "
    docker = '{{"log": {}, "stream": "stdout", "time": "2026-11-28T18:28:51Z"}}'
    quoted = text.replace('"', '\\"')
    lines = [
        f"{cri}P {text[:40]}",
        f"{cri}F {text[40:]}",
        docker.format(f'"{quoted[:10]}"'),
        docker.format(f'"{quoted[10:]}\\n"'),
    ]
    traffic = read(lines)
    assert (traffic.requests, traffic.unread) == (2, 0)
    assert [one.template for one in traffic.templates] == ["/long"]


def test_the_time_of_a_prefix_is_used_where_the_line_has_none() -> None:
    line = '{"method": "GET", "uri": "/a", "status": 200, "duration_ms": 2000}'
    traffic = read([f"2026-11-28T18:28:50.5Z {line}"] * 2)
    assert traffic.arrivals is not None
    assert traffic.arrivals.begin == "2026-11-28 18:28:48"


def test_the_busiest_hour_is_taken() -> None:
    quiet = [line(n, start_s=1.8e9 + 60 * n) for n in range(60)]
    busy = [line(60 + n, start_s=1.8e9 + 3600 + n / 2) for n in range(7200)]
    arrivals = read([uwsgi(one) for one in (*quiet, *busy)]).arrivals
    assert arrivals is not None
    assert arrivals.requests == 7200
    assert arrivals.median_rps == pytest.approx(2.0)
    assert arrivals.dispersion["1 s"] < 0.01


def test_think_time_is_the_pause_between_an_answer_and_the_next_request() -> None:
    lines = [timed(line(2 * (n % 4), start_s=1.8e9 + n)) for n in range(400)]
    assert read(lines).think_s == pytest.approx(4.0, abs=0.1)
