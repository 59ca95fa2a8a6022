"""What a real uWSGI says of a file before anything is measured, and what a trial does not run."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import real_bench
from tests.builders import spec
from tuner.bench.engine import DockerLauncher
from tuner.bench.engine.target import DockerTarget
from tuner.bench.measurement import ArmSpec, Bench, arm_of, strict_copy
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    ClosedLoop,
    Danger,
    FailureCode,
    JobSpec,
    Limits,
    MeasurementResult,
    Preflight,
)
from tuner.service.worker import prepared
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import rule_of

pytestmark = [pytest.mark.full, pytest.mark.docker]

BOX = Limits(cpus=1.0, memory_mb=256, somaxconn=777)


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerLauncher]:
    """Of a moody app that has one more file, for others to include."""
    apps = tmp_path_factory.mktemp("apps")
    moody = Path(shutil.copytree(real_bench.APPS / "moody", apps / "moody"))
    (moody / "more.ini").write_text("[uwsgi]\nvaccum = true\nmax-requests = 900\n")
    recipe = moody / "Dockerfile"
    recipe.write_text(recipe.read_text().replace("COPY app.py", "COPY app.py more.ini"))
    with real_bench.engine(apps.joinpath) as started:
        yield started.for_measurement("1", "7")


@pytest.fixture(scope="module")
def options(launcher: DockerLauncher) -> frozenset[str]:
    return frozenset(launcher.inspect(real_bench.moody()).options)


def of(*lines: str, allow: tuple[Danger, ...] = ()) -> JobSpec:
    ini = real_bench.MOODY_INI + "".join(f"{line}\n" for line in lines)
    return spec(
        target=real_bench.moody(),
        baseline_ini=ini,
        limits=BOX,
        allow=allow,
        workload=ClosedLoop(concurrency=2),
    )


def arm(*lines: str, allow: tuple[Danger, ...] = ()) -> ArmSpec:
    job = of(*lines, allow=allow)
    return arm_of(job, 0, job.baseline_ini)


def prepare(launcher: DockerLauncher, job: JobSpec) -> MeasurementResult:
    return prepared(job, Bench(launcher=launcher, load=real_bench.generators()))


def strictly(launcher: DockerLauncher, options: frozenset[str], *lines: str) -> str:
    given = arm(*lines)
    copy = strict_copy(IniFile.parse(given.ini), options)
    return launcher.strict(ArmSpec(index=0, ini=copy, target=given.target, limits=given.limits))


def has_run(launcher: DockerLauncher, given: ArmSpec) -> bool:
    """Whether starting the arm left /tmp/ran behind in its container."""
    with launcher.launch(given) as running:
        assert isinstance(running, DockerTarget)
        real_bench.oha().wait_ready(running, given.target)
        return "ran" in running.connection.read(running.container, "/tmp/ran")


def test_a_command_of_the_file_is_run_only_where_the_job_allows_it(
    launcher: DockerLauncher,
) -> None:
    line = "exec-asap = echo ran > /tmp/ran"
    assert not has_run(launcher, arm(line))
    assert has_run(launcher, arm(line, allow=(Danger.COMMANDS,)))


def test_a_command_in_a_condition_an_own_section_or_a_set_is_not_run_either(
    launcher: DockerLauncher,
) -> None:
    lines = (
        *("if-exists = /", "exec-asap = echo ran > /tmp/ran", "endif ="),
        "set = exec-pre-app=echo ran > /tmp/ran",
        "stamp = @(exec://echo ran > /tmp/ran)",
        *("ini = :more", "[more]", "hook-asap = exec:echo ran > /tmp/ran"),
    )
    assert not has_run(launcher, arm(*lines))
    assert has_run(launcher, arm(*lines, allow=(Danger.COMMANDS,)))


def test_the_check_reads_somaxconn_inside_and_says_what_is_merged(
    launcher: DockerLauncher,
) -> None:
    checked = launcher.check(arm("threads = 3"))
    assert checked.somaxconn == 777
    merged = IniFile.parse(checked.effective_ini)
    assert (merged.get("threads"), merged.get("wsgi-file")) == ("3", "app.py")


def test_a_listen_queue_beyond_the_containers_somaxconn_is_told_before_the_launch(
    launcher: DockerLauncher,
) -> None:
    with pytest.raises(TargetFailed, match=r"listen = 778 .* 777 in the container") as failed:
        prepare(launcher, of("ini = :more", "[more]", "listen = 778"))
    assert failed.value.code == FailureCode.BAD_OPTIONS


def test_a_strict_uwsgi_takes_the_users_own_placeholders(
    launcher: DockerLauncher, options: frozenset[str]
) -> None:
    lines = ("base = /app", "half = 2", "chdir = %(base)", "processes = %(half * 2)")
    assert strictly(launcher, options, *lines, "for = 1 2", "env = N%(_)=1", "endfor =") == ""


def test_a_strict_uwsgi_refuses_what_an_included_file_has_too_much(
    launcher: DockerLauncher, options: frozenset[str]
) -> None:
    own = strictly(launcher, options, "procceses = 3", "set = vaccum=true")
    included = strictly(launcher, options, "include = /app/more.ini")
    assert (own, included) == ("", "[strict-mode] unknown config directive: vaccum")


def test_a_file_is_prepared_with_all_that_was_seen_of_it(launcher: DockerLauncher) -> None:
    job = of("attach-daemon = sleep 60", "listen = 700", "include = /app/more.ini")
    facts = prepare(launcher, job).facts
    assert facts is not None
    assert isinstance(facts.preflight, Preflight)
    assert facts.preflight.somaxconn == 777
    assert [(out.option, out.line) for out in facts.preflight.left_out] == [("attach-daemon", 8)]
    assert "attach-daemon" not in facts.effective_ini
    assert "max-requests = 900" in facts.effective_ini
    found = {finding.rule for finding in facts.preflight.findings}
    outside = rule_of("include-outside")
    assert outside is not None
    assert {outside.id, "strict"} <= found


def test_a_file_that_does_not_work_without_what_is_left_out_is_the_targets_failure(
    launcher: DockerLauncher,
) -> None:
    broken = of("exec-pre-app = touch /tmp/ran", "wsgi-file = absent.py")
    with pytest.raises(TargetFailed) as failed:
        prepare(launcher, broken)
    assert failed.value.code == FailureCode.APP_FAILED
