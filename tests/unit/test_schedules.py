"""The schedule of a target app: how it is written, and when it is due."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.scheduled import TWO, catalogue, write_app
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import Schedule

NIGHTLY = Schedule(cron="0 2 * * *")


def test_a_cron_alone_is_a_schedule_with_the_defaults(tmp_path: Path) -> None:
    write_app(tmp_path, schedule="0 2 * * *")
    assert catalogue(tmp_path).apps["shop"].app.schedule == NIGHTLY
    write_app(tmp_path, schedule={"cron": "30 1 * * 6", "older_than_days": 7})
    weekly = catalogue(tmp_path).apps["shop"].app.schedule
    assert weekly == Schedule(cron="30 1 * * 6", older_than_days=7)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("02:00", "'02:00' has not the five fields of cron: give such as '0 2 * * *'"),
        ("@daily", "has not the five fields"),
        ("* * * * * *", "has not the five fields"),
        ("0 25 * * *", "'0 25 * * *' is no cron"),
        ("0 2 31 2 *", "'0 2 31 2 *' is no cron"),
    ],
)
def test_what_is_no_cron_is_a_mistake_of_target_yaml(
    tmp_path: Path, wrong: str, message: str
) -> None:
    write_app(tmp_path, schedule=wrong)
    with pytest.raises(InvalidInput) as caught:
        catalogue(tmp_path)
    (mistake,) = caught.value.mistakes
    assert mistake.path.endswith("shop/target.yaml")
    assert mistake.message.startswith("schedule.cron: ")
    assert message in mistake.message


def test_an_age_is_more_than_nothing() -> None:
    with pytest.raises(ValidationError, match="older_than_days"):
        Schedule(cron="0 2 * * *", older_than_days=0)


def test_it_is_due_from_its_time_on_until_it_is_too_late() -> None:
    assert NIGHTLY.due(TWO) == TWO
    assert NIGHTLY.due(TWO + timedelta(hours=6)) == TWO  # the host was off
    assert NIGHTLY.due(TWO + timedelta(hours=6, minutes=1)) is None
    assert NIGHTLY.due(TWO - timedelta(milliseconds=1)) is None
    assert Schedule(cron="* * * * *").due(TWO + timedelta(seconds=59)) == TWO


def test_its_times_are_in_utc() -> None:
    in_berlin = datetime.fromisoformat("2026-11-28T03:30:00+01:00")
    assert NIGHTLY.due(in_berlin) == TWO
    assert NIGHTLY.following(in_berlin) == datetime(2026, 11, 29, 2, tzinfo=UTC)
    assert NIGHTLY.following(TWO - timedelta(seconds=1)) == TWO
