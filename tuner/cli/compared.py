"""A comparison that has ended: printed, drawn and written to files."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.cli import printing, tables
from tuner.cli.files import check_folder, write_text
from tuner.cli.jobs import check_succeeded, form_of
from tuner.cli.output import print_json, say
from tuner.client import Client
from tuner.nouns.schemas import JobAnswer, ReportAnswer, ReportForm
from tuner.show import charts


@dataclass(frozen=True, slots=True)
class Written:
    """The files that a comparison is written to."""

    svg: Path | None
    reports: Sequence[tuple[str, Path, ReportForm]]

    @classmethod
    def of(cls, svg: Path | None, report: Path | None, csv: Path | None) -> "Written":
        """Options with their files. Raises `InvalidInput` before minutes of measuring."""
        if svg is not None:
            check_folder("--svg", svg)
        found: list[tuple[str, Path, ReportForm]] = []
        if report is not None:
            found.append(("--report", report, form_of(report)))
        if csv is not None:
            check_folder("--csv", csv)
            found.append(("--csv", csv, "csv"))
        return cls(svg, found)

    def write(self, client: Client, job: JobAnswer) -> None:
        """Write them, if the job has a report."""
        if job.report is None:
            return
        if self.svg is not None:
            _draw(client, job.id, job.report, self.svg)
        for option, file, form in self.reports:
            write_text(option, file, client.report(job.id, form))
            say(f"report: {file}")


def show(job: JobAnswer, *, as_json: bool) -> None:
    """Print a comparison. Raises where the job has failed."""
    if as_json:
        print_json(job)
    elif job.report is not None:
        tables.show(tables.comparison_parts(job, job.report))
        tables.show(printing.left_out_lines(job.preflight))
    check_succeeded(job)


def _draw(client: Client, job_id: int, report: ReportAnswer, file: Path) -> None:
    """Write two charts: windows over time, and percentiles of latency."""
    raw = client.windows(job_id)
    windows = {
        name: [window for window in raw.windows if window.trial == number]
        for number, name in enumerate(raw.files or ())
    }
    latencies = {arm.name: arm.latency for arm in report.arms}
    drawn = charts.stacked(charts.windows_over_time(windows), charts.latency_percentiles(latencies))
    write_text("--svg", file, drawn)
    say(f"charts: {file}")
