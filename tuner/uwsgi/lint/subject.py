"""What rules look at: a file, what it certainly says, and the place where it runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.uwsgi.command_line import Argument, arguments, is_file, options_in, words_for_uwsgi
from tuner.uwsgi.forms import Misread
from tuner.uwsgi.ini import INCLUDES, SECTION, IniFile, Line, Problem, as_int, is_true, problems
from tuner.uwsgi.ini.lines import BLANKS, MAX_CHARS
from tuner.uwsgi.options import Kind, nearest
from tuner.uwsgi.options.guessing import Catalogue, Option
from tuner.uwsgi.templates import has_placeholder, statement

# ---- What rules look at: a file, and what is known about the place where it runs

MOST_GUESSES = 50
_LONGEST = 60  # characters of a name that may be a misspelt option
_DYNAMIC = re.compile(r"[%$@]\(|%[0-9A-Za-z]")


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """A time limit, and where it stands: `proxy_read_timeout 60 s (nginx.conf:12)`."""

    name: str
    seconds: float
    where: str

    def __str__(self) -> str:
        return f"{self.name} {self.seconds:g} s ({self.where})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where the file will run. None means unknown; rules that need the fact then find nothing.

    `command` is ENTRYPOINT and CMD of the image, or the job's own command. `environ` is the
    environment of the process. `memory_per_process_mb` is measured or guessed. `words` has for each
    line after the first its words in a command, if the file was made of one; nothing for a line of
    a file that the command names. `misread` is what
    uWSGI reads otherwise in the YAML, XML or JSON that a file was made of. `proxy` is how long what
    stands in front waits for an answer, `grace` the time between SIGTERM and SIGKILL.
    """

    cpus: float | None = None
    memory_mb: int | None = None
    somaxconn: int | None = None
    nofile: int | None = None
    memory_per_process_mb: float | None = None
    command: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    misread: tuple[Misread, ...] = ()
    proxy: TimeLimit | None = None
    grace: TimeLimit | None = None
    clients_keep: bool = False  # clients want to send several requests on one connection


@dataclass(frozen=True, slots=True)
class Entry:
    """A line that uWSGI reads as `key = value`. `number` counts from 1.

    `option` is None when no option has that name: a mistake, or a placeholder of the user.
    """

    number: int
    line: Line
    key: str
    option: Option | None
    is_conditional: bool

    @property
    def value(self) -> str:
        """The text after the `=`, stripped."""
        return self.line.value

    @property
    def name(self) -> str:
        """The option's canonical name."""
        return self.option.name if self.option else self.key

    @property
    def is_dynamic(self) -> bool:
        """Whether uWSGI replaces the value, or a part of it, before it uses it."""
        return is_dynamic(self.value)

    @property
    def is_continued(self) -> bool:
        """Whether the author wants the line to go on in the next one, which uWSGI does not do."""
        return self.line.text.rstrip(BLANKS).endswith("\\")


def is_dynamic(value: str) -> bool:
    """Whether a value contains a variable: `%(name)`, `$(NAME)`, `@(file)` or `%k`.

    A placeholder of a template counts too: nobody knows its value.
    """
    return _DYNAMIC.search(value) is not None or has_placeholder(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Everything that a rule can look at.

    `entries` are the lines that uWSGI reads, in the file's order, included sections too.
    `problems` are the reasons why uWSGI misreads the file. Both are computed once for all rules.
    """

    ini: IniFile
    catalogue: Catalogue
    box: Box = Box()
    entries: tuple[Entry, ...] = field(init=False, repr=False, compare=False)
    problems: tuple[Problem, ...] = field(init=False, repr=False, compare=False)
    _by_name: Mapping[str, list[Entry]] = field(init=False, repr=False, compare=False)
    _nearest: dict[str, str | None] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        entries, by_name = tuple(_entries(self.ini, self.catalogue)), dict[str, list[Entry]]()
        for entry in entries:
            for name in entry.option.names if entry.option else (entry.key,):
                by_name.setdefault(name, []).append(entry)
        object.__setattr__(self, "entries", entries)
        object.__setattr__(self, "problems", problems(self.ini, most=None))
        object.__setattr__(self, "_by_name", by_name)

    def named(self, *options: str) -> tuple[Entry, ...]:
        """The entries that set one of these options, in any spelling, by line."""
        lists = [self._by_name[option] for option in options if option in self._by_name]
        found = {entry.number: entry for entries in lists for entry in entries}
        return tuple(found[number] for number in sorted(found))

    def nearest(self, name: str) -> str | None:
        """The option that a wrong name most likely means; cached, because the search is slow.

        None for names after the first `MOST_GUESSES` of a file.
        """
        if name not in self._nearest and len(self._nearest) < MOST_GUESSES:
            is_short = len(name) <= _LONGEST
            self._nearest[name] = nearest(self.catalogue, name) if is_short else None
        return self._nearest.get(name)


def subject_of(
    text: str, catalogue: Catalogue, box: Box | None = None, section: str = SECTION
) -> Subject:
    """A subject of any text, for a uWSGI that reads this section.

    The time is bounded: only the beginning of a text that is too long is read. Bytes that are not
    UTF-8 are expected as `surrogateescape` decodes them.
    """
    ini = IniFile.parse(text[: MAX_CHARS + 1], section)
    return Subject(ini=ini, catalogue=catalogue, box=box or Box())


def _entries(ini: IniFile, catalogue: Catalogue) -> Iterator[Entry]:
    """Lines in a block of a template are conditional, as those after `if-env` are."""
    steps = {step.index: step for step in ini.read.steps}
    depth = 0
    for index in sorted(steps):
        line = steps[index].line
        key = line.key or ""
        depth = max(0, depth + (statement(line.text) or 0))
        is_conditional = steps[index].is_conditional or depth > 0
        yield Entry(index + 1, line, key, catalogue.find(key), is_conditional)


# ---- The command that starts uWSGI: its options before and after the file

_FILES = frozenset({"ini", "xml", "xmlconfig", "yaml", "yml", "json", "js", "config"})


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of uWSGI: it reads the options `before` before its files, and `after` after them.

    That is their order on the command, except that a file without `--ini` is read last. `stray` are
    the words that uWSGI takes for file names although they are none.
    """

    before: tuple[Argument, ...]
    after: tuple[Argument, ...]
    stray: tuple[str, ...]
    reads_file: bool

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All of them."""
        return self.before + self.after


def invocation_of(subject: Subject) -> Invocation | None:
    """The box's command as uWSGI reads it; None without a command, or without uWSGI in it."""
    words = words_for_uwsgi(subject.box.command)
    if words is None:
        return None
    return _split(list(_read(words, subject.catalogue)))


@dataclass(frozen=True, slots=True)
class _File:
    is_announced: bool


def _read(words: Sequence[str], catalogue: Catalogue) -> Iterator[Argument | _File | str]:
    for item in arguments(words, catalogue):
        if isinstance(item, str):
            yield _File(is_announced=False) if is_file(item) else item
        else:
            yield _File(is_announced=True) if item.name in _FILES else item


def _split(read: Sequence[Argument | _File | str]) -> Invocation:
    files = [at for at, item in enumerate(read) if isinstance(item, _File)]
    first, last = (files[0], files[-1]) if files else (len(read), len(read))
    if any(isinstance(item, _File) and not item.is_announced for item in read):
        first = last = len(read)
    return Invocation(
        before=tuple(item for item in read[:first] if isinstance(item, Argument)),
        after=tuple(item for item in read[last:] if isinstance(item, Argument)),
        stray=tuple(item for item in read if isinstance(item, str)),
        reads_file=bool(files),
    )


# ---- Addresses as uWSGI reads them: `:8000`, `127.0.0.1:8000`, `/run/app.sock`, `@name`

_TCP = re.compile(r"([^:/]*|\[[0-9a-fA-F:]*\]):([0-9]{1,5})")
_ANY_HOST = frozenset({"", "0.0.0.0", "[::]"})  # noqa: S104  # read, not bound


@dataclass(frozen=True, slots=True)
class Address:
    """Either `host` and `port`, or the `path` of a unix socket; `@` in front is abstract."""

    host: str = ""
    port: int | None = None
    path: str = ""

    @property
    def is_any_host(self) -> bool:
        """Whether uWSGI binds it on every interface."""
        return self.port is not None and self.host in _ANY_HOST

    def clashes(self, other: "Address") -> bool:
        """Whether uWSGI cannot bind both."""
        if self.port is None or other.port is None:
            return bool(self.path) and self.path == other.path
        same_host = self.host == other.host or self.is_any_host or other.is_any_host
        return same_host and self.port == other.port != 0


def address_of(value: str) -> Address | None:
    """The address in a value; None for the number of a shared socket or a name."""
    found = _TCP.fullmatch(value.strip())
    if found:
        return Address(host=found[1], port=int(found[2]))
    if value.startswith(("/", "@", "./")):
        return Address(path=value)
    return None


# ---- What a file certainly says. When a value is uncertain, checks find nothing
#
# A value is uncertain inside a condition, before the include of another file, when the command sets
# the same option, and when it contains a variable.

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
    return any(_name(subject, name) in names for _key, name in options_in(subject.box.environ))


def of_environment(subject: Subject) -> Iterator[tuple[str, str, Option]]:
    """Variables that uWSGI reads as options, with their values."""
    if subject.box.command and invocation_of(subject) is None:
        return
    environ = subject.box.environ
    for variable, name in options_in(sorted(environ)):
        option = subject.catalogue.find(name)
        if option is not None and option.kind is not Kind.ACTION:
            yield variable, environ[variable], option


def _name(subject: Subject, option: str) -> str:
    found = subject.catalogue.find(option)
    return found.name if found else option
