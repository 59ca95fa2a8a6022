"""Search, race, ablation and confirmation in one short job, on an app whose truth is planted."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests import plants
from tests.patience import TEST_ENDS_WITHIN_S
from tests.plants import TWO_LARGE_GAINS, USELESS
from tests.service import Json, Service, opened_store, running
from tuner.nouns.model import Evidence, JobId

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(2 * TEST_ENDS_WITHIN_S)]

QUIET_SD = 0.1
"""Of one run, as a log ratio: 24 runs show the smaller of the two gains in 19 of 20 jobs then."""


@dataclass(frozen=True)
class Tuned:
    """A job that has ended: its answer as CI reads it, and the evidence behind it."""

    answer: Json
    ini: str
    evidence: Evidence


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with running(TUNER_TARGET_APPS=str(plants.TARGET_APPS)) as service:
        yield service
        assert service.containers() == []


@pytest.fixture(scope="module")
def tuned(service: Service) -> Tuned:
    """The job, once more with longer windows where its host was too noisy to show 20 %."""
    first = job_of(service, TWO_LARGE_GAINS.request())
    ablation = first.evidence.ablation
    if ablation is not None and ablation.sd <= QUIET_SD:
        return first
    longer = TWO_LARGE_GAINS.request(seed=2)
    return job_of(service, {**longer, "budget": {**longer["budget"], "window_s": 2.0}})


def job_of(service: Service, request: Json) -> Tuned:
    """A job from its request to its answer."""
    job = service.submit(**request)
    ended = service.finish(job["id"])
    assert ended["state"] == "succeeded", (ended, service.log())
    with opened_store(service) as store:
        recommendation = store.job(JobId(job["id"])).recommendation
    assert recommendation is not None
    return Tuned(
        answer=service.get(f"/v1/jobs/{job['id']}/recommendation").json(),
        ini=service.get(f"/v1/apps/{job['app']}/uwsgi.ini").text,
        evidence=recommendation.evidence,
    )


def test_what_was_planted_is_in_the_file(tuned: Tuned) -> None:
    assert tuned.answer["verdict"] == "better", tuned.answer["reason"]
    assert TWO_LARGE_GAINS.wrong_with(tuned.ini) == ()


def test_the_gain_is_the_one_that_was_planted(tuned: Tuned) -> None:
    planted = 1.40 * 1.20 - 1
    effect = tuned.answer["effect"]
    # uWSGI's own part of a request does not shrink with the app's: a little less than planted.
    assert effect["ci_low"] < 1.15 * planted, effect
    assert effect["ci_high"] > 0.75 * planted, effect
    assert effect["ci_low"] > 0.05


def test_options_that_do_nothing_are_not_all_in_the_file(tuned: Tuned) -> None:
    # By chance one of them is kept in up to one job of ten; all three are not.
    shipped = plants.changed(TWO_LARGE_GAINS.baseline_ini, tuned.ini)
    assert not USELESS.keys() <= shipped.keys()


def test_the_evidence_says_what_each_phase_found(tuned: Tuned) -> None:
    assert tuned.evidence.rounds
    ablation = tuned.evidence.ablation
    assert ablation is not None
    assert ablation.runs >= 20  # of 24; a window may be void
    factors = {factor.parameters: factor for factor in ablation.factors}
    for option, planted in (("vacuum", 0.40), ("reload-mercy", 0.20)):
        factor = factors[option,]
        assert factor.is_kept
        assert factor.low - 0.05 < math.log1p(planted) < factor.high + 0.05
    lines = {line["option"]: line for line in tuned.answer["lines"]}
    assert all(lines[option]["effect"] is not None for option in TWO_LARGE_GAINS.keep)
