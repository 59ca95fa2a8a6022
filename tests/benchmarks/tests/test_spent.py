"""The time of a job adds up."""

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.benchmarks.spent import print_spent, spent
from tests.builders import NOON, block, job
from tuner.nouns.model import Measurement, MeasurementKind, MeasurementResult


def measured(kind: MeasurementKind, begins_s: float, ends_s: float, load_s: float) -> Measurement:
    """One that started and ended so long after the job's start."""
    started, finished = (NOON + timedelta(seconds=seconds) for seconds in (begins_s, ends_s))
    result = MeasurementResult(load_s=load_s, warmup_s=(1.0, 2.0), ready_s=(3.0, 4.0))
    return replace(block(), kind=kind, started_at=started, finished_at=finished, result=result)


ROWS = [
    measured(MeasurementKind.PREPARE, 1.0, 21.0, 2.0),
    measured(MeasurementKind.BLOCK, 22.0, 62.0, 30.0),
    measured(MeasurementKind.BLOCK, 64.0, 98.0, 28.0),
]


def test_the_parts_of_a_job_are_the_whole_job(capsys: pytest.CaptureFixture[str]) -> None:
    ended = job(finished_at=NOON + timedelta(seconds=100))
    found = spent(ended, ROWS)
    assert found.warm_ups == 6
    assert found.windows == 60 - 6
    assert found.preparation == 18
    assert found.starting_arms == 8
    assert found.around == 40 + 34 - 58 - 8
    assert found.between == 100 - 20 - 40 - 34
    assert (found.whole, found.load) == (100, 60)
    print_spent(ended, found)
    assert "60.0 %" in capsys.readouterr().out.splitlines()[-1]


def test_a_job_that_has_not_ended_is_refused() -> None:
    with pytest.raises(ValueError, match="has not ended"):
        spent(job(), ROWS)
