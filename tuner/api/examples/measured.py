"""Two files of `checkout` are compared, and a host is calibrated."""

from typing import Any

from tuner.api.examples.catalogue import HOST
from tuner.api.examples.jobs import (
    CALIBRATION,
    DIAGNOSIS,
    JOB_REQUEST,
    PREFLIGHT,
    TRIAL_RAW,
    UNSEEN,
)
from tuner.api.examples.recommending import EFFECT
from tuner.api.examples.responses import body

MEASUREMENT_REQUEST = {
    "target": JOB_REQUEST["target"],
    "inis": [
        {"name": "today.ini", "ini": JOB_REQUEST["baseline_ini"]},
        {
            "name": "threads.ini",
            "ini": "[uwsgi]\nhttp-socket = :8000\nmodule = checkout.wsgi\nprocesses = 2\n"
            "threads = 4\n",
        },
    ],
    "limits": JOB_REQUEST["limits"],
    "workload": JOB_REQUEST["workload"],
    "blocks": 8,
}
MEASUREMENT_BODY = body("MeasurementRequest", MEASUREMENT_REQUEST)

CALIBRATION_REQUEST = {"target": {"target_app": "mixed"}, "pool": "default", "blocks": 8}
CALIBRATION_BODY = body("CalibrationRequest", CALIBRATION_REQUEST)

_TIMES = {
    "created_at": "2026-01-15T09:50:00Z",
    "started_at": "2026-01-15T09:50:01Z",
    "finished_at": None,
}
_PROGRESS = {
    "blocks_done": 3,
    "blocks_left": 5,
    "measured_s": 39.2,
    "eta_s": 81.0,
    "first_window_at": "2026-01-15T09:50:09Z",
}
_NOT_BEGUN = {
    "blocks_done": 0,
    "blocks_left": 8,
    "measured_s": 0.0,
    "eta_s": None,
    "first_window_at": None,
}
_DONE = {**_PROGRESS, "blocks_done": 8, "blocks_left": 0, "measured_s": 104.5, "eta_s": 0.0}

_SUMMARY = {
    "id": 8,
    "app": "checkout",
    "pool": "default",
    "files": ["today.ini", "threads.ini"],
    "state": "running",
    "phase": "compare",
    **_TIMES,
}
MEASUREMENT_RUNNING: dict[str, Any] = {
    **_SUMMARY,
    "workload": JOB_REQUEST["workload"],
    "metric": "throughput_rps",
    "progress": _PROGRESS,
    "report": None,
    "preflight": {**PREFLIGHT, "left_out": []},
    "error": None,
    "queue_position": None,
}
MEASUREMENT_QUEUED: dict[str, Any] = {
    **MEASUREMENT_RUNNING,
    "state": "queued",
    "phase": "validate",
    "started_at": None,
    "progress": _NOT_BEGUN,
    "preflight": UNSEEN,
    "queue_position": 1,
}
MEASUREMENT_CANCELLED = {**MEASUREMENT_RUNNING, "state": "cancelled"}
_ARM = {
    "name": "today.ini",
    "figures": [
        {
            "metric": "throughput_rps",
            "value": 161.4,
            "ci_low": 158.0,
            "ci_high": 164.9,
            "concurrency": None,
        },
        {
            "metric": "latency_p95_ms",
            "value": 431.0,
            "ci_low": 420.5,
            "ci_high": 442.2,
            "concurrency": None,
        },
    ],
    "effects": [],
    "verdict": None,
    "blocks": 8,
    "windows": 16,
    "requests": 6456,
    "errors_by_class": {},
    "diagnosis": DIAGNOSIS,
    "doubts": [],
    "latency": {"1621": 3210, "1640": 3246},
    "connect": {"p50_ms": 0.1, "p95_ms": 0.4, "max_ms": 3.2},
    "proxy_connect": None,
    "over_limit": None,
    "error": None,
}
_OTHER_ARM = {**_ARM, "name": "threads.ini", "effects": [EFFECT], "verdict": "better"}
MEASUREMENT_DONE: dict[str, Any] = {
    **MEASUREMENT_RUNNING,
    "state": "succeeded",
    "phase": "done",
    "finished_at": "2026-01-15T09:52:10Z",
    "progress": _DONE,
    "report": {"blocks": 8, "arms": [_ARM, _OTHER_ARM]},
}
MEASUREMENT_PAGE = {"measurements": [_SUMMARY], "next": None}
WINDOW_LIST = {
    "files": ["today.ini", "threads.ini"],
    "windows": [{**TRIAL_RAW["windows"][0], "phase": "compare", "trial": 1}],
}

_SEES = [
    {"minutes": 5.0, "effect": 0.017},
    {"minutes": 20.0, "effect": 0.008},
    {"minutes": 60.0, "effect": 0.005},
]
_CALIBRATED = {
    "id": 9,
    "app": "mixed",
    "pool": "default",
    "state": "succeeded",
    "phase": "done",
    **_TIMES,
    "finished_at": "2026-01-15T09:55:00Z",
}
CALIBRATION_PAGE = {"calibrations": [_CALIBRATED], "next": None}
CALIBRATION_DONE: dict[str, Any] = {
    **_CALIBRATED,
    "progress": _DONE,
    "calibration": CALIBRATION,
    "sees": _SEES,
    "preflight": {**PREFLIGHT, "left_out": [], "findings": []},
    "error": None,
    "queue_position": None,
}
CALIBRATION_QUEUED: dict[str, Any] = {
    **CALIBRATION_DONE,
    "state": "queued",
    "phase": "validate",
    "started_at": None,
    "finished_at": None,
    "progress": _NOT_BEGUN,
    "calibration": None,
    "sees": [],
    "preflight": UNSEEN,
    "queue_position": 0,
}
CALIBRATION_CANCELLED = {**CALIBRATION_QUEUED, "state": "cancelled", "queue_position": None}
POOL_HOSTS = {
    "pool": "default",
    "hosts": [
        {
            **HOST,
            "calibration": CALIBRATION,
            "calibrated_at": "2026-01-15T09:55:00Z",
            "calibrated_with": "mixed",
            "sees": _SEES,
        }
    ],
}
