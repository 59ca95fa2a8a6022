"""Answers of the API as text for people. Pure functions from JSON to lines."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tuner.model import Metric
from tuner.wording import percent

Json = Mapping[str, Any]

FINAL = frozenset({"succeeded", "failed", "cancelled"})


def of_log(ratio: float) -> str:
    """A log ratio as the change it is: +0.068 as `+7.0 %`."""
    return percent(math.expm1(ratio))


def certainty(known: Json) -> str:
    """How sure a calibration's bias is; an interval in which a factor of two could hide says
    nothing."""
    if known["smallest_bias"] is None:
        return "too few blocks to tell"
    low, high = known["bias_ci_low"], known["bias_ci_high"]
    return f"99.9 % interval {of_log(low)} .. {of_log(high)}"


def share(part: float) -> str:
    """0.068 as `6.8 %`."""
    return f"{part:.1%}".replace("%", " %")


def duration(seconds: float) -> str:
    """95 as `1 min 35 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def progress(job: Json) -> str:
    """One line: where the job stands now."""
    state, done = job["state"], job["progress"]
    if state == "queued":
        return f"queued {behind(job)}".rstrip()
    if state in FINAL:
        return str(state)
    parts = [str(job["phase"])]
    if job["phase"] == "search":
        parts.append(f"trial {done['trials_done']} of {done['trials_planned']}")
    else:
        left = done["blocks_left"]
        parts.append(f"{left} block{'s' * (left != 1)} left")
    if job.get("incumbent") is not None:
        parts.append(f"best so far {_incumbent(job['incumbent'])}")
    if done["eta_s"] is not None:
        parts.append(f"about {duration(done['eta_s'])} left")
    return " · ".join(parts)


def behind(job: Json) -> str:
    """`behind 2 jobs`, or nothing for a job that is next."""
    position = job.get("queue_position")
    return f"behind {position} job{'s' * (position != 1)}" if position else ""


def job_lines(job: Json) -> list[str]:
    """A job, without its recommendation."""
    lines = [f"job {job['id']} · {job['app']} · pool {job['pool']}", progress(job)]
    if job["calibration"] is not None and job["kind"] == "tune":
        lines.append(sight(job["calibration"]))
    return lines + preflight_lines(job) + error_lines(job)


def preflight_lines(job: Json) -> list[str]:
    """What trials go without, and what is odd about the job's files; notes are left out."""
    seen = job.get("preflight") or {}  # not there in a service that is older
    return left_out_lines(job) + [
        f"{finding['severity']}: {_place(finding)}{finding['message']} ({finding['rule']})"
        for finding in seen.get("findings") or ()
        if finding["severity"] != "note"
    ]


def left_out_lines(job: Json) -> list[str]:
    """What trials go without."""
    seen = job.get("preflight") or {}
    return [f"left out: {gone['sentence']}" for gone in seen.get("left_out", ())]


def _place(finding: Json) -> str:
    """`today.ini:7: `, or as much of it as there is."""
    line = "" if finding["line"] is None else f"line {finding['line']}"
    parts = [part for part in (finding["file"], line) if part]
    return f"{', '.join(parts)}: " if parts else ""


def sight(calibration: Json) -> str:
    """What a tuning job will be able to see; said before the search spends its time."""
    mde, rps = calibration["mde"], calibration["throughput_rps"]
    line = f"the baseline makes {rps:.1f} requests/s; this job can see {share(mde)} or more"
    if calibration["resolves_min_effect"]:
        return line
    finer = "a quieter host, or more and longer blocks (budget standard or noisy)"
    return f"{line}: not as little as was asked for, which takes {finer}"


def error_lines(job: Json) -> list[str]:
    """Why a job failed, with the container's last lines."""
    error = job["error"]
    if error is None:
        return []
    log = [f"  | {line}" for line in error["log_tail"].splitlines()]
    return [f"{error['code']}: {error['message']}", *log]


def recommendation_lines(found: Json) -> list[str]:
    """Verdict, effect with interval, line by line, the diagnosis, doubts, and what was skipped."""
    lines = [headline(found), found["reason"]]
    lines += _changes("changed lines", found["lines"], change, "not ablated")
    lines += _changes("tried, not worth a line", found["reverted"], _why_not)
    lines += _evidence(found)
    lines += ["", f"bottleneck: {found['diagnosis']['sentence']}"]
    lines += [f"doubt: {doubt['sentence']}" for doubt in found["doubts"]]
    lines += [f"skipped: {sentence}" for sentence in found["evidence"]["skipped"]]
    return lines


def headline(found: Json) -> str:
    """The verdict with its effect: `better: +6.8 % throughput_rps (95 % CI +4.9 % .. +8.7 %)`.

    A verdict on a bound names the bound first: the effect may be a gain.
    """
    verdict = str(found["verdict"]).replace("_", " ")
    if found["effect"] is None:
        return f"verdict: {verdict}"
    effect = f"{change(found['effect'])}, {found['blocks']} interleaved blocks"
    if found["verdict"] != "breaks_bound":
        return f"verdict: {verdict}: {effect}"
    return f"verdict: {verdict}: {'; '.join(b['sentence'] for b in found['missed'])}; {effect}"


def _evidence(found: Json) -> list[str]:
    """What the verdict rests on, and what happened to everything else."""
    if found["p_better"] is None or found["mde"] is None:
        return []
    lines = [
        "",
        "evidence, from fresh blocks only:",
        f"  P(better) {_probability(found['p_better'])}; "
        f"these blocks could show {share(found['mde'])} or more",
        f"  {found['errors']} errors in {found['errors'] + found['requests']} requests",
    ]
    lines += [f"  {change(effect)}" for effect in found["side_effects"]]
    calibration = found["calibration"]
    if calibration is not None:
        bias, sure = of_log(calibration["bias"]), certainty(calibration)
        spread = share(calibration["block_sd"])
        lines.append(f"  A/A check: equal files differ by {bias} ({sure}); sd of a block {spread}")
    return lines


def _probability(probability: float) -> str:
    """Never 0 or 100 %: no number of blocks makes certain."""
    if probability > 0.999:
        return "over 99.9 %"
    return "under 0.1 %" if probability < 0.001 else share(probability)


def _incumbent(incumbent: Json) -> str:
    if incumbent["number"] == 0:
        return "your own file"
    return f"{percent(incumbent['ratio'] - 1)} (trial {incumbent['number']})"


def change(effect: Json) -> str:
    """`+6.8 % throughput_rps (95 % CI +4.9 % .. +8.7 %)`."""
    return f"{percent(effect['estimate'])} {effect['metric']} (95 % CI {_interval(effect)})"


def _interval(effect: Json) -> str:
    ends = (effect["ci_low"], effect["ci_high"])
    return " .. ".join("unbounded" if end is None else percent(end) for end in ends)


def _why_not(effect: Json) -> str:
    """`inside noise: +0.3 % (-0.9 % .. +1.5 %)`, or on which side of 0 the interval lies."""
    sign, low, high = Metric(effect["metric"]).sign, effect["ci_low"], effect["ci_high"]
    if low is None or high is None or low <= 0 <= high:
        reason = "inside noise"
    else:
        reason = "too small to keep" if sign * low > 0 else "harmful"
    return f"{reason}: {percent(effect['estimate'])} ({_interval(effect)})"


def _changes(
    title: str, changed: Sequence[Json], told: Callable[[Json], str], unknown: str = ""
) -> Iterable[str]:
    """One line for each, with its own effect; `unknown` stands where that was not measured."""
    if not changed:
        return []
    rows = [
        (
            line["option"],
            f"{'(not set)' if line['baseline_value'] is None else line['baseline_value']}"
            f" -> {line['value']}",
            told(line["effect"]) if line["effect"] else unknown,
        )
        for line in changed
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    shown = (f"  {o:<{widths[0]}}  {v:<{widths[1]}}  {e}".rstrip() for o, v, e in rows)
    return ["", f"{title}:", *shown]
