"""`python -m tests.fuzz [COUNT] [FIRST]`: so many inputs from that one on, and the slowest."""

import sys

from tests.fuzz.trials import Result, trials

COUNT = 100_000
SHOWN = 5


def main(words: list[str]) -> int:
    """Run; an input that breaks something ends it with a traceback that names the input."""
    count = int(words[0]) if words else COUNT
    first = int(words[1]) if len(words) > 1 else 0
    results: list[Result] = []
    for result in trials(range(first, first + count)):
        results.append(result)
        if len(results) % 5000 == 0:
            _say(f"{len(results)} inputs, slowest {max(r.cpu_s for r in results):.3f} s")
    _say(f"{len(results)} inputs from {first} on: no crash, no hang, no lost byte")
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
    sys.exit(main(sys.argv[1:]))
