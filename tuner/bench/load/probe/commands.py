"""The probe's verbs, each with a task in JSON."""

import importlib
import json
import sys

from tuner.bench.load.probe.counters import StatsGone

VERBS = {  # verb: module, imported only when it is asked for
    "ready": "tuner.bench.load.probe.ready",
    "window": "tuner.bench.load.probe.window",
    "try_each": "tuner.bench.load.probe.ready",
    "keepalive": "tuner.bench.load.probe.ready",
    "owners": "tuner.bench.load.probe.disturbing",
    "hang": "tuner.bench.load.probe.disturbing",
    "kill": "tuner.bench.load.probe.disturbing",
    "doom": "tuner.bench.load.probe.disturbing",
    "reload": "tuner.bench.load.probe.disturbing",
    "slow_clients": "tuner.bench.load.probe.disturbing",
    "round_trips": "tuner.bench.load.probe.ready",
    "delay": "tuner.bench.load.probe.delay",
}
EXIT_NO_STATS = 3


def main(arguments: list[str]) -> int:
    """Run one verb and print what it found; the exit code."""
    verb, words = arguments
    if words.startswith("/"):  # too long for a word of a command line
        with open(words, encoding="utf-8") as file:
            words = file.read()
    run = getattr(importlib.import_module(VERBS[verb]), verb)
    try:
        found = run(json.loads(words))
    except StatsGone as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_NO_STATS
    sys.stdout.write(json.dumps(found) + "\n")
    return 0
