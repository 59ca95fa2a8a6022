"""Which scope each call of the document needs, written down apart from the code."""

from tuner.nouns.model import Scope

LOOKS = {("POST", "/v1/lint")}
OF_ADMINS = {("DELETE", "/v1/jobs/{id}"), ("GET", "/v1/audit")}


def needed(method: str, path: str) -> Scope:
    """`path` is the template of the call."""
    if (method, path) in OF_ADMINS:
        return Scope.ADMIN
    return Scope.READ if method == "GET" or (method, path) in LOOKS else Scope.SUBMIT
