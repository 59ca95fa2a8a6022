"""What job 7 recommends, and what its file relies on."""

from typing import Any

from tuner.api.examples.evidence import EVIDENCE, LOOKS
from tuner.api.examples.jobs import CALIBRATION, DIAGNOSIS, JOB_REQUEST, PARAMS
from tuner.api.examples.responses import Responses, text

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
    "params": PARAMS,
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


def sysctls() -> Responses:
    """A 200 with sysctls for whoever sets them."""
    found = text(SYSCTLS)
    found[200]["content"] |= text(SYSCTLS_COMPOSE, "application/yaml")[200]["content"]
    return found
