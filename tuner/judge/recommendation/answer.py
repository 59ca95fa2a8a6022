"""The answer of a job: which file to deploy, its changed lines, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tuner.judge import analysis, diagnosis
from tuner.judge.recommendation.lines import changed_lines, notes_on
from tuner.judge.recommendation.standing import (
    compare_scenes,
    compromise,
    conditions_seen,
    depending,
    doubted,
    fragile,
    unmeasured,
)
from tuner.judge.recommendation.verdict import blocks_planned, compare_blocks
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


def recommend(
    history: History, domain: Domain, finalist: Trial, winner: Params, evidence: Evidence
) -> Recommendation:
    """The answer from the fresh blocks of the confirmation, and from nothing else.

    `winner` has all options that were looked at one by one, `finalist` those that were kept.
    """
    draft = _Draft(history, domain, evidence)
    blocks, comparison = history.blocks(Phase.CONFIRM), checked(history, finalist)
    arms = _arms(blocks)
    if comparison.verdict is Verdict.BETTER:
        answer = draft.deploy(finalist, comparison, arms[1])
    else:
        answer = draft.keep(comparison, arms[0], finalist)
    kept = {line.option for line in answer.lines}
    return _with_reason(
        answer,
        reverted=tuple(line for line in draft.lines(winner) if line.option not in kept),
        doubts=_doubts(blocks, finalist),
        services=_services(*arms),
        conditions=conditions_seen(history, finalist.number),
        scenes=scenes_seen(history),
    )


def keep_untested(
    history: History, domain: Domain, reason: str, tried: Params, evidence: Evidence
) -> Recommendation:
    """The answer when nothing came so far as to be confirmed.

    `tried` came closest; its lines are named as reverted. The user's own where there is none.
    """
    comparison = Comparison(
        verdict=Verdict.NO_DIFFERENCE, effect=None, p_better=None, mde=None, blocks=0, reason=reason
    )
    draft, windows = _Draft(history, domain, evidence), _calibrated(history)
    answer = draft.keep(comparison, windows)
    return _with_reason(answer, reverted=draft.lines(tried), services=_services(windows))


def so_far(history: History, domain: Domain, evidence: Evidence) -> Recommendation:
    """What a job that still runs has shown, in the form of an answer: it decides nothing.

    Of the confirmation, only the blocks of looks that were made count.
    """
    job, blocks = history.job, history.blocks(Phase.CONFIRM)
    complete = [block for block in blocks if not block.is_open]
    looks = analysis.looks_of(blocks_planned(job))
    looked = max((look for look in looks if look <= len(complete)), default=0)
    comparison = compare_blocks(complete[:looked], job) if looked else _no_look_yet()
    arms = _arms(complete)
    own = arms[0] or _calibrated(history)
    seen = [window for block in history.measurements for window in block.windows]
    undecided = replace(comparison, verdict=Verdict.INCONCLUSIVE)
    return _with_reason(
        _Draft(history, domain, evidence).keep(undecided, own),
        candidate=history.job.finalist,
        doubts=analysis.frequent(seen),
        services=_services(own, arms[1]),
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


def confirmed(history: History, finalist: Trial) -> Comparison:
    """What the fresh blocks of the confirmation say, with their doubts."""
    blocks = history.blocks(Phase.CONFIRM)
    windows = [window for block in blocks for window in block.windows]
    return doubted(compare_blocks(blocks, history.job), _doubts(blocks, finalist), windows)


def checked(history: History, finalist: Trial) -> Comparison:
    """The same after what was seen so far of conditions and scenes."""
    comparison = depending(confirmed(history, finalist), conditions_seen(history, finalist.number))
    return fragile(comparison, scenes_seen(history), history.blocks(Phase.CONDITIONS))


def scenes_seen(history: History) -> tuple[SceneComparison, ...]:
    """What the scenes showed of both files."""
    return compare_scenes(history.blocks(Phase.CONDITIONS), history.job.spec.accept)


@dataclass(frozen=True, slots=True)
class _Draft:
    """What an answer is written from; it has no reason yet, and nothing of the bench around it."""

    history: History
    domain: Domain
    evidence: Evidence

    def deploy(
        self, finalist: Trial, comparison: Comparison, windows: Sequence[Window]
    ) -> Recommendation:
        """The candidate's file; `windows` are its own."""
        params = finalist.params
        lines, options = self.lines(params), self.domain.options(params)
        set_ = {option: value for option, value in options.items() if value is not None}
        notes, header = notes_on(lines, comparison.effect), self._header(finalist, comparison)
        return Recommendation(
            comparison=comparison,
            candidate=finalist.number,
            params=params,
            lines=lines,
            reverted=(),
            diagnosis=self._diagnosis(windows, params),
            reason="",
            uwsgi_ini=self._file(finalist, comparison),
            # No second --ini can take an option out of the file.
            overlay_ini=overlay(set_, header, notes) if len(set_) == len(options) else "",
            evidence=self.evidence,
        )

    def keep(
        self, comparison: Comparison, windows: Sequence[Window], finalist: Trial | None = None
    ) -> Recommendation:
        """The user's file; `windows` are its own. A faster file that has a catch is offered."""
        params = self.domain.baseline
        offers = comparison.verdict in (Verdict.DEPENDS, Verdict.MORE_FRAGILE)
        return Recommendation(
            comparison=comparison,
            candidate=finalist.number if finalist else None,
            params=params,
            lines=(),
            reverted=(),
            diagnosis=self._diagnosis(windows, params) if windows else NOT_MEASURED,
            reason="",
            uwsgi_ini=self.history.job.spec.baseline_ini,
            overlay_ini=overlay({}),
            evidence=self.evidence,
            offered_ini=self._file(finalist, comparison) if finalist and offers else "",
            compromise=self._compromise(finalist, comparison) if finalist else None,
        )

    def lines(self, params: Params) -> tuple[ChangedLine, ...]:
        """The options that `params` change."""
        main = self.history.job.spec.objective
        return changed_lines(self.domain, params, self.evidence.ablation, main)

    def _compromise(self, finalist: Trial, comparison: Comparison) -> Compromise | None:
        """The file that gains under all conditions; None where there is none, or no need."""
        found = compromise(self.history, finalist.number)
        if found is None or comparison.verdict is not Verdict.DEPENDS:
            return None
        trial, effect, blocks = found
        its = replace(comparison, verdict=Verdict.BETTER, effect=effect, blocks=blocks)
        return Compromise(
            effect=effect,
            blocks=blocks,
            conditions=conditions_seen(self.history, trial.number),
            sentence="A compromise gains under all conditions: the candidate with your processes"
            f" and threads, {wording.effect_with_interval(effect)},"
            f" {wording.count(blocks, 'block')}",
            uwsgi_ini=self._file(trial, its),
        )

    def _file(self, trial: Trial, comparison: Comparison) -> str:
        """The user's file with the lines of a trial, and where they come from."""
        notes = notes_on(self.lines(trial.params), comparison.effect)
        patched = self.domain.ini.patch(self.domain.options(trial.params), notes)
        return patched.annotate(self._header(trial, comparison)).dump()

    def _diagnosis(self, windows: Sequence[Window], params: Params) -> Diagnosis:
        return diagnosis.of_file(windows, self.history.job.spec, self.domain.render(params))

    def _header(self, trial: Trial, comparison: Comparison) -> list[str]:
        """Where the file comes from and what it holds for, for a reader in a year."""
        job, effect = self.history.job, comparison.effect
        lines = [f"job {job.id} for {job.spec.app}, {self.history.now:%Y-%m-%d}"]
        if effect:
            lines.append(
                f"{wording.VERDICTS[comparison.verdict]}: {wording.effect_with_interval(effect)}, "
                f"{comparison.blocks} fresh blocks"
            )
        lines.append(f"holds for {wording.box(self.domain.box(trial.params))}")
        if job.facts:
            host = job.facts.fingerprint
            lines.append(
                f"measured with uWSGI {job.facts.uwsgi_version} on {host.cpu_model},"
                f" {host.cpus} CPUs, {host.memory_mb} MB, Linux {host.kernel},"
                f" cgroup v{host.cgroup_version}, Docker {host.docker_version}"
            )
        return lines


def _with_reason(answer: Recommendation, **fields: Any) -> Recommendation:
    """The answer with the rest of its fields, and then its reason."""
    whole = replace(answer, **fields)
    return replace(whole, reason=" ".join(_sentences(whole)))


def _sentences(answer: Recommendation) -> Iterator[str]:
    """What to do and why, and what to do before it."""
    comparison, found = answer.comparison, answer.diagnosis.sentence
    if answer.verdict is Verdict.BETTER:
        settings = _sysctls(answer.lines)
        needs = f", with {settings} in its container" if settings else ""
        yield f"{answer.advice}{needs}: {comparison.reason}. With it {found}."
        yield from _before_all(answer)
        return
    yield f"{_lead(comparison)}."
    yield wording.sentence(found)
    if answer.compromise is not None:
        yield wording.sentence(answer.compromise.sentence)


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


def _before_all(answer: Recommendation) -> Iterator[str]:
    """Why one instance comes first and what helps, and which conditions are unknown."""
    yield from map(wording.sentence, unmeasured(answer.conditions))
    if answer.advice is Advice.ONE_FIRST:
        for doubt in answer.doubts:
            if doubt.advice_on_candidate is Advice.ONE_FIRST:
                yield wording.sentence(f"{doubt.sentence}; {doubt.remedy}")


def _sysctls(lines: Sequence[ChangedLine]) -> str:
    """The kernel settings of the answer: the file alone is not what was measured."""
    return ", ".join(f"{x.option} = {x.value}" for x in lines if is_sysctl(x.option))


def _services(own: Sequence[Window], tried: Sequence[Window] = ()) -> tuple[ServiceUse, ...]:
    """Each service in windows of the user's file and of the candidate. Void ones do not count."""
    baseline, candidate = (diagnosis.services_of(counted(windows)) for windows in (own, tried))
    return tuple(
        ServiceUse(name=name, baseline=baseline.get(name), candidate=candidate.get(name))
        for name in sorted(baseline | candidate)
    )


def _doubts(blocks: Sequence[Measurement], finalist: Trial) -> tuple[Doubt, ...]:
    """What to hold against the answer: doubts of the windows, and starts that differ too much."""
    found = analysis.frequent([window for block in blocks for window in block.windows])
    if analysis.unstable_arms(blocks) & {BASELINE, finalist.number}:
        found = (*found, Doubt.UNSTABLE_START)
    return tuple(dict.fromkeys(found))


def _arms(blocks: Sequence[Measurement]) -> tuple[list[Window], list[Window]]:
    """All windows of the baseline, and of the candidate."""
    windows = [window for block in blocks for window in block.windows]
    own, tried = ([window for window in windows if window.arm == arm] for arm in (0, 1))
    return own, tried


def _calibrated(history: History) -> list[Window]:
    blocks = history.blocks(Phase.CALIBRATE)
    return [window for block in blocks for window in block.windows_of(BASELINE)]
