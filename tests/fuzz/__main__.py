"""Each reader of texts from elsewhere, and the linter with all that it does to a file."""

import logging
import sys
from argparse import ArgumentParser

from tests.fuzz.readers import READERS, check
from tests.fuzz.trials import Result, trials

LINTER = "linter"
SHOWN = 5


def main() -> int:
    """Run; an input that breaks something ends it with a traceback that names the input."""
    parser = ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", nargs="?", choices=[LINTER, *READERS], help="all by default")
    parser.add_argument("--count", type=int, default=2_000, help="inputs for each")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    options = parser.parse_args()
    logging.disable()  # dotenv warns of each line that it cannot read
    numbers = range(options.first, options.first + options.count)
    for name in READERS if options.name is None else {options.name} - {LINTER}:
        slowest_s, number = max((check(name, number), number) for number in numbers)
        _say(f"{name}: {len(numbers)} inputs, slowest {slowest_s:.3f} s: input {number}")
    return _linted(numbers) if options.name in (None, LINTER) else 0


def _linted(numbers: range) -> int:
    results: list[Result] = []
    for result in trials(numbers):
        results.append(result)
        if len(results) % 5000 == 0:
            _say(f"{len(results)} inputs, slowest {max(r.cpu_s for r in results):.3f} s")
    _say(f"{len(results)} inputs from {numbers.start} on: no crash, no hang, no lost byte")
    _say(f"median {_median(results) * 1000:.1f} ms; findings in {_with_findings(results)}")
    for result in sorted(results, key=lambda r: -r.cpu_s)[:SHOWN]:
        _say(f"  input {result.number}: {result.cpu_s:.3f} s for {result.size} bytes")
    return 0


def _median(results: list[Result]) -> float:
    return sorted(result.cpu_s for result in results)[len(results) // 2]


def _with_findings(results: list[Result]) -> int:
    return sum(result.findings > 0 for result in results)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
