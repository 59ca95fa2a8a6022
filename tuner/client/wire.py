"""One call: sent with the key, repeated if that is safe, and read once per ETag."""

import json
import os
import ssl
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from tuner.client.documents import document_of
from tuner.client.retries import error_of, retrying
from tuner.client.watching import OPENED_WITHIN_S, Stream, Time
from tuner.nouns.errors import InvalidInput, Mistake, Unavailable

# ---- Answers by ETag: the service sends an answer again only after a change

MOST_ANSWERS = 64


@dataclass(slots=True)
class Remembered:
    """The latest answers with a tag, by request. The least recently used one goes first."""

    size: int = MOST_ANSWERS
    _known: OrderedDict[Hashable, tuple[str, Any]] = field(default_factory=OrderedDict)

    def get(self, asked: Hashable) -> tuple[str, Any] | None:
        """Tag and answer."""
        found = self._known.get(asked)
        if found is not None:
            self._known.move_to_end(asked)
        return found

    def keep(self, asked: Hashable, tag: str | None, answer: Any) -> None:
        """Keep the answer. Without a tag, forget the old one too."""
        self._known.pop(asked, None)
        if tag:
            self._known[asked] = (tag, answer)
            while len(self._known) > self.size:
                self._known.popitem(last=False)

    def __len__(self) -> int:
        return len(self._known)


T = TypeVar("T")
Read = Callable[[httpx.Response], T]

EVENTS = "text/event-stream"
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Wire:
    """The connection to one service. Calls raise `Unavailable` and the error of a problem."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        *,
        timeout_s: float,
        retries: int,
        transport: httpx.BaseTransport | None,
        time: Time,
    ) -> None:
        """Raises `InvalidInput` if `url` is no address or the key does not fit into a header."""
        self.url = url
        self.retries = retries
        self.time = time
        self._retrying = retrying(retries, time.sleep)
        self._remembered = Remembered()
        self._http = httpx.Client(
            base_url=url,
            headers=_headers(api_key),
            timeout=timeout_s,
            transport=transport,
            verify=_trusted(),
            trust_env=_host_of(url) not in LOOPBACK,  # no proxy reaches loopback
        )

    def close(self) -> None:
        """Close the open connections."""
        self._http.close()

    def get(
        self,
        path: str,
        read: Read[T],
        params: Mapping[str, object] | None = None,
        *,
        is_retried: bool = True,
    ) -> T:
        """GET. Returns the remembered answer if it has not changed."""
        request = self._http.build_request("GET", path, params=_given(params or {}))
        kept_as = (request.url, read)  # one address may be read in two ways
        known = self._remembered.get(kept_as)
        if known is not None:
            request.headers["If-None-Match"] = known[0]
        answer = self._retrying(self._sent, request) if is_retried else self._sent(request)
        if known is not None and answer.status_code == httpx.codes.NOT_MODIFIED:
            found: T = known[1]
            return found
        found = read(_expected(answer))
        self._remembered.keep(kept_as, answer.headers.get("etag"), found)
        return found

    def post(
        self,
        path: str,
        read: Read[T],
        document: Any = None,
        *,
        key: str | None = None,
        params: Mapping[str, object] | None = None,
    ) -> T:
        """POST. With a `key`, repeated requests have one effect.

        Raises `InvalidInput` if the document cannot be JSON.
        """
        headers = {"Content-Type": "application/json"} if document is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        content = _written(document) if document is not None else None
        request = self._http.build_request(
            "POST", path, headers=headers, content=content, params=_given(params or {})
        )
        return read(_expected(self._retrying(self._sent, request)))

    def delete(self, path: str) -> None:
        """DELETE, in one attempt: a second one would say that nothing is there."""
        _expected(self._sent(self._http.build_request("DELETE", path)))

    def stream(
        self, path: str, last: int | None = None, *, silent_s: float = OPENED_WITHIN_S
    ) -> Stream:
        """A stream of the events after number `last`, whose first bytes have come. One attempt.

        A read that takes longer than `silent_s` breaks it.
        """
        headers = {"Accept": EVENTS} | ({} if last is None else {"Last-Event-ID": str(last)})
        request = self._http.build_request("GET", path, headers=headers, timeout=silent_s)
        answer = self._sent(request, stream=True)
        try:
            if not answer.is_success:
                with self._translated():
                    answer.read()
            if answer.headers.get("content-type", "").partition(";")[0] != EVENTS:
                raise error_of(answer)
            return Stream(answer)
        except BaseException:
            answer.close()
            raise

    def listens(self) -> bool:
        """Whether anything accepts connections at the address."""
        try:
            self._http.request("GET", "/healthz")
        except httpx.ConnectError as error:
            return _distrust(error) is not None
        except httpx.RequestError:
            return True
        return True

    def _sent(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        with self._translated():
            return self._http.send(request, stream=stream)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectError as error:
            if (reason := _distrust(error)) is not None:
                raise InvalidInput.at("url", _not_trusted(self.url, reason)) from error
            advice = f"nothing answers at {self.url}; start it with `tuner serve`, or set TUNER_URL"
            raise Unavailable("api", advice) from error
        except httpx.RequestError as error:
            raise Unavailable("api", f"{self.url}: {error or type(error).__name__}") from error


def _trusted() -> ssl.SSLContext:
    """The authorities of SSL_CERT_FILE; httpx alone would leave it out for loopback."""
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        file = os.environ.get("SSL_CERT_FILE")
        raise InvalidInput.at("SSL_CERT_FILE", f"{file}: {error.strerror or error}") from error


def _distrust(error: BaseException | None) -> str | None:
    """Why a certificate is not trusted; None: that is not what failed."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error.verify_message if error is not None else None


def _not_trusted(url: str, reason: str) -> str:
    advice = "use a name of the certificate in TUNER_URL, or SSL_CERT_FILE for its authority"
    return f"the certificate of {url} is not trusted: {reason.rstrip('.')}; {advice}"


def _expected(answer: httpx.Response) -> httpx.Response:
    if not answer.is_success:
        raise error_of(answer)
    return answer


def _given(params: Mapping[str, object]) -> dict[str, str]:
    """The given parameters as text; None is left out."""
    return {name: str(value) for name, value in params.items() if value is not None}


def _written(document: Any) -> bytes:
    try:
        return json.dumps(document_of(document), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput([Mistake("", f"the request is no JSON: {error}")]) from error


def _headers(api_key: str | None) -> dict[str, str]:
    if not api_key:
        return {}
    if not (api_key.isascii() and api_key.isprintable()):
        raise InvalidInput([Mistake("api_key", "a key is printable ASCII")])
    return {"X-API-Key": api_key}


def _host_of(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise _no_address(url) from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise _no_address(url)
    return parsed.host


def _no_address(url: object) -> InvalidInput:
    return InvalidInput([Mistake("url", f"{url!r} is no address such as http://127.0.0.1:8321")])
