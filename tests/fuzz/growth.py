"""Hostile texts that grow: twice the text may take about twice the time, and no more.

Each family is one idea of a text that takes an interpreter longer than its length.
"""

import time
from collections.abc import Callable, Mapping

from tests.fuzz.trials import BOX
from tuner.uwsgi.lint import lint, repaired, subject_of
from tuner.uwsgi.lint.linting import answer_of
from tuner.uwsgi.options import known

Family = Callable[[int], str]


def _ini(*lines: str) -> str:
    return "\n".join(("[uwsgi]", *lines, ""))


FAMILIES: Mapping[str, Family] = {
    "dashes that look like YAML": lambda n: "x:\n " + "-" * n + "!",
    "dots that look like YAML": lambda n: "x:\n " + "." * n + "!",
    "blanks in YAML": lambda n: "x" + " " * n + "!",
    "openings of references": lambda n: _ini("a = " + "%(" * (n // 2)),
    "references in references": lambda n: _ini("a = " + "%(" * (n // 4) + "b" + ")" * (n // 4)),
    "references to nothing": lambda n: _ini("e =", "a = " + "%(e)" * (n // 4)),
    "loops over references to nothing": lambda n: _ini(
        "e =", "for-times = 1000000000", *["a = " + "%(e)" * 20] * (n // 90), "end ="
    ),
    "loops over one long line": lambda n: _ini(
        "e =", "for-times = 1000000000", "a = " + "%(e)" * (n // 4), "end ="
    ),
    "loops that repeat their number": lambda n: _ini(
        "for-times = 1000000000", "a = " + "%(_)" * (n // 4), "end ="
    ),
    "a loop with one long word": lambda n: _ini(
        f"for = {'x' * (n // 2)}", "a = " + "%(_)" * (n // 8), "end ="
    ),
    "a loop with words far apart": lambda n: _ini(
        f"for = a{' ' * (n // 2)}b", *["c = d"] * (n // 12), "end ="
    ),
    "sums of a long value": lambda n: _ini(
        "b = " + "1" * (n // 2), "a = %(" + "b " * (n // 4) + ")"
    ),
    "sums of open values": lambda n: _ini("b = $(X)" * (n // 16), "a = %(" + "b " * (n // 4) + ")"),
    "includes of includes": lambda n: "".join(
        f"[s{k}]\nini = :s{k + 1}\nini = :s{k + 1}\na = {'x' * (n // 60)}\n" for k in range(60)
    ).replace("[s0]", "[uwsgi]"),
    "includes of a long section": lambda n: "\n".join(
        ("[uwsgi]", *["ini = :b"] * (n // 20), "[b]", "a = " + "%k" * (n // 4), "")
    ),
    "one option again and again": lambda n: _ini(*["processes = 4"] * (n // 14)),
    "many unknown keys": lambda n: _ini(*[f"vacum{k} = 1" for k in range(n // 12)]),
    "one unknown key again and again": lambda n: _ini(*["vaccum = 1"] * (n // 11)),
    "keys without a value": lambda n: _ini(*["vaccum"] * (n // 7)),
    "lines that join": lambda n: _ini(*["a = b %"] * (n // 8)),
    "percent signs": lambda n: _ini("a = " + "%" * n),
    "many sections": lambda n: "".join(f"[s{k}]\n" for k in range(n // 8)) + _ini("a = b"),
    "many blocks": lambda n: _ini(*["if-env = A", "a = b", "end ="] * (n // 24)),
    "sets of sets": lambda n: _ini("set = " * (n // 6) + "a=b"),
    "comments": lambda n: _ini(*["; c"] * (n // 4)),
    "comments behind values": lambda n: _ini(*[f"env = A{k}=1 ; c" for k in range(n // 18)]),
    "semicolons": lambda n: _ini("a = " + " ;" * (n // 2)),
    "spaces": lambda n: _ini("a" + " " * n + "b"),
    "tabs before a colon": lambda n: _ini("a" + "\t" * n + "!"),
    "brackets": lambda n: "[" * n,
    "numbers": lambda n: _ini("processes = " + "9" * n),
    "zeros": lambda n: _ini("processes = " + "0" * n + "x"),
}


def cpu_s(text: str, *, times: int = 3) -> float:
    """Least CPU seconds that a lint and its fix take, of so many tries."""

    def once() -> float:
        began = time.process_time()
        subject = subject_of(text, known(), BOX)
        answer_of(lint(subject), known())
        repaired(text, subject)
        return time.process_time() - began

    return min(once() for _ in range(times))
