"""Names for requests, lint, and the health of the service."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from tuner.client.replies import ReadAs
from tuner.client.wire import Wire
from tuner.nouns.model import Limits, SearchSpace
from tuner.nouns.schemas import (
    Health,
    HostAnswer,
    LintAnswer,
    PoolAnswer,
    PoolList,
    SpaceList,
    SpaceSummary,
    TargetAppAnswer,
    TargetAppList,
)


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
