"""Each request of a journey or a mix: the user's file beside the candidate's."""

from tuner.nouns import wording
from tuner.nouns.model import RequestFigures
from tuner.show.evidence.document import Code, Paragraph, Row, Section, Table
from tuner.show.evidence.job_evidence import JobEvidence

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
