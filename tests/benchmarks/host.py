"""How well this machine measures: `make bench-host`, or `python -m tests.benchmarks.host`.

Runs one real job in the demo budget and ten windows of one configuration, and prints what the
product promises of itself. Nothing here asserts: figures depend on the machine.
"""

import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from statistics import mean, median, quantiles, stdev

from tests.benchmarks import rig
from tests.service import opened_store, running
from tuner.bench.measurement import ArmSpec, Bench
from tuner.nouns.model import Job, JobId, Measurement, TuneRequest, Window
from tuner.service import bootstrap
from tuner.service.settings import Settings

WINDOWS = 10


def main() -> None:
    """Run and print."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--target", default="mixed", help="the target app to measure with")
    target = parser.parse_args().target
    rig.begin()
    with running() as service:
        posted = datetime.now(UTC)
        submitted = service.submit(
            app=target, target={"target_app": target}, budget={"preset": "demo"}
        )
        service.finish(submitted["id"], within_s=900)
        with opened_store(service) as store:
            job = store.job(JobId(submitted["id"]))
            measurements = store.measurements(job.id)
    report_job(job, measurements, posted)
    report_windows(ten_windows(target))


def report_job(job: Job, measurements: Iterable[Measurement], posted: datetime) -> None:
    """Where the job's time went, and whether client and server agree."""
    if job.started_at is None or job.finished_at is None:
        raise SystemExit(f"the job has not ended: {job.state}")
    results = [one.result for one in measurements if one.result is not None]
    windows = [window for result in results for window in result.windows]
    if not windows:
        raise SystemExit(f"nothing was measured: {job.failure}")
    wall_s = (job.finished_at - job.started_at).total_seconds()
    loading_s = sum(result.load_s for result in results)
    starts = [seconds for result in results for seconds in result.ready_s]
    first_s = (min(window.started_at for window in windows) - posted).total_seconds()
    line("job, wall time", f"{wall_s:.0f} s, {len(results)} measurements, {job.state}")
    line("share of wall time driving load", f"{loading_s / wall_s:.1%}")
    line("  of it in windows", f"{sum(w.duration_s for w in windows) / wall_s:.1%}")
    line("POST to the first window", f"{first_s:.1f} s")
    line("container start to ready, median", f"{median(starts):.2f} s {spread(starts)}")
    report_counters(windows)


def report_counters(windows: list[Window]) -> None:
    """The client's count against uWSGI's own."""
    sent = sum(window.sent for window in windows)
    served = sum(window.served or 0 for window in windows)
    differing = sum(window.served != window.sent for window in windows)
    line("requests, client / uWSGI", f"{sent} / {served} ({(served - sent) / sent:+.3%})")
    line("windows in which they differ", f"{differing} of {len(windows)}")


def ten_windows(target: str) -> list[float]:
    """Throughput of ten windows of two seconds of one start of the target's own file."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_environ(
            {"TUNER_DATA_DIR": folder, "TUNER_DATABASE_URL": "postgresql://not-used/"}
        )
        catalogue = bootstrap.catalogue(settings)
        request = TuneRequest.model_validate({"app": target, "target": {"target_app": target}})
        spec = bootstrap.resolver(catalogue)(request)
        launcher = bootstrap.launcher(settings, catalogue).for_measurement("bench", "bench")
        arm = ArmSpec(index=0, ini=spec.baseline_ini, target=spec.target, limits=spec.limits)
        budget = spec.budget.model_copy(update={"cycles": WINDOWS, "window_s": 2.0})
        try:
            bench = Bench(launcher=launcher, load=bootstrap.load_generator(settings))
            result = bench.run_block([arm], spec.workload, budget, seed=1)
        finally:
            launcher.reap()
            launcher.close()
    return [window.throughput_rps for window in result.windows]


def report_windows(rates: list[float]) -> None:
    """How much one configuration differs from itself."""
    line(f"{len(rates)} windows of 2 s, median", f"{median(rates):.0f} requests/s {spread(rates)}")
    line("  coefficient of variation", f"{stdev(rates) / mean(rates):.1%}")


def spread(values: list[float]) -> str:
    """The middle half."""
    low, _, high = quantiles(values, n=4)
    return f"(middle half {low:.2f} .. {high:.2f}, n {len(values)})"


def line(what: str, value: str) -> None:
    """One row of the table."""
    print(f"{what:<36} {value}")


if __name__ == "__main__":
    main()
