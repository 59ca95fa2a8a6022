"""What the service answers, for tests of those who read it: its own examples, and what becomes
of them. Job 7 tunes, job 8 compares two files, job 9 calibrates."""

from typing import Any

from tuner.service.api.reference import known

_KNOWN = known()
INI: str = _KNOWN["ini"]
TUNE_REQUEST: dict[str, Any] = _KNOWN["TuneRequest"]
COMPARE_REQUEST: dict[str, Any] = _KNOWN["CompareRequest"]
CALIBRATE_REQUEST: dict[str, Any] = _KNOWN["CalibrateRequest"]
LINT_REQUEST: dict[str, Any] = _KNOWN["LintRequest"]
LINT_ANSWER: dict[str, Any] = _KNOWN["LintAnswer"]
SPACE: dict[str, Any] = _KNOWN["SearchSpace"]
SPACE_LIST: dict[str, Any] = _KNOWN["SpaceList"]
TARGET_APP_LIST: dict[str, Any] = _KNOWN["TargetAppList"]
POOL_LIST: dict[str, Any] = _KNOWN["PoolList"]
POOL_HOSTS: dict[str, Any] = _KNOWN["PoolAnswer"]
INCUMBENT: dict[str, Any] = _KNOWN["Incumbent"]
APP: dict[str, Any] = _KNOWN["AppAnswer"]
APP_PAGE: dict[str, Any] = _KNOWN["AppPage"]
JOB_PAGE: dict[str, Any] = _KNOWN["JobPage"]
TRIAL_LIST: dict[str, Any] = _KNOWN["TrialList"]
TRIAL_RAW: dict[str, Any] = _KNOWN["TrialAnswer"]
WINDOW_LIST: dict[str, Any] = _KNOWN["WindowList"]
RECOMMENDATION: dict[str, Any] = _KNOWN["RecommendationAnswer"]
EFFECT: dict[str, Any] = RECOMMENDATION["effect"]
REPORT: dict[str, Any] = _KNOWN["TuneReport"]
COMPARISON: dict[str, Any] = _KNOWN["ReportAnswer"]
CALIBRATION_REPORT: dict[str, Any] = _KNOWN["CalibrationReport"]
CALIBRATION: dict[str, Any] = CALIBRATION_REPORT["calibration"]

TUNE_RUNNING: dict[str, Any] = _KNOWN["JobAnswer"]
PREFLIGHT: dict[str, Any] = TUNE_RUNNING["preflight"]

_NOT_BEGUN: dict[str, Any] = {
    "state": "queued",
    "phase": "validate",
    "started_at": None,
    "finished_at": None,
    "incumbent": None,
    "calibration": None,
    "sees": [],
    "preflight": {"left_out": PREFLIGHT["left_out"], "somaxconn": None, "findings": None},
    "queue_position": 1,
}
_NO_SEARCH: dict[str, Any] = {
    "incumbent": None,
    "preflight": {**PREFLIGHT, "left_out": []},
    "created_at": "2026-01-15T09:50:00Z",
    "started_at": "2026-01-15T09:50:01Z",
}
_DONE: dict[str, Any] = {
    "state": "succeeded",
    "phase": "done",
    "finished_at": "2026-01-15T09:55:00Z",
}


def _progress(done: int, left: int, eta_s: float | None, **search: int | None) -> dict[str, Any]:
    return {
        "blocks_done": done,
        "blocks_left": left,
        "measured_s": 13.0 * done,
        "eta_s": eta_s,
        "first_window_at": "2026-01-15T09:50:09Z" if done else None,
        "trials_done": search.get("trials_done"),
        "trials_planned": search.get("trials_planned"),
    }


TUNE_QUEUED = {
    **TUNE_RUNNING,
    **_NOT_BEGUN,
    "progress": _progress(0, 34, None, trials_done=0, trials_planned=16),
}
TUNE_CANCELLED = {**TUNE_RUNNING, "state": "cancelled"}
COMPARE_RUNNING: dict[str, Any] = {
    **TUNE_RUNNING,
    **_NO_SEARCH,
    "id": 8,
    "kind": "compare",
    "phase": "compare",
    "files": WINDOW_LIST["files"],
    "size": {
        "takes_s": 116.0,
        "blocks": 8,
        "arms_at_once": 2,
        "memory_mb": 1024,
        "sentence": "about 2 min: 8 rounds x 2 arms; up to 2 arms at once, with 1.0 GB of memory",
    },
    "progress": _progress(3, 5, 81.0),
    "calibration": None,
    "sees": [],
}
COMPARE_QUEUED = {**COMPARE_RUNNING, **_NOT_BEGUN, "progress": _progress(0, 8, None)}
COMPARE_DONE = {**COMPARE_RUNNING, **_DONE, "progress": _progress(8, 0, 0.0), "report": COMPARISON}
COMPARE_CANCELLED = {**COMPARE_RUNNING, "state": "cancelled"}
CALIBRATE_DONE: dict[str, Any] = {
    **TUNE_RUNNING,
    **_NO_SEARCH,
    **_DONE,
    "id": 9,
    "kind": "calibrate",
    "app": "mixed",
    "progress": _progress(8, 0, 0.0),
}
CALIBRATE_QUEUED = {**CALIBRATE_DONE, **_NOT_BEGUN, "progress": _progress(0, 8, None)}
