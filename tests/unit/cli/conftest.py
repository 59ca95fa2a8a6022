"""A service that answers as a test says, on a real port."""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import BaseModel

from tuner.cli import main


@dataclass
class Service:
    """Answers by method and path: one after the other, the last one again and again."""

    url: str = ""
    answers: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def on(self, call: str, *answers: Any, status: int = 200) -> None:
        """Answer `call` ("GET /v1/jobs/1") with these bodies in turn."""
        self.answers[call] = [(status, answer) for answer in answers]

    def left(self, running: Sequence[Any] = (), queued: Sequence[Any] = ()) -> None:
        """These jobs have not ended; each may be cancelled."""
        for state, jobs in (("running", running), ("queued", queued)):
            self.on(f"GET /v1/jobs?state={state}", {"jobs": [*jobs], "next": None})
            for job in jobs:
                self.on(f"POST /v1/jobs/{job['id']}/cancel", {**job, "state": "cancelled"})

    def submitted(self) -> list[dict[str, Any]]:
        """The requests that were submitted, with `go_on` or without."""
        calls = [(call.partition("?")[0], body) for call, _, body in self.seen]
        return [json.loads(body) for call, body in calls if call == "POST /v1/jobs"]

    def problem(self, call: str, status: int, detail: str, **more: Any) -> None:
        """Answer `call` with a problem."""
        self.on(call, {"status": status, "detail": detail, **more}, status=status)

    def answer(self, call: str) -> tuple[int, Any]:
        """The next answer."""
        waiting = self.answers.get(call, [(404, {"detail": f"no answer for {call}"})])
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """The service that TUNER_URL names."""
    known = Service()

    class Handler(BaseHTTPRequestHandler):
        def _reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            call = f"{self.command} {self.path}"
            known.seen.append((call, dict(self.headers), body))
            status, answer = known.answer(call)
            text = answer if isinstance(answer, str) else json.dumps(answer)
            self.send_response(status)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = _reply

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    known.url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("TUNER_URL", known.url)
    monkeypatch.setattr("tuner.cli.following.POLL_S", 0.01)
    monkeypatch.setattr("tuner.client.retries.FIRST_S", 0.01)
    yield known
    server.shutdown()
    thread.join()
    server.server_close()


def run(*arguments: str) -> int:
    """The exit code of one command."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def answer(model: type[BaseModel], document: dict[str, Any]) -> dict[str, Any]:
    """The document with all defaults, as the service sends it."""
    return model.model_validate(document).model_dump(mode="json")
