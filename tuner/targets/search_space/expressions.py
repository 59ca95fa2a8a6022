"""Arithmetic of search spaces. It evaluates numbers, names and comparisons, and no other Python."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from tuner.nouns.model import Expression, Scalar

Names = Mapping[str, Scalar | float]
"""The names that an expression may use, with their values."""

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
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
    """The value of an expression. Raises `ValueError` with a sentence if it has none."""
    if not isinstance(expression, str):
        return expression
    try:
        return _value(_parsed(expression), names)
    except SyntaxError as error:
        raise ValueError(f"cannot read '{expression}' as arithmetic") from error
    except (ZeroDivisionError, OverflowError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{expression}' has no value: {error}") from error


def names_in(expression: Expression) -> tuple[str, ...]:
    """The names that an expression uses, each once; none for an expression that cannot be read."""
    try:
        nodes = list(ast.walk(_parsed(expression))) if isinstance(expression, str) else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = [node.id for node in nodes if isinstance(node, ast.Name)]
    return tuple(dict.fromkeys(name for name in found if name not in _FUNCTIONS))


@lru_cache(maxsize=1024)
def _parsed(expression: str) -> ast.expr:
    """Cached, because a sampler evaluates the same few expressions thousands of times."""
    return ast.parse(expression.strip(), mode="eval").body


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
            # Words may be equal too: a choice may be one, as in `logging == 'user'`.
            read = _value if isinstance(op, ast.Eq | ast.NotEq) else _number
            return _COMPARE[type(op)](read(left, names), read(right, names))
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
