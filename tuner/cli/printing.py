"""Answers of the API as lines of text. Pure functions."""

from collections.abc import Callable, Iterator, Sequence

from tuner.cli.shared import columns
from tuner.judge.diagnosis.hints import telling
from tuner.nouns.model import (
    ChangedLine,
    Effect,
    Failure,
    JobKind,
    Phase,
    PreflightFinding,
    Priority,
    Since,
    Verdict,
    notes_of,
)
from tuner.nouns.schemas import (
    CalibrationAnswer,
    Incumbent,
    JobAnswer,
    PreflightAnswer,
    RecommendationAnswer,
    Size,
)
from tuner.nouns.wording import (
    SIGNS,
    VERDICTS,
    count,
    duration,
    effect_with_interval,
    of_log,
    percent,
    probability,
    service,
    share,
    why_not_kept,
)


def submitted_lines(job: JobAnswer, service: str) -> Iterator[str]:
    """`job 7: submitted`, and what it waits for; then what it takes, and its page."""
    waits = f", {progress(job)}" if job.queue_position or job.waits_for else ""
    yield f"job {job.id}: submitted{waits}"
    yield job.size.sentence
    yield page_line(job, service)


def plan_lines(size: Size) -> Iterator[str]:
    """A row for each phase: its blocks, the seconds of one, and the minutes of all."""
    rows = [("phase", "blocks", "seconds each", "minutes")]
    for row in size.phases:
        each = _range(row.takes_s / row.blocks, row.longest_s / row.blocks, ".0f")
        blocks = _range(row.least_blocks, row.blocks, ".0f")
        rows.append((row.phase, blocks, each, _minutes(row.least_s, row.longest_s)))
    least_s = sum(row.least_s for row in size.phases)
    longest_s = sum(row.longest_s for row in size.phases)
    least_blocks = sum(row.least_blocks for row in size.phases)
    blocks = _range(least_blocks, size.blocks, ".0f")
    yield from columns([*rows, ("total", blocks, "", _minutes(least_s, longest_s))])
    yield from ("", size.sentence)


def _minutes(least_s: float, most_s: float) -> str:
    return _range(least_s / 60, most_s / 60, ".1f")


def _range(least: float, most: float, form: str) -> str:
    """`3`, or `3 to 5`."""
    low, high = format(least, form), format(most, form)
    return low if low == high else f"{low} to {high}"


def known_lines(job: JobAnswer, service: str) -> Iterator[str]:
    """`goes on with job 12: 9 of 24 blocks are measured`, and its page."""
    if job.state.is_final:
        yield f"an equal job has ended: takes the answer of job {job.id}"
        return
    done, left = job.progress.blocks_done, job.progress.blocks_left
    yield f"goes on with job {job.id}: {done} of {count(done + left, 'block')} are measured"
    yield page_line(job, service)


def page_line(job: JobAnswer, service: str) -> str:
    """The address at which a browser follows a job; `service` is that of the service."""
    return f"watch it at {service}/jobs/{job.id}"


def progress(job: JobAnswer) -> str:
    """One line: what the job does now, or why nothing is measured."""
    if job.waits_for:
        return f"waiting: {job.waits_for}"
    if job.queue_position:
        return f"queued behind {count(job.queue_position, 'job')}"
    if job.state.is_final or job.queue_position is not None:
        return job.state.value
    done, parts = job.progress, [job.phase.value]
    if job.phase is Phase.SEARCH:
        parts.append(f"trial {done.trials_done} of {done.trials_planned}")
    else:
        parts.append(f"{count(done.blocks_left, 'block')} left")
    if job.incumbent is not None:
        parts.append(f"best so far {_incumbent(job.incumbent)}")
    if done.eta_s is not None:
        parts.append(f"about {duration(done.eta_s)} left")
    return " · ".join(parts)


def _incumbent(incumbent: Incumbent) -> str:
    if incumbent.number == 0:
        return "your own file"
    return f"{percent(incumbent.ratio - 1)} (trial {incumbent.number})"


def job_lines(job: JobAnswer) -> Iterator[str]:
    """A job without its answer."""
    nightly = "" if job.priority is Priority.INTERACTIVE else f" · {job.priority}"
    yield f"job {job.id} · {job.app} · pool {job.pool}{nightly}"
    if job.because:
        follows = f", follows job {job.follows}" if job.follows else ""
        yield f"submitted by the schedule{follows}: {'; '.join(job.because)}"
    yield progress(job)
    if job.calibration is not None and job.kind is JobKind.TUNE:
        yield sight(job.calibration)
    yield from left_out_lines(job.preflight)
    findings = job.preflight.findings or ()
    yield from (_finding_line(found) for found in findings if found.severity != "note")
    if job.failure is not None:
        yield from error_lines(job.failure)


def left_out_lines(preflight: PreflightAnswer) -> Iterator[str]:
    """The lines that trials leave out."""
    return (f"left out: {gone.sentence}" for gone in preflight.left_out)


def _finding_line(found: PreflightFinding) -> str:
    """`warning: today.ini, line 7: too long (U007)`."""
    line = "" if found.line is None else f"line {found.line}"
    place = ", ".join(part for part in (found.file, line) if part)
    parts = (found.severity, place, f"{found.message} ({found.rule})")
    return ": ".join(part for part in parts if part)


def error_lines(error: Failure) -> Iterator[str]:
    """Why a job or a file failed, with the lines of its log that say so."""
    yield f"{error.code}: {error.message}"
    shown, others = telling(error.log_tail)
    yield from (f"  | {line}" for line in shown)
    if others:
        yield f"  | ({count(others, 'more line')}: --json has them all)"


def sight(known: CalibrationAnswer) -> str:
    """The smallest effect that a tuning job can detect; shown before the search."""
    line = (
        f"baseline: {known.throughput_rps:.1f} requests per second;"
        f" smallest detectable effect: {share(known.mde)}"
    )
    if known.resolves_min_effect:
        return line
    return f"{line}, more than min_effect: use a quieter host, or a budget of more cycles (noisy)"


def bias_of(known: CalibrationAnswer) -> str:
    """`+0.2 % (99.9 % CI -1.1 % .. +1.5 %)`; few blocks cannot tell a bias from noise."""
    if known.smallest_bias is None:
        return f"{of_log(known.bias)} (too few blocks to tell a bias)"
    ends = [
        "unbounded" if end is None else of_log(end)
        for end in (known.bias_ci_low, known.bias_ci_high)
    ]
    return f"{of_log(known.bias)} (99.9 % CI {' .. '.join(ends)})"


def recommendation_lines(found: RecommendationAnswer) -> Iterator[str]:
    """The verdict, the changed lines, the evidence, the bottleneck and the doubts."""
    yield headline(found)
    yield found.reason
    if found.measure_again is not None:
        yield found.measure_again
    yield from _since(found.since)
    yield from _changes("changed lines", found.lines, effect_with_interval, "not ablated")
    yield from (f"  note: {note}" for note in notes_of(found.lines))
    yield from _changes("tried, not worth a line", found.reverted, why_not_kept, "")
    yield from _evidence(found)
    yield from ("", f"bottleneck: {found.diagnosis.sentence}")
    for each in found.services:
        tried = service(each.candidate, each.baseline) if each.candidate else ""
        compared = f"; with the candidate: {tried}" if tried else ""
        yield f"service {each.name}: {service(each.baseline)}{compared}"
    yield from _conditions(found)
    yield from _scenes(found)
    yield from (f"doubt: {doubt.sentence}; {doubt.remedy}" for doubt in found.doubts)
    yield from (f"skipped: {sentence}" for sentence in found.evidence.skipped)


def _conditions(found: RecommendationAnswer) -> Iterator[str]:
    """What becomes of the gain where production is unlike the bench."""
    if found.conditions:
        yield "where production is unlike this bench:"
    for each in found.conditions:
        seen = effect_with_interval(each.effect) if each.effect else "not measured"
        yield f"  {each.where}: {seen}, {count(each.blocks, 'block')}: {SIGNS[each.sign]}"
        yield from (f"    doubt: {doubt.sentence}" for doubt in each.doubts)
    if found.compromise:
        yield f"  {found.compromise.sentence}; --json has it"


def _scenes(found: RecommendationAnswer) -> Iterator[str]:
    """Both files where something goes wrong."""
    if found.scenes:
        yield "where something goes wrong:"
    for each in found.scenes:
        worse = ", accepted" if each.is_accepted else f"; {each.remedy}"
        yield f"  {each.sentence}{f': worse{worse}' if each.is_worse else ''}"


def _since(last: Since | None) -> Iterator[str]:
    """What has changed since the last answer, and whether its file holds."""
    if last is None:
        return
    yield from ("", f"since job {last.job}:")
    yield from (f"  {reason}" for reason in last.because)
    changed = last.changed or ("the recommended file is the same",)
    yield from (f"  {line}" for line in changed)
    yield f"  {last.sentence}"


def headline(found: RecommendationAnswer) -> str:
    """`verdict: better: +6.8 % requests per second (95 % CI ...), 24 interleaved blocks`.

    A missed bound comes before the effect, which may be a gain.
    """
    is_broken = found.verdict is Verdict.BREAKS_BOUND
    parts = [bound.sentence for bound in found.missed] if is_broken else []
    if found.effect is not None:
        parts.append(f"{effect_with_interval(found.effect)}, {found.blocks} interleaved blocks")
    return f"verdict: {VERDICTS[found.verdict]}{': ' if parts else ''}{'; '.join(parts)}"


def _evidence(found: RecommendationAnswer) -> Iterator[str]:
    if found.p_better is None or found.mde is None:
        return
    yield from ("", "evidence, from fresh blocks only:")
    yield (
        f"  P(better) {probability(found.p_better)}; smallest detectable effect: {share(found.mde)}"
    )
    yield f"  {count(found.errors, 'error')} in {count(found.errors + found.requests, 'request')}"
    yield from (f"  {effect_with_interval(effect)}" for effect in found.side_effects)
    known = found.calibration
    if known is not None:
        spread = share(known.block_sd)
        yield f"  A/A check: equal files differ by {bias_of(known)}; sd of a block {spread}"


def _changes(
    title: str,
    changed: Sequence[ChangedLine],
    described: Callable[[Effect], str],
    unmeasured: str,
) -> Iterator[str]:
    """One line for each option, in columns, with its own effect."""
    if not changed:
        return
    yield from ("", f"{title}:")
    rows = [
        (
            line.option,
            f"{_or_not_set(line.baseline_value)} -> {_or_not_set(line.value)}",
            described(line.effect) if line.effect else unmeasured,
        )
        for line in changed
    ]
    yield from (f"  {row}" for row in columns(rows))


def _or_not_set(value: str | None) -> str:
    return "(not set)" if value is None else value
