"""The names that an expression of a space may use: figures of the job, the target and the file."""

from collections.abc import Mapping

from tuner.nouns.model import JobSpec, MemoryLine, Metric, OpenLoop, connections, wants_kept
from tuner.targets.search_space.domain import COROUTINES, MEMORY_SHARE
from tuner.targets.search_space.expressions import Names
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import Topology, front_of

NAMES: Mapping[str, str] = {
    "cpus": "CPU quota, in cores",
    "memory_mb": "memory limit",
    "somaxconn": "net.core.somaxconn of the container",
    "concurrency": "open connections of the workload",
    "keep_alive": "the workload reuses its connections",
    "open_loop": "the workload sends at a fixed rate",
    "for_memory": "the objective is `minimize: memory_mb`",
    "thread_safe": "the target declares that its code may run in several threads",
    "gevent_ok": "the target declares gevent and code that works with it",
    "memory_processes": "how many processes fit into the memory limit",
    "users_processes": "the file's `processes`",
    "cheaper": "the file's `cheaper`, else 0; in rules the candidate's value if it varies",
    "has_http": "the file serves through uWSGI's http router (`http`)",
    "has_http_keepalive": "the file's http router keeps connections (`http-keepalive`)",
    "behind_nginx": "the file serves only the uwsgi protocol (`socket`), as behind nginx",
    "has_static": "the file serves static files (`static-map`, `static-map2`, `check-static`)",
    "has_async": "the file runs requests in coroutines (`gevent`, `asyncio`, `async`)",
    "recycles": "the file recycles processes (`max-requests`, `reload-on-rss`, ...)",
}
"""Every name with its meaning. Two more exist: `user`, the file's value of this parameter; and in
`needs` and `constraints` the parameters themselves, with `_` for `-`."""

_STATIC = ("static-map", "static-map2", "check-static")
_RECYCLING = (
    *("max-requests", "max-worker-lifetime", "reload-on-as", "reload-on-rss"),
    *("evil-reload-on-as", "evil-reload-on-rss"),
)


def names_of(spec: JobSpec, ini: IniFile, memory: MemoryLine | None) -> Names:
    """The value of each name of `NAMES` for one job."""
    limits, target = spec.limits, spec.target
    line = memory or MemoryLine(base_mb=0.0, per_process_mb=float(target.memory_per_process_mb))
    return {
        "cpus": limits.cpus,
        "memory_mb": limits.memory_mb,
        "somaxconn": limits.somaxconn,
        "concurrency": connections(spec.workload),
        "keep_alive": wants_kept(spec.workload),
        "open_loop": isinstance(spec.workload, OpenLoop),
        "for_memory": spec.objective.metric is Metric.MEMORY_MB,
        "thread_safe": target.thread_safe,
        "gevent_ok": target.gevent_ok,
        "memory_processes": line.processes_within(MEMORY_SHARE * limits.memory_mb),
        **_of_file(ini, target.port),
    }


def _of_file(ini: IniFile, port: int) -> Names:
    front = front_of(ini, port)
    return {
        "users_processes": max(1, ini.integer("processes", 1)),
        "cheaper": ini.integer("cheaper", 0),
        "has_http": front.topology is Topology.HTTP_ROUTER,
        "has_http_keepalive": ini.integer("http-keepalive", 0) > 0,
        "behind_nginx": front.topology is Topology.NGINX,
        "has_static": any(ini.values(option) for option in _STATIC),
        "has_async": any(ini.integer(option, 0) > 0 for option in COROUTINES),
        "recycles": any(ini.integer(option, 0) > 0 for option in _RECYCLING),
    }
