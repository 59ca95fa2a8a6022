"""`tuner app check`: start a target app once with all that it needs, and say what does not work."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from tuner.cli.files import app_folder
from tuner.cli.output import print_lines, say
from tuner.nouns.errors import InvalidInput, TargetFailed
from tuner.nouns.model import CalibrateRequest, Failure, JobSpec, TargetFacts, TargetRequest
from tuner.service.settings import Settings

if TYPE_CHECKING:
    from tuner.bench.measurement import Bench
    from tuner.targets.catalogue import HostCatalogue


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
    from tuner.judge.diagnosis.hints import hints, outside
    from tuner.service.worker import failure_of

    found: Failure = failure_of(failure, spec)
    say(f"failed: {found.message}")
    for hint in hints(found, spec.target):
        say(f"  try: {hint}")
    if found.log_tail:
        say("last lines:")
        for line in found.log_tail.splitlines():
            say(f"  {line}")
    _propose(outside(spec.target, found))


def _propose(hosts: Sequence[str]) -> None:
    """The stubs that the app may need, to be pasted into its target.yaml."""
    from tuner.judge.diagnosis.hints import stubs_of

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
