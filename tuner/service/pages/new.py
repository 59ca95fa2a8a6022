"""A new job: a form that is checked as somebody writes, and what the job would take."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import yaml
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse

from tuner.judge import analysis
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import BenchmarkHost, JobSpec, Phase, is_live
from tuner.nouns.schemas import FindingAnswer, Size, TargetAppAnswer
from tuner.service.api.jobs import submitted, wanted
from tuner.service.api.listings import list_target_apps
from tuner.service.api.reading import read_request
from tuner.service.api.services import Services, Wired
from tuner.service.api.sizes import Planned, expected_s, planned, size_of
from tuner.service.pages import drafting
from tuner.service.pages.answering import base_of, page
from tuner.service.pages.drafting import Texts
from tuner.service.pages.lint import lint_answer
from tuner.service.pages.signing_in import Form

# ---- What a job would take and show, before it starts, and how to ask for it without a form


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The smallest effect that a host can show in the confirmation; None: too short for a verdict.

    Where the host has no calibration, nobody knows.
    """

    host: str
    is_known: bool
    effect: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What a request without a mistake would take; `confirm_s`: its confirmation, at most."""

    size: Size
    pool: str
    confirm_s: float | None
    sights: Sequence[Sight]
    as_yaml: str
    as_curl: str


def outlook_of(services: Services, document: dict[str, Any]) -> Outlook:
    """What a request means. Raises `InvalidInput` with all its mistakes."""
    spec = analysis.within_minutes(read_request(document, services.resolve), None)
    plan = planned(spec)
    confirm_s = _confirm_s(spec, plan)
    now = services.now()
    live = [host for host in services.store.hosts(spec.pool) if is_live(host, now)]
    return Outlook(
        size=size_of(spec, plan),
        pool=spec.pool,
        confirm_s=confirm_s,
        sights=[_sight(host, confirm_s) for host in live] if confirm_s else (),
        as_yaml=_yaml(document),
        as_curl=_curl(document, has_key=services.api_key is not None),
    )


def _confirm_s(spec: JobSpec, plan: Planned) -> float | None:
    blocks = plan.get(Phase.CONFIRM)
    return expected_s(spec, blocks) if blocks else None


def _sight(host: BenchmarkHost, confirm_s: float) -> Sight:
    found = host.calibration
    if found is None or not found.block_s:
        return Sight(host=host.name, is_known=False, effect=None)
    effect = analysis.mde_after(confirm_s / 60, found.block_sd, found.block_s)
    return Sight(host=host.name, is_known=True, effect=effect)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks."""


def _in_lines(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _in_lines)


def _yaml(document: dict[str, Any]) -> str:
    found: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return found


def _curl(document: dict[str, Any], *, has_key: bool) -> str:
    """An equal job that has not ended is the answer, as with the form."""
    key = '  --header "X-API-Key: $TUNER_API_KEY" \\\n' if has_key else ""
    return (
        f'curl "$TUNER_URL/v1/jobs?go_on=true" \\\n{key}'
        "  --header 'Content-Type: application/json' --data-binary @- <<'JSON'\n"
        f"{json.dumps(document, indent=2, ensure_ascii=False)}\nJSON\n"
    )


router = APIRouter()

_LAST = "filled"
"""The app whose facts the form shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What the form says, with the facts of its app filled in."""

    apps: Mapping[str, TargetAppAnswer]
    app: TargetAppAnswer | None
    texts: Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a draft is worth: its outlook, or what is wrong; `findings` in its file, if any."""

    outlook: Outlook | None = None
    mistakes: Sequence[Mistake] = ()
    findings: Sequence[FindingAnswer] | None = None


@router.get("/new")
def form(
    request: Request, services: Wired, target_app: Annotated[str, Query(max_length=63)] = ""
) -> Response:
    """The form, with the facts of an app if the address names one."""
    asked = _draft_of(services, {**drafting.STARTING, "target.target_app": target_app})
    return _shown(request, asked, _checked(services, asked) if target_app else Checked())


@router.post("/new")
def draft(request: Request, fields: Form, services: Wired) -> Response:
    """Check what is written. Button `create`: start the job, or show the equal one that is open."""
    asked = _draft_of(services, {name: text.replace("\r\n", "\n") for name, text in fields.items()})
    is_wanted = fields.get("do") == "create"
    if is_wanted:
        try:
            document = drafting.document_of(asked.texts, asked.app)
            status, _ = submitted(services, wanted(services, document), go_on=True)
        except InvalidInput:
            pass  # all that is wrong is found below
        else:
            return RedirectResponse(f"{base_of(request)}/jobs/{status.job.id}", status_code=303)
    return _shown(request, asked, _checked(services, asked), is_refused=is_wanted)


def _draft_of(services: Services, texts: Texts) -> Draft:
    apps = {app.name: app for app in list_target_apps(services).target_apps}
    app = apps.get(texts.get("target.target_app", ""))
    return Draft(
        apps=apps, app=app, texts=drafting.filled(texts, apps.get(texts.get(_LAST, "")), app)
    )


def _shown(
    request: Request, asked: Draft, checked: Checked, *, is_refused: bool = False
) -> Response:
    return page(
        request,
        "new.html.j2",
        calls=["/v1/jobs", "/v1/target-apps"],
        groups=drafting.GROUPS,
        rest=drafting.REST,
        apps=asked.apps,
        app=asked.app,
        texts=asked.texts,
        checked=checked,
        mistakes=drafting.by_field(checked.mistakes),
        is_refused=is_refused,
    )


def _checked(services: Services, asked: Draft) -> Checked:
    """The file is read first, within the limits of its lint: a text may take long on purpose."""
    findings = None
    try:
        if (ini := asked.texts.get("baseline.ini", "")).strip():
            findings = _findings(ini, asked.texts)
        document = drafting.document_of(asked.texts, asked.app)
        return Checked(outlook=outlook_of(services, document), findings=findings)
    except InvalidInput as error:
        return Checked(mistakes=error.mistakes, findings=findings)


def _findings(ini: str, texts: Texts) -> Sequence[FindingAnswer]:
    """Raises `InvalidInput` for a file that cannot be read in time."""
    given = {name: texts.get(f"limits.{name}") for name in ("cpus", "memory_mb")}
    try:
        return lint_answer(ini, {name: text for name, text in given.items() if text}).findings
    except InvalidInput as error:
        said = [mistake.message for mistake in error.mistakes if mistake.path == "ini"]
        if said:
            raise InvalidInput([Mistake("baseline.ini", each) for each in said]) from None
        return lint_answer(ini, {}).findings  # the limits are wrong, which the request says too
