"""What the service has: spaces, target apps, hosts."""

from tuner.api.examples.jobs import JOB_REQUEST

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
            "gevent_ok": False,
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
POOL_LIST = {"pools": [{"name": "default", "hosts": [HOST]}]}
HEALTH = {"status": "ok"}
