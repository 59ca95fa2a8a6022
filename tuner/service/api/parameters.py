"""What several calls share: path numbers, headers, filters, the body, and ETags."""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Header, Path, Query, Request, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tuner.nouns.errors import InvalidInput, TunerError
from tuner.nouns.model import NAME, JobState
from tuner.service.api import apart
from tuner.service.api.reading import mistakes_of_many, parse

T = TypeVar("T")

# ---- ETag and If-None-Match: a caller that has the current answer gets 304 and no body
#
# A tag made here is a hash of the body, so it is strong: equal tags mean equal bytes.


def conditional(
    request: Request, body: str, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The body with its tag, or 304 if the caller has it already."""
    content = body.encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    kept = {**kept_by(tag), **(headers or {})}
    if unchanged(request, tag):
        return Response(status_code=304, headers=kept)
    return Response(content, headers=kept, media_type=media_type)


def conditional_json(request: Request, answer: BaseModel) -> Response:
    """The same for a JSON answer."""
    return conditional(request, answer.model_dump_json(), "application/json")


def tagged(answer: BaseModel, tag: str) -> Response:
    """A JSON answer with a tag that the caller of this function knows."""
    return Response(answer.model_dump_json(), headers=kept_by(tag), media_type="application/json")


def kept_by(tag: str) -> dict[str, str]:
    """Headers of an answer with a tag: a cache keeps it and asks before it uses it again."""
    return {"ETag": tag, "Cache-Control": "no-cache"}


def unchanged(request: Request, tag: str) -> bool:
    """Whether If-None-Match names this tag. Weak and strong tags compare alike."""
    offered = request.headers.get("if-none-match", "").split(",")
    plain = tag.removeprefix("W/")
    return any(part.strip().removeprefix("W/") in (plain, "*") for part in offered)


# ---- Parameters that several calls share: path numbers, headers, filters and the body

MAX_BODY_BYTES = 1_000_000
BODY_WITHIN_S = 20.0  # 1 MB at 50 kB/s
MOST_HELD_BYTES = 64_000_000  # of all bodies that are on their way
READERS = 1
LARGE_BYTES = 16_000
MOST_LARGE = 64  # that wait to be read
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


class Bodies:
    """All bodies that are on their way: slow ones may not fill the memory, nor large ones hold up.

    Few are read at a time, and the others wait in no thread: a poll has both soon. A large one is
    first read in a process of its own.
    """

    def __init__(self) -> None:
        self._held = 0
        self._large = 0
        self._readers = CapacityLimiter(READERS)

    async def read(self, request: Request, most: int) -> bytes:
        """A whole body. Raises `HTTPException`: 413, 408 for a slow one, 503 for too many."""
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                async for chunk in request.stream():
                    body += chunk
                    self._held += len(chunk)
                    if len(body) > most:
                        raise HTTPException(413)
                    if self._held > MOST_HELD_BYTES:
                        raise HTTPException(503, "too many large requests at once: try again")
        except TimeoutError:
            raise HTTPException(408) from None
        except ClientDisconnect:  # nobody reads the answer, and a log needs no traceback of it
            raise HTTPException(400) from None
        finally:
            self._held -= len(body)
        return bytes(body)

    async def understood(
        self, body: bytes, read: Callable[[Any], T], model: type[BaseModel] | None
    ) -> T:
        """What `read` makes of the document in it, if it is worth a look."""
        if len(body) > LARGE_BYTES:
            await self._require_sound(body, model)
        found = await to_thread.run_sync(_read, read, body, limiter=self._readers)
        if isinstance(found, TunerError):
            raise found
        return found

    async def _require_sound(self, body: bytes, model: type[BaseModel] | None) -> None:
        if self._large == MOST_LARGE:
            raise HTTPException(503, "too many large requests at once: try again")
        self._large += 1
        try:
            with apart.explained("", "send a shorter document"):
                found = await asyncio.wrap_future(apart.begun(mistakes_of_many, body, model))
        finally:
            self._large -= 1
        if found:
            raise InvalidInput(found)


async def body_of(request: Request, most: int = MAX_BODY_BYTES) -> bytes:
    """The bytes that were sent, `most` at most. Raises `HTTPException`."""
    bodies: Bodies = request.app.state.bodies
    return await bodies.read(request, most)


async def understood(
    request: Request, read: Callable[[Any], T], model: type[BaseModel] | None = None
) -> T:
    """What `read` makes of the JSON body, of that model or of a job. Raises what `read` raises.

    A page of another site cannot make a browser send this content type.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415)
    bodies: Bodies = request.app.state.bodies
    return await bodies.understood(await body_of(request), read, model)


def _read(read: Callable[[Any], T], body: bytes) -> T | TunerError:
    """The error is an answer here: its frames would hold a large document for long."""
    try:
        return read(parse(body))
    except TunerError as error:
        error.__context__ = None
        return error.with_traceback(None)
