"""What the product knows: options of uWSGI, rules of its linter, search spaces."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from tuner.nouns.errors import NotFound
from tuner.service.api.catalogue import list_spaces, show_space
from tuner.service.api.services import Wired
from tuner.service.pages.answering import page
from tuner.uwsgi.lint import RULES, rule_of
from tuner.uwsgi.options import known, nearest

router = APIRouter()

Name = Annotated[str, Path(max_length=100)]
Words = Annotated[str, Query(max_length=100, description="only options with these words")]


@router.get("/spaces")
def spaces(request: Request, services: Wired) -> Response:
    """All search spaces."""
    found = list_spaces(services).search_spaces
    return page(request, "spaces.html.j2", calls=["/v1/search-spaces"], spaces=found)


@router.get("/spaces/{name}")
def space(name: Name, request: Request, services: Wired) -> Response:
    """One search space."""
    found = show_space(name, services)
    calls = [f"/v1/search-spaces/{name}"]
    parameters = found.model_dump(mode="json", exclude_none=True)["parameters"]
    return page(request, "space.html.j2", calls=calls, space=found, parameters=parameters)


@router.get("/options")
def options(request: Request, q: Words = "") -> Response:
    """All options, or those whose name or sentence has the words."""
    words = q.lower().split()
    catalogue = known()
    found = [
        option
        for option in catalogue.options
        if all(word in f"{' '.join(option.names)} {option.sentence}".lower() for word in words)
    ]
    command = "tuner options --json"
    return page(
        request, "options.html.j2", command=command, catalogue=catalogue, options=found, q=q
    )


@router.get("/options/{name}")
def option(name: Name, request: Request) -> Response:
    """One option. Raises `NotFound` with the name that is nearest."""
    catalogue = known()
    found = catalogue.find(name)
    if found is None:
        meant = nearest(catalogue, name)
        hint = f"; did you mean {meant}?" if meant else ""
        raise NotFound(f"uWSGI {catalogue.version} has no option {name}{hint}")
    command = f"tuner options {found.name} --json"
    return page(request, "option.html.j2", command=command, option=found, catalogue=catalogue)


@router.get("/rules")
def rules(request: Request) -> Response:
    """All rules of the linter."""
    return page(request, "rules.html.j2", command="tuner lint --explain RULE", rules=RULES)


@router.get("/rules/{name}")
def rule(name: Name, request: Request) -> Response:
    """One rule: why it matters, and the better file."""
    found = rule_of(name)
    if found is None:
        raise NotFound(f"there is no rule {name}; the list of rules has all")
    return page(request, "rule.html.j2", command=f"tuner lint --explain {found.id}", rule=found)
