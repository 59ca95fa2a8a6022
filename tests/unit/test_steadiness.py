"""When a warm-up has been long enough."""

import random

import pytest

from tuner.measurement.steadiness import is_steady, warming
from tuner.model import Burst, ClosedLoop, HttpRequest, Journey, UserData


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
