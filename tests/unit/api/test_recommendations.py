from dataclasses import replace

import pytest
import yaml

from tests import builders
from tests.unit.api.fakes import Api, FakeStore, finished
from tuner.nouns.model import ChangedLine, Doubt, Job, JobId, JobState, Limits, Verdict

INI = "[uwsgi]\nmaster = true\nprocesses = 4\n"


def _api(verdict: Verdict = Verdict.BETTER, *, days_ago: float = 1) -> Api:
    facts = replace(builders.FACTS, nofile=20_000)
    return _with(replace(finished(1, verdict, days_ago=days_ago), facts=facts))


def _with(job: Job) -> Api:
    return Api(FakeStore(kept={1: job}))


def test_the_answer_holds_verdict_effect_lines_and_diagnosis() -> None:
    found = _api().get("/v1/jobs/1/recommendation").json()
    assert found["verdict"] == "better"
    assert found["effect"] == {
        "metric": "throughput_rps",
        "estimate": 0.068,
        "ci_low": 0.049,
        "ci_high": 0.087,
        "unit": "relative",
    }
    line = found["lines"][0]
    assert (line["option"], line["value"], line["baseline_value"]) == ("processes", "4", "2")
    assert found["reverted"][0]["option"] == "thunder-lock"
    assert found["diagnosis"]["bottleneck"] == "cpu_quota"
    assert found["calibration"]["mde"] == 0.021
    assert found["uwsgi_ini"] == INI


@pytest.mark.parametrize("path", ["/v1/jobs/1/uwsgi.ini", "/v1/apps/shop/uwsgi.ini"])
def test_the_file_is_plain_text_with_a_tag(path: str) -> None:
    api = _api()
    answer = api.get(path)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == INI
    tag = answer.headers["etag"]
    assert api.get(path, **{"If-None-Match": tag}).status_code == 304


def test_the_overlay_holds_the_changes_alone() -> None:
    assert _api().get("/v1/jobs/1/uwsgi.ini?form=overlay").text == "[uwsgi]\nprocesses = 4\n"


def test_an_answer_that_takes_a_line_out_has_no_overlay() -> None:
    job = finished(1, Verdict.BETTER)
    assert job.recommendation
    without = replace(job, recommendation=replace(job.recommendation, overlay_ini=""))
    answer = _with(without).get("/v1/jobs/1/uwsgi.ini?form=overlay")
    assert answer.status_code == 409
    assert "take the patched file" in answer.json()["detail"]


def test_the_file_comes_as_a_command_too() -> None:
    answer = _api().get("/v1/jobs/1/uwsgi.ini?form=command")
    assert answer.text == "uwsgi --master --processes 4\n"


def test_keep_gives_the_users_own_file_and_says_so() -> None:
    answer = _api(Verdict.NO_DIFFERENCE).get("/v1/jobs/1/uwsgi.ini")
    assert answer.text == builders.INI
    assert answer.headers["x-tuner-verdict"] == "no_difference"


def test_who_requires_better_gets_a_conflict_otherwise() -> None:
    answer = _api(Verdict.NO_DIFFERENCE).get("/v1/apps/shop/uwsgi.ini?require=better")
    assert answer.status_code == 409
    assert "no_difference" in answer.json()["detail"]
    assert _api().get("/v1/apps/shop/uwsgi.ini?require=better").status_code == 200


AGAIN = "measured with services on the app's CPU: measure again"


def _outdated(verdict: Verdict = Verdict.BETTER) -> Job:
    """An answer of the time when services shared the app's CPUs."""
    job = finished(1, verdict)
    assert job.recommendation
    found = replace(job.recommendation, doubts=(Doubt.SERVICES_SHARE_CPUS,))
    return replace(job, recommendation=found)


@pytest.mark.parametrize("place", ["jobs/1", "apps/shop"])
@pytest.mark.parametrize("file", ["recommendation", "uwsgi.ini", "compose.yaml", "sysctls"])
def test_an_answer_that_is_not_true_for_production_is_marked_and_not_better(
    place: str, file: str
) -> None:
    api = _with(_outdated())
    answer = api.get(f"/v1/{place}/{file}")
    assert (answer.status_code, answer.headers["x-tuner-measure-again"]) == (200, AGAIN)
    again = api.get(f"/v1/{place}/{file}", **{"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.headers["x-tuner-measure-again"]) == (304, AGAIN)
    refused = api.get(f"/v1/{place}/{file}?require=better")
    assert refused.status_code == 409
    assert refused.json()["detail"] == f"the answer of job 1 was {AGAIN}"


def test_the_mark_is_a_field_of_the_answer_and_of_the_apps_answers() -> None:
    api = _with(_outdated(Verdict.NO_DIFFERENCE))
    assert api.get("/v1/jobs/1/recommendation").json()["measure_again"] == AGAIN
    assert api.get("/v1/apps/shop").json()["answers"][0]["measure_again"] == AGAIN
    assert "x-tuner-measure-again" not in _api().get("/v1/jobs/1/uwsgi.ini").headers
    assert _api().get("/v1/jobs/1/recommendation").json()["measure_again"] is None


def test_an_old_recommendation_is_gone_for_who_asks_for_a_newer() -> None:
    api = _api(days_ago=45)
    assert api.get("/v1/apps/shop/uwsgi.ini?max_age_days=30").status_code == 410
    assert "45 days" in api.get("/v1/apps/shop/recommendation?max_age_days=30").json()["detail"]
    assert api.get("/v1/apps/shop/uwsgi.ini?max_age_days=60").status_code == 200


def test_an_app_without_a_recommendation_is_not_found() -> None:
    assert _api().get("/v1/apps/other/uwsgi.ini").status_code == 404


@pytest.mark.parametrize("file", ["recommendation", "uwsgi.ini", "compose.yaml", "sysctls"])
@pytest.mark.parametrize(
    ("state", "reason"),
    [(JobState.RUNNING, "phase search"), (JobState.CANCELLED, "cancelled")],
)
def test_nothing_is_handed_out_before_it_is_confirmed(
    state: JobState, reason: str, file: str
) -> None:
    api = Api(FakeStore(kept={1: builders.job(id=JobId(1), state=state)}))
    answer = api.get(f"/v1/jobs/1/{file}")
    assert answer.status_code == 409
    assert reason in answer.json()["detail"]


@pytest.mark.parametrize("place", ["jobs/1", "apps/shop"])
def test_compose_holds_the_box_that_was_measured(place: str) -> None:
    service = yaml.safe_load(_api().get(f"/v1/{place}/compose.yaml").text)["services"]["shop"]
    assert service["cpus"] == 1
    assert service["mem_limit"] == service["memswap_limit"] == "512m"
    assert service["ulimits"] == {"nofile": 20_000}
    assert service["sysctls"] == {"net.core.somaxconn": 4096}
    assert service["command"] == ["uwsgi", "--ini", "/etc/uwsgi/uwsgi.ini"]


def test_compose_puts_no_variable_into_a_command() -> None:
    done = finished(1)
    target = done.spec.target.model_copy(update={"command": ("sh", "-c", "uwsgi $OPTS {ini}")})
    api = _with(replace(done, spec=done.spec.model_copy(update={"target": target})))
    service = yaml.safe_load(api.get("/v1/jobs/1/compose.yaml").text)["services"]["shop"]
    assert service["command"][-1] == "uwsgi $$OPTS /etc/uwsgi/uwsgi.ini"


def test_compose_lets_the_images_own_command_find_the_file() -> None:
    done = finished(1)
    target = done.spec.target.model_copy(update={"command": (), "ini_path": "/etc/my app.ini"})
    api = _with(replace(done, spec=done.spec.model_copy(update={"target": target})))
    service = yaml.safe_load(api.get("/v1/jobs/1/compose.yaml").text)["services"]["shop"]
    assert "command" not in service
    assert service["volumes"] == ["./uwsgi.ini:/etc/my app.ini:ro"]


@pytest.mark.parametrize("place", ["jobs/1", "apps/shop"])
def test_sysctls_are_written_for_whoever_sets_them(place: str) -> None:
    api = _api()
    plain = api.get(f"/v1/{place}/sysctls")
    assert plain.headers["content-type"] == "text/plain; charset=utf-8"
    assert plain.text.splitlines() == [
        "# besides, per container: 1 CPU, 512 MB, no swap",
        "# and ulimit -n 20000",
        "net.core.somaxconn = 4096",
    ]
    compose = api.get(f"/v1/{place}/sysctls?form=compose")
    assert compose.headers["content-type"] == "application/yaml"
    assert yaml.safe_load(compose.text) == {
        "cpus": 1,
        "mem_limit": "512m",
        "memswap_limit": "512m",
        "ulimits": {"nofile": 20_000},
        "sysctls": {"net.core.somaxconn": 4096},
    }


def test_a_pod_gets_sysctls_as_text_and_reserves_what_it_may_use() -> None:
    text = _api().get("/v1/apps/shop/sysctls?form=kubernetes").text
    pod = yaml.safe_load(text)
    assert pod["securityContext"]["sysctls"] == [{"name": "net.core.somaxconn", "value": "4096"}]
    sizes = {"cpu": "1000m", "memory": "512Mi"}
    assert pod["containers"] == [
        {"name": "shop", "resources": {"requests": sizes, "limits": sizes}}
    ]
    assert "# ulimit -n was 20000" in text


def test_every_form_has_the_kernel_settings_that_the_answer_relies_on() -> None:
    """Those of the job, and those that the search found."""
    done = finished(1)
    assert done.recommendation is not None
    limits = Limits(nofile=1024, sysctls={"net.ipv4.tcp_rmem": "4096 131072 6291456"})
    found = ChangedLine(option="net.ipv4.tcp_syncookies", value="0", baseline_value=None)
    lines = (*done.recommendation.lines, found)
    api = _with(
        replace(
            done,
            spec=done.spec.model_copy(update={"limits": limits}),
            recommendation=replace(done.recommendation, lines=lines),
        )
    )
    settings: dict[str, int | str] = {
        "net.core.somaxconn": 4096,
        "net.ipv4.tcp_rmem": "4096 131072 6291456",
        "net.ipv4.tcp_syncookies": 0,
    }
    plain = api.get("/v1/jobs/1/sysctls").text.splitlines()
    assert plain[1:] == [f"{name} = {value}" for name, value in settings.items()]
    compose = yaml.safe_load(api.get("/v1/jobs/1/compose.yaml").text)["services"]["shop"]
    assert compose["sysctls"] == settings
    text = api.get("/v1/jobs/1/sysctls?form=kubernetes").text
    pod = yaml.safe_load(text)["securityContext"]["sysctls"]
    assert pod == [{"name": name, "value": str(value)} for name, value in settings.items()]
    assert f"--allowed-unsafe-sysctls={','.join(settings)}" in text


def test_open_files_that_nobody_wrote_down_are_left_out() -> None:
    old = replace(finished(1), facts=builders.FACTS)
    for form in ("plain", "compose", "kubernetes"):
        assert "ulimit" not in _with(old).get(f"/v1/jobs/1/sysctls?form={form}").text


def test_the_answer_says_what_it_holds_for() -> None:
    found = _api().get("/v1/apps/shop/recommendation").json()["circumstances"]
    assert found["baseline_ini"] == builders.INI
    assert Limits.model_validate(found["limits"]) == builders.spec().limits
    assert found["workload"]["concurrency"] == 64
    assert found["target"]["target_app"] == "mixed"


PLACES = ["jobs/1", "apps/shop"]
FILES = [
    "recommendation",
    "uwsgi.ini",
    "uwsgi.ini?form=overlay",
    "compose.yaml",
    "sysctls",
    "sysctls?form=kubernetes",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("file", FILES)
def test_who_has_the_newest_answer_gets_nothing_again_and_nothing_is_read_for_it(
    place: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = _api()
    tag = api.get(f"/v1/{place}/{file}").headers["etag"]
    assert not tag.startswith("W/")

    def read(*_: object) -> None:
        raise AssertionError("a whole job was read")

    monkeypatch.setattr("tuner.service.api.recommendations.confirmed", read)
    answer = api.get(f"/v1/{place}/{file}", **{"If-None-Match": tag})
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == tag
    assert answer.headers["x-tuner-job"] == "1"
    assert answer.headers["x-tuner-verdict"] == "better"


def test_each_file_and_each_answer_has_a_tag_of_its_own() -> None:
    api = _api()
    tags = [api.get(f"/v1/apps/shop/{file}").headers["etag"] for file in FILES]
    assert len(set(tags)) == len(FILES)
    api.store.kept[2] = finished(2)
    for file, tag in zip(FILES, tags, strict=True):
        answer = api.get(f"/v1/apps/shop/{file}", **{"If-None-Match": tag})
        assert (answer.status_code, answer.headers["x-tuner-job"]) == (200, "2")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("file", ["recommendation", "uwsgi.ini", "compose.yaml", "sysctls"])
def test_every_file_is_refused_for_the_same_reasons(place: str, file: str) -> None:
    path = f"/v1/{place}/{file}"
    old = _api(Verdict.NO_DIFFERENCE, days_ago=45)
    tag = {"If-None-Match": old.get(path).headers["etag"]}
    assert old.get(path, **tag).status_code == 304
    assert old.get(f"{path}?max_age_days=30", **tag).status_code == 410
    assert old.get(f"{path}?require=better", **tag).status_code == 409
    for other in ("apps/other", "jobs/9"):
        assert _api().get(f"/v1/{other}/{file}").status_code == 404
