"""What a file certainly says. When a value is uncertain, checks find nothing.

A value is uncertain inside a condition, before the include of another file, when the command sets
the same option, and when it contains a variable.
"""

from collections.abc import Iterator

from tuner.uwsgi.ini import INCLUDES, as_int, is_true
from tuner.uwsgi.lint.addresses import Address, address_of
from tuner.uwsgi.lint.invocation import invocation_of
from tuner.uwsgi.lint.subject import Entry, Subject

HTTP = ("http", "http-socket", "http11-socket")


def settled(subject: Subject, *options: str) -> Entry | None:
    """The entry that decides; None when there is none or when it is uncertain."""
    entries = subject.named(*options)
    if not entries or any(entry.is_conditional for entry in entries):
        return None
    last = entries[-1]
    mixed = len({entry.line.section for entry in entries}) > 1
    if mixed or _may_be_changed(subject, last) or _is_set_outside(subject, *options):
        return None
    return last


def is_absent(subject: Subject, *options: str) -> bool:
    """Whether certainly nothing sets it: no line, include, command or variable."""
    return not (
        subject.named(*options)
        or any(subject.ini.values(option) for option in options)
        or _foreign_includes(subject)
        or _is_set_outside(subject, *options)
        or _is_in_environment(subject, *options)
    )


def number(subject: Subject, *options: str, default: int) -> int | None:
    """The number of the option, `default` when it is absent; None when uncertain."""
    if is_absent(subject, *options):
        return default
    entry = settled(subject, *options)
    return None if entry is None or entry.is_dynamic else as_int(entry.value)


def switched_on(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly turns it on."""
    entry = settled(subject, *options)
    return entry if entry and not entry.is_dynamic and is_true(entry.value) else None


def switched_off(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly turns it off."""
    entry = settled(subject, *options)
    return entry if entry and not is_true(entry.value) else None


def is_off(subject: Subject, *options: str) -> bool:
    """Whether it is certainly off: absent, or turned off."""
    return is_absent(subject, *options) or switched_off(subject, *options) is not None


def word(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly sets it to the text that the file says."""
    entry = settled(subject, *options)
    return None if entry is None or entry.is_dynamic else entry


def positive(subject: Subject, *options: str) -> Entry | None:
    """The entry that certainly sets it to a number above 0."""
    entry = settled(subject, *options)
    return entry if entry and not entry.is_dynamic and as_int(entry.value) > 0 else None


def always(subject: Subject, *options: str) -> tuple[Entry, ...]:
    """The entries of a list outside all conditions."""
    return tuple(entry for entry in subject.named(*options) if not entry.is_conditional)


def addresses(subject: Subject, *options: str) -> Iterator[tuple[Entry, Address]]:
    """The entries outside all conditions whose value is certainly an address."""
    for entry in always(subject, *options):
        address = None if entry.is_dynamic else address_of(entry.value)
        if address:
            yield entry, address


def version_of(subject: Subject) -> tuple[int, ...]:
    """The version of uWSGI as numbers."""
    return numbers_of(subject.catalogue.version)


def numbers_of(version: str) -> tuple[int, ...]:
    """`2.0.31` as (2, 0, 31)."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


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
    return any(argument.name in names for argument in invocation.arguments)


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
