"""`if-...` and `for...` blocks: uWSGI keeps one state for them, and no stack."""

from collections.abc import Callable, Iterator

from tuner.uwsgi.ini import OPENS
from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of, removed
from tuner.uwsgi.lint.subject import Subject


def _problems(code: str, fix: Callable[[int], Fix]) -> Callable[[Subject], Iterator[Hit]]:
    def look(subject: Subject) -> Iterator[Hit]:
        for problem in subject.problems:
            if problem.code == code:
                yield Hit(line=problem.line, message=problem.message, fix=fix(problem.line or 1))

    return look


def _stray(subject: Subject) -> Iterator[Hit]:
    """Keeps silent where a nested block is why there is one end too many."""
    if any(entry.key in OPENS and entry.is_conditional for entry in subject.entries):
        return
    yield from _problems(
        "stray-end", lambda line: removed([line], "leave the line out", is_safe=True)
    )(subject)


RULES = (
    Rule(
        id="U015",
        name="unclosed-block",
        severity=Severity.ERROR,
        why="Everything after the condition counts only where it holds: the rest of the file, "
        "later files and the rest of the command line, on which uWSGI may crash.",
        example=file_of("processes = 2", "if-env = DEBUG", "py-autoreload = 1"),
        better=file_of("processes = 2", "if-env = DEBUG", "log-slow = 1000", "endif ="),
        evidence="2.0.31 with an open `if-env` and `--show-config` behind the file ends with a "
        "segmentation fault in uwsgi_substitute.",
        look=_problems(
            "unclosed-block", lambda _: Fix(sentence="close it with `endif =` or `endfor =`")
        ),
    ),
    Rule(
        id="U016",
        name="stray-end",
        severity=Severity.NOTE,
        why="The line closes nothing and does nothing; often the line that was to open the block "
        "is gone or misspelt.",
        example=file_of("processes = 2", "endif ="),
        better=file_of("processes = 2"),
        evidence="core/config.c add_exported_option_do; 2.0.31 starts and ignores it.",
        look=_stray,
    ),
    Rule(
        id="U017",
        name="nested-block",
        severity=Severity.ERROR,
        why="Blocks do not nest: uWSGI does not start, and where the outer condition does not "
        "hold the first end closes both.",
        example=file_of(
            "processes = 2",
            *("if-env = DEBUG", "if-env = VERBOSE", "log-slow = 1000", "endif =", "endif ="),
        ),
        better=file_of("processes = 2", "if-env = VERBOSE", "log-slow = 1000", "endif ="),
        evidence="2.0.31 ends with exit code 1: `recursive logic in options is not supported`.",
        look=_problems(
            "nested-block", lambda _: Fix(sentence="close the block above before this one")
        ),
    ),
)
