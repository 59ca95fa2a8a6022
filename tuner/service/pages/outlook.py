"""What a job would take and show, before it starts, and how to ask for it without a form."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tuner.judge import analysis
from tuner.nouns.model import BenchmarkHost, JobSpec, Phase, is_live
from tuner.nouns.schemas import Size
from tuner.service.api.reading import read_request
from tuner.service.api.services import Services
from tuner.service.api.sizes import Planned, expected_s, planned, size_of


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
    """Of a request without a mistake. `confirm_s` are the seconds of its confirmation, at most."""

    size: Size
    pool: str
    confirm_s: float | None
    sights: Sequence[Sight]
    as_yaml: str
    as_curl: str


def outlook_of(services: Services, document: dict[str, Any]) -> Outlook:
    """What a request means. Raises `InvalidInput` with all its mistakes."""
    spec = read_request(document, services.resolve)
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
