"""How reliable the answer is: the smallest detectable effect, A/A, doubts, and the bottleneck."""

from collections.abc import Iterable
from datetime import UTC

from tuner.judge import analysis
from tuner.nouns import wording
from tuner.nouns.model import PRESETS, Calibration, Effect, JobKind, Metric, ServiceUse
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Facts,
    Folded,
    Paragraph,
    Part,
    Section,
    Strong,
    Table,
    Word,
    Words,
)
from tuner.show.evidence.job_evidence import JobEvidence, MeasuredJob

_LONGER = ("standard", "noisy")
"""Budgets with longer and longer blocks."""


def reliability(evidence: JobEvidence) -> Section | None:
    """What this job can detect, and what speaks against it; None where nothing is known."""
    facts = tuple(_facts(evidence))
    parts: list[Part] = [Facts(facts)] if facts else []
    if evidence.recommendation.doubts:
        parts.append(Paragraph(Strong("What speaks against the figures")))
        doubts = evidence.recommendation.doubts
        parts.append(Bullets(tuple(f"{d.sentence}; what to do: {d.remedy}" for d in doubts)))
    return Section(title="How reliable it is", parts=tuple(parts)) if parts else None


def _facts(evidence: JobEvidence) -> Iterable[tuple[str, Words]]:
    mde, calibration = evidence.comparison.mde, evidence.job.calibration
    if mde is not None:
        yield _smallest_effect(evidence, mde, "from the noise of the confirmation")
    elif calibration is not None:
        yield _smallest_effect(evidence, calibration.mde, "with all blocks of the budget")
    if calibration is not None:
        yield "two equal files (A/A)", _equals(calibration, evidence.metric)


def _smallest_effect(evidence: JobEvidence, mde: float, source: str) -> tuple[str, Words]:
    spec = evidence.job.spec
    label = "smallest detectable effect"
    known = f"{wording.share(mde)}, {source}; the job asked for {wording.share(spec.min_effect)}"
    longer = next((name for name in _LONGER if PRESETS[name].cycles > spec.budget.cycles), None)
    if mde <= spec.min_effect or longer is None:
        return label, known
    hint = ". A quieter host can detect less, and so can the longer blocks of the budget "
    return label, (known + hint, Code(longer))


def _equals(calibration: Calibration, metric: Metric) -> str:
    bias = _change(calibration.bias, metric)
    found = "an unknown amount" if bias is None else wording.percent(bias)
    blocks = wording.count(calibration.blocks, "block")
    spread = f"sd of a block {wording.share(calibration.block_sd)}"
    if analysis.smallest_bias(calibration) is None:
        return f"differ by {found} in {blocks}, too few to tell bias from noise; {spread}"
    ends = wording.interval(
        _change(calibration.bias_ci_low, metric), _change(calibration.bias_ci_high, metric)
    )
    return f"differ by {found} (99.9 % CI {ends}) in {blocks}; {spread}"


def _change(log: float, metric: Metric) -> float | None:
    # The bias is a log ratio of the metric itself: more is more, whether or not it is better.
    share = wording.improvement(metric.sign * log, metric)
    return None if share is None else metric.sign * share


def conditions(evidence: JobEvidence) -> Section | None:
    """The candidate where production is unlike the bench; None where nothing was checked."""
    found = evidence.recommendation.conditions
    if not found:
        return None
    metric = wording.METRICS[evidence.metric]
    is_doubted = any(each.doubts for each in found)
    rows = tuple(
        (
            wording.sentence(each.where)[:-1],
            *_effect(each.effect),
            str(each.blocks),
            wording.SIGNS[each.sign],
            *(["; ".join(doubt.sentence for doubt in each.doubts)] if is_doubted else ()),
        )
        for each in found
    )
    doubts = ("doubts",) if is_doubted else ()
    headings = ("where", metric, "95 % interval", "blocks", "what it is there", *doubts)
    about = "The confirmed file against yours, where production is unlike this bench."
    return Section(
        title="What the answer depends on",
        parts=(Paragraph(about), Table(headings=headings, rows=rows)),
    )


def scenes(evidence: JobEvidence) -> Section | None:
    """Both files where something goes wrong; None where nothing was played."""
    found = evidence.recommendation.scenes
    if not found:
        return None
    rows = tuple(
        (
            wording.sentence(each.scene.sentence)[:-1],
            each.baseline,
            each.candidate,
            ("accepted" if each.is_accepted else each.remedy) if each.is_worse else "",
        )
        for each in found
    )
    headings = ("what goes wrong", "your file", "candidate", "worse: what helps")
    return Section(
        title="Where something goes wrong",
        parts=(
            Paragraph("Both files in the same blocks, under half of the load that they can serve."),
            Table(headings=headings, rows=rows),
        ),
    )


def _effect(effect: Effect | None) -> tuple[str, str]:
    if effect is None:
        return "not measured", ""
    return wording.percent(effect.estimate), wording.interval(effect.ci_low, effect.ci_high)


def diagnosis(evidence: JobEvidence) -> Section:
    """What limits the app, with the figures that show it."""
    found = evidence.recommendation.diagnosis
    parts: list[Part] = [Paragraph(wording.sentence(found.sentence))]
    if found.evidence:
        rows = tuple(wording.watched(name, value) for name, value in found.evidence.items())
        parts.append(Folded("The figures behind it", (Table(("what was seen", "figure"), rows),)))
    if evidence.recommendation.services:
        parts.append(_services(evidence.recommendation.services))
    return Section(title="What limits the app", parts=tuple(parts))


def _services(services: Iterable[ServiceUse]) -> Table:
    """What ran beside the app, under both files."""
    return Table(
        headings=("service", "your file", "candidate"),
        rows=tuple(
            (
                Code(each.name),
                wording.service(each.baseline),
                wording.service(each.candidate, each.baseline),
            )
            for each in services
        ),
    )


# ---- Where the figures come from: host, versions, box, load, budget; enough to repeat the job


def provenance(evidence: MeasuredJob) -> Section:
    """All of it as names and values."""
    facts = (*_host(evidence), *_subject(evidence), *_budget(evidence))
    return Section(title="Where it comes from", parts=(Facts(facts),), is_closing=True)


def _host(evidence: MeasuredJob) -> Iterable[tuple[str, Words]]:
    if evidence.hosts:
        yield "hosts", (Code(", ".join(evidence.hosts)), f" of pool {evidence.job.spec.pool}")
    for name, reason in evidence.unlike.items():
        yield "did not help", (Code(name), f": {reason}")
    facts = evidence.job.facts
    if facts is None:
        return
    host = facts.fingerprint
    machine = f"{host.cpu_model}, {wording.count(host.cpus, 'CPU')}, {host.memory_mb} MB"
    kernel = f"; kernel {host.kernel}, cgroup {host.cgroup_version}, Docker {host.docker_version}"
    yield "machine", machine + kernel
    if evidence.slowest_cpu is not None:
        slowest = wording.share(evidence.slowest_cpu)
        seen = f"in the slowest window at {slowest} of the speed that it had in the fastest"
        yield "the target's CPU", f"{seen}; arms that fill it are compared at equal speed"
    yield "uWSGI", (facts.uwsgi_version or "none", "; image ", Code(facts.image_digest))


def _subject(evidence: MeasuredJob) -> Iterable[tuple[str, Words]]:
    spec = evidence.job.spec
    yield "target", Code(spec.target.name)
    yield "limits", wording.box(spec.limits)
    yield "load", (wording.load(spec.workload), "; ", *_requests(evidence))
    aims = ", then ".join(
        f"{'more' if aim.sign > 0 else 'less'} {wording.METRICS[aim.metric]}"
        for aim in spec.objective.aims
    )
    yield "objective", f"{aims}; smallest gain worth a deployment: {wording.share(spec.min_effect)}"
    bounds = ", ".join(metric.value for metric in spec.slo.bounds())
    if bounds:
        yield "bounds", Code(bounds)
    if spec.max_slots is not None:
        yield "slots", f"at most {spec.max_slots} requests at once (max_slots), in every trial"


def _requests(evidence: MeasuredJob) -> tuple[Word, ...]:
    workload = evidence.job.spec.workload
    first, more = Code(wording.request_of(workload, 0)), len(workload.requests) - 1
    return (first, f" and {more} more") if more else (first,)


def _budget(evidence: MeasuredJob) -> Iterable[tuple[str, Words]]:
    job = evidence.job
    spec, budget = job.spec, job.spec.budget
    windows = f"{wording.count(budget.cycles, 'window')} an arm of {budget.window_s:g} s"
    if spec.kind is JobKind.COMPARE:
        yield "job", f"{job.id}, seed {spec.seed}"
        yield "budget", f"{wording.count(budget.compare_blocks, 'block')}; {windows}"
    else:
        yield "job", f"{job.id}, seed {spec.seed}, sampler {spec.sampler.value}"
        tried = f"{budget.trials} trials, race of {budget.race}, {budget.ablate_runs} ablation runs"
        blocks = f"at most {budget.confirm_blocks} blocks to confirm"
        yield "budget", f"{tried}, {blocks}; {windows}"
    if evidence.blocks:
        load, setup = wording.duration(evidence.load_s), wording.duration(evidence.setup_s)
        counted = wording.count(evidence.blocks, "block")
        yield "measured", f"{counted}: {load} of load, {setup} of starting and stopping"
    if evidence.measured_from and evidence.measured_until:
        times = (evidence.measured_from, evidence.measured_until)
        first, last = (time.astimezone(UTC) for time in times)
        yield "windows began", f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"
    if job.pruned_at:
        removed = f"{job.pruned_at.astimezone(UTC):%Y-%m-%d}"
        yield "removed", f"on {removed}: windows that did not decide the verdict, all time series"
    if evidence.rendered_by:
        yield "page written by", evidence.rendered_by
