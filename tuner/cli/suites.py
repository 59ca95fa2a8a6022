"""A suite of `tuner compare` → the document of a comparison."""

from collections.abc import Sequence
from pathlib import Path

from tuner.cli.asking import Json, fit, given, read_document
from tuner.nouns.errors import InvalidInput
from tuner.targets.catalogue import own_data

FILE = "suite.yaml"


def suite_of(
    name: str, only: Sequence[str] = (), rounds: int | None = None, *, keep_alive: bool = False
) -> Json:
    """The request of one of our suites, or of the one in a file or a folder.

    `only` names the arms to keep; the first of those is the one that the others are compared with.
    `keep_alive` is of the client of every arm that does not say otherwise. Raises `InvalidInput`.
    """
    found = read_document(str(_file_of(name)))
    if not isinstance(found, dict) or found.get("kind") != "compare":
        raise InvalidInput.at(name, "is not a suite: it begins with `kind: compare`")
    request = dict(found) if rounds is None else {**found, "blocks": rounds}
    if keep_alive:
        request["workload"] = {**(found.get("workload") or {}), "keep_alive": True}
    return {**request, "arms": _kept(request.get("arms") or [], only)} if only else request


def tuning_of(request: Json, arm: str, preset: str, space: str | None) -> Json:
    """The request that tunes the file of an arm, in its box. Raises `InvalidInput`."""
    chosen = _file_in(request, arm)
    return given(
        kind="tune",
        app=request.get("app") or request["target"].get("target_app") or "suite",
        target=request["target"],
        baseline={"ini": chosen["ini"]},
        limits=chosen.get("limits") or request.get("limits"),
        workload=_as_one(request.get("workload")),
        allow=request.get("allow"),
        pool=request.get("pool"),
        priority=request.get("priority"),
        search_space=space,
        budget={"preset": preset},
    )


def _as_one(workload: Json | None) -> Json | None:
    """The load of a search: paths in turn become one mix of them."""
    is_paths = workload is not None and workload.get("kind") == "paths"
    return {**workload, "kind": "closed_loop"} if workload and is_paths else workload


def with_tuned(request: Json, arm: str, ini: str, limits: Json) -> Json:
    """The request with one more arm: the file that was found for `arm`, in its box."""
    tuned = {"name": fit(f"{arm}-tuned"), "ini": ini, "limits": limits}
    return {**request, "arms": [*request["arms"], tuned]}


def our_suites() -> list[str]:
    """The names of the suites that come with the product."""
    return sorted(file.parent.name for file in own_data("target_apps").glob(f"*/{FILE}"))


def _file_of(name: str) -> Path:
    if name in our_suites():
        return own_data("target_apps") / name / FILE
    given = Path(name)
    file = given / FILE if given.is_dir() else given
    if not file.is_file():
        known = ", ".join(our_suites())
        raise InvalidInput.at(name, f"is no file and none of our suites, which are: {known}")
    return file


def _file_in(request: Json, name: str) -> Json:
    files = [arm for arm in request.get("arms") or [] if "ini" in arm]
    found: Json | None = next((arm for arm in files if arm.get("name") == name), None)
    if found is None:
        known = ", ".join(str(arm.get("name")) for arm in files) or "none"
        raise InvalidInput.at("--tune", f"no uwsgi.ini {name}; files: {known}")
    return found


def _kept(arms: Sequence[Json], only: Sequence[str]) -> list[Json]:
    names = [str(arm.get("name")) for arm in arms]
    if unknown := [name for name in only if name not in names]:
        raise InvalidInput.at("--only", f"no arm {', '.join(unknown)}; arms: {', '.join(names)}")
    return [arm for arm in arms if str(arm.get("name")) in only]
