"""What a benchmark found so far, one JSON line each: a run that was stopped goes on from there."""

import json
import os
import subprocess
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.benchmarks import rig

_HERE = Path(__file__).parent

Row = dict[str, Any]


def arguments(description: str | None) -> ArgumentParser:
    """A parser with the option that every benchmark with a journal has."""
    parser = rig.arguments(description)
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs found")
    return parser


def complete(
    name: str,
    options: Namespace,
    run: Callable[["Journal"], None],
    report: Callable[[Sequence[Row]], int],
) -> int:
    """Run what the journal of that name does not have yet, and report all; the exit code."""
    rig.begin()
    journal = Journal.named(name, fresh=options.fresh)
    print(f"{len(journal.rows())} results are in {journal.path}\n")
    try:
        run(journal)
    except KeyboardInterrupt:
        print("\nstopped: the same command goes on")
    return report(journal.rows())


@dataclass(frozen=True, slots=True)
class Journal:
    """A file of results, each with the day and the commit at which it was found."""

    path: Path

    @classmethod
    def named(cls, name: str, *, fresh: bool = False) -> "Journal":
        """The one of that name in the user's cache; with `fresh` without what it held."""
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        path = Path(base) / "uwsgi-tuner" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)
        return cls(path)

    def rows(self) -> list[Row]:
        """All results, the oldest first."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [json.loads(line) for line in lines]

    def add(self, row: Mapping[str, Any]) -> None:
        """Write a result down at once."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self.path.open("a") as file:
            print(json.dumps({"at": at, "commit": commit(), **row}), file=file, flush=True)


def commit() -> str:
    """The checkout's commit, with a `+` where files differ from it; `unknown` outside git."""
    try:
        head = _git("rev-parse", "--short", "HEAD").strip()
        return f"{head}+" if _git("status", "--porcelain") else head
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(_HERE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
