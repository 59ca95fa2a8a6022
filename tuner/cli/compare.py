"""`tuner compare`: the arms of a suite, which are uwsgi.ini files and other servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli import printing, tables
from tuner.cli.asking import Json, fit, given, read_document
from tuner.cli.jobs import check_succeeded, form_of
from tuner.cli.shared import (
    AsJson,
    CsvFile,
    Fresh,
    Pool,
    PriorityOption,
    ReportFile,
    Svg,
    check_folder,
    print_json,
    say,
    write_text,
)
from tuner.client import Client
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import box_of
from tuner.nouns.schemas import JobAnswer, ReportAnswer, ReportForm
from tuner.show import charts
from tuner.targets.catalogue import own_data

if TYPE_CHECKING:
    from tuner.nouns.schemas import RecommendationAnswer


# ---- A suite of `tuner compare` → the document of a comparison

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


# ---- A comparison that has ended: printed, drawn and written to files


@dataclass(frozen=True, slots=True)
class Written:
    """The files that a comparison is written to."""

    svg: Path | None
    reports: Sequence[tuple[str, Path, ReportForm]]

    @classmethod
    def of(cls, svg: Path | None, report: Path | None, csv: Path | None) -> "Written":
        """Options with their files. Raises `InvalidInput` before minutes of measuring."""
        if svg is not None:
            check_folder("--svg", svg)
        found: list[tuple[str, Path, ReportForm]] = []
        if report is not None:
            found.append(("--report", report, form_of(report)))
        if csv is not None:
            check_folder("--csv", csv)
            found.append(("--csv", csv, "csv"))
        return cls(svg, found)

    def write(self, client: Client, job: JobAnswer) -> None:
        """Write them, if the job has a report."""
        if job.report is None:
            return
        if self.svg is not None:
            _draw(client, job.id, job.report, self.svg)
        for option, file, form in self.reports:
            write_text(option, file, client.report(job.id, form))
            say(f"report: {file}")


def show(job: JobAnswer, *, as_json: bool) -> None:
    """Print a comparison. Raises where the job has failed."""
    if as_json:
        print_json(job)
    elif job.report is not None:
        tables.show(tables.comparison_parts(job, job.report))
        tables.show(printing.left_out_lines(job.preflight))
    check_succeeded(job)


def _draw(client: Client, job_id: int, report: ReportAnswer, file: Path) -> None:
    """Write two charts: windows over time, and percentiles of latency."""
    raw = client.windows(job_id)
    windows = {
        name: [window for window in raw.windows if window.trial == number]
        for number, name in enumerate(raw.files or ())
    }
    latencies = {arm.name: arm.latency for arm in report.arms}
    drawn = charts.stacked(charts.windows_over_time(windows), charts.latency_percentiles(latencies))
    write_text("--svg", file, drawn)
    say(f"charts: {file}")


TUNED_WITHIN_DAYS = 1
"""An equal tuning job that succeeded within this time is not run again for --tune."""


def compare(  # long: Typer reads the options from here
    suite: Annotated[
        str, typer.Argument(metavar="SUITE", help="One of our suites, or a suite.yaml.")
    ],
    only: Annotated[
        list[str] | None, typer.Option(metavar="ARM", help="Measure this arm. Repeatable.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Fresh starts of each arm; default: the suite's.")
    ] = None,
    keep_alive: Annotated[
        bool, typer.Option("--keep-alive", help="Clients keep their connections.")
    ] = False,
    tune: Annotated[
        str | None,
        typer.Option(metavar="ARM", help="Tune the file of this arm first; its answer joins."),
    ] = None,
    preset: Annotated[str, typer.Option(help="How much --tune measures.")] = "standard",
    space: Annotated[str | None, typer.Option(help="The search space of --tune.")] = None,
    pool: Pool = None,
    priority: PriorityOption = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
    svg: Svg = None,
    report: ReportFile = None,
    csv: CsvFile = None,
) -> None:
    """Compare the arms of a suite: uwsgi.ini files, and other servers under the same app.

    If the command was stopped, the same command goes on where it was.
    """
    from tuner.cli import asking, following

    chosen = suite_of(suite, only or (), rounds, keep_alive=keep_alive)
    request = asking.given(**chosen | {"pool": pool, "priority": priority})
    tuning = tuning_of(request, tune, preset, space) if tune else None
    written = Written.of(svg, report, csv)
    with following.reached() as (client, runs_on):
        run = partial(following.run, client, runs_on=runs_on, quiet=as_json, goes_on=not fresh)
        if tune and tuning:
            job = run(tuning, max_age_days=TUNED_WITHIN_DAYS)
            check_succeeded(job)
            request = _with_tuned(request, tune, client.recommendation(job.id))
        job = run(request)
        written.write(client, job)
    show(job, as_json=as_json)


def _with_tuned(request: "Json", arm: str, found: "RecommendationAnswer") -> "Json":
    """The request with the file that was found for an arm; unchanged where none is better."""
    from tuner.cli import printing

    say(f"{arm}: {printing.headline(found)}")
    if not found.lines:
        return request
    box = box_of(found.circumstances.limits, found.lines)
    return with_tuned(request, arm, found.uwsgi_ini, box.model_dump(mode="json"))
