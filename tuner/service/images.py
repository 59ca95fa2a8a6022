"""What this host's engine knows of images, without a database: commands ask it, and start fast."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tuner.service.settings import PREFIX, Settings

if TYPE_CHECKING:
    from tuner.bench.engine import EngineConfig
    from tuner.bench.engine.images import ImageFacts

STATS_ADDRESS = "127.0.0.1:61717"
"""The address of uWSGI's stats, inside the target's own network namespace."""


def engine_config(settings: Settings, owner: str) -> EngineConfig:
    """Of a part of the product that marks its containers with an `owner`."""
    from tuner.bench.engine import EngineConfig

    return EngineConfig(
        instance=owner,
        worker=settings.worker_name,
        base_image=settings.base_image,
        load_image=settings.load_image,
        journey_image=settings.journey_image,
        build_network=settings.build_network,
        stats_address=STATS_ADDRESS,
        cache_dir=settings.data_dir / "engine",
        check_timeout_s=settings.ready_timeout_s,
        fetch_timeout_s=settings.image_timeout_s,
        images_kept_gb=settings.images_kept_gb,
        images_allowed=settings.images_allowed,
        secrets=_secrets(settings.secrets_allowed, os.environ),
    )


def _secrets(allowed: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that targets may get. Never our own: they open the database."""
    return {
        name: value
        for name, value in environ.items()
        if value and not name.startswith(PREFIX) and any(fnmatchcase(name, g) for g in allowed)
    }


def image_facts(settings: Settings, image: str) -> ImageFacts:
    """The facts of an image, to lint its uwsgi.ini. Raises `InvalidInput`."""
    from tuner.bench.engine.images import facts_of

    return facts_of(engine_config(settings, "lint"), image)  # no service owns its containers


def file_in_image(settings: Settings, image: str, path: str) -> str | None:
    """The text of a file in an image; None without Docker or the image. Raises `InvalidInput`."""
    from tuner.bench.engine.images import file_in

    return file_in(engine_config(settings, "init"), image, path)


def entry_of_image(settings: Settings, image: str) -> dict[str, list[str]] | None:
    """The words of an image's ENTRYPOINT and CMD; None without Docker or the image."""
    from tuner.bench.engine.images import entry_of

    return entry_of(engine_config(settings, "init"), image)
