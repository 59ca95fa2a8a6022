"""Stubs as services that run our own program, and the certificates that an app trusts for them."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TypeVar

from tuner.bench.engine.commands import FOLDER
from tuner.bench.engine.stub_server import CA
from tuner.nouns.model import HealthCheck, Latency, Needs, Service, Stub, Target, text_of

TRUSTED = f"{FOLDER}/stubs.pem"
SHOW_CA = ("cat", CA)
"""Ends well once the stub is ready."""

SYSCTLS: Mapping[str, str] = {"net.ipv4.ip_unprivileged_port_start": "0"}
"""The program has no capability, and its ports are 80 and 443."""

_PROGRAM, _GIVEN = f"{FOLDER}/stub.py", f"{FOLDER}/stub.json"
_NOBODY = "65534:65534"
_VARIABLES = ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")

NeedsT = TypeVar("NeedsT", bound=Needs)


def runnable(target: Target) -> Target:
    """The target with stubs that can start as any service does."""
    services = {
        name: each if each.stub is None else _service(name, each, each.stub)
        for name, each in target.services.items()
    }
    return target.model_copy(update={"services": services})


def _service(name: str, service: Service, stub: Stub) -> Service:
    return service.model_copy(
        update={
            "entrypoint": ("python3", "-I", "-S", _PROGRAM, _GIVEN),
            "command": (),
            "files": {_PROGRAM: _program(), _GIVEN: _given(name, stub)},
            "healthcheck": HealthCheck(test=("CMD", *SHOW_CA), timeout=5.0),
            "user": _NOBODY,
        }
    )


def _given(name: str, stub: Stub) -> str:
    latency = stub.latency_ms
    spread = (latency.p50, latency.sigma) if isinstance(latency, Latency) else (latency, 0.0)
    return json.dumps(
        {
            "name": name,
            "hosts": stub.hosts,
            "ports": stub.ports,
            "p50_ms": spread[0],
            "sigma": spread[1],
            "responses": [
                {
                    "path": each.path,
                    "method": each.method,
                    "status": each.status,
                    "headers": {**each.all_headers},
                    "body": text_of(each.body),
                }
                for each in stub.responses
            ],
        }
    )


@cache
def _program() -> str:
    return files("tuner.bench.engine").joinpath("stub_server.py").read_text()


def digest() -> str:
    """Names the program on every host: the same one answers in the same way."""
    return f"stub@sha256:{hashlib.sha256(_program().encode()).hexdigest()}"


def trusting(needs: NeedsT, certificates: str) -> NeedsT:
    """The needs of an app that trusts these, unless it has a bundle of its own."""
    if not certificates:
        return needs
    return needs.model_copy(
        update={
            "env": {**dict.fromkeys(_VARIABLES, TRUSTED), **needs.env},
            "files": {**needs.files, TRUSTED: certificates},
        }
    )
