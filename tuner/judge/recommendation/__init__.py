"""Comparison, bounds and doubts to an answer: deploy this file, or keep yours, and why.

verdict   fresh blocks → better, worse, no difference, inconclusive
standing  what doubts, conditions and scenes leave of a gain
gate      whether a recommended file holds on a new image
lines     which options the file changes, each with its own effect
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tuner.judge import analysis, diagnosis
from tuner.judge.recommendation.lines import changed_lines, notes_on
from tuner.judge.recommendation.standing import (
    blocks_missing,
    compare_scenes,
    compromise,
    conditions_seen,
    depending,
    doubted,
    fragile,
    is_lost,
    unmeasured,
)
from tuner.judge.recommendation.verdict import compare_blocks, is_decided
from tuner.nouns import wording
from tuner.nouns.model import (
    BASELINE,
    Advice,
    Bottleneck,
    ChangedLine,
    Comparison,
    Compromise,
    Diagnosis,
    Doubt,
    Evidence,
    History,
    JobSpec,
    Limits,
    Measurement,
    Params,
    Phase,
    Recommendation,
    SceneComparison,
    ServiceUse,
    Trial,
    Verdict,
    Window,
    counted,
    is_sysctl,
)
from tuner.targets.search_space import Domain
from tuner.uwsgi.ini import overlay

NOT_MEASURED = Diagnosis(
    bottleneck=Bottleneck.UNKNOWN, sentence="nothing has been measured yet", evidence={}
)

__all__ = [
    "blocks_missing",
    "changed_lines",
    "checked",
    "compare_blocks",
    "confirmed",
    "is_decided",
    "is_lost",
    "keep_untested",
    "recommend",
    "so_far",
]


def keep_untested(
    history: History, domain: Domain, reason: str, tried: Params, evidence: Evidence
) -> Recommendation:
    """The answer when nothing came so far as to be confirmed.

    `tried` came closest; its lines are named as reverted. The user's own where there is none.
    """
    comparison = Comparison(
        verdict=Verdict.NO_DIFFERENCE, effect=None, p_better=None, mde=None, blocks=0, reason=reason
    )
    windows = [w for block in history.blocks(Phase.CALIBRATE) for w in block.windows_of(BASELINE)]
    found = _diagnosis(history, domain, windows)
    answer = _keep(history.job.spec, None, comparison, domain.baseline, found, evidence)
    reverted = _lines(history, domain, tried, evidence)
    return replace(answer, reverted=reverted, services=_services(windows))


def recommend(
    history: History, domain: Domain, finalist: Trial, winner: Params, evidence: Evidence
) -> Recommendation:
    """The answer from the fresh blocks of the confirmation, and from nothing else.

    `winner` has all options that were looked at one by one, `finalist` those that were kept.
    """
    spec, blocks = history.job.spec, history.blocks(Phase.CONFIRM)
    windows, doubts = [w for b in blocks for w in b.windows], _doubts(blocks, finalist)
    conditions, scenes = conditions_seen(history, finalist.number), scenes_seen(history)
    comparison = checked(history, finalist)
    better = comparison.verdict is Verdict.BETTER
    params = finalist.params if better else domain.baseline
    arms = [[window for window in windows if window.arm == arm] for arm in (0, 1)]
    found = _diagnosis(history, domain, arms[int(better)], params)
    services = _services(*arms)
    tried = _lines(history, domain, winner, evidence)
    if not better:
        answer = _keep(spec, finalist, comparison, params, found, evidence)
        third = _compromise(history, domain, finalist, comparison, evidence)
        return replace(
            answer,
            reason=f"{answer.reason} {wording.sentence(third.sentence)}"
            if third
            else answer.reason,
            reverted=tried,
            doubts=doubts,
            services=services,
            conditions=conditions,
            scenes=scenes,
            offered_ini=_file(history, domain, finalist, comparison, evidence)
            if comparison.verdict in (Verdict.DEPENDS, Verdict.MORE_FRAGILE)
            else "",
            compromise=third,
        )
    lines = _lines(history, domain, finalist.params, evidence)
    kept = {line.option for line in lines}
    options = domain.options(finalist.params)
    notes, header = _comments(history, domain, finalist, comparison, lines)
    needs = f", with {settings} in its container" if (settings := _sysctls(lines)) else ""
    answer = Recommendation(
        comparison=comparison,
        candidate=finalist.number,
        params=finalist.params,
        lines=lines,
        reverted=tuple(line for line in tried if line.option not in kept),
        diagnosis=found,
        reason="",
        uwsgi_ini=_file(history, domain, finalist, comparison, evidence),
        overlay_ini=_overlay(options, header, notes),
        doubts=doubts,
        evidence=evidence,
        services=services,
        conditions=conditions,
        scenes=scenes,
    )
    reason = f"{answer.advice}{needs}: {comparison.reason}. With it {found.sentence}."
    return replace(answer, reason=" ".join([reason, *_before_all(answer)]))


def confirmed(history: History, finalist: Trial) -> Comparison:
    """What the fresh blocks of the confirmation say, with their doubts."""
    blocks = history.blocks(Phase.CONFIRM)
    windows = [window for block in blocks for window in block.windows]
    return doubted(compare_blocks(blocks, history.job.spec), _doubts(blocks, finalist), windows)


def checked(history: History, finalist: Trial) -> Comparison:
    """The same after what was seen so far of conditions and scenes."""
    comparison = depending(confirmed(history, finalist), conditions_seen(history, finalist.number))
    return fragile(comparison, scenes_seen(history), history.blocks(Phase.CONDITIONS))


def scenes_seen(history: History) -> tuple[SceneComparison, ...]:
    """What the scenes showed of both files."""
    return compare_scenes(history.blocks(Phase.CONDITIONS), history.job.spec.accept)


def _compromise(
    history: History, domain: Domain, finalist: Trial, comparison: Comparison, evidence: Evidence
) -> Compromise | None:
    """The file that gains under all conditions, with its text; None where there is none."""
    found = compromise(history, finalist.number)
    if found is None or comparison.verdict is not Verdict.DEPENDS:
        return None
    trial, effect, blocks = found
    its = replace(comparison, verdict=Verdict.BETTER, effect=effect, blocks=blocks)
    return Compromise(
        effect=effect,
        blocks=blocks,
        conditions=conditions_seen(history, trial.number),
        sentence="A compromise gains under all conditions: the candidate with your processes and"
        f" threads, {wording.effect_with_interval(effect)}, {wording.count(blocks, 'block')}",
        uwsgi_ini=_file(history, domain, trial, its, evidence),
    )


def _file(
    history: History, domain: Domain, finalist: Trial, comparison: Comparison, evidence: Evidence
) -> str:
    """The user's file with the candidate's lines, and where they come from."""
    lines = _lines(history, domain, finalist.params, evidence)
    notes, header = _comments(history, domain, finalist, comparison, lines)
    return domain.ini.patch(domain.options(finalist.params), notes).annotate(header).dump()


def _comments(
    history: History,
    domain: Domain,
    finalist: Trial,
    comparison: Comparison,
    lines: Sequence[ChangedLine],
) -> tuple[Mapping[str, str], list[str]]:
    """The notes on the changed lines, and the header of the file."""
    box = domain.box(finalist.params)
    return notes_on(lines, comparison.effect), _header(history, comparison, box)


def _before_all(answer: Recommendation) -> Iterator[str]:
    """Why one instance comes first and what helps, and which conditions are unknown."""
    yield from map(wording.sentence, unmeasured(answer.conditions))
    if answer.advice is Advice.ONE_FIRST:
        for doubt in answer.doubts:
            if doubt.advice is Advice.ONE_FIRST:
                yield wording.sentence(f"{doubt.sentence}; {doubt.remedy}")


def so_far(history: History, domain: Domain, evidence: Evidence) -> Recommendation:
    """What a job that still runs has shown, in the form of an answer: it decides nothing.

    Of the confirmation, only the blocks of looks that were made count.
    """
    spec, blocks = history.job.spec, history.blocks(Phase.CONFIRM)
    complete = [block for block in blocks if not block.is_open]
    looked = max(
        (n for n in analysis.looks_of(spec.budget.confirm_blocks) if n <= len(complete)), default=0
    )
    comparison = compare_blocks(complete[:looked], spec) if looked else _no_look_yet()
    arms = [[w for block in complete for w in block.windows if w.arm == arm] for arm in (0, 1)]
    own = arms[0] or [w for b in history.blocks(Phase.CALIBRATE) for w in b.windows_of(BASELINE)]
    seen = [window for block in history.measurements for window in block.windows]
    answer = _keep(
        spec,
        None,
        replace(comparison, verdict=Verdict.INCONCLUSIVE),
        domain.baseline,
        _diagnosis(history, domain, own) if own else NOT_MEASURED,
        evidence,
    )
    services = _services(own, arms[1])
    return replace(
        answer, candidate=history.job.finalist, doubts=analysis.frequent(seen), services=services
    )


def _no_look_yet() -> Comparison:
    return Comparison(
        verdict=Verdict.INCONCLUSIVE,
        effect=None,
        p_better=None,
        mde=None,
        blocks=0,
        reason="it runs",
    )


def _keep(
    spec: JobSpec,
    finalist: Trial | None,
    comparison: Comparison,
    params: Params,
    found: Diagnosis,
    evidence: Evidence,
) -> Recommendation:
    return Recommendation(
        comparison=comparison,
        candidate=finalist.number if finalist else None,
        params=params,
        lines=(),
        reverted=(),
        diagnosis=found,
        reason=f"{_lead(comparison)}. {wording.sentence(found.sentence)}",
        uwsgi_ini=spec.baseline_ini,
        overlay_ini=overlay({}),
        evidence=evidence,
    )


def _lead(comparison: Comparison) -> str:
    """Why the user's file stays for now."""
    if comparison.verdict is Verdict.DEPENDS:
        return (
            f"It depends on your production: {comparison.reason}. Of both files, yours is the safe"
            " one there; the candidate is better only where production is as in this bench"
        )
    if comparison.verdict is Verdict.MORE_FRAGILE:
        return f"Keep your file, or accept the risk: {comparison.reason}"
    return f"Keep your file: {comparison.reason}"


def _lines(
    history: History, domain: Domain, params: Params, evidence: Evidence
) -> tuple[ChangedLine, ...]:
    return changed_lines(domain, params, evidence.ablation, history.job.spec.objective)


def _diagnosis(
    history: History, domain: Domain, windows: Sequence[Window], params: Params | None = None
) -> Diagnosis:
    return diagnosis.of_file(windows, history.job.spec, domain.render(params or domain.baseline))


def _services(own: Sequence[Window], tried: Sequence[Window] = ()) -> tuple[ServiceUse, ...]:
    """Each service in windows of the user's file and of the candidate. Void ones do not count."""
    baseline, candidate = (diagnosis.services_of(counted(windows)) for windows in (own, tried))
    return tuple(
        ServiceUse(name=name, baseline=baseline.get(name), candidate=candidate.get(name))
        for name in sorted(baseline | candidate)
    )


def _overlay(
    options: Mapping[str, str | None], header: Sequence[str], notes: Mapping[str, str]
) -> str:
    """The changes for a second --ini; empty where one comes out of the file."""
    set_ = {option: value for option, value in options.items() if value is not None}
    return overlay(set_, header, notes) if len(set_) == len(options) else ""


def _sysctls(lines: Sequence[ChangedLine]) -> str:
    """The kernel settings of the answer: the file alone is not what was measured."""
    return ", ".join(f"{x.option} = {x.value}" for x in lines if is_sysctl(x.option))


def _header(history: History, comparison: Comparison, box: Limits) -> list[str]:
    """Where the file comes from and what it holds for, for a reader in a year."""
    job, effect = history.job, comparison.effect
    lines = [f"job {job.id} for {job.spec.app}, {history.now:%Y-%m-%d}"]
    if effect:
        lines.append(
            f"{wording.VERDICTS[comparison.verdict]}: {wording.effect_with_interval(effect)}, "
            f"{comparison.blocks} fresh blocks"
        )
    lines.append(f"holds for {wording.box(box)}")
    if job.facts:
        host = job.facts.fingerprint
        lines.append(
            f"measured with uWSGI {job.facts.uwsgi_version} on {host.cpu_model}, {host.cpus} CPUs,"
            f" {host.memory_mb} MB, Linux {host.kernel}, cgroup v{host.cgroup_version},"
            f" Docker {host.docker_version}"
        )
    return lines


def _doubts(blocks: Sequence[Measurement], finalist: Trial) -> tuple[Doubt, ...]:
    """What to hold against the answer: doubts of the windows, and starts that differ too much."""
    found = analysis.frequent([window for block in blocks for window in block.windows])
    if analysis.unstable_arms(blocks) & {BASELINE, finalist.number}:
        found = (*found, Doubt.UNSTABLE_START)
    return tuple(dict.fromkeys(found))
