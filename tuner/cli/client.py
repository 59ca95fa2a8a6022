"""The API over HTTP; its problems come back as the errors of `tuner.errors`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

import httpx

from tuner.errors import Conflict, InvalidInput, Mistake, NotFound, TunerError, Unavailable

TIMEOUT_S = 30.0

Kind = Literal["jobs", "measurements", "calibrations"]
"""Jobs by what was asked for; the word of their address."""

KINDS: tuple[Kind, ...] = ("jobs", "measurements", "calibrations")


@dataclass(slots=True)
class Client:
    """One service. Every method may raise `Unavailable`, and what its problem stands for."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    _http: httpx.Client = field(init=False, repr=False)
    _jobs: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        headers = {"X-API-Key": self.api_key} if self.api_key else {}
        host = httpx.URL(self.url).host
        self._http = httpx.Client(
            base_url=self.url,
            headers=headers,
            timeout=TIMEOUT_S,
            trust_env=host not in ("127.0.0.1", "localhost", "::1"),  # no proxy reaches loopback
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.close()

    def answers(self) -> bool:
        """Whether anything listens there at all."""
        try:
            self._http.request("GET", "/healthz")
        except httpx.ConnectError:
            return False
        except httpx.TransportError:
            return True
        return True

    def submit(
        self, document: Any, kind: Kind = "jobs", *, key: str | None = None
    ) -> dict[str, Any]:
        """Submit a request of that kind; the job."""
        headers = {"Idempotency-Key": key} if key else {}
        return self._json(self._send("POST", f"/v1/{kind}", json=document, headers=headers))

    def job(self, job_id: int, kind: Kind = "jobs") -> dict[str, Any]:
        """A job of that kind; what has not changed since the last call is not sent again."""
        tag, known = self._jobs.get(job_id, ("", {}))
        headers = {"If-None-Match": tag} if tag else {}
        answer = self._send("GET", f"/v1/{kind}/{job_id}", headers=headers)
        if answer.status_code == httpx.codes.NOT_MODIFIED:
            return known
        job = self._json(answer)
        self._jobs[job_id] = (answer.headers.get("etag", ""), job)
        return job

    def kind_of(self, job_id: int) -> Kind:
        """What kind of job has that number. Raises `NotFound`."""
        unknown: NotFound | None = None
        for kind in KINDS:
            try:
                self.job(job_id, kind)
            except NotFound as error:
                unknown = unknown or error
            else:
                return kind
        raise unknown or NotFound(f"there is no job {job_id}")

    def jobs(self, state: str, kind: Kind = "jobs") -> list[dict[str, Any]]:
        """The newest jobs of a kind in a state."""
        page = self._json(self._send("GET", f"/v1/{kind}", params={"state": state}))
        found: list[dict[str, Any]] = page[kind]
        return found

    def cancel(self, job_id: int, kind: Kind = "jobs") -> dict[str, Any]:
        """Call a job off."""
        return self._json(self._send("POST", f"/v1/{kind}/{job_id}/cancel"))

    def windows(self, job_id: int) -> dict[str, Any]:
        """The raw data of a measurement."""
        return self._json(self._send("GET", f"/v1/measurements/{job_id}/windows"))

    def target_apps(self) -> dict[str, dict[str, Any]]:
        """The described target apps by name."""
        listed = self._json(self._send("GET", "/v1/target-apps"))["target_apps"]
        return {app["name"]: app for app in listed}

    def recommendation(self, job_id: int) -> dict[str, Any]:
        """The answer to a job."""
        return self._json(self._send("GET", f"/v1/jobs/{job_id}/recommendation"))

    def report(self, job_id: int, form: str) -> str:
        """The report of a job as `html`, `md` or `json`. Raises `Conflict` before it is done."""
        return self._send("GET", f"/v1/jobs/{job_id}/report", params={"format": form}).text

    def app_recommendation(self, app: str) -> dict[str, Any]:
        """The newest answer for an app."""
        return self._json(self._send("GET", f"/v1/apps/{_segment(app)}/recommendation"))

    def app_ini(self, app: str, form: str) -> str:
        """The newest file for an app."""
        params = {"form": form}
        return self._send("GET", f"/v1/apps/{_segment(app)}/uwsgi.ini", params=params).text

    def check_ready(self) -> None:
        """Raise `Unavailable` with what is away."""
        self._send("GET", "/readyz")

    def _send(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        try:
            answer = self._http.request(method, path, json=json, params=params, headers=headers)
        except httpx.ConnectError as error:
            advice = f"nothing answers at {self.url}; start it with `tuner serve`, or set TUNER_URL"
            raise Unavailable("api", advice) from error
        except httpx.TransportError as error:
            raise Unavailable("api", f"{self.url}: {error or type(error).__name__}") from error
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            raise _error_of(answer)
        return answer

    def _json(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            document = answer.json()
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise Unavailable("api", f"what answers at {self.url} is not the tuner")
        return document


def _segment(name: str) -> str:
    """A name as one segment of a path."""
    return name.replace("%", "%25").replace("/", "%2F").replace("?", "%3F").replace("#", "%23")


def _error_of(answer: httpx.Response) -> TunerError:
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or "detail" not in problem:
        text = f"{answer.url} answers {answer.status_code} {answer.reason_phrase}"
        return Unavailable("api", f"{text}; is this the tuner?")
    detail = str(problem["detail"])
    match answer.status_code:
        case 404:
            return NotFound(detail)
        case 409 | 410:
            return Conflict(detail)
        case 503:
            system = str(problem.get("system", "api"))
            return Unavailable(system, detail.removeprefix(f"{system} is away: "))
        case 401:
            return InvalidInput([Mistake("TUNER_API_KEY", detail)])
        case status if status < 500:
            return InvalidInput(_mistakes_of(problem) or [Mistake("", detail)])
        case _:
            return Unavailable("api", detail)


def _mistakes_of(problem: Mapping[str, Any]) -> list[Mistake]:
    listed = problem.get("mistakes") or []
    return [Mistake(str(m.get("path", "")), str(m.get("message", ""))) for m in listed]
