"""How fast, and how right, a workload comes from an access log: `make bench-logs`.

Ten known mixes in six formats, Poisson arrivals: the largest error of a weight in points, of the
rate and of the requests in flight; then the speed on one core over a file of each format. Nothing
of it needs Docker. Exit code 1 above 2 points, 3 %, 10 %, or where a format is read with less than
17 MB/s of CPU time (1 GB in 60 s).
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from tests.access_logs import FORMATS, mix, requests
from tests.benchmarks import rig
from tuner.traffic.counting import Reading
from tuner.traffic.formats import known_formats
from tuner.traffic.lines import batches
from tuner.traffic.workload import Traffic, traffic_of

RATE_RPS = 50.0
AT_MOST = {"weight, points": 2.0, "rate, %": 3.0, "in flight, %": 10.0}
AT_LEAST_MB_S = 1000 / 60


def main() -> int:
    """Measure and print; the exit code."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--lines", type=int, default=100_000, help="of each log")
    parser.add_argument("--mb", type=int, default=1000, help="of the file that is read for speed")
    asked = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rig.begin()
    worst = dict.fromkeys(AT_MOST, 0.0)
    wrong = 0
    for name in FORMATS:
        for number in range(10):
            errors, has_all = _errors(name, number, asked.lines)
            worst = {key: max(worst[key], errors[key]) for key in worst}
            wrong += not has_all
    for key, value in worst.items():
        rig.row(f"largest error of {key}", f"{value:.2f} (at most {AT_MOST[key]:g})")
    rig.row("logs with a wrong template, of 60", str(wrong))
    speeds = {name: _mb_s(name, asked.mb) for name in FORMATS}
    for name, (mb_s, cpu_mb_s) in speeds.items():
        rig.row(f"{name}, MB/s by the clock, by CPU time", f"{mb_s:.1f}, {cpu_mb_s:.1f}")
    rig.row("most memory, MB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}")
    is_right = not wrong and all(worst[key] <= most for key, most in AT_MOST.items())
    return int(not is_right or min(cpu for _, cpu in speeds.values()) < AT_LEAST_MB_S)


def _errors(name: str, number: int, lines: int) -> tuple[dict[str, float], bool]:
    """The largest errors of one log, and whether its templates are those of the mix."""
    routes = mix(number)
    sent = sorted(
        requests(routes, RATE_RPS, lines, seed=1000 + number),
        key=lambda line: line.start_s + line.duration_s,
    )
    traffic = _read(Reading(known_formats(unit_s=1e-6)), [[FORMATS[name](line) for line in sent]])
    arrivals = traffic.arrivals
    if arrivals is None or arrivals.in_flight is None:
        raise SystemExit(f"{name}: no rate or no durations")
    found = {(one.method, one.template): one.share for one in traffic.templates}
    wanted = {(route.method, route.template): route.share for route in routes}
    expected = RATE_RPS * sum(route.share * route.mean_s for route in routes)
    errors = {
        "weight, points": max(100 * abs(found.get(key, 0) - s) for key, s in wanted.items()),
        "rate, %": 100 * abs(arrivals.mean_rps / RATE_RPS - 1),
        "in flight, %": 100 * abs(arrivals.in_flight / expected - 1),
    }
    return errors, set(found) == set(wanted)


def _read(reading: Reading, found: list[list[str]]) -> Traffic:
    reading.feed(found)
    return traffic_of(reading)


def _mb_s(name: str, mb: int) -> tuple[float, float]:
    """MB of a log that are read in a second, by the clock and by CPU time."""
    part = "".join(f"{FORMATS[name](line)}\n" for line in requests(mix(3), RATE_RPS, 50_000, 7))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "access.log"
        with file.open("w", encoding="utf-8") as opened:
            for _ in range(max(1, mb * 1_000_000 // len(part))):
                opened.write(part)
        reading = Reading(known_formats(unit_s=1e-6))
        began, cpu_began = time.perf_counter(), time.process_time()
        with file.open("rb") as opened_again:
            reading.feed(batches(opened_again))
        traffic_of(reading)
        size_mb = file.stat().st_size / 1e6
        return (
            size_mb / (time.perf_counter() - began),
            size_mb / (time.process_time() - cpu_began),
        )


if __name__ == "__main__":
    sys.exit(main())
