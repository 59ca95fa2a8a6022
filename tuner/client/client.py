"""The client of one service."""

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self
from urllib.parse import quote

import httpx

from tuner.client.documents import ReadAs, page, text
from tuner.client.jobs import Jobs
from tuner.client.watching import REAL_TIME, Time
from tuner.client.wire import Wire
from tuner.nouns.model import Check, Limits, NewCheck, SearchSpace
from tuner.nouns.schemas import (
    AppAnswer,
    AppPage,
    Health,
    HostAnswer,
    IniForm,
    LintAnswer,
    PoolAnswer,
    PoolList,
    RecommendationAnswer,
    ReportForm,
    Require,
    SpaceList,
    SpaceSummary,
    SysctlForm,
    TargetAppAnswer,
    TargetAppList,
    TuneReport,
)

# ---- Names for requests, lint, and the health of the service


class CatalogueCalls:
    """Calls about the service itself."""

    _wire: Wire

    def target_apps(self) -> Mapping[str, TargetAppAnswer]:
        """The described target apps by name."""
        listed = self._wire.get("/v1/target-apps", ReadAs(TargetAppList)).target_apps
        return {app.name: app for app in listed}

    def search_spaces(self) -> Mapping[str, SpaceSummary]:
        """The search spaces by name."""
        listed = self._wire.get("/v1/search-spaces", ReadAs(SpaceList)).search_spaces
        return {space.name: space for space in listed}

    def search_space(self, name: str) -> SearchSpace:
        """One search space, in the form that a request may contain."""
        return self._wire.get(f"/v1/search-spaces/{quote(name, safe='')}", ReadAs(SearchSpace))

    def pools(self) -> Sequence[PoolAnswer]:
        """The pools and their hosts."""
        return self._wire.get("/v1/pools", ReadAs(PoolList)).pools

    def hosts(self, pool: str) -> Sequence[HostAnswer]:
        """The hosts of a pool, with the smallest effect that each can detect."""
        return self._wire.get(f"/v1/pools/{quote(pool, safe='')}/hosts", ReadAs(PoolAnswer)).hosts

    def lint(
        self,
        ini: str,
        *,
        limits: Limits | None = None,
        memory_per_process_mb: float | None = None,
        job: int | None = None,
        fix: bool = False,
    ) -> LintAnswer:
        """The findings in a uwsgi.ini; with `fix`, also the file with its safe fixes.

        `limits` are those of its container. `job` is a job whose build of uWSGI will read the file.
        Raises `Conflict` if that job has not seen its image yet.
        """
        said = {
            "ini": ini,
            "limits": limits,
            "memory_per_process_mb": memory_per_process_mb,
            "job": job,
            "fix": fix or None,
        }
        given = {name: value for name, value in said.items() if value is not None}
        return self._wire.post("/v1/lint", ReadAs(LintAnswer), given)

    def answers(self) -> bool:
        """Whether anything listens at the address. One attempt."""
        return self._wire.listens()

    def check_ready(self) -> None:
        """Raise `Unavailable` with the system that is away. One attempt."""
        self._wire.get("/readyz", ReadAs(Health), is_retried=False)


# ---- Apps, verdicts and files to deploy, by job and by app; reports of tuning jobs


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


class Client(Jobs, Recommendations, CatalogueCalls):
    """A client of one service, for one thread. Use it with `with`, or `close` it.

    Every call may raise `Unavailable`, and the error that the service reports: `InvalidInput` with
    all mistakes, `NotFound`, `Conflict`, `Stale`. The client repeats safe calls up to `retries`
    times if it cannot reach the service, or if the service says that something is away.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        timeout_s: float = 30.0,
        retries: int = 3,
        *,
        transport: httpx.BaseTransport | None = None,
        time: Time = REAL_TIME,
    ) -> None:
        """`transport` and `time` are for tests. Raises `InvalidInput` if `url` is no address."""
        self._wire = Wire(
            url, api_key, timeout_s=timeout_s, retries=retries, transport=transport, time=time
        )

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._wire.url

    def __repr__(self) -> str:
        return f"Client({self.url!r})"  # never the key

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the open connections."""
        self._wire.close()
