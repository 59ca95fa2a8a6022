"""Nouns → answers, of how an answer came about: logs become relative gains. Pure functions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints

from tuner.nouns import wording
from tuner.nouns.model import LOG, Evidence, Look, Metric, Trial, extended
from tuner.nouns.schemas import (
    EvidenceAnswer,
    LookAnswer,
    ProvenanceAnswer,
    RecommendationAnswer,
    TrialsAnswer,
    TrialSummary,
    TuneReport,
)
from tuner.service.api.preflight import preflight_answer
from tuner.show.evidence import JobEvidence

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Noun = TypeVar("Noun", bound="DataclassInstance")

NO_EVIDENCE = (
    "optimistic, not evidence: the luckiest of many noisy figures is above its own truth; "
    "effect is what fresh blocks say"
)


def relative(noun: Noun, metric: Metric) -> Noun:
    """The noun with relative gains where it has log ratios. Those of a mapping are by metric."""
    return replace(
        noun,
        **{
            name: _relative(getattr(noun, name), metric, is_log=name in _logs(type(noun)))
            for name in (field.name for field in fields(noun))
        },
    )


@cache
def _logs(kind: type) -> frozenset[str]:
    """The fields of a noun that hold log ratios."""
    hints = get_type_hints(kind, include_extras=True)
    return frozenset(name for name, hint in hints.items() if LOG in get_args(hint))


def _relative(value: Any, metric: Metric, *, is_log: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(_relative(item, metric, is_log=is_log) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return relative(value, metric)
    if not is_log or value is None:
        return value
    if isinstance(value, Mapping):
        return {name: wording.share_of(log, Metric(name)) for name, log in value.items()}
    return wording.share_of(value, metric)


def look_answers(looks: Sequence[Look], metric: Metric) -> list[LookAnswer]:
    """The looks at a confirmation, in order."""
    return [extended(LookAnswer, relative(look, metric)) for look in looks]


def evidence_answer(found: Evidence, metric: Metric) -> EvidenceAnswer:
    """How the answer came about."""
    is_known = wording.improvement(found.optimistic_gain, metric) is not None
    note = NO_EVIDENCE if is_known else ""
    return extended(EvidenceAnswer, relative(found, metric), optimistic_gain_note=note)


def tune_report(found: JobEvidence, answer: RecommendationAnswer) -> TuneReport:
    """The whole report for machines; `answer` is the recommendation as it is sent elsewhere."""
    states = Counter(trial.state.value for trial in found.trials)
    return TuneReport(
        recommendation=answer,
        preflight=preflight_answer(found.job),
        trials=TrialsAnswer(
            by_state=dict(sorted(states.items())),
            trials=[_trial(trial, found.metric) for trial in found.trials],
        ),
        by_request=found.by_request,
        provenance=_provenance(found),
    )


def _trial(trial: Trial, metric: Metric) -> TrialSummary:
    outcome = trial.outcome
    gain = wording.improvement(outcome.score, metric) if outcome else None
    return TrialSummary.of(
        trial,
        gain=gain,
        blocks=outcome.blocks if outcome and gain is not None else 0,
        is_feasible=outcome is not None and outcome.is_feasible,
        failure=outcome.failure.code if outcome and outcome.failure else None,
    )


def _provenance(found: JobEvidence) -> ProvenanceAnswer:
    spec, facts = found.job.spec, found.job.facts
    return extended(
        ProvenanceAnswer,
        found,
        pool=spec.pool,
        fingerprint=facts.fingerprint if facts else None,
        uwsgi_version=facts.uwsgi_version if facts else None,
        image_digest=facts.image_digest if facts else None,
        target=spec.target.name,
        sampler=spec.sampler.value,
        seed=spec.seed,
    )
