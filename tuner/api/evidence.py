"""Nouns → answers, of how an answer came about: logs become relative gains. Pure functions."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tuner import wording
from tuner.api.preflight import preflight_answer
from tuner.evidence import JobEvidence
from tuner.model import (
    Ablation,
    Evidence,
    Look,
    Metric,
    ParetoPoint,
    Slice,
    Trial,
)
from tuner.schemas import (
    AblationAnswer,
    EvidenceAnswer,
    FactorAnswer,
    LookAnswer,
    ParetoPointAnswer,
    ProvenanceAnswer,
    RecommendationAnswer,
    RoundAnswer,
    SliceAnswer,
    SlicePointAnswer,
    StandingAnswer,
    TrialsAnswer,
    TrialSummary,
    TuneReport,
)

NO_EVIDENCE = (
    "optimistic, not evidence: the luckiest of many noisy figures is above its own truth; "
    "effect is what fresh blocks say"
)


_LOGS = ("gain", "effect", "estimate", "low", "high")


def _relative(noun: object, metric: Metric) -> dict[str, Any]:
    """The fields of a noun of evidence. Its log ratios become relative gains."""
    return {
        name: wording.improvement(value, metric) if name in _LOGS else value
        for name, value in vars(noun).items()
    }


def look_answers(looks: Sequence[Look], metric: Metric) -> list[LookAnswer]:
    """The looks at a confirmation, in order."""
    return [LookAnswer(**_relative(look, metric)) for look in looks]


def evidence_answer(found: Evidence, metric: Metric) -> EvidenceAnswer:
    """How the answer came about."""
    gain = wording.improvement(found.optimistic_gain, metric)
    return EvidenceAnswer(
        rounds=[
            RoundAnswer(
                standings=[
                    StandingAnswer(**_relative(standing, metric)) for standing in own.standings
                ],
                survivors=own.survivors,
            )
            for own in found.rounds
        ],
        ablation=_ablation(found.ablation, metric) if found.ablation else None,
        importances=found.importances,
        slices=[_slice(one, metric) for one in found.slices],
        front=[_pareto_point(one) for one in found.front],
        optimistic_gain=gain,
        optimistic_gain_note="" if gain is None else NO_EVIDENCE,
        ended_because=found.ended_because,
        chosen_because=found.chosen_because,
        skipped=found.skipped,
        not_tried=found.not_tried,
    )


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
        provenance=_provenance(found),
    )


def _ablation(found: Ablation, metric: Metric) -> AblationAnswer:
    factors = [FactorAnswer(**_relative(factor, metric)) for factor in found.factors]
    return AblationAnswer(factors=factors, runs=found.runs, sd=found.sd)


def _slice(found: Slice, metric: Metric) -> SliceAnswer:
    points = [SlicePointAnswer(**_relative(point, metric)) for point in found.points]
    return SliceAnswer(parameter=found.parameter, points=points)


def _pareto_point(found: ParetoPoint) -> ParetoPointAnswer:
    gains = {name: wording.improvement(gain, Metric(name)) for name, gain in found.gains.items()}
    return ParetoPointAnswer(number=found.number, gains=gains, is_chosen=found.is_chosen)


def _trial(trial: Trial, metric: Metric) -> TrialSummary:
    outcome = trial.outcome
    gain = wording.improvement(outcome.score, metric) if outcome else None
    return TrialSummary(
        number=trial.number,
        origin=trial.origin,
        state=trial.state,
        params=trial.params,
        gain=gain,
        blocks=outcome.blocks if outcome and gain is not None else 0,
        is_feasible=outcome is not None and outcome.is_feasible,
        failure=outcome.failure.code if outcome and outcome.failure else None,
    )


def _provenance(found: JobEvidence) -> ProvenanceAnswer:
    spec, facts = found.job.spec, found.job.facts
    return ProvenanceAnswer(
        hosts=found.hosts,
        pool=spec.pool,
        fingerprint=facts.fingerprint if facts else None,
        uwsgi_version=facts.uwsgi_version if facts else None,
        image_digest=facts.image_digest if facts else None,
        target=spec.target.name,
        limits=spec.limits,
        workload=spec.workload,
        objective=spec.objective,
        slo=spec.slo,
        min_effect=spec.min_effect,
        sampler=spec.sampler.value,
        seed=spec.seed,
        blocks=found.blocks,
        load_s=found.load_s,
        setup_s=found.setup_s,
        measured_from=found.measured_from,
        measured_until=found.measured_until,
        rendered_by=found.rendered_by,
    )
