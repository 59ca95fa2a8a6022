"""The form of a new job, on the store in memory and on the one in PostgreSQL."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

import httpx
import pytest
import yaml

from tests import builders
from tests.contract.test_pages import Page
from tests.filled_rows import ended
from tests.finished_jobs import CALIBRATION
from tests.planting import PLANT
from tests.sites import Site
from tests.stores import STORES, store_of
from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import ClosedLoop, JobKind, OpenLoop, Succeed
from tuner.nouns.model.budgets import PRESETS
from tuner.service.pages.drafting import FIELDS, STARTING

DRAFT = {**STARTING, "filled": "mixed", "app": "shop", "target.target_app": "mixed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """A service without any job."""

    site: Site
    store: Any

    def check(self, **changed: str) -> str:
        """The page of a draft."""
        return self.send("check", changed).text

    def send(self, do: str, changed: dict[str, str]) -> httpx.Response:
        """A draft with one of the two buttons."""
        return self.site.post("/new", {**DRAFT, "do": do, **changed})


@pytest.fixture(params=STORES)
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    with store_of(request.param) as store:
        yield Desk(site=Site(store), store=store)


def values(text: str) -> dict[str, str]:
    """What the form shows in its single fields and texts."""
    inputs = re.findall(r'name="([^"]+)"[^>]*? value="([^"]*)"', text)
    areas = re.findall(r'<textarea[^>]* name="([^"]+)"[^>]*>\n(.*?)</textarea>', text, re.DOTALL)
    return {name: unescape(value) for name, value in [*inputs, *areas] if name != "do"}


def shown(text: str) -> tuple[Any, Any]:
    """The request as the page shows it: from the YAML, and from the call."""
    as_yaml, as_curl = (
        unescape(found)
        for found in re.findall(
            r"<details>.*?<code>([^<]*)</code></pre></details>", text, re.DOTALL
        )
    )
    return yaml.safe_load(as_yaml), json.loads(
        as_curl.split("<<'JSON'\n")[1].rpartition("\nJSON")[0]
    )


def wrong_at(text: str, path: str) -> str:
    """What the page says below a field."""
    slot = re.search(rf'id="wrong-{path.replace(".", "-")}"[^>]*>([^<]*)</span>', text)
    assert slot is not None, path
    return unescape(slot[1])


def test_every_field_has_what_the_schema_says_of_it(desk: Desk) -> None:
    text = desk.site.get("/new").text
    for field in FIELDS.values():
        assert f"<code>{field.path}</code></label>" in text
    assert "CPU quota, in cores" in text
    assert 'placeholder="512"' in text
    assert [*FIELDS["budget.preset"].choices] == [*PRESETS]
    assert "minimize memory_mb" in FIELDS["objective"].choices
    assert '<option value="quick" selected>' in text
    assert text.count('class="wrong"') == len(FIELDS) + 1
    assert 'aria-invalid="true"' not in text


def test_an_app_fills_in_what_is_known_of_it(desk: Desk) -> None:
    known = values(desk.site.get("/new?target_app=mixed").text)
    assert known["app"] == known["filled"] == "mixed"
    assert known["baseline.ini"] == builders.INI
    assert (known["limits.cpus"], known["limits.memory_mb"]) == ("1", "512")
    assert (known["workload.concurrency"], known["workload.requests"]) == ("64", "/")
    mine = {"filled": "", "app": "mine", "baseline.ini": "[uwsgi]\r\n"}
    kept = values(desk.check(**mine))
    assert (kept["app"], kept["baseline.ini"]) == ("mine", "[uwsgi]\n")
    assert kept["limits.cpus"] == "1"
    none = {
        "target.target_app": "",
        "app": "mixed",
        "baseline.ini": builders.INI,
        "limits.cpus": "2",
    }
    left = values(desk.check(**none))
    assert (left["app"], left["baseline.ini"], left["limits.cpus"]) == ("", "", "2")


def test_what_the_page_shows_is_what_it_sends(desk: Desk) -> None:
    changed = {
        "baseline.ini": "[uwsgi]\r\nmaster = true\r\nprocesses = 3\r\n",
        "limits.cpus": "2",
        "workload.concurrency": "32",
        "workload.requests": "/a\r\n/b",
        "objective": "maximize rps_per_cpu",
        "budget.minutes": "30",
        "document": "min_effect: 0.01\nbudget: {trials: 12}\nlimits: {nofile: 4096}\n",
    }
    from_yaml, from_call = shown(desk.check(**changed))
    assert from_yaml == from_call
    assert from_yaml["limits"] == {"cpus": 2, "nofile": 4096}
    assert from_yaml["budget"] == {"preset": "quick", "minutes": 30, "trials": 12}
    made = desk.send("create", changed)
    assert made.status_code == 303
    number = int(made.headers["location"].removeprefix("/jobs/"))
    job = desk.store.job(number)
    assert job.spec.baseline_ini == "[uwsgi]\nmaster = true\nprocesses = 3\n"
    assert (job.spec.limits.cpus, job.spec.limits.nofile, job.spec.min_effect) == (2, 4096, 0.01)
    assert (job.spec.budget.trials, job.spec.budget.minutes) == (12, 30)
    assert isinstance(job.spec.workload, ClosedLoop)
    assert [request.path for request in job.spec.workload.requests] == ["/a", "/b"]
    body, kind = json.dumps(from_call).encode(), {"content-type": "application/json"}
    same = desk.site.send("POST", "/v1/jobs?go_on=true", body, kind)
    assert (same.status_code, same.json()["id"]) == (200, number)


def test_a_second_click_starts_no_second_job(desk: Desk) -> None:
    first, second = (desk.send("create", {}) for _ in range(2))
    assert first.headers["location"] == second.headers["location"]


def test_what_is_the_apps_own_is_left_out_and_a_part_of_it_keeps_the_rest(desk: Desk) -> None:
    own = values(desk.site.get("/new?target_app=mixed").text)
    document, _ = shown(desk.check(**own))
    assert document == {
        "target": {"target_app": "mixed"},
        "app": "mixed",
        "budget": {"preset": "quick"},
        "pool": "default",
    }
    rate, _ = shown(desk.check(**{**own, "workload.rate_rps": "50"}))
    assert OpenLoop.model_validate(rate["workload"]).rate_rps == 50


def test_all_mistakes_stand_at_their_fields_at_once(desk: Desk) -> None:
    wrong = {
        "app": "No Name",
        "baseline.ini": "[uwsgi]\nlisten = 9000\n",
        "limits.cpus": "many",
        "workload.requests": "cart",
        "objective": "minimize latency_p95_ms",
        "budget.minutes": "-1",
        "pool": "",
        "document": "search_space: {name: x}",
    }
    checked, refused = (desk.send(do, wrong).text for do in ("check", "create"))
    for text in (checked, refused):
        for path in ("app", "limits.cpus", "workload.requests", "budget.minutes"):
            assert wrong_at(text, path), path
        assert "number" in wrong_at(text, "limits.cpus")
        assert wrong_at(text, "pool") == ""
        assert "mistakes</strong>" in text
    assert (checked.count(" autofocus"), refused.count(" autofocus")) == (0, 1)
    closed = desk.check(
        objective="minimize latency_p95_ms", **{"baseline.ini": "[uwsgi]\nlisten = 9000\n"}
    )
    assert "cannot rank latency" in wrong_at(closed, "objective")
    assert wrong_at(closed, "baseline.ini").startswith("line 2: ")
    no_field = desk.check(document="budget: {trials: none}")
    assert wrong_at(no_field, "document").startswith("budget.trials: ")
    assert not desk.store.jobs(None, None, None, 10, kind=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "no YAML"),
        ("- a", "give fields"),
        ("a: &b [1]\nc: *b", "write each value out"),
        ("a: 2026-11-25", "no YAML"),
        ("? [a]\n: b", "no YAML"),
        ("x" * 50_001, "at most 50000"),
        ("[" * 25_000 + "]" * 25_000, "nested too deeply"),
        (f"a: [{'1,' * 20_000}]", "too many values"),
    ],
)
def test_what_is_no_job_in_yaml_is_refused_at_its_field(desk: Desk, text: str, said: str) -> None:
    for do in ("check", "create"):
        answer = desk.send(do, {"document": text})
        assert answer.status_code == 200
        assert said in wrong_at(answer.text, "document")


def test_another_kind_as_yaml_is_the_whole_job(desk: Desk) -> None:
    document = "kind: compare\ntarget: {target_app: mixed}\nblocks: 4\n"
    text = desk.check(document=document)
    assert shown(text)[0] == yaml.safe_load(document)
    assert "4 rounds x 1 arm" in text
    made = desk.send("create", {"document": document})
    number = int(made.headers["location"].removeprefix("/jobs/"))
    assert desk.store.job(number).spec.kind is JobKind.COMPARE


def test_the_draft_says_what_it_takes_and_what_the_hosts_can_show(desk: Desk) -> None:
    assert "No worker of pool default is live" in desk.check()
    desk.store.see_host("bench-1", "default", builders.FINGERPRINT, None)
    text = desk.check()
    body = json.dumps(shown(text)[1]).encode()
    assert "bench-1: its noise is not known" in text
    size = desk.site.send("POST", "/v1/jobs", body, {"content-type": "application/json"}).json()[
        "size"
    ]
    assert size["sentence"][1:] in unescape(text)
    found = replace(CALIBRATION, block_s=14.5)  # as long as a block of this budget
    spec = builders.spec(kind=JobKind.CALIBRATE, search_space=None)
    ended(desk.store, spec, Succeed(calibration=found))
    smallest = wording.share(analysis.detectable(found.block_sd, PRESETS["quick"].confirm_blocks))
    assert f"bench-1 can show an effect of {smallest} in the confirmation" in desk.check()
    short = desk.check(
        document="budget: {confirm_blocks: 4, cycles: 1, window_s: 0.5, warmup_s: 0}"
    )
    assert "bench-1: the confirmation is too short for a verdict" in short


def test_the_file_is_linted_with_the_limits_of_the_form(desk: Desk) -> None:
    ini = "[uwsgi]\nhttp-socket = :8000\nvaccum = true\n"
    text = desk.check(**{"baseline.ini": ini})
    assert "in the file</h2>" in text
    assert '<p class="quiet">Line 3</p>' in text
    assert '<a href="/rules/U019">U019</a>' in text
    assert "in the file</h2>" in desk.check(**{"baseline.ini": ini, "limits.cpus": "many"})
    assert "in the file</h2>" not in desk.check(**{"baseline.ini": ""})


def test_html_in_any_field_is_text(desk: Desk) -> None:
    for path in (*FIELDS, "document", "filled"):
        for do in ("check", "create"):
            answer = desk.send(do, {path: PLANT})
            assert answer.status_code in (200, 303), path
            assert "<script>alert" not in answer.text, path


def test_the_form_needs_no_script_and_a_script_asks_for_less(desk: Desk) -> None:
    page = Page(desk.site.get("/new"))
    of_form = {name: value for tag, name, value in page.attributes if tag == "form"}
    assert (of_form["method"], of_form["action"]) == ("post", "/new")
    assert (of_form["hx-trigger"], of_form["hx-select"]) == ("input delay:400ms", "#checked")
    slots = str(of_form["hx-select-oob"]).split(",")
    assert {slot.removeprefix("#") for slot in slots} <= {*page.ids}
    labels = [str(value) for tag, name, value in page.attributes if (tag, name) == ("label", "for")]
    assert {*labels} <= {*page.ids}


def test_a_draft_of_another_site_is_refused(desk: Desk) -> None:
    bare = {"content-type": "application/x-www-form-urlencoded"}
    assert desk.site.send("POST", "/new", b"do=create", bare).status_code == 403
    assert desk.site.send("GET", f"/new?target_app={'a' * 64}").status_code == 422
