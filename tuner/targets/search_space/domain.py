"""What may be proposed for one job: every parameter's values, and what a choice of them means."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tuner.nouns.model import (
    ChoiceParameter,
    Constraint,
    Emitted,
    Expression,
    Limits,
    MemoryLine,
    OwnValue,
    Params,
    Scalar,
    SearchSpace,
    is_sysctl,
)
from tuner.targets.search_space.expressions import Names, evaluate
from tuner.uwsgi.ini import IniFile, as_text

USERS_OWN = "user"
"""The choice that leaves the user's file as it is."""


Key = tuple[Scalar, ...]
"""The values of a domain's dimensions in its order: equal keys are equal params."""

MEMORY_SHARE = 0.85
"""Share of the memory limit that files may use; the rest is for page cache and large requests."""

TOO_LARGE = Constraint(
    rule=f"memory <= {MEMORY_SHARE} * memory_mb",
    reason="by what the others used, it would not fit into the memory limit",
)
"""The rule that every space has, once enough is known of the app's memory."""

TOO_MANY = Constraint(rule="slots <= max_slots", reason="more slots than the job's max_slots")
"""The rule of a job that bounds requests at once: processes times threads, or coroutines."""

_SLOTS = ("processes", "threads")
COROUTINES = ("gevent", "asyncio", "async")


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
    def everything(self) -> Sequence[Scalar]:
        """All values in their order."""
        return self.values or range(self.low, self.high + 1)

    @property
    def is_fixed(self) -> bool:
        """Whether there is nothing to choose."""
        return len(self.everything) == 1

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
    """What a sampler may propose for one job.

    `ini` and `limits` are the user's own: options are in the one, kernel settings in the other.
    """

    space: SearchSpace
    dimensions: tuple[Dimension, ...]
    names: Names
    ini: IniFile
    limits: Limits
    memory: MemoryLine | None = None  # learnt from what has run; None as long as nothing has
    max_slots: int | None = None

    @property
    def free(self) -> tuple[Dimension, ...]:
        """The dimensions with something to choose."""
        return tuple(dimension for dimension in self.dimensions if not dimension.is_fixed)

    @property
    def baseline(self) -> Params:
        """The user's own values."""
        return {dimension.name: dimension.users for dimension in self.dimensions}

    @property
    def size(self) -> int:
        """The number of combinations, valid or not."""
        return math.prod(len(dimension.everything) for dimension in self.dimensions)

    def seeds(self) -> tuple[Params, ...]:
        """The heuristics of the space that are valid here, each once, the baseline left out."""
        found: list[Params] = []
        for heuristic in self.space.heuristics:
            params = self.seed(heuristic)
            if params not in (*found, self.baseline) and not self.broken(params):
                found.append(params)
        return tuple(found)

    def seed(self, heuristic: Mapping[str, Expression]) -> Params:
        """What a heuristic comes to here, valid or not. Raises `ValueError`."""
        wanted = {
            dimension.name: self._wanted(dimension, heuristic[dimension.name])
            if dimension.name in heuristic
            else dimension.users
            for dimension in self.dimensions
        }
        return self.settle(wanted)

    def fitted(self, wanted: Mapping[str, Scalar]) -> Params | None:
        """Params of an earlier job as near as this domain comes to them; None where a rule forbids.

        A parameter that they do not name has the user's own value; names unknown here are dropped.
        """
        params = self.settle(
            {
                dimension.name: dimension.nearest(wanted.get(dimension.name, dimension.users))
                for dimension in self.dimensions
            }
        )
        return None if self.broken(params) else params

    def every_valid(self) -> dict[Key, Params]:
        """Every valid combination of all values, by its key."""
        names = [dimension.name for dimension in self.dimensions]
        columns = [dimension.everything for dimension in self.dimensions]
        return self.valid(dict(zip(names, row, strict=True)) for row in itertools.product(*columns))

    def valid(self, many: Iterable[Params]) -> dict[Key, Params]:
        """Params that break no rule, settled, by their keys; those with the same meaning once."""
        settled = (self.settle(params) for params in many)
        return {self.key(params): params for params in settled if not self.broken(params)}

    def key(self, params: Params) -> Key:
        """The values of these params in the order of the domain."""
        return tuple(params[dimension.name] for dimension in self.dimensions)

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
            if not evaluate(needs, {**self.names, **as_names(settled)}):
                settled[dimension.name] = dimension.users
        return settled

    def broken(self, params: Params) -> tuple[Constraint, ...]:
        """The rules that this combination breaks; one that breaks any is never started.

        Beside the space's own: too many slots, and what is known to need more memory than there is.
        """
        names = {**self.names, **as_names(params)}
        rules = [rule for rule in self.space.constraints if not evaluate(rule.rule, names)]
        if self.max_slots is not None and self.slots(params) > self.max_slots:
            rules.append(TOO_MANY)
        return (*rules, *([TOO_LARGE] if self.is_too_large(params) else []))

    def slots(self, params: Params) -> float:
        """Requests that the file serves at once with these params."""
        changes = self.changes(params)
        processes, threads, *coroutines = (
            _number(changes.get(name, self.ini.get(name))) for name in (*_SLOTS, *COROUTINES)
        )
        return processes * max(threads, *coroutines)

    def is_too_large(self, params: Params) -> bool:
        """Whether it is known not to fit into memory; the user's own file runs, so it fits."""
        if self.memory is None or dict(params) == dict(self.baseline):
            return False
        processes, threads = (_number(params.get(n, self.ini.get(n))) for n in _SLOTS)
        room_mb = MEMORY_SHARE * float(self.names["memory_mb"])
        return self.memory.needed_mb(processes, threads) > room_mb

    def own(self, option: str) -> str | None:
        """The user's value of an option or a kernel setting; None where there is none."""
        return own_value(self.ini, self.limits, option)

    def changes(self, params: Params) -> dict[str, str | None]:
        """What the user has otherwise: options and kernel settings as text, None: taken out."""
        changes: dict[str, str | None] = {}
        for dimension in self.dimensions:  # in the space's order, whatever that of `params`
            name, value = dimension.name, params[dimension.name]
            if value == dimension.users:
                continue
            parameter = self.space.parameters[name]
            emit = parameter.emit if isinstance(parameter, ChoiceParameter) else {}
            options = emit.get(str(value), {} if emit else {name: value})
            for option, setting in options.items():
                text = emitted(setting, self.ini)
                if self.own(option) != text:
                    changes[option] = text
        return changes

    def options(self, params: Params) -> dict[str, str | None]:
        """The changes that are options: lines of the file."""
        return {n: text for n, text in self.changes(params).items() if not is_sysctl(n)}

    def render(self, params: Params) -> str:
        """The user's file with these values in it: what a trial runs, and what is recommended."""
        return self.ini.patch(self.options(params)).dump()

    def box(self, params: Params) -> Limits:
        """The user's box with the kernel settings of these values: where the file runs."""
        changes = self.changes(params).items()
        return self.limits.with_sysctls({n: text for n, text in changes if text and is_sysctl(n)})


def own_value(ini: IniFile, limits: Limits, option: str) -> str | None:
    """The user's value of an option or a kernel setting, as text; None where there is none."""
    if not is_sysctl(option):
        return ini.get(option)
    value = limits.sysctls.get(option)
    return None if value is None else str(value)


def emitted(setting: Emitted, ini: IniFile) -> str | None:
    """What a choice makes of an option of this file, as text; None: the option is not there."""
    if isinstance(setting, OwnValue):
        return ini.get(setting.of)
    return None if setting is None else as_text(setting)


def as_names(params: Params) -> dict[str, Scalar]:
    """Params as an expression refers to them: `thunder-lock` is `thunder_lock` there."""
    return {name.replace("-", "_"): value for name, value in params.items()}


def _number(value: Scalar | None) -> float:
    """Processes or threads as a number; where nothing can be read there is one."""
    try:
        return max(1.0, float(value or 1))
    except ValueError:
        return 1.0
