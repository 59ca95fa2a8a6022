"""The option tables in the C source of uWSGI → known.tsv and releases.tsv of tuner/uwsgi/options.

    python -m tests.option_tables uwsgi-2.0.31.tar.gz > tuner/uwsgi/options/known.tsv
    python -m tests.option_tables uwsgi-2.0.15.tar.gz ... uwsgi-2.0.31.tar.gz \\
        > tuner/uwsgi/options/releases.tsv

One archive gives its table; several give what each release changed. Only facts are taken: names,
how the value is read, what the build needs, what else is switched on.
"""

import re
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from tuner.uwsgi.options import Kind, Option, Takes
from tuner.uwsgi.options.lookup import rows_of
from tuner.uwsgi.options.releases import AT_ONCE, NEW, TAKES_VALUE, numbers_of

_TABLE = re.compile(
    r"struct\s+uwsgi_option\s+\w+\[\]\s*=\s*\{(.*?)^\s*\};", re.DOTALL | re.MULTILINE
)
_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#[^\n]*) | (?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*") | (?P<mark>[{},]) | (?P<word>[^\s{},"]+)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_SOURCE = re.compile(r"(?:[^/]+/)?((?:core|plugins/\w+)/\w+\.cc?)")  # 2.0.19 has no folder around
_CORE = "core/uwsgi.c"
_OTHER_SYSTEMS = ("__APPLE__", "__FreeBSD__", "__CYGWIN__")

_CONDITIONS = {
    "UWSGI_SSL": "ssl",
    "UWSGI_PCRE": "pcre",
    "UWSGI_ROUTING": "pcre",  # by default made exactly where PCRE is found: uwsgiconfig.py
    "UWSGI_XML": "xml",
    "UWSGI_YAML": "yaml",
    "UWSGI_JSON": "json",
    "UWSGI_ZLIB": "zlib",
    "UWSGI_CAP": "libcap",
}
_TAKES = {
    "no_argument": Takes.NOTHING.value,
    "required_argument": "",
    "optional_argument": Takes.MAYBE.value,
}
_FORCES = {
    "UWSGI_OPT_MASTER": ("master",),
    "UWSGI_OPT_LOG_MASTER": ("master", "log-master"),
    "UWSGI_OPT_REQ_LOG_MASTER": ("master", "log-master"),
    "UWSGI_OPT_VHOST": ("vhost",),
    "UWSGI_OPT_METRICS": ("enable-metrics",),
    "UWSGI_OPT_PROCNAME": ("auto-procname",),
    "UWSGI_OPT_POST_BUFFERING": ("post-buffering",),
}

_SETTERS: Mapping[Kind, str] = {
    Kind.FLAG: "true false pcre_jit",
    Kind.INTEGER: (
        "set_int set_rawint set_64bit set_16bit set_megabytes max_vars corerouter_use_socket"
        " setup_gevent setup_asyncio setup_tornado setup_coroae setup_goroutines"
    ),
    Kind.LIST: (
        "set_logger set_req_logger set_env unset_env envdir check_static static_map safe_fd"
        " load_plugin load_dl pythonpath corerouter undeferred_corerouter corerouter_zerg"
        " corerouter_ss https https2 http_to_https sslrouter sslrouter2 forkpty_urouter sni"
        " legion legion_mcast legion_node legion_quorum legion_scroll legion_hook"
        " tuntap_opt_firewall tuntap_opt_route"
    ),
    Kind.ACTION: (
        "logic noop set_placeholder resolve load load_ini load_xml load_yml load_json load_config"
        " load_sqlite3 load_ldap ini_paste pypy_ini_paste pidfile_signal connect_and_read extract"
        " signal exit print flock flock_wait binary_append_data cflags dot_h config_py"
        " build_plugin pyver set_null set_immediate_uid set_immediate_gid add_custom_option"
        " ldap_dump ldap_dump_ldif zabbix_template help print_sym"
    ),
}
_KINDS = {setter: kind for kind, setters in _SETTERS.items() for setter in setters.split()}
# Plain strings, but what stands above and below them counts differently from then on.
_CONTEXTS = frozenset({"blacklist", "whitelist"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a table: `variable` is what the setter writes, as C spells it."""

    name: str
    takes: str
    letter: str
    setter: str
    variable: str
    help: str
    flags: str
    needs: tuple[str, ...]
    file: str

    @property
    def kind(self) -> Kind:
        """How the value is read."""
        setter = self.setter.removeprefix("uwsgi_").removeprefix("opt_")
        if self.name in _CONTEXTS:
            return Kind.ACTION
        return _KINDS.get(setter, Kind.LIST if setter.startswith("add_") else Kind.TEXT)

    @property
    def forces(self) -> tuple[str, ...]:
        """The options that this one switches on besides."""
        found = [name for flag in re.findall(r"\w+", self.flags) for name in _FORCES.get(flag, ())]
        return tuple(dict.fromkeys(found))

    @property
    def is_immediate(self) -> bool:
        """Whether it is read at its line, before any `%(name)` or `$(NAME)` is replaced."""
        return "UWSGI_OPT_IMMEDIATE" in self.flags

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for two spellings of one option.

        The same setter on the same variable; where the setter knows by itself what to write, it
        may look at the name, so there only those that are said to do the same are one option.
        """
        if self.variable.startswith("&"):
            scope = "" if self.variable.startswith("&uwsgi.") else self.file
            whole = re.fullmatch(r"&\w+", self.variable)
            return (self.setter, self.variable, scope, self.help if whole else "")
        return (self.setter, self.variable, self.file, self.help, self.flags)


def entries(source: str, file: str) -> Iterator[Entry]:
    """All entries of all tables of one C file, in its order; those of other systems left out."""
    plugin = () if file == _CORE else (f"plugin {PurePosixPath(file).parent.name}",)
    for found in _TABLE.finditer(source):
        for fields, needs in _filled(found[1]):
            yield _entry(fields, (*plugin, *needs), file)


def _filled(body: str) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """The fields of each `{...}` that Linux compiles, and what the build needs for it."""
    conditions: list[tuple[str, ...] | None] = []
    fields = [""]
    for token in _TOKEN.finditer(body):
        match token.lastgroup:
            case "directive":
                _follow(token[0].strip(), conditions)
            case "mark" if token[0] == "{":
                fields = [""]
            case "mark" if token[0] == ",":
                fields.append("")
            case "mark":
                if '"' in fields[0] and None not in conditions:  # the last one has no name
                    needs = (word for level in conditions for word in level or ())
                    yield fields, tuple(dict.fromkeys(needs))
                fields = [""]
            case "string" | "word":
                fields[-1] = f"{fields[-1]} {token[0]}".strip()
            case _:
                pass


def _follow(directive: str, conditions: list[tuple[str, ...] | None]) -> None:
    """Enter or leave a condition; None stands for one that Linux does not meet."""
    if directive.startswith("#endif"):
        conditions.pop()
    elif directive.startswith("#else"):
        conditions[-1] = () if conditions[-1] is None else None
    elif any(system in directive for system in _OTHER_SYSTEMS):
        conditions.append(() if directive.startswith("#ifndef") else None)
    else:
        conditions.append(
            tuple(need for word, need in _CONDITIONS.items() if re.search(rf"{word}\b", directive))
        )


def _entry(fields: list[str], needs: tuple[str, ...], file: str) -> Entry:
    name, has_arg, letter, help_, setter, variable, flags = [*fields, "", ""][:7]
    return Entry(
        name=name.split('"')[1],  # C++ puts a cast before it
        takes=_TAKES[has_arg],
        letter=letter.strip("'") if letter.startswith("'") else "",
        setter=setter,
        variable=variable,
        help=help_,
        flags=flags,
        needs=needs,
        file=file,
    )


def lines_of(found: Iterable[Entry]) -> list[str]:
    """One line an option, with tabs between its columns.

    They are names, kind, needs, what it switches on, when, what it takes on a command line (if
    not a value), and the letter. Of two options of one name the first counts, as in uWSGI.
    """
    groups: dict[tuple[str, ...], list[Entry]] = {}
    taken: set[str] = set()
    for entry in found:
        if entry.name not in taken:
            taken.add(entry.name)
            groups.setdefault(entry.identity, []).append(entry)
    lines = []
    for group in groups.values():
        names = " ".join(entry.name for entry in group)
        first = group[0]
        when = "at once" if first.is_immediate else ""
        needs, forces = ", ".join(first.needs), " ".join(first.forces)
        letter = next((entry.letter for entry in group if entry.letter), "")
        columns = (names, first.kind, needs, forces, when, first.takes, letter)
        lines.append("\t".join(columns).rstrip())
    return sorted(lines)


def of_archive(path: Path) -> list[str]:
    """The table of a source archive: the core first, then the plugins by name."""
    with tarfile.open(path) as archive:
        members = {
            source[1]: member
            for member in archive.getmembers()
            if (source := _SOURCE.fullmatch(member.name))
        }
        found: list[Entry] = []
        for file in sorted(members, key=lambda name: (name != _CORE, name)):
            handle = archive.extractfile(members[file])
            text = handle.read().decode("utf-8", "replace") if handle else ""
            found += entries(text, file)
    return lines_of(found)


_HEAD_OF_ONE = (
    "# uWSGI {}: what the option tables of its source say (core/uwsgi.c, plugins/*).\n"
    "# Made by `python -m tests.option_tables`; do not edit.\n"
    "# names\tkind\tneeds\tswitches on\twhen\ttakes\tletter\n"
)
_HEAD_OF_SEVERAL = (
    "# uWSGI {}: what the option tables of later releases brought.\n"
    "# Made by `python -m tests.option_tables`; do not edit.\n"
    "# release\twhat\tnames\n"
)


def changes(tables: Mapping[str, Iterable[Option]]) -> list[str]:
    """One line for each kind of change in a release: the release, what changed, and the names.

    `tables` are by release, the oldest first. Raises `ValueError` for a change that the file has no
    word for: then it needs a new one, and `of_release` of tuner/uwsgi/options must know it.
    """
    rows = [
        (release, {name: replace(row, name=name, names=()) for row in table for name in row.names})
        for release, table in tables.items()
    ]
    lines = []
    for (_, before), (release, now) in pairwise(rows):
        if gone := sorted(before.keys() - now.keys()):
            raise ValueError(f"{release} has no {gone}")
        found: dict[str, list[str]] = {}
        for name, row in sorted(now.items()):
            if (old := before.get(name)) != row:
                found.setdefault(_change(old, row), []).append(name)
        lines += ["\t".join((release, what, " ".join(names))) for what, names in found.items()]
    return lines


def _change(old: Option | None, new: Option) -> str:
    if old is None:
        return NEW
    if old == replace(new, is_immediate=False):
        return AT_ONCE
    if old == replace(new, takes=Takes.NOTHING):
        return TAKES_VALUE
    raise ValueError(f"there is no word for {old} -> {new}")


def release_of(archive: Path) -> str:
    """`2.0.31` of `uwsgi-2.0.31.tar.gz`."""
    return archive.name.lower().removeprefix("uwsgi-").removesuffix(".tar.gz")


def _printed(archives: list[Path]) -> str:
    if len(archives) == 1:
        head, lines = _HEAD_OF_ONE, of_archive(archives[0])
    else:
        tables = {release_of(path): rows_of(of_archive(path)) for path in archives}
        head, lines = _HEAD_OF_SEVERAL, changes(tables)
    return head.format(release_of(archives[0])) + "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    in_order = sorted(map(Path, sys.argv[1:]), key=lambda path: numbers_of(release_of(path)))
    sys.stdout.write(_printed(in_order))
