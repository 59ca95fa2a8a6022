"""An app that does not start: its own words lead to what the user has to change."""

from typing import Any

import pytest
import yaml

from tuner.judge.diagnosis.hints import hints, outside, telling
from tuner.nouns.model import Failure, FailureCode, Target
from tuner.nouns.model.hosts import stubs_of


def advice(message: str, log: str, **needs: Any) -> list[str]:
    failure = Failure(code=FailureCode.APP_FAILED, message=message, log_tail=log)
    fields = {"target_app": "shop", "command": ["uwsgi"], "memory_per_process_mb": 12}
    return hints(failure, Target.model_validate(fields | needs))


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
            "the host db: no service",
        ),
        (
            "uWSGI could not load the app (exit 22)",
            "redis.exceptions.ConnectionError: Error -2 connecting to cache:6379."
            " Name or service not known.",
            "the host cache: no service has this name, and there is no way out",
        ),
        (
            "uWSGI could not load the app (exit 22)",
            "HTTPSConnectionPool(host='prices.example', port=443): Max retries exceeded (Caused by"
            " NameResolutionError(\"Failed to resolve 'prices.example' ([Errno -3] Temporary"
            ' failure in name resolution)"))',
            "the host prices.example: no service",
        ),
        (
            "prepare: `./manage.py migrate` in app: exit 1",
            "django.db.utils.OperationalError: (2005, \"Unknown server host 'mysql' (-2)\")",
            "the host mysql: no service",
        ),
        (
            "exit 22",
            "Can't connect to MySQL server on 'mysql' ([Errno -2] Name or service not known)",
            "the host mysql: no service",
        ),
        (
            "exit 22",
            "failed to resolve host 'db': [Errno -3] Temporary failure in name resolution",
            "the host db: no service",
        ),
        (
            "exit 22",
            "URLError: <urlopen error [Errno -3] Temporary failure in name resolution>",
            "a host that is no service",
        ),
        (
            "service db was not healthy (its test: exit 1) within 40 s: waiting",
            "",
            "the test of db never ended well",
        ),
        ("the app is up but answers GET / on port 80 with 400 only", "", "not in ALLOWED_HOSTS"),
        (
            "the app is up but answers GET / on port 8000 with 500 only",
            'psycopg.errors.UndefinedTable: relation "shop_product" does not exist',
            "step of `prepare`",
        ),
        (
            "the app is up but answers GET / on port 80 with 500 only",
            "",
            "with 500: if its database",
        ),
        ("exit 22", "ModuleNotFoundError: No module named 'shop'", "imports shop"),
        ("exit 22", 'FATAL:  password authentication failed for user "shop"', "password of shop"),
    ],
)
def test_the_apps_words_lead_to_advice(message: str, log: str, words: str) -> None:
    assert words in advice(message, log)[0]


def test_names_of_hosts_come_from_the_environment_where_the_log_has_none() -> None:
    env = {
        "PRICES_URL": "https://key:value@prices.example:8443/v1",
        "DATABASE_URL": "postgresql://shop@db/shop",
        "MAIL_HOST": "mail.example:25",
        "SELF": "http://localhost:8000/",
        "KEY": {"from_worker": "SHOP_KEY"},
    }
    log = "httpx.ConnectError: [Errno -3] Temporary failure in name resolution"
    found = advice("exit 22", log, env=env, services={"db": {"image": "postgres"}})
    assert found[-1] == "`env` names hosts that are no services: mail.example, prices.example"
    assert advice("exit 22", "KeyError: 'KEY'", env=env) == [
        "the app reads the variable KEY: give it in `env` or `env_file`"
    ]


def test_nothing_known_gives_no_advice() -> None:
    assert advice("exit 22", "hello") == []


def test_a_stub_is_proposed_for_each_host_outside_and_its_lines_are_valid() -> None:
    log = "Failed to resolve 'prices.example' ([Errno -3] Temporary failure in name resolution)"
    fields = {"target_app": "shop", "command": ["uwsgi"], "memory_per_process_mb": 12}
    env = {"PAY_URL": "https://api.pay.example/v1", "DB_URL": "postgres://db/shop"}
    app = Target.model_validate(fields | {"env": env})
    failure = Failure(code=FailureCode.APP_FAILED, message="exit 22", log_tail=log)
    hosts = outside(app, failure)
    assert hosts == ("api.pay.example", "prices.example")
    assert outside(app) == ("api.pay.example",)
    services = yaml.safe_load(stubs_of(hosts))["services"]
    with_stubs = Target.model_validate(fields | {"env": env, "services": services})
    assert [*with_stubs.services] == ["api-pay-example", "prices-example"]
    assert outside(with_stubs, failure) == outside(with_stubs) == ()


def test_an_app_that_fails_for_another_reason_gets_no_proposal() -> None:
    fields = {"target_app": "shop", "command": ["uwsgi"], "memory_per_process_mb": 12}
    app = Target.model_validate(fields | {"env": {"PAY_URL": "https://api.pay.example"}})
    failure = Failure(code=FailureCode.APP_FAILED, message="exit 22", log_tail="KeyError: 'KEY'")
    assert outside(app, failure) == ()


def test_the_lines_of_a_log_that_say_why_come_alone_and_once() -> None:
    noise = [f"2026-11-29 10:00:{n:02} DEBUG pool: no such connection {n}" for n in range(20)]
    trace = [
        "Traceback (most recent call last):",
        '  File "/app/wsgi.py", line 3, in <module>',
        "    import missing",
        "ModuleNotFoundError: No module named 'missing'",
    ]
    again = ["[12] connection refused by db:5432", "[13] connection refused by db:5432"]
    shown, others = telling("\n".join([*noise, *trace, "spawned worker 1", *again]))
    assert shown == [*trace, "[12] connection refused by db:5432  (2 times)"]
    assert others == len(noise) + 1


def test_where_no_line_looks_like_an_error_the_last_ones_are_shown() -> None:
    shown, others = telling("\n".join(f"step {chr(97 + n)}" for n in range(20)))
    assert (shown[0], shown[-1], len(shown), others) == ("step i", "step t", 12, 8)
    assert telling("") == ([], 0)
