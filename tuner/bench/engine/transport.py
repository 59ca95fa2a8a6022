"""The way to the Docker Engine: whether it answers, and what its errors mean."""

import errno
import socket

import requests
import urllib3
from docker.errors import APIError

from tuner.bench.engine.texts import plain

KNOCK_TIMEOUT_S = 5.0

TRANSPORT_ERRORS = (
    *(ConnectionError, TimeoutError, FileNotFoundError, PermissionError),  # of the socket itself
    *(requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError),
    *(urllib3.exceptions.ProtocolError, urllib3.exceptions.TimeoutError),
)
"""The engine does not answer, or stopped in the middle. Any other error would come again."""


def explain(error: APIError) -> str:
    """The engine's own sentence."""
    return plain(str(error.explanation or error))


def why_away(error: Exception) -> str:
    """The reason, and what the operator can do if this process cannot end it."""
    match getattr(error, "errno", None):
        case errno.EACCES:
            advice = "add this user to the group of Docker's socket, and start the worker again"
        case errno.ENOENT:
            advice = "there is no Docker Engine at this address: install it, or start it"
        case _:
            return str(error)
    return f"{error}: {advice}"


def knock(address: str) -> None:
    """Raise `OSError` if the engine is away: docker-py leaks a socket when it finds that out."""
    _, is_unix, path = address.partition("unix://")
    if is_unix:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.settimeout(KNOCK_TIMEOUT_S)
            knocking.connect(path)


def is_going_already(error: BaseException | None) -> bool:
    """Whether the engine has removed the thing, or is about to."""
    if not isinstance(error, APIError):
        return False
    return error.status_code == 404 or "already in progress" in explain(error)
