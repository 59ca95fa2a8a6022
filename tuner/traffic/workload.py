"""Counts → a workload that `tune` and `measure` take, each line with its evidence in a comment.

| figure     | how                                                                             |
|------------|---------------------------------------------------------------------------------|
| weight     | requests of a template / all that count; ± is 1.96 standard errors              |
| rate       | bins of 10 s (1 s below 100 s) of the busiest hour: median, p95, p99, maximum   |
| dispersion | variance / mean of the counts of 1, 10 and 60 s: 1 for Poisson arrivals         |
| in flight  | Little's law: sum of durations / seconds of the busiest hour. No maximum: it is |
|            | wrong by far where times are whole seconds                                      |
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from pydantic import TypeAdapter

from tuner.nouns.model import HttpRequest, Workload
from tuner.nouns.plain import count, thousands
from tuner.traffic.counting import HOUR_S, Reading, Tally, templates
from tuner.traffic.formats import Family
from tuner.traffic.templates import MASKED, Leaf

Rate = Literal["median", "p95", "p99", "max"]

SMALLEST_SHARE = 0.005
_QUERY = "values of its query are masked: put real ones in the place of x"
_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Template:
    """One template: its figures, and paths in their real frequency. Shares are fractions."""

    method: str
    template: str
    requests: int
    share: float
    share_error: float
    time_share: float | None
    mean_ms: float | None
    expect: int
    statuses: Mapping[int, int]
    samples: tuple[str, ...]

    @property
    def to_do(self) -> str:
        """What the log does not know, without which the answer would be another one."""
        if any(kind in self.template for kind in MASKED):
            return "its values are masked: put real ones of your test data"
        if self.method in _WRITES:
            return "a body and a login are in no log: add them"
        if self.expect in (401, 403):
            return "production refused it"
        if "=x" in "".join(self.samples):
            return _QUERY
        if "{" in "".join(self.samples):
            return "put real values in the place of the braces"
        return ""

    @property
    def is_ready(self) -> bool:
        """Whether it can be sent as it is; a masked query is sent with `x`."""
        return not self.to_do or self.to_do is _QUERY


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The busiest hour, of one replica. Rates are requests per second."""

    begin: str
    window_s: int
    requests: int
    mean_rps: float
    median_rps: float
    p95_rps: float
    p99_rps: float
    max_rps: float
    dispersion: Mapping[str, float]
    in_flight: float | None
    mean_ms: float | None

    def at(self, rate: Rate) -> float:
        """The rate of this name."""
        return float(getattr(self, f"{rate}_rps"))


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the log says, without any text of its lines but templates and samples."""

    lines: int
    unread: int
    formats: Mapping[str, int]
    family: Family
    requests: int
    same_requests: int
    left_out: Mapping[str, int]
    bots: int
    missing: int
    replicas: int
    reused_share: float | None
    think_s: float | None
    arrivals: Arrivals | None
    templates: tuple[Template, ...]

    def as_json(self) -> dict[str, Any]:
        """The figures as a document."""
        return asdict(self)


def traffic_of(
    reading: Reading, *, source: Family | None = None, replicas: int | None = None, samples: int = 5
) -> Traffic:
    """The figures. Raises `ValueError` for a log from which there is no load: the reason."""
    family = source or _family(reading)
    tally = reading.tallies[family]
    _refuse(reading, tally)
    of_each = replicas or max(1, len(tally.sources))
    reused = tally.reused[True] + tally.reused[False]
    found = tuple(_templates(tally, samples))
    return Traffic(
        lines=reading.lines,
        unread=reading.unread,
        formats=dict(+reading.formats),
        family=family,
        requests=tally.count,
        same_requests=sum(t.read for name, t in reading.tallies.items() if name != family),
        left_out=dict(tally.left_out.most_common()),
        bots=tally.bots,
        missing=tally.missing,
        replicas=of_each,
        reused_share=tally.reused[True] / reused if reused else None,
        think_s=tally.users.think_s,
        arrivals=_arrivals(tally, of_each),
        templates=found,
    )


def _family(reading: Reading) -> Family:
    """uWSGI's own lines where there are some: their durations are those of the app."""
    uwsgi, proxy = reading.tallies["uwsgi"], reading.tallies["proxy"]
    return "uwsgi" if uwsgi.count and 2 * uwsgi.read >= proxy.read else "proxy"


def _refuse(reading: Reading, tally: Tally) -> None:
    if not tally.read:
        raise ValueError(
            f"no line of {thousands(reading.lines)} is a request of a known format; --ini or"
            " --nginx names your own"
        )
    good = tally.classes[2] + tally.classes[3]
    errors = tally.classes[4] + tally.classes[5]
    if not good and errors:
        raise ValueError(
            f"a log of errors only: none of {count(tally.read, 'request')} has a status of 2xx or"
            " 3xx. With disable-logging, uWSGI logs only what log-4xx, log-5xx and log-slow name."
            " Turn the log on for an hour"
        )
    if errors > good and tally.missing > tally.read:
        raise ValueError(
            f"a log of errors: {thousands(errors)} of {count(tally.read, 'request')}, and uWSGI's"
            f" own count says that {count(tally.missing, 'request')} have no line. Turn the log on"
            " for an hour"
        )
    if not tally.count:
        reasons = ", ".join(f"{thousands(n)} {why}" for why, n in tally.left_out.most_common())
        raise ValueError(f"no request is load of the app: {reasons}")


def _templates(tally: Tally, samples: int) -> Iterator[Template]:
    found = list(templates(tally))
    time_s = sum(leaf.time_s for _, _, leaf in found)
    for method, template, leaf in found:
        share = leaf.count / tally.count
        yield Template(
            method=method,
            template=template,
            requests=leaf.count,
            share=share,
            share_error=1.96 * math.sqrt(share * (1 - share) / tally.count),
            time_share=leaf.time_s / time_s if time_s else None,
            mean_ms=1000 * leaf.time_s / leaf.timed if leaf.timed else None,
            expect=_expected(leaf),
            statuses=dict(leaf.statuses.most_common()),
            samples=tuple(leaf.samples[:samples]),
        )


def _expected(leaf: Leaf) -> int:
    answered = {s: n for s, n in leaf.statuses.items() if 200 <= s <= 599 and s != 499}
    return max(answered, key=lambda status: answered[status], default=200)


# ---- the busiest hour


def _arrivals(tally: Tally, replicas: int) -> Arrivals | None:
    if tally.first_s is None:
        return None
    number = max(tally.hours, key=lambda one: tally.hours[one].count)
    hour = tally.hours[number]
    seconds = np.array(hour.seconds, dtype=float)
    busy = np.flatnonzero(seconds)
    low = 0 if number - 1 in tally.hours else int(busy[0])
    high = HOUR_S if number + 1 in tally.hours else int(busy[-1]) + 1
    window_s = high - low
    whole = (
        slice(low + (number - 1 not in tally.hours), high - (high < HOUR_S))
        if window_s > 10
        else slice(low, high)
    )
    seconds = seconds[whole] / replicas  # the first and the last second of a log are no whole ones
    rates = _bins(seconds, 10 if window_s >= 100 else 1)
    in_flight = None
    if 2 * hour.timed > hour.count:
        in_flight = hour.time_s * hour.count / hour.timed / window_s / replicas
    begin = datetime.fromtimestamp(tally.first_s // 1 + number * HOUR_S + low, UTC)
    return Arrivals(
        begin=begin.strftime("%Y-%m-%d %H:%M:%S"),
        window_s=window_s,
        requests=hour.count,
        mean_rps=float(seconds.mean()),
        median_rps=float(np.median(rates)),
        p95_rps=float(np.percentile(rates, 95)),
        p99_rps=float(np.percentile(rates, 99)),
        max_rps=float(rates.max()),
        dispersion={
            f"{width} s": _dispersion(seconds * replicas, width)
            for width in (1, 10, 60)
            if window_s >= 10 * width
        },
        in_flight=in_flight,
        mean_ms=1000 * hour.time_s / hour.timed if hour.timed else None,
    )


def _bins(seconds: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """The mean of each whole bin."""
    whole = len(seconds) // width * width
    means: np.ndarray[Any, Any] = seconds[:whole].reshape(-1, width).mean(axis=1)
    return means


def _dispersion(seconds: np.ndarray[Any, Any], width: int) -> float:
    counts = _bins(seconds, width) * width
    return float(counts.var(ddof=1) / counts.mean()) if counts.mean() else 0.0


# ---- the workload and its text


def chosen(traffic: Traffic, rate: Rate | None) -> list[Template]:
    """The templates that are sent as they are; with a rate, those that a fixed rate can send.

    Raises `ValueError` if there is none.
    """
    found = [
        one
        for one in traffic.templates
        if one.share >= SMALLEST_SHARE
        and one.is_ready
        and (rate is None or (one.method == "GET" and 200 <= one.expect < 300))
    ]
    if not found:
        raise ValueError("no template can be sent as it is: each needs a body, or a masked value")
    return found


def _requests(
    one: Template, samples: Sequence[str], scale: float, rate: Rate | None
) -> list[dict[str, Any]]:
    """The requests of a template: its weight, split over its paths."""
    unit = scale * one.share / len(samples)
    return [_request(one, path, unit * n, rate) for path, n in Counter(samples).items()]


def _request(one: Template, path: str, weight: float, rate: Rate | None) -> dict[str, Any]:
    request: dict[str, Any] = {"path": path}
    if one.method != "GET":
        request["method"] = one.method
    if rate is None and one.expect != 200:
        request["expect"] = one.expect
    return {**request, "weight": max(1, min(1000, round(weight)))}


def yaml_of(traffic: Traffic, names: Sequence[str], rate: Rate | None = None) -> str:
    """The YAML of a workload, for a target.yaml or a job. Raises `ValueError`: nothing to send."""
    sent = chosen(traffic, rate)
    scale = 1000 / max(one.share for one in traffic.templates)  # the most frequent has 1000
    most = max(1, 1000 // len(sent))  # a workload has at most 1 000 requests
    found = [(one, _requests(one, one.samples[:most], scale, rate)) for one in sent]
    document, comments = _head(traffic, rate)
    requests = [HttpRequest.model_validate(each) for _, some in found for each in some]
    TypeAdapter(Workload).validate_python({**document, "requests": requests})
    lines = [*_preface(traffic, names), "workload:"]
    for key, value in document.items():
        plain = json.dumps(value).strip('"')
        lines.append(f"  {key}: {plain}{comments.get(key, '')}")
    lines.append("  requests:")
    for one, some in found:
        lines.append(f"    # {_evidence(one, traffic)}")
        lines += [f"    - {_flow(each)}" for each in some]
    return "\n".join([*lines, *_to_do(traffic, sent, scale), ""])


def _head(traffic: Traffic, rate: Rate | None) -> tuple[dict[str, Any], dict[str, str]]:
    """The load besides its requests, and the comment of each field."""
    arrivals = traffic.arrivals
    keeps = traffic.reused_share is not None and traffic.reused_share > 0.5
    kept = {"keep_alive": keeps}
    share = traffic.reused_share
    why_kept = (
        "not in the log" if share is None else f"{share:.0%} of requests on a kept connection"
    )
    comments = {"keep_alive": f"  # {why_kept}"}
    if rate is not None:
        if arrivals is None:
            raise ValueError("the log has no times, so there is no rate: leave --rate out")
        rps = float(f"{max(arrivals.at(rate), 0.01):.4g}")
        comments["rate_rps"] = f"  # {rate} of the busiest hour, one replica"
        return {"kind": "open_loop", "rate_rps": rps, **kept}, comments
    if arrivals is None or arrivals.in_flight is None or arrivals.mean_ms is None:
        comments["concurrency"] = "  # the default: the log has no durations of a known unit"
        return {"kind": "closed_loop", "concurrency": 64, **kept}, comments
    wanted = max(1, math.ceil(arrivals.p99_rps * arrivals.mean_ms / 1000))
    comments["concurrency"] = (
        f"  # in flight at the p99 rate; mean {arrivals.in_flight:.3g} by Little's law, one replica"
    )
    return {"kind": "closed_loop", "concurrency": min(wanted, 10_000), **kept}, comments


def _flow(request: Mapping[str, Any]) -> str:
    shown = (f"{k}: {json.dumps(v) if k == 'path' else v}" for k, v in request.items())
    return "{" + ", ".join(shown) + "}"


def _preface(traffic: Traffic, names: Sequence[str]) -> Iterator[str]:
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    formats = ", ".join(f"{name} {thousands(n)}" for name, n in traffic.formats.items())
    yield f"# from {shown}: {count(traffic.lines, 'line')} ({formats}; {traffic.unread} not read)"
    yield f"# {count(traffic.requests, 'request')} count, as {traffic.family} wrote them"
    if traffic.same_requests:
        yield f"# not twice: {count(traffic.same_requests, 'line')} of the other server (--source)"
    for reason, number in traffic.left_out.items():
        yield f"# left out: {thousands(number)} {reason}"
    if traffic.bots:
        yield f"# bots and scanners: {traffic.bots / traffic.requests:.1%} (--bots drop, or keep)"
    if traffic.missing:
        yield f"# uWSGI's own count says: {count(traffic.missing, 'request')} have no line"
    if (found := traffic.arrivals) is not None:
        each = f", each of {traffic.replicas} replicas" if traffic.replicas > 1 else ""
        yield f"# busiest hour, {found.window_s} s from {found.begin} (clock of the log){each}:"
        yield (
            f"#   requests per second: mean {found.mean_rps:.4g}, median {found.median_rps:.4g},"
            f" p95 {found.p95_rps:.4g}, p99 {found.p99_rps:.4g}, max {found.max_rps:.4g}"
        )
        if found.dispersion:
            of = ", ".join(f"{value:.3g} at {name}" for name, value in found.dispersion.items())
            yield f"#   index of dispersion: {of} (Poisson arrivals: 1)"
        in_flight = "unknown" if found.in_flight is None else f"{found.in_flight:.4g}"
        yield f"#   in flight, mean: {in_flight}"
    if traffic.think_s is not None:
        yield f"# think time: {traffic.think_s:.3g} s, median; a user is an address with an agent"
    yield "# no log has: bodies, cookies, CSRF tokens, logins, the state of caches"


def _evidence(one: Template, traffic: Traffic) -> str:
    ms = (
        ""
        if one.mean_ms is None
        else f"; mean {one.mean_ms:.3g} ms, {one.time_share or 0:.1%} of time"
    )
    statuses = ", ".join(f"{s} {n / one.requests:.1%}" for s, n in list(one.statuses.items())[:3])
    to_do = f"; to do: {one.to_do}" if one.to_do else ""
    return (
        f"{one.method} {one.template}: {one.share:.1%} ± {100 * one.share_error:.1f} of"
        f" {count(traffic.requests, 'request')}; {statuses}{ms}{to_do}"
    )


def _to_do(traffic: Traffic, sent: Sequence[Template], scale: float) -> Iterator[str]:
    """The templates that are not sent, as comments."""
    is_sent = set(map(id, sent))
    left = [one for one in traffic.templates if id(one) not in is_sent]
    large = [one for one in left if one.share >= SMALLEST_SHARE]
    yield f"# sent as it is: {sum(one.share for one in sent):.1%} of the requests"
    if large:
        yield f"# to do: {count(len(large), 'template')} that cannot be sent as the log has it:"
    for one in large:
        yield f"#   # {_evidence(one, traffic)}; must answer {one.expect}"
        yield f"#   - {_flow(_request(one, one.samples[0], scale * one.share, None))}"
    if small := [one for one in left if one.share < SMALLEST_SHARE]:
        share = sum(one.share for one in small)
        yield f"# {count(len(small), 'template')} below {SMALLEST_SHARE:.1%}: {share:.1%} together"
