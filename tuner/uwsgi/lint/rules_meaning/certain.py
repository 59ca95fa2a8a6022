"""What a file certainly says: where it is not certain, rules on meaning keep silent.

A value is not certain inside of a condition, where another file that is included further down may
change it, where the command sets the same option, or where uWSGI puts something else in its place.
"""

from tuner.uwsgi.ini import INCLUDES, SECTION, as_int, is_true
from tuner.uwsgi.lint.finding import Edit, Fix
from tuner.uwsgi.lint.rules.parts import is_dynamic
from tuner.uwsgi.lint.rules_meaning.invocation import invocation_of
from tuner.uwsgi.lint.subject import Entry, Subject

HTTP = ("http", "http-socket", "http11-socket")
UWSGI = ("socket",)
STATIC = ("static-map", "static-map2", "check-static", "fileserve-mode")


def settled(subject: Subject, *options: str) -> Entry | None:
    """The entry that counts; None where there is none, or where something else may count."""
    entries = subject.named(*options)
    if not entries or any(entry.is_conditional for entry in entries):
        return None
    last = entries[-1]
    mixed = len({entry.line.section for entry in entries}) > 1
    if mixed or _may_be_changed(subject, last) or _is_set_outside(subject, *options):
        return None
    return last


def is_absent(subject: Subject, *options: str) -> bool:
    """Whether nothing that is seen sets it: no line, no included file, no command."""
    return not (
        subject.named(*options)
        or any(subject.ini.values(option) for option in options)
        or _foreign_includes(subject)
        or _is_set_outside(subject, *options)
        or _is_in_environment(subject, *options)
    )


def number(subject: Subject, *options: str, default: int) -> int | None:
    """The number that counts, `default` where the option is absent; None where not certain."""
    if is_absent(subject, *options):
        return default
    entry = settled(subject, *options)
    return None if entry is None or is_dynamic(entry.value) else as_int(entry.value)


def switched_on(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly switches it on."""
    entry = settled(subject, *options)
    return entry if entry and not is_dynamic(entry.value) and is_true(entry.value) else None


def switched_off(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly switches it off."""
    entry = settled(subject, *options)
    return entry if entry and not is_true(entry.value) else None


def is_off(subject: Subject, *options: str) -> bool:
    """Whether it is certainly not on: absent, or switched off."""
    return is_absent(subject, *options) or switched_off(subject, *options) is not None


def positive(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly sets it to a number above 0."""
    entry = settled(subject, *options)
    return entry if entry and not is_dynamic(entry.value) and as_int(entry.value) > 0 else None


def always(subject: Subject, *options: str) -> tuple[Entry, ...]:
    """The entries of a list that no condition encloses."""
    return tuple(entry for entry in subject.named(*options) if not entry.is_conditional)


def version_of(subject: Subject) -> tuple[int, ...]:
    """The version as numbers, for comparing: `2.0.31` is (2, 0, 31)."""
    parts = subject.catalogue.version.split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


def added(subject: Subject, line: str) -> Fix:
    """A line more where no block encloses it, for what is not there at all."""
    end = subject.ini.read.end
    at = (top_of(subject) or len(subject.ini.lines)) + 1 if end is None else end + 2
    return Fix(sentence=f"add `{line}`", edits=(Edit(first=at, last=at - 1, lines=(line,)),))


def top_of(subject: Subject) -> int | None:
    """The line of the section's header, for what is missing from the file."""
    for number_, line in enumerate(subject.ini.lines, start=1):
        if line.section == SECTION:
            return number_
    return None


def _foreign_includes(subject: Subject) -> tuple[Entry, ...]:
    included = (*INCLUDES, "inherit")
    return tuple(e for e in subject.named(*included) if not e.value.startswith(":"))


def _may_be_changed(subject: Subject, entry: Entry) -> bool:
    foreign = _foreign_includes(subject)
    return any(e.number > entry.number or e.name == "inherit" for e in foreign)


def _is_set_outside(subject: Subject, *options: str) -> bool:
    invocation = invocation_of(subject)
    if invocation is None:
        return False
    names = {_name(subject, option) for option in options}
    return any(argument.option in names for argument in invocation.arguments)


def _is_in_environment(subject: Subject, *options: str) -> bool:
    if not subject.box.environ:
        return False
    names = {_name(subject, option) for option in options}
    keys = (key for key in subject.box.environ if key.startswith("UWSGI_"))
    return any(_name(subject, environment_option(key)) in names for key in keys)


def environment_option(variable: str) -> str:
    """The option that a variable `UWSGI_...` sets."""
    return variable.removeprefix("UWSGI_").lower().replace("_", "-")


def _name(subject: Subject, option: str) -> str:
    found = subject.catalogue.find(option)
    return found.name if found else option
