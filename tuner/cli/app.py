"""`tuner app`: the folder of a target app, made from what there is; and its check."""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tuner.cli.shared import FolderOrApp, app_folder, print_lines, say, text_of
from tuner.nouns.errors import InvalidInput, TargetFailed
from tuner.nouns.model import CalibrateRequest, Failure, JobSpec, TargetFacts, TargetRequest
from tuner.nouns.wording import count
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.bench.measurement import Bench
    from tuner.targets.catalogue import HostCatalogue
    from tuner.targets.compose import Draft, Wanted


# ---- `tuner app check`: start a target app once with all that it needs, and say what does not work


def checked(app: str, wait_s: float) -> None:
    """Start the app of a folder, or a target app by name, and stop it. Exits with 1 if it fails.

    Each service may take `wait_s` to get ready.

    Raises `InvalidInput` with every mistake of its target.yaml, and `Infrastructure` while a
    service measures on this machine.
    """
    from tuner.judge.diagnosis.hints import outside
    from tuner.service import bootstrap
    from tuner.service.worker import prepared

    settings = Settings.from_environ(os.environ)
    known, name = found_app(app, settings)
    request = CalibrateRequest(target=TargetRequest(target_app=name))
    spec = bootstrap.resolver(known, images_allowed=settings.images_allowed)(request)
    say(f"checking {name}: image, services, prepare, file, answers")
    began = time.monotonic()
    with _bench(settings, known, wait_s) as bench:
        try:
            facts = prepared(spec, bench).facts
        except TargetFailed as failure:
            _explain(failure, spec)
            raise typer.Exit(1) from failure
    seconds = time.monotonic() - began
    print_lines([f"ok: {name} works; {seconds:.0f} s", *_facts(facts, spec)])
    _propose(outside(spec.target))


def found_app(app: str, settings: Settings) -> tuple["HostCatalogue", str]:
    """What is known beside the app of a folder, or a target app by name; and the app's name.

    Raises `InvalidInput`.
    """
    from tuner.targets.catalogue import HostCatalogue, own_data

    if (folder := app_folder(app)) is not None:
        spaces = [own_data("search_spaces"), *settings.search_spaces]
        return HostCatalogue.load([folder.parent], spaces, with_own=False), folder.name
    known = HostCatalogue.load(settings.target_apps, settings.search_spaces)
    if app not in known.apps:
        raise InvalidInput.at("APP", f"no folder with a target.yaml, and no target app: {app}")
    return known, app


@contextmanager
def _bench(settings: Settings, known: "HostCatalogue", wait_s: float) -> Iterator["Bench"]:
    """Alone on this machine. Nothing stays behind but images."""
    from tuner.bench.measurement import Bench
    from tuner.service import bootstrap

    owner = f"check-{os.getpid()}"
    launcher = bootstrap.launcher(settings, known, owner, service_ready_s=wait_s)
    try:
        with launcher.alone():
            yield Bench(launcher.for_measurement("0", "0"), bootstrap.load_generator(settings))
    finally:
        launcher.reap()
        launcher.end_jobs(())
        launcher.close()


def _explain(failure: TargetFailed, spec: JobSpec) -> None:
    from tuner.judge.diagnosis.hints import hints, outside, telling
    from tuner.service.worker import failure_of

    found: Failure = failure_of(failure, spec)
    say(f"failed: {found.message}")
    for hint in hints(found, spec.target):
        say(f"  try: {hint}")
    shown, others = telling(found.log_tail)
    if shown:
        say("its log says:")
    for line in shown:
        say(f"  {line}")
    if others:
        say(f"  ({count(others, 'more line')}: {_kept(found.log_tail)})")
    _propose(outside(spec.target, found))


def _kept(log: str) -> str:
    """The path of a new file with the log."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="tuner-check-", suffix=".log", delete=False, encoding="utf-8"
    ) as file:
        file.write(log)
    return file.name


def _propose(hosts: Sequence[str]) -> None:
    """The stubs that the app may need, to be pasted into its target.yaml."""
    from tuner.nouns.model.hosts import stubs_of

    if hosts:
        say(f"outside: {', '.join(hosts)}; for target.yaml, a stub in the place of each:")
        print_lines(stubs_of(hosts).splitlines())


def _facts(facts: TargetFacts | None, spec: JobSpec) -> Iterator[str]:
    if facts is None:
        return
    yield f"image    {facts.image_digest}"
    yield f"uWSGI    {facts.uwsgi_version}, {facts.topology}"
    yield f"memory   {facts.memory.per_process_mb:.0f} MB per process"
    if spec.target.services:
        yield f"services {', '.join(spec.target.services)}"
    for finding in facts.preflight.findings if facts.preflight else ():
        where = f":{finding.line}" if finding.line is not None else ""
        yield f"{finding.severity}: uwsgi.ini{where}: {finding.message} [{finding.rule}]"


# ---- `tuner app`: the folder of a target app, made from what there is

app = typer.Typer(help="Make a target app.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Make a target app."""


@app.command()
def init(  # long: Typer reads the options from here
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="The folder to make; its name is the app's.")
    ] = Path(),
    compose: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="A compose file, or several [default: those of this folder]."
        ),
    ] = None,
    service: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The service to tune [default: the one with uwsgi]."),
    ] = None,
    ini: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The present uwsgi.ini, if it is elsewhere.")
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What starts uwsgi, if no script or file here shows it."),
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="The image of the app, instead of a build.")
    ] = None,
    copy_data: Annotated[
        bool,
        typer.Option("--copy-data", help="Start with copies of the folders that hold data."),
    ] = False,
    kubernetes: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE|-",
            help="What helm template, kustomize build or kubectl get -o yaml prints.",
        ),
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The Deployment to tune [default: the one with uwsgi]."),
    ] = None,
    container: Annotated[
        str | None, typer.Option(metavar="NAME", help="The container of its pod to tune.")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(metavar="NAME", help="Read this namespace of the manifests only.")
    ] = None,
) -> None:
    """Make target.yaml and uwsgi.ini from a compose file, from manifests, or from an image.

    Prints the paths of the new files, and what was left out, with a reason for each.
    """
    from tuner.targets import compose as composed

    def read(image: str, path: str) -> str | None:
        from tuner.service import images

        return images.file_in_image(Settings.from_environ(os.environ), image, path)

    def entry(image: str) -> dict[str, list[str]] | None:
        from tuner.service import images

        return images.entry_of_image(Settings.from_environ(os.environ), image)

    wanted = composed.Wanted(
        folder=folder,
        compose=tuple(compose or ()),
        service=service,
        ini=ini,
        command=command,
        image=image,
        copy_data=copy_data,
        environ=os.environ,
        read=read,
        entry=entry,
    )
    names = (deployment, container, namespace)
    draft = _of_manifests(wanted, tuple(kubernetes or ()), *names) or composed.draft(wanted)
    written = composed.write(draft, folder)
    for line in draft.findings.on_terminal():
        say(line)
    print_lines(map(str, written))
    for line in _errors_in(folder / draft.document.get("uwsgi_ini", "uwsgi.ini")):
        say(line)


def _errors_in(file: Path) -> Iterator[str]:
    """The errors that `tuner lint` finds in the present file: a search starts with it."""
    from tuner.uwsgi import lint as linter
    from tuner.uwsgi.options import known

    for finding in linter.lint(linter.subject_of(text_of(str(file)), known())):
        if finding.severity is linter.Severity.ERROR:
            where = f":{finding.line}" if finding.line is not None else ""
            yield f"error: {file}{where}: {finding.message} [{finding.rule}]"


def _of_manifests(
    wanted: "Wanted",
    files: tuple[Path, ...],
    deployment: str | None,
    container: str | None,
    namespace: str | None,
) -> "Draft | None":
    """The target app of manifests; None without them. Raises `InvalidInput`."""
    from tuner.targets import kubernetes

    if not files:
        if deployment or container or namespace:
            told = "is missing: --deployment, --container and --namespace are for manifests"
            raise InvalidInput.at("--kubernetes", told)
        return None
    asked = kubernetes.Asked(
        files=files, deployment=deployment, container=container, namespace=namespace or ""
    )
    return kubernetes.draft(wanted, asked)


@app.command()
def check(
    name: FolderOrApp,
    wait_s: Annotated[
        float, typer.Option(min=1, help="Seconds that each service may take to get ready.")
    ] = 40.0,
) -> None:
    """Start an app once with its services and its file, and say what does not work.

    Needs Docker, and no service. Exits with 1 if the app does not work.
    """

    checked(name, wait_s)
