"""A space for one job, for people: free parameters, fixed parameters, and their lines."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from tuner.nouns.model import Constraint, Expression, IntParameter, Parameter, Params, Scalar
from tuner.targets.search_space.domain import Dimension, Domain
from tuner.targets.search_space.expressions import Names, evaluate, names_in
from tuner.uwsgi.ini import as_text

COUNTED = 5000
"""Up to this number, valid combinations are counted. Above it, their number is only a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterOutline(Dimension):
    """One parameter for people.

    `fixed_because` is empty for a free parameter. `lines` are the lines that each value writes,
    except the file's own value; a whole number has one line with its bounds. `needs` is empty if
    the parameter always has a meaning.
    """

    fixed_because: str
    needs: str
    note: str
    lines: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeuristicOutline:
    """One heuristic: the lines that it writes, or the reason why it is not tried here."""

    wanted: Mapping[str, Expression]
    lines: tuple[str, ...]
    left_out_because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A space for one job. `combinations` is the number of valid ones, or an upper bound of it."""

    name: str
    description: str
    parameters: tuple[ParameterOutline, ...]
    constraints: tuple[Constraint, ...]
    heuristics: tuple[HeuristicOutline, ...]
    combinations: int
    combinations_are_counted: bool


def outline(domain: Domain) -> Outline:
    """The outline of a domain."""
    space, is_small = domain.space, domain.size <= COUNTED
    return Outline(
        name=space.name,
        description=space.description,
        parameters=tuple(_parameter(domain, dimension) for dimension in domain.dimensions),
        constraints=space.constraints,
        heuristics=_heuristics(domain),
        combinations=len(domain.every_valid()) if is_small else domain.size,
        combinations_are_counted=is_small,
    )


def _parameter(domain: Domain, dimension: Dimension) -> ParameterOutline:
    parameter = domain.space.parameters[dimension.name]
    return ParameterOutline(
        **asdict(dimension),
        fixed_because=_fixed_because(domain, dimension, parameter),
        needs="" if parameter.needs is True else str(parameter.needs),
        note=parameter.note,
        lines=_lines_by_value(domain, dimension),
    )


def _fixed_because(domain: Domain, dimension: Dimension, parameter: Parameter) -> str:
    if not dimension.is_fixed:
        return ""
    if not evaluate(parameter.when, domain.names):
        return (
            f"searched only where {parameter.when}; here {_values_of(parameter.when, domain.names)}"
        )
    if isinstance(parameter, IntParameter):
        return f"its bounds allow only {dimension.low}"
    return "no value of the space would change this file"


def _values_of(expression: Expression, names: Names) -> str:
    """The names of an expression with their values: `thread_safe = false`."""
    found = (name for name in names_in(expression) if name in names)
    return ", ".join(f"{name} = {_text(names[name])}" for name in found)


def _text(value: Scalar | float) -> str:
    return f"{value:g}" if isinstance(value, float) else as_text(value)


def _lines_by_value(domain: Domain, dimension: Dimension) -> dict[str, tuple[str, ...]]:
    if dimension.is_fixed:
        return {}
    if not dimension.values:
        line = f"{dimension.name} = {dimension.low}..{dimension.high}"
        return {f"{dimension.low}..{dimension.high}": (line,)}
    others = (value for value in dimension.values if value != dimension.users)
    return {
        as_text(value): _lines(domain, {**domain.baseline, dimension.name: value})
        for value in others
    }


def _lines(domain: Domain, params: Params) -> tuple[str, ...]:
    return tuple(
        f"without {option}" if value is None else f"{option} = {value}"
        for option, value in domain.changes(params).items()
    )


def _heuristics(domain: Domain) -> tuple[HeuristicOutline, ...]:
    """Each heuristic as `Domain.seeds` uses it, and why the others are left out."""
    found, taken = [], [domain.baseline]
    for wanted in domain.space.heuristics:
        params = domain.seed(wanted)
        why = _left_out(domain, params, taken)
        taken.append(params)
        found.append(
            HeuristicOutline(
                wanted=wanted, lines=() if why else _lines(domain, params), left_out_because=why
            )
        )
    return tuple(found)


def _left_out(domain: Domain, params: Params, taken: list[Params]) -> str:
    if params in taken:
        return "the same as the file" if params == taken[0] else "the same as one above"
    return "; ".join(rule.reason for rule in domain.broken(params))
