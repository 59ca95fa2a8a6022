"""What a request may name: search spaces and target apps."""

from typing import Annotated

from fastapi import APIRouter, Path

from tuner.nouns.errors import NotFound
from tuner.nouns.masking import masked
from tuner.nouns.model import SearchSpace
from tuner.nouns.schemas import SpaceList, SpaceSummary, TargetAppAnswer, TargetAppList
from tuner.service.api.problems import documented
from tuner.service.api.services import Wired

router = APIRouter(prefix="/v1", tags=["catalogue"])


@router.get("/search-spaces")
def list_spaces(services: Wired) -> SpaceList:
    """What may be varied."""
    spaces = services.catalogue.spaces
    return SpaceList(
        search_spaces=[
            SpaceSummary(name=name, description=space.description, parameters=[*space.parameters])
            for name, space in sorted(spaces.items())
        ]
    )


@router.get(
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


@router.get("/target-apps")
def list_target_apps(services: Wired) -> TargetAppList:
    """What can be tuned by name; any other image can be tuned too."""
    return TargetAppList(
        target_apps=[
            TargetAppAnswer.of(known.app, name=name, uwsgi_ini=masked(known.baseline_ini))
            for name, known in sorted(services.catalogue.apps.items())
        ]
    )
