"""What looks like a secret does not travel; what does not stays readable."""

import time
from dataclasses import dataclass

import pytest

from tests.patience import quickest
from tuner.nouns.masking import masked
from tuner.nouns.model import Effect, HttpRequest, Journey, Metric, Take, UserData


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("env = SECRET_KEY=top secret", "env = SECRET_KEY=***"),
        ("-env = LANG=C", "-env = LANG=***"),
        ("<env>A=b</env>", "<env>A=***"),
        ("uwsgi --env A=b --processes 4", "uwsgi --env A=*** --processes 4"),
        ("postgres://shop:hunter2@db/shop", "postgres://shop:***@db/shop"),
        ("redis://:p@ss@cache:6379/0", "redis://:***@cache:6379/0"),
        ("host=db password=hunter2 dbname=shop", "host=db password=*** dbname=shop"),
        ("Authorization: Bearer hunter2 x", "Authorization: ***"),
        ("Cookie: a=b; c=d", "Cookie: ***"),
        ('{"user": "u", "api_key": "k \\" k", "n": 1}', '{"user": "u", "api_key": "***", "n": 1}'),
        ("user=u&password=hunter2&n=1", "user=u&password=***&n=1"),
        ("GET /x?token=hunter2&y=1", "GET /x?token=***&y=1"),
        ("route = ^/a basicauth:Shop,u:hunter2", "route = ^/a basicauth:Shop,***"),
        ("sent Bearer 0123456789abcdef", "sent Bearer ***"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END",
            "-----BEGIN RSA PRIVATE KEY-----***-----END",
        ),
    ],
)
def test_the_value_is_masked_and_the_name_stays(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "processes = 4",
        "single-interpreter = true",
        "https://user@registry.example/shop",
        "KeyError: 'SECRET_KEY'",
        "4096 bytes of headers, cookies included",
        "max tokens: 5",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert masked(text) == text


@dataclass(frozen=True)
class Noun:
    words: tuple[str, ...]
    effect: Effect


def test_the_texts_of_nouns_are_masked() -> None:
    effect = Effect(metric=Metric.MEMORY_MB, estimate=0.1, ci_low=0.0, ci_high=0.2)
    assert masked(Noun(("env = A=b", "x"), effect)) == Noun(("env = A=***", "x"), effect)
    request = HttpRequest(path="/x?token=t", headers={"X-Api-Key": "k", "Accept": "text/html"})
    shown = masked(request)
    assert (shown.path, shown.headers) == (
        "/x?token=***",
        {"X-Api-Key": "***", "Accept": "text/html"},
    )
    assert masked({"a": [effect]}, leave=(Effect,)) == {"a": [effect]}


PIECES = (
    "a",
    " ",
    "env",
    "env = ",
    "--env A",
    "token",
    "token=",
    'token="\\',
    "authorization",
    "://",
)
MORE = ("://a:b@", "basicauth:", "Bearer ", "-----BEGIN ")


@pytest.mark.parametrize("piece", PIECES + MORE)
def test_four_times_the_text_takes_about_four_times_as_long(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        masked(text)
        return max(0.005, time.process_time() - began)

    growth = quickest(10.0, lambda: seconds(200_000) / seconds(50_000), times=5)
    assert growth <= 10, "16 is quadratic"


def test_the_rows_of_users_are_masked_and_where_a_token_is_found_is_not() -> None:
    steps = (
        HttpRequest(take={"token": Take(regex='"token": "([^"]+)"')}),
        HttpRequest(method="POST", form={"password": "hunter2", "user": "{{user}}"}),
    )
    users = UserData(names=("user", "code"), rows=(("ann", "1234"), ("bob", "5678")))
    shown = masked(Journey(kind="journey", requests=steps, user_data=users))
    assert shown.user_data == UserData(names=users.names, rows=(("***", "***"),))
    assert shown.requests[0] == steps[0]
    assert shown.requests[1].form == {"password": "***", "user": "{{user}}"}
    assert Journey.model_validate_json(shown.model_dump_json()) == shown
