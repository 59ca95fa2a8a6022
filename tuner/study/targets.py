"""The targets that a request means: of the job, and of arms that name their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tuner.nouns.errors import Mistake
from tuner.nouns.model import (
    DEFAULT_COMMAND,
    CompareRequest,
    ImageName,
    JobSpec,
    Request,
    SearchSpace,
    Target,
    TargetApp,
)

DEFAULT_MEMORY_PER_PROCESS_MB = 32


class KnownApp(Protocol):
    """A target app as it lies in its folder."""

    @property
    def app(self) -> TargetApp:
        """Its target.yaml."""

    @property
    def baseline_ini(self) -> str:
        """The text of its own uwsgi.ini."""


class KnownTargets(Protocol):
    """The apps and spaces that a request can name."""

    @property
    def apps(self) -> Mapping[str, KnownApp]:
        """The target apps by name."""

    @property
    def spaces(self) -> Mapping[str, SearchSpace]:
        """The search spaces by name."""


def described(
    request: Request, catalogue: KnownTargets, mistakes: list[Mistake]
) -> KnownApp | None:
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


def asked(request: Request, described: KnownApp | None) -> Target:
    """The target of the job: a described app, or an image."""
    if described is not None:
        return of_app(described, in_image(request))
    given = request.target
    own = {"command": given.command or DEFAULT_COMMAND}
    fields = {**given.model_dump(), **own, "memory_per_process_mb": DEFAULT_MEMORY_PER_PROCESS_MB}
    return _with_file_at(in_image(request) or given.ini_path, fields)


def of_app(known: KnownApp, ini_path: str | None = None) -> Target:
    """The target of a described app, whose file is in its image if there is a path."""
    app = known.app
    fields = {"target_app": app.name, **app.model_dump(include=set(Target.model_fields))}
    return _with_file_at(ini_path or app.ini_path, fields)


def _with_file_at(path: str | None, fields: Mapping[str, Any]) -> Target:
    """The target; with a path, the image's own command finds the file there."""
    return Target(**{**fields, **({} if path is None else {"ini_path": path, "command": ()})})


def others(
    request: Request, catalogue: KnownTargets, mistakes: list[Mistake]
) -> Mapping[str, KnownApp]:
    """The target apps that arms name."""
    arms = request.arms if isinstance(request, CompareRequest) else ()
    found: dict[str, KnownApp] = {}
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
