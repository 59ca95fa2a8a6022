"""Apps, verdicts and files to deploy, by job and by app; reports of tuning jobs."""

from collections.abc import Iterator
from urllib.parse import quote

from tuner.client.replies import ReadAs, page, text
from tuner.client.wire import Wire
from tuner.nouns.model import Check, NewCheck
from tuner.nouns.schemas import (
    AppAnswer,
    AppPage,
    IniForm,
    RecommendationAnswer,
    ReportForm,
    Require,
    SysctlForm,
    TuneReport,
)


class Recommendations:
    """Calls about answers. `of` is the number of a job, or the name of an app: its newest answer.

    All calls raise `Conflict` with the reason if the job has no answer, and with
    `require="better"` also for any other verdict. They raise `NotFound` if the app has no answer,
    and `Stale` if the answer is older than `max_age_days`.
    """

    _wire: Wire

    def apps(self) -> Iterator[AppAnswer]:
        """All apps by name, each with its newest job and its answers so far."""
        after: str | None = None
        while True:
            page = self._wire.get("/v1/apps", ReadAs(AppPage), {"after": after})
            yield from page.apps
            after = page.next
            if after is None:
                return

    def app(self, name: str) -> AppAnswer:
        """One app. Raises `NotFound` where no job has that name."""
        return self._wire.get(_path(name), ReadAs(AppAnswer))

    def report_check(self, app: str, check: NewCheck) -> Check:
        """Report what was found where the app is deployed: its pages show it."""
        return self._wire.post(f"{_path(app)}/checks", ReadAs(Check), check)

    def recommendation(
        self, of: int | str, *, max_age_days: float | None = None, require: Require | None = None
    ) -> RecommendationAnswer:
        """The answer."""
        params = {"max_age_days": max_age_days, "require": require}
        return self._wire.get(f"{_path(of)}/recommendation", ReadAs(RecommendationAnswer), params)

    def ini(
        self,
        of: int | str,
        form: IniForm = "patched",
        *,
        max_age_days: float | None = None,
        require: Require | None = None,
    ) -> str:
        """The file to deploy."""
        params = {"form": form, "max_age_days": max_age_days, "require": require}
        return self._wire.get(f"{_path(of)}/uwsgi.ini", text, params)

    def compose(self, of: int | str) -> str:
        """The limits that the file relies on, as a compose file."""
        return self._wire.get(f"{_path(of)}/compose.yaml", text)

    def sysctls(self, of: int | str, form: SysctlForm = "plain") -> str:
        """The kernel settings that the file relies on."""
        return self._wire.get(f"{_path(of)}/sysctls", text, {"form": form})

    def report(self, job_id: int, form: ReportForm) -> str:
        """The report of a job, as a page, as Markdown, as JSON or, of a comparison, as CSV."""
        return self._wire.get(f"{_path(job_id)}/report", page, {"format": form})

    def tune_report(self, job_id: int) -> TuneReport:
        """The report as a model: the answer, its trials and its provenance."""
        return self._wire.get(f"{_path(job_id)}/report", ReadAs(TuneReport), {"format": "json"})


def _path(of: int | str) -> str:
    return f"/v1/apps/{quote(of, safe='')}" if isinstance(of, str) else f"/v1/jobs/{of:d}"
