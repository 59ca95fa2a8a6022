"""Comparison, bounds and doubts to an answer: deploy this file, or keep yours, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from tuner import analysis, diagnosis, objective
from tuner.model import (
    BASELINE,
    ChangedLine,
    Comparison,
    Diagnosis,
    Doubt,
    Effect,
    History,
    JobSpec,
    Measurement,
    MeasurementState,
    Metric,
    Params,
    Phase,
    Recommendation,
    Trial,
    Verdict,
    Window,
)
from tuner.search_space import Domain
from tuner.uwsgi.ini import overlay

_WATCHED = (Metric.THROUGHPUT_RPS, Metric.LATENCY_P50_MS, Metric.LATENCY_P95_MS, Metric.MEMORY_MB)


def keep_untested(history: History, domain: Domain, reason: str) -> Recommendation:
    """The answer when nothing came so far as to be confirmed."""
    comparison = Comparison(
        verdict=Verdict.NO_DIFFERENCE, effect=None, p_better=None, mde=None, blocks=0, reason=reason
    )
    windows = _baseline_windows(history.blocks(Phase.CALIBRATE))
    return _keep(history.job.spec, None, comparison, domain, _diagnosis(history, domain, windows))


def recommend(history: History, domain: Domain, finalist: Trial) -> Recommendation:
    """The answer from the fresh blocks of the confirmation, and from nothing else."""
    spec = history.job.spec
    blocks = history.blocks(Phase.CONFIRM)
    comparison = compare_blocks(blocks, spec)
    better = comparison.verdict is Verdict.BETTER
    doubts = _doubts(blocks, finalist)
    side = 1 if better else 0
    windows = [w for block in blocks for w in block.windows if w.side == side]
    params = finalist.params if better else domain.baseline
    found = _diagnosis(history, domain, windows, params)
    if not better:
        return replace(_keep(spec, finalist, comparison, domain, found), doubts=doubts)
    return Recommendation(
        comparison=comparison,
        candidate=finalist.number,
        params=finalist.params,
        lines=changed_lines(domain, finalist.params),
        reverted=(),
        diagnosis=found,
        reason=f"Deploy it: {comparison.reason}. With it {found.sentence}.",
        uwsgi_ini=_annotated(history, domain, finalist.params, comparison),
        overlay_ini=overlay(domain.changes(finalist.params), _header(history, comparison)),
        doubts=doubts,
    )


def compare_blocks(blocks: Sequence[Measurement], spec: JobSpec) -> Comparison:
    """The verdict from blocks of (baseline, candidate), the bounds included.

    A candidate that broke in any fresh block, or that misses a bound in most of them, is worse,
    whatever its speed.
    """
    broke = [b for b in blocks if b.state is MeasurementState.FAILED and b.failure]
    for block in broke:
        if block.failure and block.failure.side == 1:
            return _broken(len(blocks), f"it broke under load: {block.failure.message}", {})
    ratios = _ratios(blocks, spec.objective.metric)
    comparison = analysis.compare(
        ratios,
        metric=spec.objective.metric,
        sign=spec.objective.sign,
        min_effect=spec.min_effect,
    )
    ours = [window for block in blocks for window in objective.usable(block.windows, 1)]
    comparison = replace(
        comparison,
        requests=sum(window.requests for window in ours),
        errors=sum(window.errors for window in ours),
        side_effects=_side_effects(blocks, spec.objective.metric),
    )
    missed = _missed_bounds(blocks, spec)
    if missed and comparison.verdict is not Verdict.WORSE:
        names = ", ".join(sorted(missed))
        reason = f"it does not keep its bounds: {names}"
        return replace(comparison, verdict=Verdict.WORSE, reason=reason, broken=missed)
    return replace(comparison, broken=missed)


def _broken(blocks: int, reason: str, broken: Mapping[str, float]) -> Comparison:
    return Comparison(
        verdict=Verdict.WORSE,
        effect=None,
        p_better=0.0,
        mde=None,
        blocks=blocks,
        reason=reason,
        broken=broken,
    )


def _missed_bounds(blocks: Sequence[Measurement], spec: JobSpec) -> dict[str, float]:
    """The bounds whose median excess over the blocks is above 0."""
    per_block = [objective.excesses(b, spec) for b in blocks if objective.usable(b.windows, 1)]
    if not per_block:
        return {}
    middle = {name: median(found[name] for found in per_block) for name in per_block[0]}
    return {name: excess for name, excess in middle.items() if excess > 0}


def _ratios(blocks: Sequence[Measurement], metric: Metric) -> list[float]:
    ratios = (objective.log_ratio(block, metric) for block in blocks)
    return [ratio for ratio in ratios if ratio is not None]


def _side_effects(blocks: Sequence[Measurement], chosen: Metric) -> tuple[Effect, ...]:
    """What changed besides the objective, for the reader; every watched metric that has values."""
    effects = []
    for metric in _WATCHED:
        ratios = _ratios(blocks, metric)
        if metric is not chosen and len(ratios) >= analysis.FEWEST_BLOCKS:
            effects.append(analysis.effect_of(ratios, metric))
    return tuple(effects)


def changed_lines(domain: Domain, params: Params) -> tuple[ChangedLine, ...]:
    """The options that `params` sets otherwise than the user's file."""
    return tuple(
        ChangedLine(option=option, value=value, baseline_value=domain.ini.get(option))
        for option, value in domain.changes(params).items()
    )


def _keep(
    spec: JobSpec,
    finalist: Trial | None,
    comparison: Comparison,
    domain: Domain,
    found: Diagnosis,
) -> Recommendation:
    tried = changed_lines(domain, finalist.params) if finalist else ()
    return Recommendation(
        comparison=comparison,
        candidate=finalist.number if finalist else None,
        params=domain.baseline,
        lines=(),
        reverted=tried,
        diagnosis=found,
        reason=f"Keep your file: {comparison.reason}. {_sentence(found.sentence)}",
        uwsgi_ini=spec.baseline_ini,
        overlay_ini=overlay({}),
    )


def _diagnosis(
    history: History, domain: Domain, windows: Sequence[Window], params: Params | None = None
) -> Diagnosis:
    return diagnosis.of_file(windows, history.job.spec, domain.render(params or domain.baseline))


def _percent(share: float) -> str:
    return f"{share:+.1%}".replace("%", " %")


def _sentence(text: str) -> str:
    """With a capital and a full stop; `str.capitalize` would make "cpu" of "CPU"."""
    return f"{text[:1].upper()}{text[1:]}."


def _annotated(history: History, domain: Domain, params: Params, comparison: Comparison) -> str:
    patched = domain.ini.patch(domain.changes(params))
    return patched.annotate(_header(history, comparison)).dump()


def _header(history: History, comparison: Comparison) -> list[str]:
    """Where the file comes from and what it holds for, for whoever opens it in a year."""
    job, effect = history.job, comparison.effect
    limits = job.spec.limits
    lines = [f"job {job.id} for {job.spec.app}, {history.now:%Y-%m-%d}"]
    if effect:
        lines.append(
            f"{comparison.verdict}: {effect.metric} {_percent(effect.estimate)} (95 % CI "
            f"{_percent(effect.ci_low)} .. {_percent(effect.ci_high)}), "
            f"{comparison.blocks} fresh blocks"
        )
    lines.append(
        f"holds for {limits.cpus:g} CPU, {limits.memory_mb} MB, somaxconn {limits.somaxconn}"
    )
    if job.facts:
        host = job.facts.fingerprint
        lines.append(f"measured with uWSGI {job.facts.uwsgi_version} on {host.cpu_model}")
    return lines


def _doubts(blocks: Sequence[Measurement], finalist: Trial) -> tuple[Doubt, ...]:
    """What to hold against the answer: doubts of the windows, and starts that differ too much."""
    found = analysis.frequent([window for block in blocks for window in block.windows])
    if analysis.unstable_sides(blocks) & {BASELINE, finalist.number}:
        found = (*found, Doubt.UNSTABLE_START)
    return tuple(dict.fromkeys(found))


def _baseline_windows(blocks: Sequence[Measurement]) -> list[Window]:
    return [
        window
        for block in blocks
        for window in block.windows
        if block.sides[window.side] == BASELINE
    ]
