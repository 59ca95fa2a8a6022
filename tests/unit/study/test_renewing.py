"""What the answer of a job of a schedule says about the answer before it."""

import pytest

from tests import finished_jobs
from tests.builders import INI, spec
from tests.fake_bench import FakeWorld, Options, number
from tests.unit.study.test_whole_study import SPEC, run
from tuner.nouns.model import Followed, JobSpec, Limits, Params, Since, Verdict
from tuner.study.renewing import since

OLD = INI.replace("processes = 2", "processes = 4")
NEW = INI.replace("processes = 2", "processes = 6\nthreads = 2")
BECAUSE = ("the file uwsgi.ini has changed since job 7: processes",)


def following(
    baseline: str = OLD, params: Params | None = None, limits: Limits | None = None
) -> JobSpec:
    """A job whose present file is `baseline`; job 7 recommended `OLD`."""
    own = spec()
    old = Followed(
        job=7,
        params=dict(params or {"processes": 4}),
        uwsgi_ini=OLD,
        limits=limits or own.limits,
    )
    return own.model_copy(update={"baseline_ini": baseline, "follows": old, "because": BECAUSE})


def said(asked: JobSpec, verdict: Verdict, ini: str, **params: int) -> Since:
    """What an answer with that verdict says."""
    comparison = finished_jobs.comparison(verdict)
    found = finished_jobs.recommendation(comparison=comparison, uwsgi_ini=ini, params=params)
    told = since(asked, found)
    assert told is not None
    return told


def test_a_job_that_follows_none_says_nothing() -> None:
    assert since(spec(), finished_jobs.recommendation()) is None


def test_it_says_why_it_was_made_and_which_options_differ() -> None:
    told = said(following(), Verdict.BETTER, NEW, processes=6, threads=2)
    assert (told.job, told.because) == (7, BECAUSE)
    assert told.changed == ("processes: 4 -> 6", "threads: (not set) -> 2")


def test_a_deployed_file_that_was_beaten_does_not_hold() -> None:
    told = said(following(), Verdict.BETTER, NEW, processes=6, threads=2)
    assert told.holds is False
    assert (
        "the file of job 7 does not hold: the new file is better than it: +9.8 %" in told.sentence
    )


@pytest.mark.parametrize("verdict", [Verdict.NO_DIFFERENCE, Verdict.WORSE, Verdict.BREAKS_BOUND])
def test_a_deployed_file_that_nothing_beat_holds(verdict: Verdict) -> None:
    told = said(following(f"# deployed\n{OLD}"), verdict, f"# deployed\n{OLD}")
    assert told.holds is True
    assert told.changed == ()


@pytest.mark.parametrize(("baseline", "why"), [(OLD, "noise"), (INI, "not your file of now")])
def test_after_an_inconclusive_job_it_is_not_known(baseline: str, why: str) -> None:
    told = said(following(baseline), Verdict.INCONCLUSIVE, baseline)
    assert told.holds is None
    assert why in told.sentence


def test_a_file_that_was_not_deployed_holds_if_its_values_win_again() -> None:
    assert said(following(INI), Verdict.BETTER, OLD, processes=4).holds is True
    other = said(following(INI), Verdict.BETTER, NEW, processes=6, threads=2)
    assert other.holds is None
    assert "it is not your file of now" in other.sentence
    assert said(following(INI), Verdict.NO_DIFFERENCE, INI, processes=2).holds is None


def test_the_file_alone_is_not_the_answer_where_the_box_was_another() -> None:
    box = Limits(cpus=2.0)
    assert said(following(limits=box), Verdict.NO_DIFFERENCE, OLD).holds is None


def test_a_whole_job_tries_the_old_values_and_says_that_they_hold() -> None:
    best = {"processes": 12, "threads": 1}
    old = Followed(job=7, params=best, uwsgi_ini=OLD, limits=SPEC.limits)
    asked = {"follows": old, "because": BECAUSE, "seeds": (best,)}

    def throughput(options: Options) -> float:
        is_best = number(options, "processes") == 12 and number(options, "threads") == 1
        return 300.0 if is_best else 100.0

    _, job = run(FakeWorld(throughput=throughput), SPEC.model_copy(update=asked))
    found = job.recommendation
    assert found is not None
    assert found.since is not None
    assert (found.verdict, dict(found.params)) == (Verdict.BETTER, best)
    assert found.since.holds is True
    assert found.since.because == BECAUSE
