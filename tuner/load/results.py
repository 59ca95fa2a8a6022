"""oha's JSON (1.16), boiled down to what a window needs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PORTS_EXHAUSTED = "ports_exhausted"

_CLASSES = (  # first match wins; the words are oha's, which are hyper's and the kernel's
    ("aborted due to deadline", "deadline"),
    ("os error 111", "refused"),
    ("connection refused", "refused"),
    ("os error 99", PORTS_EXHAUSTED),
    ("cannot assign requested address", PORTS_EXHAUSTED),
    ("before message completed", "early_close"),
    ("error reading a body", "truncated"),
    ("os error 104", "reset"),
    ("os error 32", "reset"),
    ("connection reset", "reset"),
    ("connection error", "reset"),
    ("timeout", "timeout"),
    ("timed out", "timeout"),
)
OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """What one run of oha saw. Latencies are over 2xx answers only, None where there was none."""

    duration_s: float  # from the first request to the last answer
    requests: int  # answered with 2xx
    errors_by_class: Mapping[str, int]
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None


def parse(text: str) -> ClientResult:
    """Read oha's output. Raises `ValueError` where it is something else.

    The plain `latencyPercentiles` hold every answer, 500s too; the successful ones come with
    `--stats-success-breakdown`.
    """
    try:
        document = json.loads(text)
        answers = {int(code): int(n) for code, n in document["statusCodeDistribution"].items()}
        percentiles = document["latencyPercentilesSuccessful"]
        return ClientResult(
            duration_s=float(document["summary"]["total"]),
            requests=sum(n for code, n in answers.items() if _is_success(code)),
            errors_by_class=_errors(answers, document["errorDistribution"]),
            latency_p50_ms=_ms(percentiles["p50"]),
            latency_p95_ms=_ms(percentiles["p95"]),
            latency_p99_ms=_ms(percentiles["p99"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not oha's output: {error!r}") from error


def error_class(message: str) -> str:
    """The class of one of oha's error messages."""
    lowered = message.lower()
    return next((name for words, name in _CLASSES if words in lowered), OTHER)


def _errors(answers: Mapping[int, int], messages: Mapping[str, Any]) -> dict[str, int]:
    found = {f"http_{code}": n for code, n in sorted(answers.items()) if not _is_success(code)}
    for message, number in messages.items():
        name = error_class(message)
        found[name] = found.get(name, 0) + int(number)
    return found


def _is_success(code: int) -> bool:
    return 200 <= code < 300


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * float(seconds)
