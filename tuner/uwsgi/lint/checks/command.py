"""The command and the environment: they set options too."""

from collections.abc import Iterator

from tuner.uwsgi.command_line import Argument
from tuner.uwsgi.lint.certainty import environment_option
from tuner.uwsgi.lint.edits import top_of
from tuner.uwsgi.lint.finding import Fix
from tuner.uwsgi.lint.invocation import invocation_of
from tuner.uwsgi.lint.rule import Hit, check, hit
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


def _conflicts(subject: Subject, *, after: bool) -> Iterator[tuple[Argument, Entry]]:
    """Arguments after or before the file with another value than the file's."""
    invocation = invocation_of(subject)
    if invocation is None or not invocation.reads_file:
        return
    for argument in invocation.after if after else invocation.before:
        option = argument.option
        if option is None or option.kind in _CANNOT_BE_OVERRIDDEN:
            continue
        entry = next(reversed(subject.named(argument.name)), None)
        if entry and entry.value != (argument.value or "true"):
            yield argument, entry


@check("command-wins")
def overriding(subject: Subject) -> Iterator[Hit]:
    for argument, entry in _conflicts(subject, after=True):
        yield hit(entry, argument=argument)


@check("command-loses")
def losing(subject: Subject) -> Iterator[Hit]:
    for argument, entry in _conflicts(subject, after=False):
        if not entry.line.conditional:
            message = f"the command has `{argument.text}` before the file, and the file overrides "
            message += f"it with {entry.value}"
            fix = Fix(f"remove {argument.key} from the command, or put it after the file")
            yield Hit(entry.number, message, fix)
    for variable, value, option in _of_environment(subject):
        entries = () if option.kind is Kind.LIST else subject.named(option.name)
        if entries and not entries[-1].line.conditional and entries[-1].value != value:
            message = f"the image's environment has {variable}={value}, and the file overrides it "
            message += f"with {entries[-1].value}"
            yield Hit(entries[-1].number, message, Fix(f"remove {variable} from the image"))


def _of_environment(subject: Subject) -> Iterator[tuple[str, str, Option]]:
    """Variables that uWSGI reads as options, with their values."""
    if subject.box.command and invocation_of(subject) is None:
        return
    for variable, value in sorted(subject.box.environ.items()):
        if not variable.startswith("UWSGI_") or variable in _NOT_OPTIONS:
            continue
        option = subject.catalogue.find(environment_option(variable))
        if option is not None and option.kind is not Kind.ACTION:
            yield variable, value, option


@check("environment-sets-options")
def from_environment(subject: Subject) -> Iterator[Hit]:
    for variable, value, option in _of_environment(subject):
        entries = subject.named(option.name)
        if entries and (option.kind is not Kind.LIST or entries[-1].value == value):
            continue  # the file wins, or has the same value
        verb = "adds to" if option.kind is Kind.LIST and entries else "sets"
        message = f"the image's environment has {variable}={value}, which {verb} {option.name}; "
        message += "this file does not show it"
        fix = Fix(f"set {option.name} here, and remove {variable} from the image")
        yield Hit(top_of(subject), message, fix)


@check("command-without-file")
def reads_no_file(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or invocation.reads_file or "UWSGI_INI" in subject.box.environ:
        return
    message = f"the command `{' '.join(subject.box.command)}` reads no configuration file"
    yield Hit(top_of(subject), message, Fix("run `uwsgi --ini` with this file"))


@check("value-not-taken")
def value_not_taken(subject: Subject) -> Iterator[Hit]:
    invocation = invocation_of(subject)
    if invocation is None or not invocation.stray:
        return
    stray = invocation.stray[0]
    for argument in invocation.arguments:
        option = argument.option
        if option and _TAKES_NONE in option.names and argument.value is None:
            message = f"{argument.key} takes no value on the command line: uWSGI takes {stray} "
            message += "for a file and does not start"
            yield Hit(top_of(subject), message, Fix(f"write `{_TAKES_NONE} = {stray}` in the file"))
