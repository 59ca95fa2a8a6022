"""Parameters that several calls share: path numbers, headers, filters and the body."""

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request
from starlette.exceptions import HTTPException

from tuner.nouns.model import NAME, JobState
from tuner.service.api.reading import parse

MAX_BODY_BYTES = 1_000_000
MAX_ID = 2**63 - 1  # PostgreSQL's bigint
MAX_NUMBER = 2**31 - 1  # PostgreSQL's integer
MAX_AGE_DAYS = 36_500  # a century: a timedelta can hold it

Id = Annotated[int, Path(alias="id", ge=1, le=MAX_ID, description="the job's number", examples=[7])]
Number = Annotated[
    int, Path(alias="n", ge=0, le=MAX_NUMBER, description="the trial's number", examples=[3])
]
IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        description="ETag of an earlier answer",
        examples=['"0123456789abcdef"'],
    ),
]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[\x21-\x7e]{1,200}$",
        description="equal requests with the same key make one job",
        examples=["checkout-release-1.4"],
    ),
]
OfApp = Annotated[
    str | None, Query(pattern=NAME, description="only jobs of this app", examples=["checkout"])
]
InState = Annotated[
    JobState | None, Query(description="only jobs in this state", examples=["running"])
]
After = Annotated[
    int | None, Query(ge=1, le=MAX_ID, description="`next` of the previous page", examples=[7])
]
Limit = Annotated[int, Query(ge=1, le=200, description="largest number of jobs", examples=[50])]


async def _document(request: Request) -> Any:
    """The JSON body. A page of another site cannot make a browser send this content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415)
    return parse(await body_of(request))


async def body_of(request: Request) -> bytes:
    """The bytes that were sent; 413 for more than `MAX_BODY_BYTES`."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413)
    return bytes(body)


Body = Annotated[Any, Depends(_document)]
"""The JSON document of a request."""
