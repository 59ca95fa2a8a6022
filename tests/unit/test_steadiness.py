"""When a warm-up has been long enough."""

import random

import pytest

from tuner.bench.measurement.course import is_steady, lengthened, warming
from tuner.nouns.model import Burst, ClosedLoop, HttpRequest, Journey, OpenLoop, UserData


@pytest.mark.parametrize(
    "series",
    [
        (50, 100, 100, 100, 100, 100, 100),  # the first step opens the connections
        (50, 100, 101, 100, 101, 101, 101),
        (0, 20, 10, 12, 19, 11, 21),  # few requests differ by chance
        (100,),
        (),
        (0, 0, 0, 0, 0),
    ],
)
def test_a_level_run_is_steady(series: tuple[int, ...]) -> None:
    assert is_steady(series, len(series) / 4)


@pytest.mark.parametrize(
    "series",
    [
        (5000, 2000, 2500, 3000, 3500, 4000, 4500),  # caches fill
        (5000, 5000, 5000, 5000, 4000, 4000, 4000),  # something else has begun
        (900, 1000, 1400),
    ],
)
def test_a_run_that_moves_is_not(series: tuple[int, ...]) -> None:
    assert not is_steady(series, len(series) / 4)


def test_noise_alone_seldom_looks_like_a_drift() -> None:
    dice = random.Random(1)  # noqa: S311  reproducible noise
    runs = [[round(dice.gauss(500, 25)) for _ in range(9)] for _ in range(500)]
    assert sum(not is_steady(run, 9 / 4) for run in runs) < 50


def test_a_last_step_that_the_load_does_not_fill_is_no_drift() -> None:
    assert is_steady((40, 160, 64), 0.6)
    assert not is_steady((40, 160, 64), 0.75)


def test_a_burst_is_warmed_up_for_by_a_few_users() -> None:
    data = UserData(names=("user",), rows=(("ann",),))
    requests = (HttpRequest(path="/{{user}}"),)
    burst = Burst(kind="burst", users=500, requests=requests, user_data=data)
    gentle = warming(burst)
    assert isinstance(gentle, Journey)
    assert (gentle.users, gentle.requests, gentle.user_data) == (16, requests, data)
    assert warming(ClosedLoop()) == ClosedLoop()


@pytest.mark.parametrize(
    ("requests", "seconds"),
    [
        (10_000, 2.5),  # a request takes 0.2 s
        (2_500, 4.0),  # 0.8 s
        (1_000, 10.0),  # 2 s: four windows at most
        (0, 10.0),
    ],
)
def test_a_window_is_as_long_as_five_requests(requests: int, seconds: float) -> None:
    load = ClosedLoop(concurrency=1000)
    assert lengthened(2.5, load, requests, duration_s=2.0) == pytest.approx(seconds)


def test_windows_of_a_fixed_rate_keep_their_length() -> None:
    assert lengthened(2.5, OpenLoop(kind="open_loop", rate_rps=5), 0, duration_s=2.0) == 2.5
