"""Arms that are no uWSGI, from the request to the report, on a host without containers."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from tests.builders import INI
from tests.fake_bench import FakeWorld
from tests.unit.study.test_comparing import arms_of, by_processes, comparison, with_processes
from tests.unit.study.test_intake import ONE_APP, known, measuring
from tests.unit.study.test_whole_study import run
from tuner.judge import report
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import (
    Doubt,
    FailureCode,
    FromWorker,
    JobSpec,
    JobState,
    Phase,
    Resolved,
    TargetApp,
    TrialNumber,
    Variant,
    Verdict,
)
from tuner.service.api.reading import read_request
from tuner.show.evidence.compared_arms import files
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue

GUNICORN = ("gunicorn", "--workers", "2", "app:application")
OTHER = Variant(name="gunicorn", command=GUNICORN)


def with_others(*arms: Variant, blocks: int = 5) -> JobSpec:
    """A comparison of these arms."""
    given = comparison(INI, blocks=blocks)
    first, *_ = arms
    return given.model_copy(update={"variants": arms, "baseline_ini": first.ini or ""})


def file(count: int) -> Variant:
    return Variant(name=f"uwsgi-{count}", ini=with_processes(count))


@pytest.mark.parametrize(
    ("arm", "why"),
    [
        ({}, "give ini, a target_app, or the command or image of another server"),
        ({"command": ["uwsgi", "--ini", "{ini}"]}, "the command has {ini} exactly where"),
        ({"command": ["gunicorn"], "ini": INI}, "the command has {ini} exactly where"),
    ],
)
def test_an_arm_is_a_file_or_another_server(arm: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Variant.model_validate({"name": "a", **arm})  # type: ignore[dict-item]


def test_an_arm_runs_in_the_targets_image_and_with_its_services() -> None:
    secret = FromWorker(from_worker="SHOP_KEY")
    spec = with_others(file(2), OTHER)
    given = spec.target.model_copy(
        update={"env": {"KEY": secret, "MODE": "slow"}, "ini_path": "/etc/app.ini", "command": ()}
    )
    arm = OTHER.model_copy(update={"env": {"MODE": "fast"}, "port": 9000})
    target = arm.target_in(given)
    assert (target.command, target.ini_path, target.port) == (GUNICORN, None, 9000)
    assert target.env == {"KEY": secret, "MODE": "fast"}
    assert not target.is_uwsgi
    assert file(2).target_in(given) == given
    assert given.is_uwsgi


def test_a_request_names_other_servers_beside_files() -> None:
    arms = [
        {"name": "today", "ini": INI},
        {"name": "gunicorn", "command": list(GUNICORN), "limits": {"cpus": 1}},
    ]
    spec = resolve(measuring(arms=arms), ONE_APP)
    assert spec.baseline_ini == INI
    assert [target.is_uwsgi for target in spec.targets] == [True, False]
    assert [box.cpus for box in spec.boxes] == [2.0, 1.0]
    servers = resolve(measuring(arms=arms[1:]), ONE_APP)
    assert servers.baseline_ini == ""
    assert not servers.awaits_file


def test_a_grid_is_of_files() -> None:
    arms = [{"name": "today", "ini": INI}, {"name": "gunicorn", "command": list(GUNICORN)}]
    with pytest.raises(ValueError, match=r"vary is of uwsgi\.ini files; no file: gunicorn"):
        measuring(arms=arms, vary=["processes"])


def test_each_wrong_file_is_named_by_its_own_place() -> None:
    arms = [
        {"name": "gunicorn", "command": list(GUNICORN)},
        {"name": "broken", "ini": f"{INI}listen = 9000\n"},
    ]
    with pytest.raises(InvalidInput) as refused:
        resolve(measuring(arms=arms), ONE_APP)
    assert [mistake.path for mistake in refused.value.mistakes] == ["arms.1.ini:4"]


@pytest.mark.parametrize("other_is_first", [False, True])
def test_a_file_and_another_server_are_measured_in_the_same_blocks(other_is_first: bool) -> None:
    world = FakeWorld(throughput=by_processes)
    arms = [file(2), OTHER]
    store, job = run(world, with_others(*(reversed(arms) if other_is_first else arms)))
    assert (job.state, job.failure) == (JobState.SUCCEEDED, None)
    assert arms_of(store, job) == [(0, 1)] * 5
    assert job.report is not None
    _, second = job.report.arms
    assert second.verdict is (Verdict.BETTER if other_is_first else Verdict.WORSE)
    assert {arm.target.command for arm in world.launches} == {job.spec.target.command, GUNICORN}
    assert job.facts is not None
    assert job.facts.uwsgi_version == "2.0.31"


def test_servers_are_compared_without_any_uwsgi() -> None:
    arms = [OTHER, Variant(name="waitress", command=("waitress-serve", "app:application"))]
    _, job = run(FakeWorld(), with_others(*arms))
    assert job.state is JobState.SUCCEEDED
    assert job.facts is not None
    assert job.facts.uwsgi_version == ""
    assert job.facts.preflight is not None
    assert job.facts.preflight.findings == ()


def test_a_server_that_serves_something_else_says_so_and_the_others_go_on() -> None:
    world = FakeWorld(throughput=by_processes, lengths={GUNICORN: 7})
    store, job = run(world, with_others(file(2), OTHER, file(3)))
    assert job.state is JobState.SUCCEEDED
    assert arms_of(store, job) == [(0, 1, 2)] + [(0, 2)] * 5
    assert job.report is not None
    failure = job.report.arms[1].failure
    assert failure is not None
    assert failure.code is FailureCode.WORKLOAD_REFUSED
    assert "it answers GET / with 200 and 7 bytes, and the first arm with 200 and 20 bytes" in (
        failure.message
    )


def test_the_report_shows_the_command_and_doubts_what_nobody_counted() -> None:
    spec = with_others(file(2), OTHER)
    kept = spec.workload.model_copy(update={"keep_alive": True})
    store, job = run(FakeWorld(), spec.model_copy(update={"workload": kept}))
    found = report.build(store.history(job.id))
    uwsgi, other = found.arms
    assert Doubt.UNCOUNTED in other.doubts
    assert Doubt.UNCOUNTED not in uwsgi.doubts
    assert other.diagnosis.sentence == "the server uses up its CPU"
    assert "gunicorn --workers 2 app:application" in str(files(job.spec.variants))


def test_the_client_of_one_arm_may_keep_its_connections() -> None:
    kept = Variant(name="kept", ini=with_processes(2), keep_alive=True)
    store, job = run(FakeWorld(), with_others(file(2), kept))
    assert job.state is JobState.SUCCEEDED
    block = store.history(job.id).blocks(Phase.COMPARE)[0]
    opened = [
        [window.server.connections_per_request for window in block.windows_of(TrialNumber(arm))]
        for arm in (0, 1)
    ]
    assert all(found == 1 for found in opened[0])
    assert all(found is not None and found < 0.2 for found in opened[1])


IMAGES = ("uwsgi-tuner/target:own", "registry.example/shop:2", "registry.example/absent:1")


def test_an_arm_may_run_in_an_image_of_its_own() -> None:
    _, new, absent = IMAGES
    arms = [
        file(2),
        Variant(name="next-release", ini=with_processes(2), image=new),
        Variant(name="absent", image=absent),
    ]
    spec = with_others(*arms)
    assert [target.image for target in spec.targets] == [spec.target.image, new, absent]
    assert [target.is_uwsgi for target in spec.targets] == [True, True, False]
    assert spec.targets[2].command == ()
    world = FakeWorld(images={new: "shop@sha256:2"}, absent={absent})
    _, job = run(world, spec)
    assert job.state is JobState.SUCCEEDED
    assert job.facts is not None
    assert job.facts.resolved(new) == Resolved(image_digest="shop@sha256:2")
    assert job.facts.resolved(absent) == Resolved()
    digests = {arm.target.image: arm.image_digest for arm in world.launches}
    assert digests == {spec.target.image: world.image, new: "shop@sha256:2"}
    assert job.report is not None
    assert [arm.blocks for arm in job.report.arms] == [5, 5, 0]
    failure = job.report.arms[2].failure
    assert failure is not None
    assert failure.code is FailureCode.IMAGE_MISSING


def test_a_suite_with_several_mistakes_has_them_all_in_one_answer() -> None:
    document = {
        "kind": "compare",
        "target": {"target_app": "nowhere"},
        "workload": {"kind": "ladder", "concurrencies": [0, 100]},
        "arms": [{"name": "a", "ini": INI}, {"name": "a", "command": ["gunicorn"]}],
    }
    with pytest.raises(InvalidInput) as refused:
        read_request(document, lambda request: resolve(request, ONE_APP))
    paths = {mistake.path for mistake in refused.value.mistakes}
    assert paths == {"target.target_app", "workload.concurrencies.0", "arms"}


def two_apps() -> HostCatalogue:
    """Another app has an image, a file and a service of its own."""
    service = {"image": "registry.example/redis:7"}
    document = {"name": "shop", "description": "d", "image": "registry.example/shop:2"}
    app = TargetApp.model_validate({**document, "port": 9000, "services": {"redis": service}})
    shop = known(app, with_processes(3))
    return replace(ONE_APP, apps={**ONE_APP.apps, "shop": shop})


def test_an_arm_may_be_another_target_app_with_its_file_and_its_services() -> None:
    arms = [
        {"name": "own", "ini": INI},
        {"name": "shop", "target_app": "shop"},
        {"name": "other-file", "target_app": "shop", "ini": with_processes(5)},
        {"name": "other-server", "target_app": "shop", "command": list(GUNICORN), "port": 8000},
    ]
    spec = resolve(measuring(arms=arms), two_apps())
    assert [each.ini for each in spec.variants] == [
        *(INI, with_processes(3), with_processes(5)),
        None,
    ]
    assert [target.name for target in spec.targets] == ["mixed", *["registry.example/shop:2"] * 3]
    assert [target.port for target in spec.targets] == [8000, 9000, 9000, 8000]
    assert [[*target.services] for target in spec.targets] == [[], *[["redis"]] * 3]
    world = FakeWorld(images={"registry.example/shop:2": "shop@sha256:2"})
    _, job = run(world, spec)
    assert job.state is JobState.SUCCEEDED
    digests = {arm.index: arm.image_digest for arm in world.launches}
    assert digests == {0: world.image, **dict.fromkeys((1, 2, 3), "shop@sha256:2")}


def test_an_arm_names_a_target_app_that_is_there_and_that_the_operator_allows() -> None:
    arms = [{"name": "a", "ini": INI}, {"name": "b", "target_app": "shop"}]
    with pytest.raises(InvalidInput) as unknown:
        resolve(measuring(arms=arms), ONE_APP)
    assert [mistake.path for mistake in unknown.value.mistakes] == ["arms.1.target_app"]
    with pytest.raises(InvalidInput) as refused:
        resolve(measuring(arms=arms), two_apps(), images_allowed=["registry.example/shop"])
    assert [str(mistake) for mistake in refused.value.mistakes] == [
        "arms.1.target_app: TUNER_IMAGES_ALLOWED does not allow registry.example/redis:7"
    ]
    with pytest.raises(ValidationError, match="either target_app or image"):
        measuring(arms=[{"name": "a", "target_app": "shop", "image": "registry.example/shop:2"}])


def test_images_that_are_not_allowed_are_refused_arm_by_arm() -> None:
    arms = [{"name": "a", "ini": INI}, {"name": "b", "image": "registry.example/shop:2"}]
    with pytest.raises(InvalidInput) as refused:
        resolve(measuring(arms=arms), ONE_APP, images_allowed=["other.example/*"])
    assert "arms.1.image" in [mistake.path for mistake in refused.value.mistakes]
