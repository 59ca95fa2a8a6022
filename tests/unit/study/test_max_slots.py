"""A job with `max_slots`: nothing that it starts or ships serves more requests at once.

On the invented host every slot helps, so that the search wants more than the job allows.
"""

import itertools
from typing import Any

import pytest

from tests.fake_bench import FakeWorld, Options, number, options_of
from tests.space_jobs import FITTING, job_for
from tests.unit.study.test_whole_study import run
from tuner.nouns.model import JobSpec, JobState, SamplerName
from tuner.targets.search_space import derive

MOST = 90
SPACES = sorted(FITTING)
BUDGET = {
    "preset": "demo",
    "trials": 8,
    "race": 3,
    "ablate_runs": 24,
    "confirm_blocks": 4,
    "cycles": 1,
    "window_s": 0.5,
    "warmup_s": 0,
}
ROOMY = {"cpus": 4, "memory_mb": 8192, "somaxconn": 4096}
GREENLETS = "[uwsgi]\nhttp-socket = :8000\nprocesses = 2\ngevent = 20\n"


def slots(options: Options) -> int:
    """Requests that uWSGI serves at once: each process has threads, or greenlets."""
    per_process = max(number(options, name) for name in ("threads", "gevent"))
    return number(options, "processes", "workers") * per_process


def spec_of(space: str, sampler: SamplerName, seed: int, **changes: Any) -> JobSpec:
    own = FITTING[space].get("workload", {"kind": "closed_loop"})
    request = {"limits": ROOMY, "workload": {**own, "concurrency": 256}, "budget": BUDGET}
    return job_for(space, sampler=sampler, seed=seed, **request, **changes)


def most_slots(spec: JobSpec) -> int:
    """Of all trials of a job, those of the race and the ablation among them, and of its answer."""
    store, job = run(FakeWorld(throughput=lambda options: 10.0 * slots(options)), spec)
    assert job.state is JobState.SUCCEEDED, job.failure
    assert job.recommendation is not None
    domain = derive(job.spec, job.facts.memory if job.facts else None)
    tried = [domain.render(trial.params) for trial in store.trials(job.id)]
    return max(slots(options_of(ini)) for ini in [*tried, job.recommendation.uwsgi_ini])


@pytest.mark.parametrize("sampler", SamplerName)
def test_a_search_that_wants_more_slots_stays_within_what_the_job_allows(
    sampler: SamplerName,
) -> None:
    assert most_slots(spec_of("default", sampler, seed=1)) > MOST
    assert most_slots(spec_of("default", sampler, seed=1, max_slots=MOST)) <= MOST


@pytest.mark.full
@pytest.mark.parametrize("sampler", SamplerName)
@pytest.mark.parametrize("space", SPACES)
def test_no_space_and_no_sampler_exceeds_what_the_job_allows(
    space: str, sampler: SamplerName
) -> None:
    for seed in range(5):
        assert most_slots(spec_of(space, sampler, seed, max_slots=MOST)) <= MOST


@pytest.mark.full
@pytest.mark.parametrize("space", ["default", "gevent"])
def test_greenlets_of_the_users_own_file_count_too(space: str) -> None:
    own = {"target": {"target_app": "greenlets"}, "baseline": {"ini": GREENLETS}}
    for sampler, seed in itertools.product(SamplerName, range(3)):
        assert most_slots(spec_of(space, sampler, seed, max_slots=MOST, **own)) <= MOST
