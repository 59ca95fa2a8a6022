"""Pools, their hosts, and what each host can detect."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Path

from tuner.nouns.errors import NotFound
from tuner.nouns.model import NAME, BenchmarkHost, extended, is_live, what_is_missing
from tuner.nouns.schemas import HostAnswer, PoolAnswer, PoolList
from tuner.service.api.measured import calibration_answer, sees
from tuner.service.api.problems import documented
from tuner.service.api.services import Wired

router = APIRouter(prefix="/v1/pools", tags=["pools"])


@router.get("")
def list_pools(services: Wired) -> PoolList:
    """Pools and their hosts: when each worker last reported, and its problem."""
    hosts, now = services.store.hosts(), services.now()
    pools = groupby(sorted(hosts, key=lambda host: host.pool), key=lambda host: host.pool)
    return PoolList(pools=[_pool(name, members, now) for name, members in pools])


@router.get("/{pool}/hosts", responses=documented(404, 422))
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
