"""Logs of a known mix: templates, weights, rate and requests in flight come out right."""

import pytest

from tests.access_logs import FORMATS, mix, requests
from tuner.traffic.counting import Reading
from tuner.traffic.formats import known_formats
from tuner.traffic.workload import Traffic, traffic_of

LINES = 4_000
RATE_RPS = 40.0


def read(lines: list[str]) -> Traffic:
    reading = Reading(known_formats(unit_s=1e-6))
    reading.feed([lines])
    return traffic_of(reading)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("number", range(10))
def test_a_known_mix_is_found_in_its_log(name: str, number: int) -> None:
    routes = mix(number)
    sent = list(requests(routes, RATE_RPS, LINES, seed=number))
    ended = sorted(sent, key=lambda line: line.start_s + line.duration_s)
    traffic = read([FORMATS[name](line) for line in ended])
    assert traffic.requests == LINES
    assert traffic.formats == {name: LINES}
    found = {(one.method, one.template): one.share for one in traffic.templates}
    assert set(found) == {(route.method, route.template) for route in routes}
    for route in routes:
        assert found[route.method, route.template] == pytest.approx(route.share, abs=0.03)
    arrivals = traffic.arrivals
    assert arrivals is not None
    span_s = sent[-1].start_s - sent[0].start_s
    assert arrivals.mean_rps == pytest.approx(LINES / span_s, rel=0.03)
    in_flight = sum(line.duration_s for line in sent) / span_s
    assert arrivals.in_flight == pytest.approx(in_flight, rel=0.10)
    assert arrivals.dispersion["1 s"] == pytest.approx(1.0, abs=0.5)
