"""Job 7, as it is submitted, as it runs, and its trials."""

from typing import Any

from tuner.api.examples.responses import body

JOB_REQUEST: dict[str, Any] = {
    "app": "checkout",
    "target": {"image": "registry.example/checkout:1.4", "port": 8000, "health_path": "/healthz"},
    "baseline_ini": "[uwsgi]\nhttp-socket = :8000\nmodule = checkout.wsgi\nprocesses = 2\n",
    "limits": {"cpus": 1.0, "memory_mb": 512, "somaxconn": 4096},
    "workload": {"kind": "closed_loop", "concurrency": 64, "requests": [{"path": "/cart"}]},
    "objective": {"maximize": "throughput_rps"},
    "slo": {"latency_p95_ms": 200, "error_rate": 0.001},
    "search_space": "default",
    "sampler": "gp",
    "warm_start": True,
    "budget": {"preset": "quick"},
    "min_effect": 0.02,
    "allow": ["network"],
}
JOB_BODY = body("JobRequest", JOB_REQUEST)

PARAMS = {"processes": 6, "threads": 2, "listen": "user", "logging": "errors-only"}
INCUMBENT = {"number": 3, "params": PARAMS, "score": 0.1133, "ratio": 1.12, "doubts": []}
CALIBRATION = {
    "blocks": 2,
    "bias": 0.002,
    "bias_ci_low": -0.011,
    "bias_ci_high": 0.015,
    "smallest_bias": 0.013,
    "block_sd": 0.012,
    "mde": 0.009,
    "throughput_rps": 161.4,
    "resolves_min_effect": True,
    "doubts": [],
    "start_sd": 0.006,
    "window_sd": 0.014,
    "period_s": 2.5,
    "client_cpu": 0.31,
    "block_s": 16.2,
    "hosts": ["bench-1"],
}
UNSEEN: dict[str, Any] = {"left_out": [], "somaxconn": None, "findings": None}
_LEFT_OUT = {
    "option": "cron",
    "line": 9,
    "danger": "commands",
    "file": "",
    "sentence": "trials go without cron (line 9): it starts programs",
}
PREFLIGHT: dict[str, Any] = {
    "left_out": [_LEFT_OUT],
    "somaxconn": 4096,
    "findings": [
        {
            "rule": "strict",
            "severity": "warning",
            "line": None,
            "file": "",
            "message": "a file that it includes sets vaccum, which this uWSGI does not know",
        }
    ],
}
_SUMMARY = {
    "id": 7,
    "app": "checkout",
    "pool": "default",
    "state": "running",
    "phase": "search",
    "verdict": None,
    "created_at": "2026-01-15T09:30:00Z",
    "started_at": "2026-01-15T09:30:01Z",
    "finished_at": None,
}
_PROGRESS = {
    "trials_done": 5,
    "trials_planned": 16,
    "blocks_done": 7,
    "blocks_left": 27,
    "measured_s": 91.0,
    "eta_s": 421.0,
    "first_window_at": "2026-01-15T09:30:09Z",
}
JOB_RUNNING: dict[str, Any] = {
    **_SUMMARY,
    "progress": _PROGRESS,
    "incumbent": INCUMBENT,
    "calibration": CALIBRATION,
    "preflight": PREFLIGHT,
    "error": None,
    "queue_position": None,
}
JOB_QUEUED: dict[str, Any] = {
    **JOB_RUNNING,
    "state": "queued",
    "phase": "validate",
    "started_at": None,
    "progress": {
        **_PROGRESS,
        "trials_done": 0,
        "blocks_done": 0,
        "blocks_left": 34,
        "measured_s": 0.0,
        "eta_s": None,
        "first_window_at": None,
    },
    "incumbent": None,
    "calibration": None,
    "preflight": {**UNSEEN, "left_out": [_LEFT_OUT]},
    "queue_position": 1,
}
JOB_CANCELLED = {**JOB_RUNNING, "state": "cancelled", "finished_at": "2026-01-15T09:33:00Z"}
JOB_PAGE = {"jobs": [_SUMMARY], "next": None}

_TRIAL = {
    "number": 3,
    "params": PARAMS,
    "origin": "sampler",
    "state": "complete",
    "score": 0.1133,
    "ratio": 1.12,
    "gains": {"throughput_rps": 0.1133},
    "constraints": {"latency_p95_ms": -0.4, "error_rate": -1.0},
    "doubts": [{"code": "shared_cpus", "sentence": "target and generator had to share CPUs"}],
    "blocks": 1,
    "error": None,
    "diagnosis": None,
    "windows": None,
}
TRIAL_LIST = {"trials": [_TRIAL]}
DIAGNOSIS = {
    "bottleneck": "io_wait",
    "sentence": "all slots are busy while the CPU is idle: the app waits for something else",
    "evidence": {"busy": 0.99, "target_cpu": 0.31},
}
TRIAL_RAW: dict[str, Any] = {
    **_TRIAL,
    "diagnosis": DIAGNOSIS,
    "windows": [
        {
            "block": 6,
            "phase": "search",
            "host": "bench-1",
            "index": 0,
            "arm": 1,
            "trial": 3,
            "started_at": "2026-01-15T09:31:00Z",
            "duration_s": 2.5,
            "requests": 452,
            "errors": 0,
            "errors_by_class": {},
            "throughput_rps": 180.8,
            "latency_p50_ms": 341.0,
            "latency_p95_ms": 402.0,
            "latency_p99_ms": 431.0,
            "memory_mb": 96.2,
            "served": 460,
            "respawns": 0,
            "client_cpu": 0.04,
            "target_cpu": 0.99,
            "throttled": 0.8,
            "busy": 0.97,
            "listen_overflows": 0,
            "time_wait": 0,
            "sent": 580,
            "connections": 64,
            "stalled": 0,
            "over_limit": None,
            "connect": {"p50_ms": 0.1, "p95_ms": 0.4, "max_ms": 3.2},
            "proxy": None,
            "server": {
                "busiest_process": 0.32,
                "router": None,
                "master": 0.01,
                "system_share": 0.12,
                "switches_per_request": 3.1,
                "queue_p95": 0.2,
                "queue_max": 31,
                "queue_size": 100,
                "memory_peak_mb": 99.1,
                "oom_kills": 0,
                "cores": 0.99,
            },
            "surroundings": {"steal": 0.0, "foreign_cpu": 0.02, "pressure": 0.01},
            "series": [36, 45, 46, 44, 45, 46, 45, 44, 46, 45, 45, 45],
            "histogram": {"1621": 210, "1640": 242},
            "doubts": ["shared_cpus"],
        }
    ],
}
