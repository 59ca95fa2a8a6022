"""What reading a file costs: `make bench-ini`.

One file of 300 lines, as long as they come in production: two sections, includes, conditions,
variables, comments, and options with values of every kind. Parsed, linted with every rule against
the whole catalogue, and patched with notes, on one core. Exit code 1 above 20 ms.
"""

import os
import sys
import time
from collections.abc import Callable
from statistics import median

from tests.benchmarks import rig
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.lint import Box, lint, subject_of
from tuner.uwsgi.options import Kind, known

LINES = 300
AT_MOST_MS = 20.0
RUNS = 200

HEAD = """\
; the shop's own file
[uwsgi]
ini = :base
http-socket = :$(PORT)
chdir = /srv/%(site)
module = shop.wsgi:application
processes = 8
threads = 4
thunder-lock = false
listen = 128
harakiri = 60
if-env = DEBUG
py-autoreload = 1
endif =
for = a b c
static-map = /%(_)=/srv/static/%(_)
endfor =
"""
TAIL = """\

[base]
site = shop
master = true
need-app = true
die-on-term = true
"""
VALUES = {Kind.FLAG: "true", Kind.INTEGER: "16", Kind.TEXT: "word", Kind.LIST: "one=two"}
CHANGES = {"processes": "4", "threads": "2", "thunder-lock": "true", "listen": "1024"}
NOTES = dict.fromkeys(CHANGES, "was another: +6.8 % throughput_rps (95 % CI +4.9 % .. +8.7 %)")
BOX = Box(cpus=1.0, memory_mb=512, somaxconn=4096, memory_per_process_mb=40.0)


def main() -> int:
    """Measure and print; the exit code."""
    rig.arguments(__doc__).parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rig.begin()
    began = time.perf_counter()
    known()
    rig.row("the catalogue, read once, ms", f"{1000 * (time.perf_counter() - began):.1f}")
    text = file_of(LINES)
    parts: dict[str, Callable[[], object]] = {
        "parse": lambda: IniFile.parse(text),
        "lint, with its own parse": lambda: lint(subject_of(text, known(), BOX)),
        "patch and write": lambda: IniFile.parse(text).patch(CHANGES, NOTES).dump(),
        "all three": lambda: everything(text),
    }
    times_ms = {name: timed(part) for name, part in parts.items()}
    for name, found in times_ms.items():
        rig.row(f"{name}, ms", rig.middle_half(found))
    rig.row("lines, findings", f"{len(text.splitlines())}, {len(everything(text)[0])}")
    rig.row("needed", f"at most {AT_MOST_MS:g} ms for all three")
    return 0 if median(times_ms["all three"]) <= AT_MOST_MS else 1


def everything(text: str) -> tuple[tuple[object, ...], str]:
    """What a look at a file and a patch of it take together."""
    subject = subject_of(text, known(), BOX)
    return lint(subject), subject.ini.patch(CHANGES, NOTES).dump()


def file_of(lines: int) -> str:
    """The file: head and tail with as many options between as it takes, and comments."""
    missing = lines - len((HEAD + TAIL).splitlines())
    set_there = {line.partition("=")[0].strip() for line in (HEAD + TAIL).splitlines()}
    options = (o for o in known().options if o.kind in VALUES and o.name not in set_there)
    between: list[str] = []
    for number, option in zip(range(missing), options, strict=False):
        comment = f"; {option.name}: as agreed with the platform team"
        between.append(comment if number % 5 == 0 else f"{option.name} = {VALUES[option.kind]}")
    return HEAD + "\n".join(between) + "\n" + TAIL


def timed(part: Callable[[], object]) -> list[float]:
    """Milliseconds of each run, after some to warm up."""
    for _ in range(10):
        part()
    times_ms = []
    for _ in range(RUNS):
        began = time.perf_counter()
        part()
        times_ms.append(1000 * (time.perf_counter() - began))
    return times_ms


if __name__ == "__main__":
    sys.exit(main())
