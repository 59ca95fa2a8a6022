"""Each format is read right: its request lines, what they say, and what is no request."""

from pathlib import Path

import pytest

from tuner.traffic.counting import Reading
from tuner.traffic.formats import PROXY, STATIC, Format, Request, epoch_s, known_formats
from tuner.traffic.lines import Prefixes
from tuner.traffic.own_formats import log_formats_of_apache, of_apache, of_nginx, of_uwsgi

LOG_FORMAT = (
    '%(addr) - %(user) [%(ltime)] "%(method) %(uri) %(proto)" %(status) %(size) "%(referer)"'
    ' "%(uagent)" %(msecs)'
)
START_S = 1_795_890_528.0  # 2026-11-28 18:28:48 UTC


def _samples() -> dict[str, list[str]]:
    text = Path(__file__).with_name("samples.txt").read_text(encoding="utf-8")
    blocks = (block.partition("\n") for block in text.split("== ")[1:])
    return {name: lines.splitlines() for name, _, lines in blocks}


SAMPLES = _samples()


def formats(block: str) -> list[Format]:
    own = [of_uwsgi(LOG_FORMAT)] if block.startswith("uwsgi-lf") else []
    return [*own, *known_formats(unit_s=1e-6 if block == "apache" else None)]


def request_of(line: str, block: str = "", own: Format | None = None) -> Request:
    prefix = Prefixes().off(line)
    assert prefix is not None
    known = [own] if own else formats(block)
    found = (form.read(prefix.line, prefix.at) for form in known)
    return next(request for request in found if request is not None)


@pytest.mark.parametrize("block", [name for name in SAMPLES if not name.endswith("-skip")])
def test_each_line_of_a_block_is_a_request(block: str) -> None:
    reading = Reading(formats(block))
    reading.feed([SAMPLES[block]])
    assert reading.unread == 0, reading.shown
    assert sum(tally.read for tally in reading.tallies.values()) == len(SAMPLES[block])


@pytest.mark.parametrize("block", [name for name in SAMPLES if name.endswith("-skip")])
def test_no_line_of_a_skipped_block_counts(block: str) -> None:
    reading = Reading(formats(block))
    reading.feed([SAMPLES[block]])
    assert sum(tally.count for tally in reading.tallies.values()) == 0


@pytest.mark.parametrize(
    ("block", "nth", "start_s", "duration_s"),
    [
        ("uwsgi", 0, START_S, 0.061),
        ("uwsgi", 6, START_S + 4, 0.0015),  # log-micros
        ("uwsgi-lf", 5, START_S + 3, 30.812),
        ("uwsgi-json", 0, START_S, 0.061),
        ("uwsgi-json", 3, None, 0.000251),
        ("uwsgi-json", 5, START_S + 1, 0.035),  # the ctime within msg, not ts
        ("combined", 1, START_S, None),  # another offset
        ("timed", 2, START_S + 1 - 2.31, 0.034),
        ("timed", 3, START_S + 2 - 34.574, 34.571),  # two servers were asked
        ("nginx-json", 2, START_S + 1 - 2.31, 0.034),
        ("apache", 0, START_S, 0.061342),
        ("traefik", 3, START_S + 2, 30.815),
        ("envoy", 0, START_S + 0.101, 0.062),
        ("envoy", 5, START_S + 3.5, 5.0),  # no upstream time
        ("alb", 3, START_S + 2, 30.812),  # the time of creation, not of the line
        ("cloudfront", 3, START_S + 32 - 30.815, 30.815),
    ],
)
def test_start_and_duration(
    block: str, nth: int, start_s: float | None, duration_s: float | None
) -> None:
    request = request_of(SAMPLES[block][nth], block)
    assert request.start_s == (None if start_s is None else pytest.approx(start_s, abs=1e-3))
    assert request.duration_s == (None if duration_s is None else pytest.approx(duration_s))


@pytest.mark.parametrize(
    ("block", "nth", "uri", "address"),
    [
        ("uwsgi", 6, "/search?q=a => b", "192.0.2.14"),
        ("uwsgi", 7, "/api/cart/7", "2001:db8::5"),
        ("uwsgi", 8, '/a"b]?x=1', "198.51.100.1, 192.0.2.1"),
        ("combined", 4, r"/search?q=\x22red\x22", "198.51.100.8"),
        ("combined", 7, "http://shop.example/feed", "192.0.2.13"),
        ("apache", 6, "/feed", "192.0.2.13"),
        ("alb", 1, "https://shop.example:443/orders/?page=2", "192.0.2.11"),
        ("cloudfront", 4, "/search?q=a%20b", "198.51.100.8"),
    ],
)
def test_uri_and_address(block: str, nth: int, uri: str, address: str) -> None:
    request = request_of(SAMPLES[block][nth], block)
    assert (request.uri, request.address) == (uri, address)


@pytest.mark.parametrize(
    ("block", "nth", "away"),
    [
        ("uwsgi", 3, STATIC),
        ("uwsgi", 0, ""),
        ("timed-skip", 0, PROXY),
        ("nginx-json", 7, PROXY),
        ("traefik-skip", 0, PROXY),
        ("envoy", 6, PROXY),
        ("alb-skip", 0, PROXY),
        ("combined", 3, None),
    ],
)
def test_what_the_app_never_saw(block: str, nth: int, away: str | None) -> None:
    assert request_of(SAMPLES[block][nth], block).away == away


def test_a_log_format_without_escapes_keeps_its_agent() -> None:
    assert request_of(SAMPLES["uwsgi-lf"][6], "uwsgi-lf").agent == 'odd "agent" 1'


def test_log_format_names_the_unit_and_the_moment() -> None:
    own = of_uwsgi("%(epoch) %(method) %(uri) %(status) %(micros)")
    request = request_of("1795890530 GET /a 200 2000000", own=own)
    assert (request.start_s, request.duration_s) == (START_S, 2.0)


def test_negative_microseconds_are_no_duration() -> None:
    own = of_uwsgi("%(method) %(uri) %(status) %(micros)")
    assert request_of("GET /a 200 -2147483000", own=own).duration_s is None


def test_a_log_format_without_status_says_what_it_lacks() -> None:
    with pytest.raises(ValueError, match="no status"):
        of_uwsgi("%(method) %(uri)")


def test_log_format_of_nginx_with_a_kept_connection() -> None:
    own = of_nginx(
        '$remote_addr [$time_iso8601] "$request" $status $request_time $upstream_response_time'
        ' $connection_requests "$http_user_agent"'
    )
    request = request_of(
        '192.0.2.1 [2026-11-28T18:28:50+00:00] "GET /a HTTP/1.1" 200 2.000 1.500 7 "x"', own=own
    )
    assert (request.start_s, request.duration_s, request.reused) == (START_S, 1.5, True)
    static = request_of(
        '192.0.2.1 [2026-11-28T18:28:50+00:00] "GET /a HTTP/1.1" 200 0.000 - 1 "x"', own=own
    )
    assert (static.away, static.reused) == (PROXY, False)


def test_log_format_of_nginx_without_upstream_takes_the_whole_time() -> None:
    own = of_nginx('$remote_addr [$time_local] "$request" $status $request_time')
    line = '192.0.2.1 [28/Nov/2026:18:28:50 +0000] "GET /a HTTP/1.1" 200 2.000'
    request = request_of(line, own=own)
    assert (request.start_s, request.duration_s, request.away) == (START_S, 2.0, None)


APACHE_CONF = r"""
    LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %D" timed
  logformat "%{ms}T %!200,304s %m %U%q %% \
%a" short
# LogFormat "%h" commented
"""


@pytest.mark.parametrize(
    ("number", "line", "found"),
    [
        (
            0,
            '192.0.2.1 - - [28/Nov/2026:18:28:48 +0000] "GET /a HTTP/1.1" 200 - "-" "\\"" 1500000',
            (START_S, "GET", "/a", 200, 1.5, "192.0.2.1"),
        ),
        (
            1,
            "250 404 POST /a?b=1 % 2001:db8::5",
            (None, "POST", "/a?b=1", 404, 0.25, "2001:db8::5"),
        ),
    ],
)
def test_log_format_of_apache(number: int, line: str, found: tuple[object, ...]) -> None:
    formats = log_formats_of_apache(APACHE_CONF)
    assert len(formats) == 2
    request = request_of(line, own=of_apache(formats[number]))
    assert request[:6] == found


def test_a_bare_whole_number_has_no_unit_until_it_is_given() -> None:
    line = SAMPLES["apache"][0]
    requests = [form.read(line, 0) for form in known_formats()]
    assert [request.duration_s for request in requests if request] == [None]


def test_nginx_numbers_with_decimals_are_seconds() -> None:
    line = '192.0.2.1 - - [28/Nov/2026:18:28:50 +0000] "GET / HTTP/1.1" 200 1 "-" "x" 2.000 1.500'
    request = request_of(line)
    assert (request.start_s, request.duration_s, request.away) == (START_S, 1.5, "")


def test_durations_of_json_have_the_unit_of_their_name() -> None:
    def duration(text: str, unit_s: float | None = None) -> float | None:
        line = f'{{"method": "GET", "uri": "/", "status": 200, {text}}}'
        found = (form.read(line, 0) for form in known_formats(unit_s))
        return next(request.duration_s for request in found if request)

    assert duration('"Duration": 5000000') == pytest.approx(0.005)
    assert duration('"duration": 5') is None
    assert duration('"duration": 5', unit_s=1e-3) == pytest.approx(0.005)


@pytest.mark.parametrize(
    "text", ["", "-", "99/Foo/2026:18:28:48 +0000", "Sat Nov 99 18:28:48 2026", "tomorrow", "9e99"]
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert epoch_s(text) is None
