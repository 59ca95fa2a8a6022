"""Where the figures come from: host, versions, box, load, budget; enough to repeat the job."""

from collections.abc import Iterable
from datetime import UTC

from tuner.nouns import wording
from tuner.nouns.model import JobKind
from tuner.show.evidence.document import Code, Facts, Section, Word, Words
from tuner.show.evidence.job_evidence import MeasuredJob


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
