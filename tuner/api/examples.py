"""One consistent story for OpenAPI: job 7 tunes the app `checkout`."""

from typing import Any

from pydantic import BaseModel

from tuner.api.evidence_examples import EVIDENCE, HTML, LOOKS, MARKDOWN, TRIALS

Responses = dict[int | str, dict[str, Any]]


def ok(example: Any, description: str = "OK", model: type[BaseModel] | None = None) -> Responses:
    """A 200 with a JSON example; `model` only where it is not the endpoint's main answer."""
    return {200: _json(example, description) | ({"model": model} if model else {})}


def created(example: Any) -> Responses:
    """A 201 with a JSON example and its Location."""
    location = {"description": "where it is", "schema": {"type": "string"}}
    return {201: _json(example, "it was accepted") | {"headers": {"Location": location}}}


def text(example: str, media_type: str = "text/plain") -> Responses:
    """A 200 with a text example; YAML is text to who sends it, and a document to who reads it."""
    is_yaml = media_type == "application/yaml"
    schema = {"description": "a YAML document"} if is_yaml else {"type": "string"}
    content = {media_type: {"schema": schema, "example": example}}
    return {200: {"description": "OK", "content": content}}


def report() -> Responses:
    """A 200 with a report in each of its forms."""
    found = ok(REPORT)
    words = {"text/html": HTML, "text/markdown": MARKDOWN}
    for media_type, example in words.items():
        found[200]["content"] |= text(example, media_type)[200]["content"]
    return found


def sysctls() -> Responses:
    """A 200 with sysctls for whoever sets them."""
    found = text(SYSCTLS)
    found[200]["content"] |= text(SYSCTLS_COMPOSE, "application/yaml")[200]["content"]
    return found


def _json(example: Any, description: str) -> dict[str, Any]:
    _kept.append(example)
    content = {"application/json": {"example": len(_kept) - 1}}
    return {"description": description, "content": content}


def restore(document: dict[str, Any]) -> None:
    """Put the JSON examples into a finished OpenAPI document.

    FastAPI drops every null from what it is given, also inside examples.
    """
    for operations in document["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                content = response.get("content", {}).get("application/json")
                if content is not None:
                    content["example"] = _kept[content["example"]]


_kept: list[Any] = []


NOT_MODIFIED: Responses = {304: {"description": "what If-None-Match names is still current"}}

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


def body(model: str, example: Any) -> dict[str, Any]:
    """The request body of a call, which we read ourselves."""
    schema = {"$ref": f"#/components/schemas/{model}"}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}}


JOB_BODY = body("JobRequest", JOB_REQUEST)

_PARAMS = {"processes": 6, "threads": 2, "listen": "user", "logging": "errors-only"}
INCUMBENT = {"number": 3, "params": _PARAMS, "score": 0.1133, "ratio": 1.12, "doubts": []}
CALIBRATION = {
    "blocks": 2,
    "bias": 0.002,
    "bias_ci_low": -0.011,
    "bias_ci_high": 0.015,
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
    "params": _PARAMS,
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
            "side": 1,
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

INI = "[uwsgi]\nhttp-socket = :8000\nmodule = checkout.wsgi\nprocesses = 6\nthreads = 2\n"
EFFECT = {
    "metric": "throughput_rps",
    "estimate": 0.118,
    "ci_low": 0.094,
    "ci_high": 0.143,
    "unit": "relative",
}
RECOMMENDATION: dict[str, Any] = {
    "job": 7,
    "app": "checkout",
    "finished_at": "2026-01-15T09:41:00Z",
    "verdict": "better",
    "effect": EFFECT,
    "p_better": 0.9999,
    "mde": 0.009,
    "blocks": 16,
    "requests": 182_000,
    "errors": 0,
    "side_effects": [{**EFFECT, "metric": "latency_p95_ms", "estimate": -0.09}],
    "broken": {},
    "looks": LOOKS,
    "candidate": 3,
    "params": _PARAMS,
    "lines": [
        {"option": "processes", "value": "6", "baseline_value": "2", "effect": EFFECT},
        {"option": "threads", "value": "2", "baseline_value": None, "effect": None},
    ],
    "reverted": [
        {"option": "thunder-lock", "value": "true", "baseline_value": None, "effect": None}
    ],
    "diagnosis": DIAGNOSIS,
    "reason": "11.8 % more requests per second (95 % interval 9.4 to 14.3), 16 fresh blocks",
    "doubts": [],
    "calibration": CALIBRATION,
    "evidence": EVIDENCE,
    "circumstances": {
        "baseline_ini": JOB_REQUEST["baseline_ini"],
        "target": {
            "target_app": None,
            **JOB_REQUEST["target"],
            "command": ["uwsgi", "--ini", "{ini}"],
            "thread_safe": False,
            "memory_per_process_mb": 32,
        },
        "limits": JOB_REQUEST["limits"],
        "workload": JOB_REQUEST["workload"],
        "objective": JOB_REQUEST["objective"],
        "slo": JOB_REQUEST["slo"],
        "allow": [],
        "pool": "default",
        "cycles": 2,
        "window_s": 2.5,
        "warmup_s": 1.5,
        "min_effect": 0.02,
    },
    "uwsgi_ini": INI,
}
COMPOSE = """\
services:
  "checkout":
    image: "registry.example/checkout:1.4"
    cpus: 1
    mem_limit: 512m
    memswap_limit: 512m
    ulimits:
      nofile: 65536
    sysctls:
      net.core.somaxconn: 4096
"""
SYSCTLS = """\
# besides, per container: 1 CPU, 512 MB, no swap
# and ulimit -n 65536
net.core.somaxconn = 4096
"""
SYSCTLS_COMPOSE = "sysctls:\n  net.core.somaxconn: 4096\n"

SPACE_LIST = {
    "search_spaces": [
        {
            "name": "default",
            "description": "The levers that move most apps",
            "parameters": ["processes", "threads"],
        }
    ]
}
SPACE = {
    "name": "default",
    "description": "The levers that move most apps",
    "parameters": {
        "processes": {
            "when": True,
            "needs": True,
            "type": "int",
            "low": 1,
            "high": "4 * ceil(cpus)",
            "log": True,
        }
    },
    "constraints": [{"rule": "processes <= memory_processes", "reason": "they do not fit"}],
    "heuristics": [{"processes": "ceil(2 * cpus)"}],
}
TARGET_APP_LIST = {
    "target_apps": [
        {
            "name": "mixed",
            "description": "The usual web app",
            "thread_safe": True,
            "limits": JOB_REQUEST["limits"],
            "workload": JOB_REQUEST["workload"],
            "uwsgi_ini": "[uwsgi]\nhttp-socket = :8000\nprocesses = 2\n",
        }
    ]
}
HOST = {
    "name": "bench-1",
    "live": True,
    "last_seen": "2026-01-15T09:31:02Z",
    "problem": None,
    "fingerprint": {
        "cpu_model": "AMD EPYC 7B13",
        "cpus": 8,
        "memory_mb": 32_000,
        "kernel": "6.1.0-18-amd64",
        "cgroup_version": 2,
        "docker_version": "20.10.24",
    },
}
REPORT: dict[str, Any] = {
    "recommendation": RECOMMENDATION,
    "trials": TRIALS,
    "provenance": {
        "hosts": ["bench-1"],
        "pool": "default",
        "fingerprint": HOST["fingerprint"],
        "uwsgi_version": "2.0.31",
        "image_digest": "sha256:2f1c",
        "target": "registry.example/checkout:1.4",
        "limits": JOB_REQUEST["limits"],
        "workload": JOB_REQUEST["workload"],
        "objective": JOB_REQUEST["objective"],
        "slo": JOB_REQUEST["slo"],
        "min_effect": 0.02,
        "sampler": "gp",
        "seed": 1,
        "blocks": 44,
        "load_s": 610.5,
        "setup_s": 96.2,
        "measured_from": "2026-01-15T09:30:09Z",
        "measured_until": "2026-01-15T09:40:51Z",
        "rendered_by": "uwsgi-tuner 0.1.0",
    },
}
POOL_LIST = {"pools": [{"name": "default", "hosts": [HOST]}]}
HEALTH = {"status": "ok"}
