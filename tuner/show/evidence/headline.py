"""The top of a page: the answer in one sentence, and the figures that matter most."""

from collections.abc import Iterable
from typing import assert_never

from tuner.nouns import wording
from tuner.nouns.model import Recommendation, Verdict
from tuner.show.evidence.document import Code, Figure, Headline, Mood, Strong, Words
from tuner.show.evidence.job_evidence import JobEvidence


def headline(evidence: JobEvidence) -> Headline:
    """Deploy or keep, the gain, and how sure it is."""
    job, comparison = evidence.job, evidence.comparison
    is_tested = evidence.recommendation.candidate is not None
    again = evidence.recommendation.measure_again
    reason = "" if comparison.verdict is Verdict.BREAKS_BOUND else comparison.reason
    return Headline(
        app=job.spec.app,
        job=job.id,
        verdict=wording.VERDICTS[comparison.verdict] if is_tested else "nothing to compare",
        mood=Mood.GOOD if comparison.verdict is Verdict.BETTER and not again else Mood.CALM,
        answer=_answer(evidence),
        reason=" ".join(map(wording.sentence, filter(None, (again, reason)))),
        figures=tuple(_figures(evidence)),
    )


def _answer(evidence: JobEvidence) -> Words:
    """One sentence; with effect, interval, blocks and probability where they were measured."""
    app = Code(evidence.job.spec.app)
    if evidence.recommendation.candidate is None:
        return (Strong("Keep your file"), " for ", app, ": no candidate reached the confirmation.")
    missed = "; ".join(bound.sentence for bound in evidence.comparison.missed)
    advice, why = _advice(evidence.recommendation, missed)
    return (Strong(advice), " for ", app, f": {why}{_measured(evidence)}.")


def _advice(answer: Recommendation, missed: str) -> tuple[str, str]:
    match answer.verdict:
        case Verdict.BETTER:
            return answer.advice.replace(" it", " the new file", 1), ""
        case Verdict.WORSE:
            return "Keep your file", "the candidate is worse, "
        case Verdict.BREAKS_BOUND:
            return "Keep your file", f"the candidate breaks a bound: {missed}. It measured "
        case Verdict.NO_DIFFERENCE:
            return "Keep your file", "no difference is worth a deployment, "
        case Verdict.INCONCLUSIVE:
            return "Keep your file for now", "the measurement is inconclusive, "
        case Verdict.DEPENDS:
            return "Look at your production first", "the sign of the gain depends on it, "
        case Verdict.MORE_FRAGILE:
            return "Keep your file", "the candidate is faster but more fragile, "
        case _:
            assert_never(answer.verdict)


def _measured(evidence: JobEvidence) -> str:
    comparison = evidence.comparison
    blocks = wording.count(comparison.blocks, "fresh block")
    if comparison.effect is None:
        return f"no effect could be measured in {blocks}"
    known = f"{wording.effect_with_interval(comparison.effect)}, from {blocks}"
    if comparison.p_better is None:
        return known
    return f"{known}, P(better) {wording.probability(comparison.p_better)}"


def _figures(evidence: JobEvidence) -> Iterable[Figure]:
    comparison = evidence.comparison
    blocks = wording.count(comparison.blocks, "fresh block")
    if (effect := comparison.effect) is not None:
        change, ends = wording.percent(effect.estimate), wording.confidence(effect)
        yield Figure(wording.METRICS[effect.metric], change, ends)
    if comparison.p_better is not None:
        yield Figure("P(better)", wording.probability(comparison.p_better), blocks)
    if comparison.mde is not None:
        smallest = wording.share(comparison.mde)
        yield Figure("smallest detectable effect", smallest, "with power 80 %")
    total = comparison.requests + comparison.errors
    if total:
        sent = f"of {wording.count(total, 'request')}"
        yield Figure("errors", wording.thousands(comparison.errors), sent)
