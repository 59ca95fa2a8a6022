"""`tuner doctor`: what this host can measure, and how to make it better."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.shared import AsJson, columns, print_answer, say


def doctor(
    seconds: Annotated[
        float, typer.Option(min=0, max=3600, help="Length of the self-test; 0 leaves it out.")
    ] = 20.0,
    as_json: AsJson = False,
) -> None:
    """Say what this host can measure, and how to make it better."""
    from importlib.metadata import version

    from tuner.production import doctor as looks

    host = looks.host_at()
    if seconds:
        say(f"self-test: {seconds:g} s")
    test = looks.self_test(seconds, sorted(os.sched_getaffinity(0))) if seconds else None
    docker = _docker()
    found = list(looks.findings(host, test, docker))
    answer = {
        "version": version("uwsgi-tuner"),
        "docker": docker,
        "host": host,
        "self_test": test,
        "findings": found,
    }
    print_answer(answer, columns(list(looks.lines(found))), as_json=as_json)


def _docker() -> str | None:
    """The version of the engine; None if none answers."""
    from tuner.provision.docker_engine import version_of
    from tuner.provision.machine import Commands

    with tempfile.TemporaryDirectory(prefix="tuner-doctor-") as folder:
        return version_of(Commands(Path(folder) / "log"))
