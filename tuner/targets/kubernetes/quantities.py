"""Quantities of Kubernetes: `500m`, `512M`, `1.5Gi`, `128e6`."""

import re
from fractions import Fraction

from tuner.targets.compose.document import Node

_QUANTITY = re.compile(
    r"\+?(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)", re.ASCII
)
_OF_TEN = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def quantity(text: str) -> Fraction | None:
    """The number: cores, or bytes. None for what is no quantity."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        return None
    suffix = found[3] or ""
    ten = int(found[2] or 0) + _OF_TEN.get(suffix, 0)
    return Fraction(found[1]) * Fraction(f"1e{ten}") * int(2 ** _OF_TWO.get(suffix, 0))


def mebibytes(node: Node) -> int | None:
    """Rounded down, so that no limit gets larger than it is; None for nothing."""
    found = quantity(node.text)
    return None if found is None else int(found / 2**20)


def limit_of(container: Node, resource: str) -> Fraction | None:
    """A limit, and never a request: cores of `cpu`, bytes of `memory`; None without one."""
    return quantity(container.text_of("resources", "limits", resource))
