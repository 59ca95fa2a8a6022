"""A job for every search space that ships: the app, the load and the aim that it asks for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tuner.nouns.model import JobSpec, TuneRequest
from tuner.study import resolve
from tuner.targets.catalogue import HostCatalogue

CATALOG = HostCatalogue.load([Path(__file__).parent / "bench_apps"])

FITTING: Mapping[str, Mapping[str, Any]] = {
    "default": {"target": {"target_app": "mixed"}},
    "cpu-bound": {"target": {"target_app": "cpu-bound"}},
    "io-bound": {"target": {"target_app": "io-bound"}},
    "static": {"target": {"target_app": "static-files"}},
    "behind-nginx": {"target": {"target_app": "behind-nginx"}},
    "http-router": {
        "target": {"target_app": "http-router"},
        "workload": {"kind": "closed_loop", "concurrency": 32, "keep_alive": True},
    },
    "http-front": {"target": {"target_app": "http-router"}},
    "kernel": {"target": {"target_app": "mixed"}},
    "gevent": {"target": {"target_app": "greenlets"}},
    "cheaper": {
        "target": {"target_app": "cpu-bound"},
        "objective": {"minimize": "memory_mb"},
        "workload": {"kind": "open_loop", "rate_rps": 20},
    },
}
"""What a job must say besides the space's name."""


def job_for(space: str, **changes: Any) -> JobSpec:
    """The job that `FITTING` describes; `changes` replaces fields of its request."""
    request = {"app": "shop", "search_space": space, **FITTING[space], **changes}
    return resolve(TuneRequest.model_validate(request), CATALOG)
