"""The top of a report: the answer as one sentence, and the figures that matter most."""

from collections.abc import Iterable
from typing import assert_never

from tuner import wording
from tuner.evidence.gathering import JobEvidence
from tuner.evidence.parts import Code, Figure, Headline, Mood, Strong, Words
from tuner.model import Verdict


def headline(evidence: JobEvidence) -> Headline:
    """Deploy or keep, how much it brings, how sure that is."""
    job, comparison = evidence.job, evidence.found.comparison
    tested = evidence.found.candidate is not None
    return Headline(
        app=job.spec.app,
        job=job.id,
        verdict=wording.VERDICTS[comparison.verdict] if tested else "nothing to compare",
        mood=Mood.GOOD if comparison.verdict is Verdict.BETTER else Mood.CALM,
        answer=_answer(evidence),
        reason=wording.sentence(comparison.reason),
        figures=tuple(_figures(evidence)),
    )


def _answer(evidence: JobEvidence) -> Words:
    """One sentence; where something was measured, with effect, interval, blocks, probability."""
    comparison, app = evidence.found.comparison, Code(evidence.job.spec.app)
    if evidence.found.candidate is None:
        return (Strong("Keep your file"), " for ", app, ": nothing came so far as to be confirmed.")
    measured = _measured(evidence)
    match comparison.verdict:
        case Verdict.BETTER:
            return (Strong("Deploy the new file"), " for ", app, f": {measured}.")
        case Verdict.WORSE:
            return (
                Strong("Keep your file"),
                " for ",
                app,
                f": the candidate is worse, {measured}.",
            )
        case Verdict.NO_DIFFERENCE:
            words = f": no difference that would be worth a deployment, {measured}."
            return (Strong("Keep your file"), " for ", app, words)
        case Verdict.INCONCLUSIVE:
            words = f": the measurement could not tell, {measured}."
            return (Strong("Keep your file for now"), " for ", app, words)
        case _:
            assert_never(comparison.verdict)


def _measured(evidence: JobEvidence) -> str:
    comparison = evidence.found.comparison
    blocks = wording.count(comparison.blocks, "fresh block")
    if comparison.effect is None:
        return f"no effect could be measured in {blocks}"
    known = f"{wording.effect_with_interval(comparison.effect)}, from {blocks}"
    if comparison.p_better is None:
        return known
    return f"{known}, P(better) {wording.probability(comparison.p_better)}"


def _figures(evidence: JobEvidence) -> Iterable[Figure]:
    comparison = evidence.found.comparison
    if comparison.effect is not None:
        yield Figure(
            label=wording.METRICS[comparison.effect.metric],
            value=wording.percent(comparison.effect.estimate),
            note=wording.confidence(comparison.effect),
        )
    if comparison.p_better is not None:
        yield Figure(
            label="P(better)",
            value=wording.probability(comparison.p_better),
            note=wording.count(comparison.blocks, "fresh block"),
        )
    if comparison.mde is not None:
        yield Figure(
            label="smallest visible effect",
            value=wording.share(comparison.mde),
            note="or more, with power 80 %",
        )
    total = comparison.requests + comparison.errors
    if total:
        yield Figure(
            label="errors",
            value=f"{comparison.errors:,}".replace(",", " "),
            note=f"of {wording.count(total, 'request')}",
        )
