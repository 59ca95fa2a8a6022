"""`tuner analyse`: what a few benchmark runs show, and what they cannot show yet."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tuner.cli.shared import STANDARD_INPUT, AsJson, print_answer, text_of
from tuner.nouns.errors import InvalidInput
from tuner.nouns.wording import figure, interval, percent, share

if TYPE_CHECKING:
    from tuner.judge.analysis.runs import Difference, Needed, Runs


# ---- Numbers on the command line, in a file, or in a column of a CSV file

_DELIMITERS = ("\t", ";", ",")


def numbers_of(words: Iterable[str], column: str | None = None) -> list[float]:
    """The numbers in the words, or in the files that the words name.

    `column` picks a column of a file by its heading or by its place from 1. Raises `InvalidInput`.
    """
    found: list[float] = []
    for word in words:
        plain = [_number(part) for part in word.replace(",", " ").split()]
        if plain and all(number is not None for number in plain):
            found += [number for number in plain if number is not None]
        else:
            found += numbers_in(_text_of(word), source=word, column=column)
    return found


def numbers_in(text: str, *, source: str, column: str | None = None) -> list[float]:
    """The numbers of a text: lines, words or one column of a table. Raises `InvalidInput`.

    A first row that holds other text than numbers is a heading. A table with several columns and
    rows needs `column`.
    """
    rows = _rows_of(text)
    if not rows:
        raise _mistake(source, "holds no numbers")
    headings = rows[0][1] if any(_number(field) is None for field in rows[0][1]) else None
    body = rows[1:] if headings else rows
    widest = max((len(fields) for _, fields in body), default=0)
    if column is not None:
        place = _place_of(column, headings, widest, source)
        chosen = [(line, fields[place : place + 1]) for line, fields in body]
    elif widest > 1 and (headings or (len(body) > 1 and _delimiter_of(text))):
        names = ", ".join(headings) if headings else f"1 to {widest}"
        raise _mistake(source, f"has several columns; pick one with --column ({names})")
    else:
        chosen = body
    return [_read(field, source, line) for line, fields in chosen for field in fields if field]


def _text_of(word: str) -> str:
    """The text of a file, without a byte order mark. Raises `InvalidInput`."""
    if word != STANDARD_INPUT and not Path(word).exists():
        raise _mistake(word, "is neither a number nor a file")
    return text_of(word).removeprefix("\ufeff")


def _rows_of(text: str) -> list[tuple[int, list[str]]]:
    """Line numbers and fields of all lines except empty ones."""
    delimiter = _delimiter_of(text)
    lines = text.splitlines()
    rows = csv.reader(lines, delimiter=delimiter) if delimiter else (line.split() for line in lines)
    stripped = ([field.strip() for field in row] for row in rows)
    return [(line, row) for line, row in enumerate(stripped, 1) if any(row)]


def _delimiter_of(text: str) -> str | None:
    return next((delimiter for delimiter in _DELIMITERS if delimiter in text), None)


def _place_of(column: str, headings: Sequence[str] | None, widest: int, source: str) -> int:
    if headings and column in headings:
        return headings.index(column)
    if column.isdecimal() and 1 <= int(column) <= widest:
        return int(column) - 1
    known = ", ".join(headings) if headings else f"1 to {widest}"
    raise _mistake(source, f"has no column '{column}'; it has {known}")


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _read(field: str, source: str, line: int) -> float:
    number = _number(field)
    if number is None:
        raise _mistake(source, f"line {line}: '{field}' is not a number")
    return number


def _mistake(source: str, message: str) -> InvalidInput:
    named = "standard input" if source == STANDARD_INPUT else source
    return InvalidInput.at(named, message)


def analyse(
    values: Annotated[
        list[str],
        typer.Argument(
            metavar="VALUES...",
            help="One number for each run, in the order of the runs, or a file of numbers"
            " (plain or CSV); - is standard input.",
        ),
    ],
    column: Annotated[
        str | None, typer.Option(help="The column of a CSV file: its heading, or its place from 1.")
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(help='Other runs to compare with: a file, or "1 2 3". Repeatable.'),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Analyse repeated runs of a benchmark: centre, outliers, and how many runs you need."""
    from tuner.judge.analysis.runs import analyse, difference

    ours = numbers_of(values, column)
    theirs = numbers_of(against, column) if against else None
    try:
        found = analyse(ours)
        other = analyse(theirs) if theirs else None
        compared = difference(theirs, ours) if theirs else None
    except ValueError as error:
        raise InvalidInput.at("values", str(error)) from error
    lines = runs_lines(found, is_alone=compared is None)
    if other is not None and compared is not None:
        lines += ["", "against:", *runs_lines(other, is_alone=False)]
        lines += ["", *difference_lines(compared, found, other)]
    print_answer(_answer(found, other, compared), lines, as_json=as_json)


def _answer(found: "Runs", other: "Runs | None", compared: "Difference | None") -> dict[str, Any]:
    answer: dict[str, Any] = {"runs": _runs_answer(found, is_alone=compared is None)}
    if other is not None and compared is not None:
        answer["against"] = _runs_answer(other, is_alone=False)
        lines = difference_lines(compared, found, other)
        answer["difference"] = {**asdict(compared), "verdict": " ".join(lines)}
    return answer


def _runs_answer(found: "Runs", *, is_alone: bool) -> dict[str, Any]:
    verdicts = {"outliers": outlier_verdict(found), "order": order_verdict(found)}
    if is_alone:
        verdicts["resolution"] = resolution_verdict(found)
    return {**asdict(found), "verdicts": verdicts}


def runs_lines(found: "Runs", *, is_alone: bool) -> list[str]:
    """The figures of one group, then its verdicts."""
    lines = [
        f"{found.count} runs",
        f"  centre  {figure(found.centre)}  (95 % interval {figure(found.ci_low)} .. "
        f"{figure(found.ci_high)}; Hodges-Lehmann of the logs)",
        f"  mean    {figure(found.mean)}",
        f"  spread  {share(found.cv)} (standard deviation over mean), "
        f"{share(found.robust_cv)} by the median deviation",
        "",
        f"outliers: {outlier_verdict(found)}",
        f"order: {order_verdict(found)}",
    ]
    if is_alone:
        rows = [_needed_row(needed) for needed in found.needed]
        lines += ["", *rows, "", resolution_verdict(found)]
    return lines


def outlier_verdict(found: "Runs") -> str:
    """The outliers, what to do with them, and the centre without them."""
    outliers = found.outliers
    if outliers.centre_without is None:
        return "none, so keep all runs"
    far = ", ".join(
        f"run {value.run} ({figure(value.value)}, {value.score:+.1f} robust deviations)"
        for value in outliers.far
    )
    change = percent(outliers.centre_without / found.centre - 1)
    is_inside = found.ci_low <= outliers.centre_without <= found.ci_high
    if outliers.beyond_skew == 0:
        advice = "A skewed (log-normal) distribution of this spread has such values, so keep all."
    else:
        advice = (
            f"A skewed (log-normal) distribution of this spread does not explain"
            f" {outliers.beyond_skew}: look for the cause, and drop only runs with a known cause."
        )
    return (
        f"{far}. {advice} Without {'it' if len(outliers.far) == 1 else 'them'} the centre would be"
        f" {figure(outliers.centre_without)} ({change}),"
        f" {'inside' if is_inside else 'outside'} the interval."
    )


def order_verdict(found: "Runs") -> str:
    """Whether the runs change over time, and how strong a trend must be to show."""
    trend = found.trend
    if trend.p <= 0.05:
        way = "rise" if trend.agreement > 0 else "fall"
        said = f"the values {way} from run to run (p {trend.p:.2g}): the runs are not comparable"
    elif trend.jump_p <= 0.05:
        said = f"the values jump after run {trend.jump_after} (p {trend.jump_p:.2g})"
    else:
        said = f"no trend (p {trend.p:.2g})"
    if trend.first_is is not None:
        said += (
            f"; the first run is the {trend.first_is}: by chance in 1 of {found.count} lists,"
            " or because a warm-up is missing"
        )
    if trend.needed is None:
        return f"{said}; {found.count} runs are too few to show a trend"
    if found.count < 10:
        pairs = found.count * (found.count - 1) // 2
        most = round(pairs * (1 + trend.needed) / 2)
        said += f"; with {found.count} runs, only a trend in {most} of {pairs} pairs would show"
    return said


def resolution_verdict(found: "Runs") -> str:
    """The smallest difference that this number of runs resolves."""
    return (
        f"Smallest detectable difference: {share(found.resolves)}, with {found.count} runs of each"
        " of two configurations (one-sided 5 %, power 80 %). Alternate the runs, A B A B, with"
        " fresh starts: then you need fewer."
    )


def difference_lines(compared: "Difference", found: "Runs", other: "Runs") -> list[str]:
    """The difference of the groups, and whether it is more than chance."""
    lines = [
        f"difference to the others: {percent(compared.estimate)} (95 % interval"
        f" {interval(compared.ci_low, compared.ci_high)}; rank-sum p {compared.p:.2g})"
    ]
    if compared.is_clear:
        lines.append("The interval excludes 0: the difference is more than chance.")
    else:
        runs = _runs_to_settle(compared, found, other)
        lines.append(f"The interval contains 0: you cannot tell which is larger yet.{runs}")
    lines.append(
        "The runs did not alternate: the difference includes every change of the machine"
        " between the two groups."
    )
    return lines


def _runs_to_settle(compared: "Difference", found: "Runs", other: "Runs") -> str:
    if compared.runs is None or compared.runs <= min(found.count, other.count):
        return ""
    return f" If the estimate is right, {compared.runs} runs of each would settle it."


def _needed_row(needed: "Needed") -> str:
    return (
        f"  to resolve {share(needed.effect, 0)}: {figure(needed.runs)} runs of each of two"
        f" configurations ({figure(needed.low)} .. {figure(needed.high)}: the spread is uncertain)"
    )
