"""An app that does not start: its own words lead to what the user has to change."""

import pytest

from tuner.diagnosis.hints import hints
from tuner.model import Failure, FailureCode


@pytest.mark.parametrize(
    ("message", "log", "words"),
    [
        ("uWSGI could not load the app (exit 22)", "KeyError: 'SECRET_KEY'", "variable SECRET_KEY"),
        (
            "uWSGI could not load the app (exit 22)",
            "exceptions.ImproperlyConfigured: The SECRET_KEY setting must not be empty.",
            'say "The SECRET_KEY setting must not be empty."',
        ),
        (
            "the app is up but answers GET / on port 8000 with 400 only",
            "Invalid HTTP_HOST header: '127.0.0.1:8000'. You may need to add '127.0.0.1'",
            "the Host 127.0.0.1:8000",
        ),
        ("the app is up but answers GET / on port 8000 with 302 only", "", "answers 302: give the"),
        ("not ready within 30 s: GET / on port 80 got: nothing listens on port 80", "", "on 80"),
        (
            "uWSGI could not load the app (exit 22)",
            'could not translate host name "db" to address: Name or service not known',
            "the host db: name the service",
        ),
        (
            "uWSGI could not load the app (exit 22)",
            "redis.exceptions.ConnectionError: Error -2 connecting to cache:6379."
            " Name or service not known.",
            "no way out",
        ),
        (
            "the app is up but answers GET / on port 8000 with 500 only",
            'psycopg.errors.UndefinedTable: relation "shop_product" does not exist',
            "step of `prepare`",
        ),
        ("exit 22", "ModuleNotFoundError: No module named 'shop'", "imports shop"),
        ("exit 22", 'FATAL:  password authentication failed for user "shop"', "password of shop"),
    ],
)
def test_the_apps_words_lead_to_advice(message: str, log: str, words: str) -> None:
    (first, *_) = hints(Failure(code=FailureCode.APP_FAILED, message=message, log_tail=log))
    assert words in first


def test_nothing_known_gives_no_advice() -> None:
    assert hints(Failure(code=FailureCode.APP_FAILED, message="exit 22", log_tail="hello")) == []
