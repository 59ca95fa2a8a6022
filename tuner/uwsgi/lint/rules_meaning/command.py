"""The command and the environment that the file is run with: they have a say as well."""

from collections.abc import Iterator

from tuner.uwsgi.lint.finding import Fix, Severity
from tuner.uwsgi.lint.rule import Hit, Rule
from tuner.uwsgi.lint.rules.parts import file_of
from tuner.uwsgi.lint.rules_meaning.certain import environment_option, top_of
from tuner.uwsgi.lint.rules_meaning.invocation import Argument, invocation_of
from tuner.uwsgi.lint.subject import Entry, Subject
from tuner.uwsgi.options.option import Kind, Option

_CANNOT_BE_OVERRIDDEN = frozenset({Kind.LIST, Kind.ACTION})
_NOT_OPTIONS = frozenset(
    {
        "UWSGI_RELOADS", "UWSGI_VASSALS_DIR", "UWSGI_EMPEROR_FD", "UWSGI_BROODLORD_NUM",
        "UWSGI_EMPEROR_FD_CONFIG", "UWSGI_EMPEROR_PROXY", "UWSGI_JAIL_PID",
        "UWSGI_ORIGINAL_PROC_NAME",
    }
)  # fmt: skip
_TAKES_NONE = "so-send-timeout"


def _overriding(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or not invocation.reads_file:
        return
    for argument in invocation.after:
        entry = _scalar(subject, argument)
        if entry and entry.value != (argument.value or "true"):
            yield Hit(
                line=entry.number,
                message=f"the command has `{argument.text}` behind the file, and wins: this line "
                "counts for nothing",
                fix=Fix(sentence=f"take {argument.key} out of the command"),
            )


def _losing(subject: Subject) -> Iterator[Hit]:
    yield from _overridden(subject)
    for variable, value, option in _of_environment(subject):
        entries = [] if option.kind is Kind.LIST else subject.named(option.name)
        entry = entries[-1] if entries else None
        if entry and not entry.line.conditional and entry.value != value:
            yield Hit(
                line=entry.number,
                message=f"the image's environment has {variable}={value}, which the file sets to "
                f"{entry.value}: the file wins",
                fix=Fix(sentence=f"take {variable} out of the image"),
            )


def _overridden(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or not invocation.reads_file:
        return
    for argument in invocation.before:
        entry = _scalar(subject, argument)
        if entry and not entry.line.conditional and entry.value != (argument.value or "true"):
            yield Hit(
                line=entry.number,
                message=f"the command has `{argument.text}` before the file, which then sets "
                f"{entry.value}: the file wins",
                fix=Fix(sentence=f"take {argument.key} out of the command, or put it behind"),
            )


def _scalar(subject: Subject, argument: Argument) -> Entry | None:
    option: Option | None = subject.catalogue.find(argument.option)
    if option is None or option.kind in _CANNOT_BE_OVERRIDDEN:
        return None
    entries = subject.named(argument.option)
    return entries[-1] if entries else None


def _of_environment(subject: Subject) -> Iterator[tuple[str, str, Option]]:
    """Variables that are options to uWSGI, each with its value."""
    if subject.box.command and invocation_of(subject) is None:
        return
    for variable, value in sorted(subject.box.environ.items()):
        if not variable.startswith("UWSGI_") or variable in _NOT_OPTIONS:
            continue
        option = subject.catalogue.find(environment_option(variable))
        if option is not None and option.kind is not Kind.ACTION:
            yield variable, value, option


def _from_environment(subject: Subject) -> Iterator[Hit]:
    for variable, value, option in _of_environment(subject):
        entries = subject.named(option.name)
        if entries and (option.kind is not Kind.LIST or entries[-1].value == value):
            continue  # the file wins, or says the same
        one_more = " one more of" if option.kind is Kind.LIST and entries else ""
        yield Hit(
            line=top_of(subject),
            message=f"the image's environment has {variable}={value}, which sets{one_more} "
            f"{option.name}: it is not in this file, and counts",
            fix=Fix(sentence=f"say {option.name} here, and take {variable} out of the image"),
        )


def _reads_no_file(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or invocation.reads_file or "UWSGI_INI" in subject.box.environ:
        return
    yield Hit(
        line=top_of(subject),
        message=f"the command is `{' '.join(subject.box.command)}`: it reads no file, this one or "
        "another",
        fix=Fix(sentence="run `uwsgi --ini` with this file"),
    )


def _value_not_taken(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None:
        return
    for argument in invocation.arguments:
        option = subject.catalogue.find(argument.option)
        if option and _TAKES_NONE in option.names and argument.value is None and invocation.stray:
            yield Hit(
                line=top_of(subject),
                message=f"{argument.key} takes no value on the command: uWSGI takes "
                f"{invocation.stray[0]} for a file, and will not start",
                fix=Fix(sentence=f"say `{_TAKES_NONE} = {invocation.stray[0]}` in this file"),
            )


RULES = (
    Rule(
        id="U140",
        name="command-wins",
        severity=Severity.WARNING,
        why="uWSGI reads from left to right, and the last value counts. An option behind `--ini` "
        "makes the file's own line dead, however well it was chosen.",
        example=file_of("; CMD uwsgi --ini uwsgi.ini --processes 8", "processes = 2"),
        better=file_of("processes = 2"),
        evidence="2.0.31 with `--ini uwsgi.ini --processes 4` and `processes = 2`: four workers. "
        "getopt also takes `--process 3` and `-p 3` for it.",
        look=_overriding,
    ),
    Rule(
        id="U141",
        name="command-loses",
        severity=Severity.NOTE,
        why="An option before `--ini`, or anywhere beside a file that is named without it, counts "
        "until the file sets it, and so does a variable `UWSGI_...` of the image. Whoever changes "
        "either then wonders why nothing happens.",
        example=file_of("; CMD uwsgi --processes 8 --ini uwsgi.ini", "processes = 2"),
        better=file_of("processes = 2"),
        evidence="2.0.31 with `--processes 4 --ini uwsgi.ini` and `processes = 2`: two workers. So "
        "it is with `uwsgi.ini --processes 4`, for a file without `--ini` is read at the end, and "
        "with UWSGI_PROCESSES=4.",
        look=_losing,
    ),
    Rule(
        id="U142",
        name="environment-sets-options",
        severity=Severity.WARNING,
        why="Every variable `UWSGI_...` of the image is an option. What is set there and not in "
        "the file counts, and nobody sees it who reads the file.",
        example=file_of("; ENV UWSGI_THREADS=4", "processes = 2"),
        better=file_of("processes = 2", "threads = 4"),
        evidence="2.0.31 with UWSGI_PROCESSES=2 and UWSGI_THREADS=3: `preforking+threaded`; with "
        "`threads = 1` in the file one thread; UWSGI_HTTP_SOCKET binds one more address "
        "(core/utils.c:1595).",
        look=_from_environment,
    ),
    Rule(
        id="U143",
        name="command-without-file",
        severity=Severity.WARNING,
        why="uWSGI looks for no file by itself. Unless the command or UWSGI_INI names it, nothing "
        "of what is written here happens.",
        example=file_of("; CMD uwsgi --http-socket :8000 --module app", "processes = 2"),
        better=file_of("processes = 2"),
        evidence="2.0.31 reads what --ini, a name that ends in .ini, and UWSGI_INI say.",
        look=_reads_no_file,
    ),
    Rule(
        id="U144",
        name="value-not-taken",
        severity=Severity.ERROR,
        why="so-send-timeout is declared without a value. In a file it takes one all the same; on "
        "the command the number stands alone, and is taken for a file.",
        example=file_of("; CMD uwsgi --ini uwsgi.ini --so-send-timeout 5", "processes = 2"),
        better=file_of("processes = 2", "so-send-timeout = 5"),
        evidence="2.0.31: `unable to load configuration from 5`, exit code 1 (core/uwsgi.c:529).",
        look=_value_not_taken,
    ),
)
