"""Which of the two tools sends what."""

import pytest

from tests.unit.load.findings import TARGET, answered, window
from tests.unit.load.test_k6 import BURST, JOURNEY, MIX, WithK6
from tuner.bench.load import Generators
from tuner.nouns.model import ClosedLoop, HttpRequest, Ladder, Load, OpenLoop, Workload, rungs

PLAIN = (HttpRequest(path="/a", weight=2), HttpRequest(path="/b"))
POISSON = OpenLoop(kind="open_loop", rate_rps=10, arrivals="poisson")
LADDER = Ladder(kind="ladder", concurrencies=(1, 2), requests=PLAIN)
TRIED = {
    "window": window(),
    "try_each": answered(200, 404, 200),
    "keepalive": [],
}


def generators() -> Generators:
    return Generators(stats_address="127.0.0.1:1")


@pytest.mark.parametrize(
    ("load", "tool"),
    [
        (ClosedLoop(), "oha"),
        (ClosedLoop(requests=PLAIN), "oha"),
        (rungs(LADDER)[1], "oha"),
        (OpenLoop(kind="open_loop", rate_rps=10), "oha"),
        (POISSON, "k6"),
        (MIX, "k6"),
        (ClosedLoop(requests=(HttpRequest(expect=404),)), "k6"),
        (BURST, "k6"),
        (JOURNEY, "k6"),
    ],
)
def test_k6_sends_only_what_takes_a_script(load: Load, tool: str) -> None:
    running = WithK6(window())

    generators().drive(running, TARGET, load, 1.0)

    assert tool in running.asked[0][1]["argv"]


@pytest.mark.parametrize(
    ("workload", "asks_for_k6"),
    [
        (ClosedLoop(requests=PLAIN), False),
        (LADDER, False),
        (LADDER.model_copy(update={"requests": MIX.requests}), True),
        (MIX, True),
        (JOURNEY, True),
    ],
)
def test_a_host_without_k6_carries_all_that_oha_sends(
    workload: Workload, asks_for_k6: bool
) -> None:
    found = {**TRIED, "try_each": answered(*[200] * len(workload.requests))}
    running = WithK6(found, about="none\nmax\n")

    if asks_for_k6:
        with pytest.raises(Exception, match="setup --journeys"):
            generators().check(running, TARGET, workload)
    else:
        generators().check(running, TARGET, workload)


def test_readiness_does_not_depend_on_the_tool() -> None:
    running = WithK6({"outcome": "ready", "stats": None, "answer": 200})

    generators().wait_ready(running, TARGET)

    assert running.asked[0][0] == "ready"


@pytest.mark.parametrize("workload", [ClosedLoop(), JOURNEY, BURST])
def test_a_client_that_keeps_nothing_is_sent_as_it_is(workload: Workload) -> None:
    running = WithK6({})
    assert generators().as_served(running, TARGET, workload) is workload
    assert running.asked == []


@pytest.mark.parametrize(
    ("outcome", "keeps"), [("kept", True), ("announced", True), ("closed", False)]
)
def test_a_client_connects_for_each_request_where_the_server_closes_without_a_word(
    outcome: str, keeps: bool
) -> None:
    running = WithK6({"keepalive": [{"outcome": outcome, "words": ""}]})
    wanted = LADDER.model_copy(update={"keep_alive": True})
    served = generators().as_served(running, TARGET, wanted)
    assert served == wanted.model_copy(update={"keep_alive": keeps})
