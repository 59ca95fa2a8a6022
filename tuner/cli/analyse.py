"""`tuner analyse`: what a handful of benchmark runs says, and what it cannot say yet."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.numbers import numbers_of
from tuner.errors import InvalidInput, Mistake

if TYPE_CHECKING:
    from tuner.analysis.groups import Difference
    from tuner.analysis.runs import Needed, Runs


def analyse(
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="VALUES...",
            help="One number per run, in the order of the runs; or a file of them (plain or CSV);"
            " - is standard input.",
        ),
    ],
    column: Annotated[
        str | None, typer.Option(help="Of a table: the column's heading, or its place from 1.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help='The runs of something else to compare with: a file, or "1 2 3".'),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Say what repeated runs of a benchmark tell: centre, outliers, how many more it takes."""
    from tuner.analysis.groups import difference
    from tuner.analysis.runs import analyse

    ours = numbers_of(values, column)
    theirs = numbers_of(against, column) if against else None
    try:
        found = analyse(ours)
        other = analyse(theirs) if theirs else None
        compared = difference(theirs, ours) if theirs else None
    except ValueError as error:
        raise InvalidInput([Mistake("values", str(error))]) from error
    if as_json:
        typer.echo(json.dumps(_answer(found, other, compared), indent=2, allow_nan=False))
        return
    lines = runs_lines(found, is_alone=compared is None)
    if other is not None and compared is not None:
        lines += ["", "against:", *runs_lines(other, is_alone=False)]
        lines += ["", *difference_lines(compared, found, other)]
    typer.echo("\n".join(lines))


def _answer(found: "Runs", other: "Runs | None", compared: "Difference | None") -> dict[str, Any]:
    answer: dict[str, Any] = {"runs": _runs_answer(found, is_alone=compared is None)}
    if other is not None and compared is not None:
        answer["against"] = _runs_answer(other, is_alone=False)
        lines = difference_lines(compared, found, other)
        answer["difference"] = {**asdict(compared), "verdict": " ".join(lines)}
    return answer


def _runs_answer(found: "Runs", *, is_alone: bool) -> dict[str, Any]:
    said = {"outliers": outlier_verdict(found), "order": order_verdict(found)}
    if is_alone:
        said["resolution"] = resolution_verdict(found)
    # two runs may leave a bound beyond all numbers, for which JSON has no word
    figures = {k: None if v == float("inf") else v for k, v in asdict(found).items()}
    return {**figures, "verdicts": said}


def runs_lines(found: "Runs", *, is_alone: bool) -> list[str]:
    """The figures of one group, then its verdicts in sentences."""
    lines = [
        f"{found.count} runs",
        f"  centre  {figure(found.centre)}  (95 % interval {figure(found.ci_low)} .. "
        f"{figure(found.ci_high)}; Hodges-Lehmann of the logs)",
        f"  mean    {figure(found.mean)}",
        f"  spread  {_share(found.cv)} (standard deviation over mean), "
        f"{_share(found.robust_cv)} by the median deviation",
        "",
        f"outliers: {outlier_verdict(found)}",
        f"order: {order_verdict(found)}",
    ]
    if not is_alone:
        return lines
    rows = [_needed_row(needed) for needed in found.needed]
    return [*lines, "", *rows, "", resolution_verdict(found)]


def outlier_verdict(found: "Runs") -> str:
    """Which values lie far, what that means, and what leaving them out would do."""
    outliers = found.outliers
    if outliers.centre_without is None:
        return "none lies far from the others; keep all"
    far = ", ".join(
        f"run {value.run} ({figure(value.value)}, {value.score:+.1f} robust deviations)"
        for value in outliers.far
    )
    change = outliers.centre_without / found.centre - 1
    within = found.ci_low <= outliers.centre_without <= found.ci_high
    effect = (
        f"without {_them(len(outliers.far))} the centre would be"
        f" {figure(outliers.centre_without)} ({_signed(change)}), "
        f"{'inside' if within else 'outside'} the interval"
    )
    if outliers.beyond_skew == 0:
        reason = (
            "far from the median, but a skewed (log-normal) distribution of this spread has such"
            " values: nothing says that it is a mistake, so keep all"
        )
    else:
        reason = (
            f"{outliers.beyond_skew} of them beyond what even a skewed (log-normal) distribution"
            " explains: look for the cause, and leave out only what has one"
        )
    return f"{far}: {reason}; {effect}"


def order_verdict(found: "Runs") -> str:
    """Whether the runs move over their order, and how much so few of them could show."""
    trend = found.trend
    if trend.p <= 0.05:
        way = "rise" if trend.agreement > 0 else "fall"
        said = f"the values {way} from run to run (p {trend.p:.2g}): they are not of one kind"
    elif trend.jump_p <= 0.05:
        said = f"the values jump after run {trend.jump_after} (p {trend.jump_p:.2g})"
    else:
        said = f"no trend is seen (p {trend.p:.2g})"
    if trend.first_is is not None:
        said += (
            f"; the first run is the {trend.first_is}, as chance alone has it once in"
            f" {found.count} lists, but a missing warm-up too"
        )
    pairs = found.count * (found.count - 1) // 2
    if trend.needed is None:
        return f"{said}; {found.count} runs are too few to show any trend"
    if found.count < 10:
        most = round(pairs * (1 + trend.needed) / 2)
        said += f"; with {found.count} runs only a trend in {most} of {pairs} pairs would show"
    return said


def resolution_verdict(found: "Runs") -> str:
    """What cannot be told yet."""
    return (
        f"You cannot tell a difference below {_share(found.resolves)} yet: that is what "
        f"{found.count} runs of each of two configurations resolve (one-sided 5 %, power 80 %). "
        "Runs in turns, A B A B, with fresh starts need fewer."
    )


def difference_lines(compared: "Difference", found: "Runs", other: "Runs") -> list[str]:
    """By how much the groups differ, and whether that is told from chance."""
    low, high = _signed(compared.ci_low), _signed(compared.ci_high)
    lines = [
        f"difference to the others: {_signed(compared.estimate)} (95 % interval {low} .. {high};"
        f" rank-sum p {compared.p:.2g})"
    ]
    if compared.is_clear:
        lines.append("The interval excludes 0: the two differ by more than chance.")
    else:
        runs = _runs_to_settle(compared, found, other)
        lines.append(f"You cannot tell which is larger yet: the interval holds 0.{runs}")
    lines.append(
        "They were not measured in turns: what changed on the machine between them is in it too."
    )
    return lines


def _runs_to_settle(compared: "Difference", found: "Runs", other: "Runs") -> str:
    have = min(found.count, other.count)
    if compared.runs is None or compared.runs <= have:
        return ""
    return (
        f" If the difference is as large as it looks, {compared.runs} runs of each would settle it."
    )


def _needed_row(needed: "Needed") -> str:
    low, high = figure(needed.low), figure(needed.high)
    return (
        f"  to resolve {_share(needed.effect, 0)}: {figure(needed.runs)} runs of each of two"
        f" configurations ({low} .. {high}, as the spread itself is not well known)"
    )


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def figure(value: float) -> str:
    """Five digits at most, as `1 465.5`; whole numbers as they are."""
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ")
    digits = 0 if value >= 10_000 else 1 if value >= 1000 else None
    text = f"{value:.4g}" if digits is None else f"{value:,.{digits}f}"
    return text.replace(",", " ")


def _share(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f} %"
