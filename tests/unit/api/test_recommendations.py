import pytest
import yaml

from tests import builders
from tests.unit.api.fakes import Api, FakeStore, finished
from tuner.model import JobId, JobState, Verdict

INI = "[uwsgi]\nmaster = true\nprocesses = 4\n"


def _api(verdict: Verdict = Verdict.BETTER, *, days_ago: float = 1) -> Api:
    return Api(FakeStore(kept={1: finished(1, verdict, days_ago=days_ago)}))


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
    assert found["calibration"]["mde"] == 0.008
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


def test_keep_gives_the_users_own_file_and_says_so() -> None:
    answer = _api(Verdict.NO_DIFFERENCE).get("/v1/jobs/1/uwsgi.ini")
    assert answer.text == builders.INI
    assert answer.headers["x-tuner-verdict"] == "no_difference"


def test_who_requires_better_gets_a_conflict_otherwise() -> None:
    answer = _api(Verdict.NO_DIFFERENCE).get("/v1/apps/shop/uwsgi.ini?require=better")
    assert answer.status_code == 409
    assert "no_difference" in answer.json()["detail"]
    assert _api().get("/v1/apps/shop/uwsgi.ini?require=better").status_code == 200


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


def test_compose_holds_the_box_that_was_measured() -> None:
    service = yaml.safe_load(_api().get("/v1/jobs/1/compose.yaml").text)["services"]["shop"]
    assert service["mem_limit"] == service["memswap_limit"] == "512m"
    assert service["sysctls"] == {"net.core.somaxconn": 4096}
    assert service["command"] == ["uwsgi", "--ini", "/etc/uwsgi/uwsgi.ini"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("plain", "net.core.somaxconn = 4096\n"),
        ("compose", "  net.core.somaxconn: 4096\n"),
        ("kubernetes", '      value: "4096"\n'),
    ],
)
def test_sysctls_are_written_for_whoever_sets_them(form: str, expected: str) -> None:
    assert _api().get(f"/v1/jobs/1/sysctls?form={form}").text.endswith(expected)
