"""From a space and a job to the domain: bounds in numbers, conditions decided, mistakes named."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import (
    BoolParameter,
    ChoiceParameter,
    Constraint,
    Expression,
    IntParameter,
    JobSpec,
    Limits,
    MemoryLine,
    Metric,
    OpenLoop,
    OwnValue,
    Parameter,
    Scalar,
    connections,
    is_sysctl,
    wants_kept,
)
from tuner.targets.search_space.domain import (
    COROUTINES,
    MEMORY_SHARE,
    USERS_OWN,
    Dimension,
    Domain,
    as_names,
    emitted,
    own_value,
)
from tuner.targets.search_space.expressions import Names, evaluate
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.topology import Topology, front_of

# ---- The names that an expression of a space may use: figures of the job, the target and the file

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


LARGEST = 2**31 - 1
"""Beyond this uWSGI could not read a number."""

_DEFAULTS: Mapping[str, Scalar] = {"processes": 1, "threads": 1, "listen": 100, "http-processes": 1}
"""What uWSGI 2.0.31 takes where the file says nothing; every other number starts at 0."""


def derive(spec: JobSpec, memory: MemoryLine | None = None) -> Domain:
    """The domain of a tuning job. Raises `InvalidInput` with every mistake of the space.

    `memory` is what `prepare` measured; without it the target's own hint is used.
    """
    space = spec.search_space
    if space is None:
        raise ValueError(f"nothing is varied in a job of kind {spec.kind}")
    ini = IniFile.parse(spec.baseline_ini)
    # By the hint, not by what was measured: a job that was taken is not refused half-way.
    mistakes = _unmet(space.name, space.requires, names_of(spec, ini, None))
    if mistakes:
        raise InvalidInput(mistakes)
    names = names_of(spec, ini, memory)
    dimensions: list[Dimension] = []
    for name, parameter in space.parameters.items():
        path = f"search_space.parameters.{name}"
        try:
            dimensions.append(_dimension(name, parameter, names, ini, spec.limits))
        except ValueError as error:
            mistakes.append(Mistake(path, str(error)))
    domain = Domain(
        space=space,
        dimensions=tuple(_with_floor(dimension, spec.min_processes) for dimension in dimensions),
        names=names,
        ini=ini,
        limits=spec.limits,
        max_slots=spec.max_slots,
    )
    if not mistakes:
        mistakes += [*_mistakes_of_rules(domain), *_mistakes_of_slots(domain)]
    if mistakes:
        raise InvalidInput(mistakes)
    return domain


def _unmet(name: str, requires: Sequence[Constraint], names: Names) -> list[Mistake]:
    """What the space needs of the job and does not find."""
    mistakes: list[Mistake] = []
    for index, rule in enumerate(requires):
        broken = _tried(f"search_space.requires.{index}.rule", rule.rule, names)
        if not broken and not evaluate(rule.rule, names):
            broken = [Mistake("search_space", f"{name}: {rule.reason}")]
        mistakes += broken
    return mistakes


def _dimension(
    name: str, parameter: Parameter, names: Names, ini: IniFile, limits: Limits
) -> Dimension:
    users = _users_value(name, parameter, ini)
    names = {**names, USERS_OWN: users}
    if not evaluate(parameter.when, names):
        return Dimension(name=name, users=users, values=(users,))
    match parameter:
        case BoolParameter():
            return Dimension(name=name, users=users, values=(users, not users))
        case ChoiceParameter():
            values = _choices(parameter, users, names, ini, limits)
            return Dimension(name=name, users=users, values=values)
        case IntParameter():
            low, high = (_whole(bound, names) for bound in (parameter.low, parameter.high))
            if low > high:
                raise ValueError(f"contradictory bounds: low {low} is above high {high}")
            own = int(users)
            return Dimension(
                name=name, users=own, low=min(low, own), high=max(high, own), log=parameter.log
            )


def _with_floor(dimension: Dimension, processes: int) -> Dimension:
    """The processes of one job: not fewer than asked for, or than the user has."""
    if dimension.name != "processes" or dimension.values or isinstance(dimension.users, str):
        return dimension
    low = max(dimension.low, min(processes, int(dimension.users)))
    return replace(dimension, low=low, high=max(low, dimension.high))


def _users_value(name: str, parameter: Parameter, ini: IniFile) -> Scalar:
    """The value of a parameter that stands for the file and the box as they are."""
    if isinstance(parameter, ChoiceParameter) and parameter.emit:
        return USERS_OWN
    if is_sysctl(name):
        raise ValueError("a kernel setting is a choice with emit: without it, a host has its own")
    if isinstance(parameter, BoolParameter):
        return ini.flag(name)
    # 0 means 1 to uWSGI's `threads` and `http-processes`, and `processes = 0` serves nothing.
    return ini.integer(name, int(_DEFAULTS.get(name, 0))) or int(_DEFAULTS.get(name, 0))


def _choices(
    parameter: ChoiceParameter, users: Scalar, names: Names, ini: IniFile, limits: Limits
) -> tuple[Scalar, ...]:
    values: list[Scalar] = [users]
    for written in parameter.values:
        if parameter.emit:
            if written != USERS_OWN and written not in parameter.emit:
                raise ValueError(f"'{written}' has no entry under emit")
            options = parameter.emit.get(str(written), {})
            if all(own_value(ini, limits, n) == emitted(v, ini) for n, v in options.items()):
                continue  # it changes nothing: the same as the user's own
            taken = [v.of for v in options.values() if isinstance(v, OwnValue)]
            if any(len(ini.values(option)) != 1 for option in taken):
                continue  # nothing to take over, or more than one line can
            value: Scalar = str(written)
        else:
            value = _whole(written, names)
        if value not in values:
            values.append(value)
    return tuple(values)


def _whole(expression: Expression, names: Names) -> int:
    value = evaluate(expression, names)
    if isinstance(value, str) or not abs(value) <= LARGEST:
        raise ValueError(f"'{str(expression)[:40]}' is not a number up to {LARGEST}")
    return int(value)


def _mistakes_of_slots(domain: Domain) -> list[Mistake]:
    own = domain.slots(domain.baseline)
    if domain.max_slots is None or own <= domain.max_slots:
        return []
    message = f"your own file has {own:g} slots (processes x threads), more than {domain.max_slots}"
    return [Mistake("max_slots", message)]


def _mistakes_of_rules(domain: Domain) -> list[Mistake]:
    """Try every rule, condition and heuristic once, on the user's own values."""
    mistakes: list[Mistake] = []
    names = {**domain.names, **as_names(domain.baseline)}
    for index, rule in enumerate(domain.space.constraints):
        mistakes += _tried(f"search_space.constraints.{index}.rule", rule.rule, names)
    for name, parameter in domain.space.parameters.items():
        mistakes += _tried(f"search_space.parameters.{name}.needs", parameter.needs, names)
    for index, heuristic in enumerate(domain.space.heuristics):
        for name in heuristic.keys() - domain.space.parameters.keys():
            path = f"search_space.heuristics.{index}.{name}"
            mistakes.append(Mistake(path, "no parameter of this space"))
    if not mistakes:
        try:
            domain.seeds()
        except ValueError as error:
            mistakes.append(Mistake("search_space.heuristics", str(error)))
    if not mistakes and not domain.free:
        mistakes.append(Mistake("search_space", "it is empty: nothing is left to choose here"))
    return mistakes


def _tried(path: str, expression: Expression, names: Names) -> list[Mistake]:
    try:
        evaluate(expression, names)
    except ValueError as error:
        return [Mistake(path, str(error))]
    return []
