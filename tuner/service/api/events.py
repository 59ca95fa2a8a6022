"""What has changed, as server-sent events: of one job, or of all."""

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from tuner.nouns.model import JobId
from tuner.service.api import reference
from tuner.service.api.parameters import MAX_ID, Id
from tuner.service.api.problems import documented
from tuner.service.api.services import Wired

router = APIRouter(prefix="/v1", tags=["events"])

LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="`id` of the last event that you have: what came after it follows",
        examples=["1041"],
    ),
]
Stream = AsyncIterator[ServerSentEvent]

_DATA = {
    "contentMediaType": "application/json",
    "contentSchema": reference.schema_reference("Event"),
}
_ANSWERS = reference.text("events", "text/event-stream")
_ANSWERS[200]["content"]["text/event-stream"]["itemSchema"] = {"properties": {"data": _DATA}}


# Dependencies, because an error must come before the first byte of the stream.
async def _of_all(services: Wired, last_event_id: LastEventId = None) -> AsyncIterator[Stream]:
    await services.feed.ready()
    with services.feed.stream(lambda event: True, _place(last_event_id)) as stream:
        yield stream


async def _of_job(
    job_id: Id, services: Wired, last_event_id: LastEventId = None
) -> AsyncIterator[Stream]:
    pool = await run_in_threadpool(services.store.pool_of, JobId(job_id))
    await services.feed.ready()
    with services.feed.stream(
        lambda event: event.job == job_id or event.pool == pool, _place(last_event_id)
    ) as stream:
        yield stream


@router.get(
    "/events",
    response_class=EventSourceResponse,
    responses={**_ANSWERS, **documented(404, 422)},
)
async def stream_events(stream: Annotated[Stream, Depends(_of_all)]) -> Stream:
    """Every change as a server-sent event.

    The stream begins with `reset`, which asks you to read all that you show. Come back with
    `Last-Event-ID`, as browsers do, and nothing is missed: what you missed follows, or `reset`
    where that is no longer kept. A comment comes every 15 s without an event. Who reads too slowly
    is disconnected.
    """
    async for message in stream:
        yield message


@router.get(
    "/jobs/{id}/events",
    response_class=EventSourceResponse,
    responses={**_ANSWERS, **documented(404, 422)},
)
async def stream_events_of_job(stream: Annotated[Stream, Depends(_of_job)]) -> Stream:
    """The same of one job, with what changes in the queue and the hosts of its pool."""
    async for message in stream:
        yield message


def _place(last_event_id: str | None) -> int | None:
    """The number; None for none, or for one that is not ours."""
    text = last_event_id or ""
    is_ours = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_ID))
    return int(text) if is_ours else None
