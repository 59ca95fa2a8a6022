"""The pipelines of docs/ci.md: their commands as they stand there, to be run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).parents[1] / "docs" / "ci.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_GIVEN_BY_THE_RUNNER = re.compile(r"\$\{\{.*?\}\}|\$CI_")


@dataclass(frozen=True, slots=True)
class Command:
    """What one step runs, with the variables that its pipeline sets itself."""

    text: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def github() -> list[Command]:
    """Every `run:` of the GitHub workflow."""
    (job,) = _blocks("yaml")[0]["jobs"].values()
    variables = _constant(job["env"])
    return [Command(step["run"], variables) for step in job["steps"] if "run" in step]


def gitlab() -> list[Command]:
    """Every line of every `script:` of the GitLab jobs."""
    return [
        Command(line, _constant(job["variables"]))
        for job in _blocks("yaml")[1].values()
        for line in job["script"]
    ]


def polling() -> Command:
    """The call that is repeated."""
    return Command(_blocks("sh")[0], {"APP": "checkout"})


def run(command: Command, folder: Path, **environ: str) -> Ran:
    """Run it with sh in a folder, as a runner would; `environ` is what that supplies."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TUNER_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{clean.get('PATH', os.defpath)}"
    done = subprocess.run(
        ["sh", "-e", "-c", command.text],
        cwd=folder,
        env={**clean, "PATH": path, **command.variables, **environ},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _blocks(language: str) -> list[Any]:
    found = [text for kind, text in _BLOCK.findall(PAGE.read_text()) if kind == language]
    return [yaml.safe_load(text) for text in found] if language == "yaml" else found


def _constant(variables: Mapping[str, str]) -> dict[str, str]:
    return dict(_kept(variables))


def _kept(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        if not _GIVEN_BY_THE_RUNNER.search(value):
            yield name, value
