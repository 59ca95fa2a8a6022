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
    OwnValue,
    Parameter,
    Scalar,
    is_sysctl,
)
from tuner.targets.search_space.domain import (
    USERS_OWN,
    Dimension,
    Domain,
    as_names,
    emitted,
    own_value,
)
from tuner.targets.search_space.expressions import Names, evaluate
from tuner.targets.search_space.names import names_of
from tuner.uwsgi.ini import IniFile

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
