"""Verdicts and files to deploy, by job and by app; reports of tuning jobs."""

from typing import Literal
from urllib.parse import quote

from tuner.client.replies import ReadAs, page, text
from tuner.client.wire import Wire
from tuner.schemas import RecommendationAnswer, TuneReport

IniForm = Literal["patched", "overlay"]
SysctlForm = Literal["plain", "compose", "kubernetes"]
ReportForm = Literal["html", "md", "json"]
Require = Literal["better"]


class Recommendations:
    """Calls about answers.

    All calls raise `Conflict` with the reason if the job has no answer, and with
    `require="better"` also for any other verdict.
    """

    _wire: Wire

    def recommendation(self, job_id: int) -> RecommendationAnswer:
        """The answer to a job."""
        return self._wire.get(f"{_job(job_id)}/recommendation", ReadAs(RecommendationAnswer))

    def ini(self, job_id: int, form: IniForm = "patched", *, require: Require | None = None) -> str:
        """The file to deploy."""
        params = {"form": form, "require": require}
        return self._wire.get(f"{_job(job_id)}/uwsgi.ini", text, params)

    def compose(self, job_id: int) -> str:
        """The limits that the file relies on, as a compose file."""
        return self._wire.get(f"{_job(job_id)}/compose.yaml", text)

    def sysctls(self, job_id: int, form: SysctlForm = "plain") -> str:
        """The kernel settings that the file relies on."""
        return self._wire.get(f"{_job(job_id)}/sysctls", text, {"form": form})

    def report(self, job_id: int, form: ReportForm) -> str:
        """The report of a job, as a page, as Markdown or as JSON."""
        return self._wire.get(f"{_job(job_id)}/report", page, {"format": form})

    def tune_report(self, job_id: int) -> TuneReport:
        """The report as a model: the answer, its trials and its provenance."""
        return self._wire.get(f"{_job(job_id)}/report", ReadAs(TuneReport), {"format": "json"})

    def app_recommendation(
        self, app: str, *, max_age_days: float | None = None, require: Require | None = None
    ) -> RecommendationAnswer:
        """The newest answer for an app.

        Raises `NotFound` if it has none, and `Stale` if the newest is older than `max_age_days`.
        """
        params = {"max_age_days": max_age_days, "require": require}
        return self._wire.get(f"{_app(app)}/recommendation", ReadAs(RecommendationAnswer), params)

    def app_ini(
        self,
        app: str,
        form: IniForm = "patched",
        *,
        max_age_days: float | None = None,
        require: Require | None = None,
    ) -> str:
        """The newest file to deploy for an app. Raises as `app_recommendation` does."""
        params = {"form": form, "max_age_days": max_age_days, "require": require}
        return self._wire.get(f"{_app(app)}/uwsgi.ini", text, params)

    def app_compose(self, app: str) -> str:
        """The limits that an app's newest file relies on, as a compose file."""
        return self._wire.get(f"{_app(app)}/compose.yaml", text)

    def app_sysctls(self, app: str, form: SysctlForm = "plain") -> str:
        """The kernel settings that an app's newest file relies on."""
        return self._wire.get(f"{_app(app)}/sysctls", text, {"form": form})


def _job(job_id: int) -> str:
    return f"/v1/jobs/{job_id:d}"


def _app(name: str) -> str:
    return f"/v1/apps/{quote(name, safe='')}"
