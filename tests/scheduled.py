"""A target app with a schedule, and the schedules of a host that has it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests import finished_jobs
from tests.builders import FACTS, INI
from tuner.nouns.model import Doubt, JobId, Target, TuneRequest
from tuner.service import bootstrap
from tuner.service.worker import Schedules
from tuner.targets.catalogue import HostCatalogue

TWO = datetime(2026, 11, 28, 2, tzinfo=UTC)
"""A time of the schedule."""

IMAGE = FACTS.image_digest
"""What the last job measured."""


def write_app(parent: Path, ini: str = INI, **changes: Any) -> None:
    """The target app `shop`; its folder is new, or changes."""
    folder = parent / "shop"
    folder.mkdir(exist_ok=True)
    described = {"name": "shop", "description": "an app", "build": ".", "schedule": "0 2 * * *"}
    (folder / "target.yaml").write_text(yaml.safe_dump({**described, **changes}))
    (folder / "uwsgi.ini").write_text(ini)
    (folder / "Dockerfile").write_text("FROM scratch\n")


def catalogue(parent: Path) -> HostCatalogue:
    """The app in the folder, and the product's own search spaces."""
    spaces = HostCatalogue.load().spaces
    return HostCatalogue(apps=HostCatalogue.load([parent], with_own=False).apps, spaces=spaces)


def schedules(
    parent: Path,
    store: Any,
    *,
    now: Callable[[], datetime] = lambda: TWO,
    image: str | Callable[[Target], str | None] = IMAGE,
    pool: str = "default",
) -> Schedules:
    """Those of a host of the pool, whose image of the app has that digest."""
    return Schedules(
        pool=pool,
        store=store,
        catalogue=partial(catalogue, parent),
        resolver=lambda known: bootstrap.resolver(known, store.recommended),
        image=image if callable(image) else lambda target: image,
        apps=Schedules.in_catalogue(catalogue(parent)),
        now=now,
    )


def answered(
    parent: Path,
    store: Any,
    ini: str = finished_jobs.NEW_INI,
    *,
    doubts: Sequence[Doubt] = (),
    **asked: Any,
) -> JobId:
    """A tuning job of the app that has ended and recommends the file."""
    request = {"app": "shop", "target": {"target_app": "shop"}, **asked}
    spec = bootstrap.resolver(catalogue(parent))(TuneRequest.model_validate(request))
    changes = {"doubts": tuple(doubts)} if doubts else {}
    found = finished_jobs.recommendation(uwsgi_ini=ini, **changes)
    return finished_jobs.stored(store, found, **dict(spec))
