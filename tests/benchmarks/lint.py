"""How long `tuner lint` takes from its start: `make bench-lint`.

One file, with `python -c pass` beside it: no command can start faster. Then 1 000 files in one
call: the small ones of tests/inis over and over, and files of 300 lines as in production. Bytecode
is there, as after an install. With `--beside FOLDER` another checkout takes turns with this one.
The language server: from a change in a file of 300 lines to its findings, at a client over pipes.
Exit code 1 above 350 ms for one file, or above 10 s for the 1 000 small ones.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from tests.benchmarks import ini, rig
from tests.editor import editing

STARTS, CALLS, CHANGES = 15, 3, 30
FILES = 1000
AT_MOST_MS = 350.0
AT_MOST_S = 10.0
HERE = Path(__file__).resolve().parents[2]
INIS = HERE / "tests" / "inis"
LINT = ("-m", "tuner.cli", "lint")


def main() -> int:
    """Measure and print; the exit code."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--beside", type=Path, help="another checkout, as of an old commit")
    beside: Path | None = parser.parse_args().beside
    checkouts = {"": HERE} if beside is None else {"": HERE, ", the other": beside.resolve()}
    rig.begin()
    with TemporaryDirectory() as folder:
        files = written(Path(folder))
        one_ms = starts(checkouts, str(INIS / "bare-keys.ini"), folder)
        many_s = {name: calls(checkouts, found, folder) for name, found in files.items()}
    for name, times_ms in one_ms.items():
        rig.row(f"{name}, ms", f"{rig.middle_half(times_ms, 0)}, least {min(times_ms):.0f}")
    for kind, found in many_s.items():
        for name, times_s in found.items():
            rig.row(f"{FILES} files {kind}{name}, s", rig.middle_half(times_s))
    changed_ms = asyncio.run(changes(ini.file_of(ini.LINES)))
    p95_ms = quantiles(changed_ms, n=20, method="inclusive")[-1]
    rig.row("findings after a change, ms", f"{rig.middle_half(changed_ms, 1)}, p95 {p95_ms:.1f}")
    rig.row("needed", f"one file {AT_MOST_MS:g} ms; {FILES} small ones {AT_MOST_S:g} s")
    is_quick = median(one_ms["one file"]) <= AT_MOST_MS
    return 0 if is_quick and median(many_s["small"][""]) <= AT_MOST_S else 1


def written(folder: Path) -> Mapping[str, Sequence[str]]:
    """The files to lint, by what they are."""
    small = [file.read_bytes() for file in sorted(INIS.glob("*.ini"))]
    kinds = {"small": small, f"of {ini.LINES} lines": [ini.file_of(ini.LINES).encode()]}
    return {kind: list(_copies(folder / kind, texts)) for kind, texts in kinds.items()}


def _copies(folder: Path, texts: Sequence[bytes]) -> Iterator[str]:
    folder.mkdir()
    for number in range(FILES):
        file = folder / f"{number}.ini"
        file.write_bytes(texts[number % len(texts)])
        yield str(file)


def starts(checkouts: Mapping[str, Path], file: str, cache: str) -> Mapping[str, list[float]]:
    """Milliseconds of each process that lints one file, and of one that does nothing."""
    commands: dict[str, tuple[Path, Sequence[str]]] = {
        **{f"one file{name}": (path, (*LINT, file)) for name, path in checkouts.items()},
        "python -c pass": (HERE, ("-c", "pass")),
    }
    times_ms: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(STARTS + 1):
        for name, (path, words) in commands.items():
            spent_s = seconds(path, words, cache)
            if turn:  # the first one writes the bytecode
                times_ms[name].append(1000 * spent_s)
    return times_ms


def calls(
    checkouts: Mapping[str, Path], files: Sequence[str], cache: str
) -> Mapping[str, list[float]]:
    """Seconds of each call with all the files."""
    times_s: dict[str, list[float]] = {name: [] for name in checkouts}
    for _ in range(CALLS):
        for name, path in checkouts.items():
            times_s[name].append(seconds(path, (*LINT, *files), cache))
    return times_s


async def changes(text: str) -> list[float]:
    """Milliseconds from each change, a new line, to the findings that an editor gets."""
    times_ms = list[float]()
    async with editing() as editor:
        await editor.open(text)
        for _ in range(CHANGES):
            began = time.perf_counter()
            await editor.type(2, "vaccum = true\n")
            times_ms.append(1000 * (time.perf_counter() - began))
    return times_ms


def seconds(checkout: Path, words: Sequence[str], cache: str) -> float:
    """How long this Python takes for `words` in a checkout."""
    environ = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *words], cwd=checkout, env=environ, capture_output=True, text=True
    )
    spent_s = time.perf_counter() - began
    if "Traceback" in done.stderr or done.returncode not in {0, 1, 2}:
        raise SystemExit(done.stderr)
    return spent_s


if __name__ == "__main__":
    sys.exit(main())
