"""A search space given its meaning for one job: bounds in numbers, what may not be combined.

A space is written once for every size of box (`tuner.model.spaces`); `derive` evaluates its
expressions against the job's limits, workload and the user's own file. Names that an expression
may use: `cpus`, `memory_mb`, `somaxconn`, `concurrency`, `thread_safe`, `memory_processes` (how
many processes fit into memory), `cheaper` (the user's, else 0), `user` (the user's own value of
the parameter at hand), and in `needs` and rules the parameters themselves (`-` written as `_`).
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tuner.errors import InvalidInput, Mistake
from tuner.model import (
    BoolParameter,
    ChoiceParameter,
    Constraint,
    Expression,
    IntParameter,
    JobSpec,
    MemoryLine,
    Parameter,
    Params,
    Scalar,
    SearchSpace,
    connections,
)
from tuner.uwsgi.ini import IniFile, as_text

USERS_OWN = "user"
"""The choice that leaves the user's file as it is."""

MEMORY_SHARE = 0.85
"""Of the limit: what lies above is for the page cache and for requests larger than the probe's."""

LARGEST = 2**31 - 1
"""Beyond this uWSGI could not read a number."""

Names = Mapping[str, Scalar | float]
"""What an expression may refer to."""

_DEFAULTS: Mapping[str, Scalar] = {"processes": 1, "threads": 1, "listen": 100}
"""What uWSGI 2.0.31 takes where the file says nothing; every other number starts at 0."""

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _pow2ceil(value: float) -> int:
    return 1 << max(0, math.ceil(value) - 1).bit_length()


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
    "pow2ceil": _pow2ceil,
}


def evaluate(expression: Expression, names: Names) -> Scalar | float:
    """The value of an expression. Raises `ValueError` with a sentence where it has none."""
    if not isinstance(expression, str):
        return expression
    try:
        tree = ast.parse(expression.strip(), mode="eval")
        return _value(tree.body, names)
    except SyntaxError as error:
        raise ValueError(f"cannot read '{expression}' as arithmetic") from error
    except (ZeroDivisionError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{expression}' has no value: {error}") from error


def _value(node: ast.expr, names: Names) -> Scalar | float:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            if name not in names:
                raise ValueError(f"unknown name '{name}'; known are {', '.join(sorted(names))}")
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_number(left, names), _number(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            return _COMPARE[type(op)](_number(left, names), _number(right, names))
        case ast.BoolOp(op=op, values=values):
            found = [bool(_value(value, names)) for value in values]
            return all(found) if isinstance(op, ast.And) else any(found)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_number(arg, names) for arg in args))
    raise ValueError(f"'{ast.unparse(node)}' is not allowed here")


def _number(node: ast.expr, names: Names) -> float:
    value = _value(node, names)
    if isinstance(value, str):
        raise ValueError(f"'{ast.unparse(node)}' is not a number")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """One parameter of one job: its values, and the user's own among them.

    `values` lists the choices; for a whole number it is empty and `low`..`high` bound it.
    """

    name: str
    users: Scalar
    values: tuple[Scalar, ...] = ()
    low: int = 0
    high: int = 0
    log: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether there is nothing to choose."""
        return self.low == self.high if not self.values else len(self.values) == 1

    def nearest(self, value: Scalar | float) -> Scalar:
        """The admissible value closest to `value`; the user's own where that means nothing."""
        if not self.values:
            if isinstance(value, str):
                return self.users
            return min(max(int(value), self.low), self.high)
        if value in self.values:
            return next(known for known in self.values if known == value)
        numbers = [known for known in self.values if not isinstance(known, str)]
        if isinstance(value, str) or not numbers:
            return self.users
        return min(numbers, key=lambda known: abs(known - value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """What a sampler may propose for one job."""

    space: SearchSpace
    dimensions: tuple[Dimension, ...]
    names: Names
    ini: IniFile

    @property
    def free(self) -> tuple[Dimension, ...]:
        """The dimensions with something to choose."""
        return tuple(dimension for dimension in self.dimensions if not dimension.is_fixed)

    @property
    def baseline(self) -> Params:
        """The user's own values."""
        return {dimension.name: dimension.users for dimension in self.dimensions}

    def seeds(self) -> tuple[Params, ...]:
        """The heuristics of the space that are valid here, each once, the baseline left out."""
        found: list[Params] = []
        for heuristic in self.space.heuristics:
            wanted = dict(self.baseline)
            for dimension in self.dimensions:
                if dimension.name in heuristic:
                    wanted[dimension.name] = self._wanted(dimension, heuristic[dimension.name])
            params = self.settle(wanted)
            if params not in (*found, self.baseline) and not self.broken(params):
                found.append(params)
        return tuple(found)

    def _wanted(self, dimension: Dimension, expression: Expression) -> Scalar:
        """What a heuristic wants of a dimension, as near as the dimension comes to it.

        A choice that would change nothing is not among the values: it is the user's own.
        """
        parameter = self.space.parameters[dimension.name]
        if isinstance(parameter, ChoiceParameter) and parameter.emit:
            if expression not in (USERS_OWN, *parameter.emit):
                raise ValueError(f"{dimension.name}: '{expression}' has no entry under emit")
            return expression if expression in dimension.values else dimension.users
        names = {**self.names, USERS_OWN: dimension.users}
        return dimension.nearest(evaluate(expression, names))

    def settle(self, params: Params) -> Params:
        """Put the user's value where a value means nothing: equal files then have equal params."""
        settled = dict(params)
        for dimension in self.dimensions:
            needs = self.space.parameters[dimension.name].needs
            if not evaluate(needs, {**self.names, **_as_names(settled)}):
                settled[dimension.name] = dimension.users
        return settled

    def broken(self, params: Params) -> tuple[Constraint, ...]:
        """The rules that this combination breaks; one that breaks any is never started."""
        names = {**self.names, **_as_names(params)}
        return tuple(rule for rule in self.space.constraints if not evaluate(rule.rule, names))

    def changes(self, params: Params) -> dict[str, str]:
        """The options to set, as text: those of parameters that differ from the user's value."""
        changes: dict[str, str] = {}
        for dimension in self.dimensions:  # in the space's order, whatever that of `params`
            name, value = dimension.name, params[dimension.name]
            if value == dimension.users:
                continue
            parameter = self.space.parameters[name]
            emit = parameter.emit if isinstance(parameter, ChoiceParameter) else {}
            options = emit.get(str(value), {} if emit else {name: value})
            for option, setting in options.items():
                if self.ini.get(option) != as_text(setting):
                    changes[option] = as_text(setting)
        return changes

    def render(self, params: Params) -> str:
        """The user's file with these values in it: what a trial runs, and what is recommended."""
        return self.ini.patch(self.changes(params)).dump()


def _as_names(params: Params) -> dict[str, Scalar]:
    return {name.replace("-", "_"): value for name, value in params.items()}


def derive(spec: JobSpec, memory: MemoryLine | None = None) -> Domain:
    """The domain of a tuning job. Raises `InvalidInput` with every mistake of the space.

    `memory` is what `prepare` measured; without it the target's own hint is used.
    """
    space = spec.search_space
    if space is None:
        raise ValueError(f"nothing is varied in a job of kind {spec.kind}")
    ini = IniFile.parse(spec.baseline_ini)
    names = _names(spec, ini, memory)
    mistakes: list[Mistake] = []
    dimensions: list[Dimension] = []
    for name, parameter in space.parameters.items():
        path = f"search_space.parameters.{name}"
        try:
            dimensions.append(_dimension(name, parameter, names, ini))
        except ValueError as error:
            mistakes.append(Mistake(path, str(error)))
    domain = Domain(space=space, dimensions=tuple(dimensions), names=names, ini=ini)
    if not mistakes:
        mistakes += _mistakes_of_rules(domain)
    if mistakes:
        raise InvalidInput(mistakes)
    return domain


def _names(spec: JobSpec, ini: IniFile, memory: MemoryLine | None) -> Names:
    limits, target = spec.limits, spec.target
    line = memory or MemoryLine(base_mb=0.0, per_process_mb=float(target.memory_per_process_mb))
    return {
        "cpus": limits.cpus,
        "memory_mb": limits.memory_mb,
        "somaxconn": limits.somaxconn,
        "concurrency": connections(spec.workload),
        "thread_safe": target.thread_safe,
        "memory_processes": line.processes_within(MEMORY_SHARE * limits.memory_mb),
        "cheaper": ini.integer("cheaper", 0),
    }


def _dimension(name: str, parameter: Parameter, names: Names, ini: IniFile) -> Dimension:
    users = _users_value(name, parameter, ini)
    names = {**names, USERS_OWN: users}
    if not evaluate(parameter.when, names):
        return Dimension(name=name, users=users, values=(users,))
    match parameter:
        case BoolParameter():
            return Dimension(name=name, users=users, values=(users, not users))
        case ChoiceParameter():
            return Dimension(name=name, users=users, values=_choices(parameter, users, names, ini))
        case IntParameter():
            low, high = (_whole(bound, names) for bound in (parameter.low, parameter.high))
            if low > high:
                raise ValueError(f"contradictory bounds: low {low} is above high {high}")
            own = int(users)
            return Dimension(
                name=name, users=own, low=min(low, own), high=max(high, own), log=parameter.log
            )


def _users_value(name: str, parameter: Parameter, ini: IniFile) -> Scalar:
    """The value of a parameter that stands for the file as it is."""
    if isinstance(parameter, BoolParameter):
        return ini.flag(name)
    if isinstance(parameter, ChoiceParameter) and parameter.emit:
        return USERS_OWN
    # 0 means 1 to uWSGI's `threads`, and a search space has no use for `processes = 0`.
    return ini.integer(name, int(_DEFAULTS.get(name, 0))) or int(_DEFAULTS.get(name, 0))


def _choices(
    parameter: ChoiceParameter, users: Scalar, names: Names, ini: IniFile
) -> tuple[Scalar, ...]:
    values: list[Scalar] = [users]
    for written in parameter.values:
        if parameter.emit:
            if written != USERS_OWN and written not in parameter.emit:
                raise ValueError(f"'{written}' has no entry under emit")
            options = parameter.emit.get(str(written), {})
            if all(ini.get(option) == as_text(value) for option, value in options.items()):
                continue  # it changes nothing: the same as the user's own
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


def _mistakes_of_rules(domain: Domain) -> list[Mistake]:
    """Try every rule, condition and heuristic once, on the user's own values."""
    mistakes: list[Mistake] = []
    names = {**domain.names, **_as_names(domain.baseline)}
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
