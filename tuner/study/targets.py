"""The targets that a request means: of the job, and of arms that name their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tuner.nouns.errors import Mistake
from tuner.nouns.model import (
    DEFAULT_COMMAND,
    CompareRequest,
    ImageName,
    JobSpec,
    Request,
    Target,
)
from tuner.targets.catalogue import CataloguedApp, HostCatalogue

DEFAULT_MEMORY_PER_PROCESS_MB = 32


def described(
    request: Request, catalogue: HostCatalogue, mistakes: list[Mistake]
) -> CataloguedApp | None:
    """The target app of the job; None for an image."""
    name = request.target.target_app
    if name is None:
        field = "arms" if isinstance(request, CompareRequest) else "baseline"
        if not getattr(request, field):
            hint = "an image does not tell what its uwsgi.ini is: give the present uwsgi.ini"
            mistakes.append(Mistake(field, hint))
        return None
    found = catalogue.apps.get(name)
    if found is None:
        mistakes.append(Mistake("target.target_app", f"unknown target app '{name}'"))
    return found


def in_image(request: Request) -> str | None:
    """The path of the present file, if it is in the image."""
    return getattr(getattr(request, "baseline", None), "in_image", None)


def asked(request: Request, described: CataloguedApp | None) -> Target:
    """The target of the job: a described app, or an image."""
    if described is not None:
        return of_app(described, in_image(request))
    given = request.target
    own = {"command": given.command or DEFAULT_COMMAND}
    fields = {**given.model_dump(), **own, "memory_per_process_mb": DEFAULT_MEMORY_PER_PROCESS_MB}
    return _with_file_at(in_image(request) or given.ini_path, fields)


def of_app(known: CataloguedApp, ini_path: str | None = None) -> Target:
    """The target of a described app, whose file is in its image if there is a path."""
    app = known.app
    fields = {"target_app": app.name, **app.model_dump(include=set(Target.model_fields))}
    return _with_file_at(ini_path or app.ini_path, fields)


def _with_file_at(path: str | None, fields: Mapping[str, Any]) -> Target:
    """The target; with a path, the image's own command finds the file there."""
    return Target(**{**fields, **({} if path is None else {"ini_path": path, "command": ()})})


def others(
    request: Request, catalogue: HostCatalogue, mistakes: list[Mistake]
) -> Mapping[str, CataloguedApp]:
    """The target apps that arms name."""
    arms = request.arms if isinstance(request, CompareRequest) else ()
    found: dict[str, CataloguedApp] = {}
    for number, name in enumerate(arm.target_app for arm in arms):
        if name is not None and name in catalogue.apps:
            found[name] = catalogue.apps[name]
        elif name is not None:
            mistakes.append(Mistake(f"arms.{number}.target_app", f"unknown target app '{name}'"))
    return found


def not_allowed(spec: JobSpec, images_allowed: Sequence[str]) -> Iterator[Mistake]:
    """Each image of the job that the operator does not allow, at the place that named it."""
    named = [*_images_of(spec.target, "target")]
    for number, (arm, target) in enumerate(zip(spec.variants, spec.targets, strict=False)):
        if arm.image is not None:
            named.append((f"arms.{number}.image", arm.image))
        elif arm.target_app is not None:
            named += _images_of(target, f"arms.{number}")
    for place, image in named:
        if not ImageName.parse(image).is_among(images_allowed):
            yield Mistake(place, f"TUNER_IMAGES_ALLOWED does not allow {image}")


def _images_of(target: Target, place: str) -> Iterator[tuple[str, str]]:
    """The images of an app and its services, each with the field that names it."""
    own = [("image", target.image)]
    own += [(f"services.{name}.image", each.image) for name, each in target.services.items()]
    for field, image in own:
        if image is not None:
            yield f"{place}.{'target_app' if target.target_app else field}", image
