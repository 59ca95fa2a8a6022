"""A comparison arm by arm: what limits each, what failed, what to doubt, and the files."""

from collections.abc import Iterator, Sequence

from tuner.nouns import wording
from tuner.nouns.model import (
    ArmReport,
    Doubt,
    Failure,
    RequestFigures,
    RungReport,
    Variant,
    Workload,
)
from tuner.show.evidence.document import (
    Bullets,
    Code,
    Folded,
    Listing,
    Paragraph,
    Part,
    Row,
    Section,
    Table,
    Word,
    Words,
)
from tuner.show.evidence.job_evidence import JobEvidence

# ---- Each request of a journey or a mix: the user's file beside the candidate's

COLUMNS = {
    "sent": "sent",
    "failed": "failed",
    "over_limit": "over the limit",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "max_ms": "max, ms",
}


def by_request(evidence: JobEvidence) -> Section | None:
    """Counts and times of every request, in fresh blocks; None for a load of one request."""
    own = {found.request: found for found in evidence.by_request.baseline}
    new = {found.request: found for found in evidence.by_request.candidate}
    if not own or not new:
        return None
    names = [name for name in COLUMNS if any(getattr(f, name) is not None for f in own.values())]
    rows: tuple[Row, ...] = tuple(
        (
            Code(wording.request_of(evidence.job.spec.workload, request)),
            *(f"{cell(own.get(request), n)} → {cell(new.get(request), n)}" for n in names),
        )
        for request in sorted(own.keys() | new.keys())
    )
    words = Paragraph("All fresh blocks together. Each cell: your file → the candidate.")
    table = Table(("request", *(COLUMNS[name] for name in names)), rows)
    return Section(title="Request by request", parts=(words, table), is_evidence=True)


def cell(found: RequestFigures | None, name: str) -> str:
    """One of the columns of a request; `-` where there is nothing."""
    number = getattr(found, name, None)
    return "-" if number is None else wording.figure(number)


_LONGEST_FILE = 12_000  # characters of a listing


def limits(arms: Sequence[ArmReport]) -> Section:
    """The bottleneck and the errors of each arm, at each rung where there are several."""
    whole = tuple(
        (Code(arm.name), wording.sentence(arm.diagnosis.sentence), _errors(arm)) for arm in arms
    )
    parts: list[Part] = [Table(("arm", "limit", "errors"), whole)]
    rungs = tuple(_at_rung(arm, rung) for arm in arms for rung in arm.rungs)
    if rungs:
        headings = ("arm", "at", "limit", "errors", "doubts")
        parts.append(Folded("Rung by rung", (Table(headings, rungs),)))
    return Section(title="What limits each arm", parts=tuple(parts))


def _at_rung(arm: ArmReport, rung: RungReport) -> Row:
    is_measured = rung.requests or rung.errors_by_class
    limit = Code(rung.bottleneck.value) if is_measured else "not measured"
    doubts = ", ".join(doubt.value for doubt in rung.doubts)
    return (Code(arm.name), wording.rung(rung.rung), limit, _errors(rung), doubts)


def _errors(found: ArmReport | RungReport) -> str:
    return wording.errors(found.errors_by_class) or "0"


def failures(arms: Sequence[ArmReport]) -> Section | None:
    """What ended the measurement of an arm, and from which rung on."""
    found = [one for arm in arms for one in _failures_of(arm)]
    if not found:
        return None
    tails = [(arm.name, failure.log_tail) for arm, _, failure in found if failure.log_tail]
    logs = (Folded("The end of each log", _listings(tails)),) if tails else ()
    rows = tuple(
        (Code(arm.name), place, f"{failure.code.value}: {failure.message}")
        for arm, place, failure in found
    )
    table = Table(("arm", "from", "why"), rows)
    return Section(title="What was not measured to the end", parts=(table, *logs))


def _failures_of(arm: ArmReport) -> Iterator[tuple[ArmReport, str, Failure]]:
    for rung in arm.rungs:
        if rung.failure is not None:
            yield arm, wording.rung(rung.rung), rung.failure
    if arm.failure is not None and not arm.rungs:
        yield arm, "", arm.failure


def doubts(arms: Sequence[ArmReport]) -> Section | None:
    """Each doubt once, with the arms that have it."""
    items: list[Words] = []
    for doubt in Doubt:
        names = [arm.name for arm in arms if doubt in arm.doubts]
        if names:
            items.append((wording.sentence(doubt.sentence), " In ", *listed(names), "."))
    parts = (Bullets(tuple(items)),)
    return Section(title="What speaks against the figures", parts=parts) if items else None


def listed(names: Sequence[str]) -> Iterator[Word]:
    """Names or lines as code, with commas between them."""
    for place, name in enumerate(names):
        yield from (", ", Code(name)) if place else (Code(name),)


def requests(arms: Sequence[ArmReport], workload: Workload) -> Section | None:
    """Counts and times of every request; None for a load of one request."""
    found = [(arm.name, each) for arm in arms for each in arm.by_request]
    columns = [name for name in COLUMNS if any(getattr(f, name) is not None for _, f in found)]
    rows: tuple[Row, ...] = tuple(
        (
            Code(name),
            Code(wording.request_of(workload, each.request)),
            *(cell(each, column) for column in columns),
        )
        for name, each in found
    )
    table = Table(("arm", "request", *(COLUMNS[name] for name in columns)), rows)
    return Section(title="Request by request", parts=(table,), is_evidence=True) if rows else None


def services(arms: Sequence[ArmReport]) -> Section | None:
    """What ran beside the app under each arm; None without services."""
    first, *_ = arms
    compared = {arm.name: first.services for arm in arms if arm is not first}
    rows = tuple(
        (Code(arm.name), Code(name), wording.service(used, compared.get(arm.name, {}).get(name)))
        for arm in arms
        for name, used in arm.services.items()
    )
    table = Table(("arm", "service", "used"), rows)
    title = "Services beside the app"
    return Section(title=title, parts=(table,), is_evidence=True) if rows else None


def proxies(arms: Sequence[ArmReport]) -> Section | None:
    """What nginx in front logged under each arm; None without nginx."""
    known = [(arm.name, arm.proxy) for arm in arms if arm.proxy is not None]
    if not known:
        return None
    headings = ("arm", "answered", *wording.proxy_times(known[0][1]))
    rows: tuple[Row, ...] = tuple(
        (
            Code(name),
            wording.statuses(proxy.by_status),
            *(wording.spread(times, " / ") for times in wording.proxy_times(proxy).values()),
        )
        for name, proxy in known
    )
    unit = Paragraph("Times in ms: p50 / p95 / longest.")
    parts = (unit, Table(headings, rows))
    return Section(title="What nginx in front logged", parts=parts, is_evidence=True)


def files(variants: Sequence[Variant]) -> Section:
    """The files and commands that were compared, with their boxes where they have their own."""
    texts = [(_boxed(variant), variant.text[:_LONGEST_FILE]) for variant in variants]
    folded = Folded("Files and commands", _listings(texts))
    return Section(title="What each arm runs", parts=(folded,), is_evidence=True)


def _boxed(variant: Variant) -> str:
    own = variant.limits
    return variant.name if own is None else f"{variant.name} in {wording.box(own)}"


def _listings(texts: Sequence[tuple[str, str]]) -> tuple[Part, ...]:
    """Texts, each under its name."""
    return tuple(part for name, text in texts for part in (Paragraph(Code(name)), Listing(text)))
