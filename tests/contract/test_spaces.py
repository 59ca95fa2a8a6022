"""Every search space on real uWSGI: what it proposes is taken, starts, and does what it says."""

import random
from collections.abc import Iterator

import pytest

from tests import real_bench
from tests.grids import grid
from tests.space_jobs import CATALOG, FITTING, job_for
from tuner.bench.engine import DockerLauncher
from tuner.bench.load import Oha
from tuner.bench.measurement import ArmSpec, LoadReading
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import ClosedLoop, HttpRequest, JobSpec, Params
from tuner.targets.search_space import derive

pytestmark = [pytest.mark.full, pytest.mark.docker, pytest.mark.timeout(600)]

AT_RANDOM = 5
LOAD_S = 0.5
UNREACHABLE = "connection broken by"  # pip says so each time it does not reach the index


@pytest.fixture(scope="module")
def launcher() -> Iterator[DockerLauncher]:
    with real_bench.engine(apps=CATALOG.build_dir) as launcher:
        yield launcher.for_measurement("1", "7")


@pytest.fixture(scope="module")
def oha() -> Oha:
    return Oha(stats_address=real_bench.STATS_ADDRESS, ready_timeout_s=20.0)


def built(launcher: DockerLauncher, job: JobSpec) -> JobSpec:
    """The job, with its image there; skips where no package index can be reached."""
    try:
        launcher.inspect(job.target)
    except TargetFailed as failed:
        if UNREACHABLE not in failed.log_tail:
            raise
        pytest.skip(f"needs a Python package index to build the image: {failed}")
    return job


def arm_of(job: JobSpec, params: Params) -> ArmSpec:
    domain = derive(job)
    ini, box = domain.render(params), domain.box(params)
    return ArmSpec(index=0, ini=ini, target=job.target, limits=box)


def candidates(job: JobSpec) -> list[Params]:
    """The file as it is, every heuristic, and a few combinations at random; always the same."""
    domain = derive(job)
    first = [domain.baseline, *domain.seeds()]
    rest = [params for params in grid(domain, {}) if params not in first]
    return [*first, *random.Random(1).sample(rest, min(AT_RANDOM, len(rest)))]  # noqa: S311


def driven(
    launcher: DockerLauncher, oha: Oha, arm: ArmSpec, *paths: str, keep_alive: bool = False
) -> LoadReading:
    """A short load that nothing may be lost of."""
    requests = tuple(HttpRequest(path=path) for path in paths or ("/",))
    load = ClosedLoop(concurrency=16, requests=requests, keep_alive=keep_alive)
    with launcher.launch(arm) as running:
        oha.wait_ready(running, arm.target)
        reading = oha.drive(running, arm.target, load, LOAD_S)
        log = running.log_tail()
    assert reading.errors_by_class == {}, log
    assert reading.before is not None
    assert reading.after is not None
    assert reading.after.requests - reading.before.requests == reading.sent > 0
    return reading


@pytest.mark.parametrize("space", FITTING)
def test_whatever_a_space_proposes_is_taken_and_gets_ready(
    launcher: DockerLauncher, oha: Oha, space: str
) -> None:
    job = built(launcher, job_for(space))
    for params in candidates(job):
        arm = arm_of(job, params)
        launcher.check(arm)
        with launcher.launch(arm) as running:
            oha.wait_ready(running, arm.target)
            effective = running.effective_ini().splitlines()
            for setting, value in arm.limits.sysctls.items():
                file = f"/proc/sys/{setting.replace('.', '/')}"
                assert running.run_beside(["cat", file], timeout_s=10).split() == [str(value)]
        for option, text in derive(job).options(params).items():
            if text is None:
                assert not any(line.startswith(f"{option} = ") for line in effective), arm.ini
            else:
                assert f"{option} = {text}" in effective, arm.ini


def test_files_that_threads_send_arrive_whole(launcher: DockerLauncher, oha: Oha) -> None:
    job = built(launcher, job_for("static"))
    arm = arm_of(job, {**derive(job).baseline, "offload-threads": 2})
    driven(launcher, oha, arm, "/static/app.js", "/static/app.css", "/")


def test_the_router_keeps_connections(launcher: DockerLauncher, oha: Oha) -> None:
    job = built(launcher, job_for("http-router"))
    params = {**derive(job).baseline, "http-keepalive": "kept", "http-processes": 2}
    driven(launcher, oha, arm_of(job, params), keep_alive=True)


def test_greenlets_wait_together_where_threads_took_turns(
    launcher: DockerLauncher, oha: Oha
) -> None:
    """Sixteen connections that wait 20 ms: one process of greenlets serves them at once."""
    job = built(launcher, job_for("gevent"))
    alone = {**derive(job).baseline, "processes": 1, "threads": 1}
    greenlets = {**alone, "gevent": "100"}
    one, all_at_once = (
        driven(launcher, oha, arm_of(job, params)).requests for params in (alone, greenlets)
    )
    assert all_at_once > 4 * one


def test_gevent_without_the_package_fails_and_says_so(launcher: DockerLauncher, oha: Oha) -> None:
    own = job_for("io-bound")
    allowed = own.target.model_copy(update={"gevent_ok": True})
    job = built(launcher, own.model_copy(update={"target": allowed}))
    space = CATALOG.spaces["gevent"]
    job = job.model_copy(update={"search_space": space})
    arm = arm_of(job, {**derive(job).baseline, "gevent": "100"})
    with pytest.raises(TargetFailed) as failed, launcher.launch(arm) as running:
        oha.wait_ready(running, arm.target)
    assert "No module named 'gevent'" in failed.value.log_tail


def test_cheaper_starts_few_and_serves_with_them(launcher: DockerLauncher, oha: Oha) -> None:
    job = built(launcher, job_for("cheaper"))
    arm = arm_of(job, {**derive(job).baseline, "cheaper": 1})
    with launcher.launch(arm) as running:
        oha.wait_ready(running, arm.target)
        few = running.usage().memory_mb
    with launcher.launch(arm_of(job, derive(job).baseline)) as running:
        oha.wait_ready(running, arm.target)
        many = running.usage().memory_mb
    assert few is not None
    assert many is not None
    assert few < 0.6 * many  # one process in place of eight
