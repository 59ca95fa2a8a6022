"""What there is: apps with their answers, pools of hosts, and the names that a request may use."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from tuner.nouns.errors import NotFound
from tuner.nouns.masking import masked
from tuner.nouns.model import (
    NAME,
    AppInBrief,
    BenchmarkHost,
    Check,
    NewCheck,
    SearchSpace,
    extended,
    is_live,
    what_is_missing,
)
from tuner.nouns.schemas import (
    AppAnswer,
    AppPage,
    HostAnswer,
    PoolAnswer,
    PoolList,
    ScheduleAnswer,
    SpaceList,
    SpaceSummary,
    TargetAppAnswer,
    TargetAppList,
)
from tuner.service.api import reference
from tuner.service.api.parameters import Limit, understood
from tuner.service.api.problems import documented
from tuner.service.api.reading import validated
from tuner.service.api.recommendations import App
from tuner.service.api.services import Services, Wired
from tuner.service.api.views import calibration_answer, sees

# ---- All apps: the newest job, the last answers and the last checks of each

of_apps = APIRouter(prefix="/v1/apps", tags=["apps"])

AfterApp = Annotated[
    str | None,
    Query(pattern=NAME, description="`next` of the previous page", examples=["checkout"]),
]


@of_apps.get("", responses=documented(422))
def list_apps(services: Wired, after: AfterApp = None, limit: Limit = 50) -> AppPage:
    """Apps with their answers so far, by name."""
    return app_page(services, after, limit)


@of_apps.get("/{app}", responses=documented(404, 422))
def show_app(app: App, services: Wired) -> AppAnswer:
    """One app with its answers so far, the newest first."""
    return app_answer(services, services.store.app(app))


def _theirs(app: App, services: Wired) -> None:
    services.require_theirs(app)


async def _new_check(request: Request) -> NewCheck:
    return await understood(request, partial(validated, model=NewCheck), NewCheck)


@of_apps.post(
    "/{app}/checks",
    status_code=201,
    dependencies=[Depends(_theirs)],
    openapi_extra=reference.body("NewCheck"),
    responses=documented(404, 413, 415, 422),
)
def report_check(app: App, new: Annotated[NewCheck, Depends(_new_check)], services: Wired) -> Check:
    """Report whether what is deployed still has the recommended effect.

    `tuner recommend --check` and `tuner gate` do it by themselves.
    """
    return masked(services.store.report_check(app, new, by=services.by))


def app_page(services: Services, after: str | None, limit: int) -> AppPage:
    """A page of apps; a full page may have a successor."""
    found = services.store.apps(after=after, limit=limit)
    answers = [app_answer(services, each) for each in found]
    return AppPage(apps=answers, next=found[-1].app if len(found) == limit else None)


def app_answer(services: Services, found: AppInBrief) -> AppAnswer:
    """An app as it is sent. Changed lines may hold secrets."""
    return masked(AppAnswer.of(found, schedule=_schedule(services, found.app)))


def _schedule(services: Services, app: str) -> ScheduleAnswer | None:
    known = services.catalogue.apps.get(app)
    if known is None or known.app.schedule is None:
        return None
    schedule = known.app.schedule
    return ScheduleAnswer(**schedule.model_dump(), next_at=schedule.following(services.now()))


# ---- Pools, their hosts, and what each host can detect

of_pools = APIRouter(prefix="/v1/pools", tags=["pools"])


@of_pools.get("")
def list_pools(services: Wired) -> PoolList:
    """Pools and their hosts: when each worker last reported, and its problem."""
    hosts, now = services.store.hosts(), services.now()
    pools = groupby(sorted(hosts, key=lambda host: host.pool), key=lambda host: host.pool)
    return PoolList(pools=[_pool(name, members, now) for name, members in pools])


@of_pools.get("/{pool}/hosts", responses=documented(404, 422))
def list_hosts(
    pool: Annotated[str, Path(pattern=NAME, description="the pool's name", examples=["default"])],
    services: Wired,
) -> PoolAnswer:
    """The hosts of a pool with their last calibration: what each detects in 5, 20, 60 minutes."""
    hosts, now = services.store.hosts(pool), services.now()
    if not hosts:
        raise NotFound(f"no worker has reported for a pool {pool!r}; GET /v1/pools lists the pools")
    return _pool(pool, hosts, now)


def what_is_away(hosts: Sequence[BenchmarkHost], now: datetime) -> tuple[str, str] | None:
    """What keeps every host from measuring, as a system and a sentence; None where one can."""
    live = [host for host in hosts if is_live(host, now)]
    missing = what_is_missing({host.name: host.hindrance for host in live})
    return ("host" if live else "worker", missing) if missing else None


def _pool(name: str, hosts: Iterable[BenchmarkHost], now: datetime) -> PoolAnswer:
    ordered = sorted(hosts, key=lambda host: host.name)
    return PoolAnswer(name=name, hosts=[_host(host, now) for host in ordered])


def _host(host: BenchmarkHost, now: datetime) -> HostAnswer:
    return extended(
        HostAnswer,
        host,
        calibration=calibration_answer(host.calibration),
        live=is_live(host, now),
        sees=sees(host.calibration),
    )


# ---- What a request may name: search spaces and target apps

of_names = APIRouter(prefix="/v1", tags=["catalogue"])


@of_names.get("/search-spaces")
def list_spaces(services: Wired) -> SpaceList:
    """What may be varied."""
    spaces = services.catalogue.spaces
    return SpaceList(
        search_spaces=[
            SpaceSummary(name=name, description=space.description, parameters=[*space.parameters])
            for name, space in sorted(spaces.items())
        ]
    )


@of_names.get(
    "/search-spaces/{name}",
    responses=documented(404, 422),
)
def show_space(
    name: Annotated[str, Path(description="of the search space", examples=["default"])],
    services: Wired,
) -> SearchSpace:
    """One search space, as a job may also hold it inline."""
    space = services.catalogue.spaces.get(name)
    if space is None:
        raise NotFound(f"there is no search space {name!r}; GET /v1/search-spaces lists them")
    return space


@of_names.get("/target-apps")
def list_target_apps(services: Wired) -> TargetAppList:
    """What can be tuned by name; any other image can be tuned too."""
    return TargetAppList(
        target_apps=[
            TargetAppAnswer.of(known.app, name=name, uwsgi_ini=masked(known.baseline_ini))
            for name, known in sorted(services.catalogue.apps.items())
        ]
    )
