"""`tuner lint`: findings on uwsgi.ini files, other forms or a command; files are fixed."""

import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import Annotated, Literal, assert_never

import typer

from tuner.cli import findings as formats
from tuner.cli.findings import Linted
from tuner.cli.placing import Asked, of_command, of_file
from tuner.cli.shared import (
    MOST_BYTES,
    STANDARD_INPUT,
    Cpus,
    Image,
    MemoryMb,
    Nofile,
    Somaxconn,
    bytes_of,
    decoded,
    explained,
    facts_of,
    named,
    text_beside,
    text_of,
    text_or_none,
)
from tuner.cli.versions import Release, catalogues_of
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.plain import count
from tuner.uwsgi import lint as linter
from tuner.uwsgi.command_line import shell_words
from tuner.uwsgi.forms import SUFFIXES, Form, form_of
from tuner.uwsgi.forms.including import Files
from tuner.uwsgi.ini import SECTION, IniFile
from tuner.uwsgi.lint import Box, Finding, Rule, Severity
from tuner.uwsgi.lint.linting import mended
from tuner.uwsgi.options import Catalogue, of_build
from tuner.uwsgi.templates import filled

Format = Literal["text", "json", "sarif", "github"]
Fixes = Literal["none", "safe", "all"]


def lint(  # long: Typer reads the options from here
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE...",
            help="Files that uWSGI reads (.ini .yaml .yml .xml .json .js), FILE:SECTION, or a "
            "folder of vassals; - alone is standard input, an ini.",
        ),
    ] = None,
    image: Image = None,
    uwsgi: Release = None,
    command: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="The command that starts uWSGI. Without FILE it is checked itself.",
        ),
    ] = None,
    env_file: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The environment: uWSGI reads options from UWSGI_*."),
    ] = None,
    dockerfile: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The image's Dockerfile: its ENV, and that of a known base image, count too.",
        ),
    ] = None,
    define: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Fill $NAME, ${NAME}, {{ NAME }} and !NAME! in the files. Repeatable.",
        ),
    ] = None,
    nginx: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="nginx's file in front: how long it waits for the app."),
    ] = None,
    deployed_by: Annotated[
        str | None,
        typer.Option(
            metavar="FILE[:NAME]",
            help="A compose file or a manifest: how long a stop takes. NAME: of the service.",
        ),
    ] = None,
    cpus: Cpus = None,
    memory: MemoryMb = None,
    somaxconn: Somaxconn = None,
    nofile: Nofile = None,
    memory_per_process: Annotated[
        float | None, typer.Option(min=0.1, help="Memory of one worker process, in MB.")
    ] = None,
    clients_keep: Annotated[
        bool, typer.Option("--keep-alive", help="Clients want to keep their connections.")
    ] = False,
    format_: Annotated[Format, typer.Option("--format", help="The output format.")] = "text",
    fail_on: Annotated[
        Severity, typer.Option(help="The lowest severity for which the exit code is 1.")
    ] = Severity.WARNING,
    fix: Annotated[bool, typer.Option("--fix", help="Write the safe fixes into the file.")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="With --fix: write the unsafe fixes too.")
    ] = False,
    rule: Annotated[
        list[str] | None, typer.Option(help="Check only this rule (id or name). Repeatable.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Skip this rule (id or name). Repeatable.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="RULE", help="Explain a rule and exit.")
    ] = None,
) -> None:
    """Find the mistakes in the files or the command of uWSGI, and fix those of files.

    Exit code 0: no finding at --fail-on or above. 1: some findings. 2: a file cannot be checked.
    """
    if explain is not None:
        _explain(explain)
        return
    chosen = _chosen(rule or (), ignore or ())
    if unsafe and not fix:
        raise InvalidInput.at("--unsafe", "needs --fix")
    box = Box(
        cpus=cpus,
        memory_mb=memory,
        somaxconn=somaxconn,
        nofile=nofile,
        memory_per_process_mb=memory_per_process,
        clients_keep=clients_keep,
    )
    if image is not None:
        _refuse_beside_image(uwsgi, dockerfile)
    fixes: Fixes = "all" if unsafe else "safe" if fix else "none"
    targets = _targets(files or (STANDARD_INPUT,))
    catalogues = catalogues_of([target.file for target in targets], uwsgi)
    if image is not None:
        catalogue, box = _read_image(image, box)
        catalogues = [catalogue] * len(targets)
    box = _with_surroundings(box, dockerfile, env_file, nginx, deployed_by)
    if define and not files:
        raise InvalidInput.at("--define", "needs FILE")
    if files:
        if command is not None:
            box = replace(box, command=tuple(shell_words(command)))
        values = _defined(define or (), fixes)
        found = [
            _of_target(own, values, Asked(each, box, chosen, _beside(own.file)), fixes)
            for own, each in zip(targets, catalogues, strict=True)
        ]
    elif command is None or fix:
        raise InvalidInput.at("FILE", "name a uwsgi.ini, or - for standard input")
    else:
        findings = of_command(command, Asked(catalogues[0], box, chosen, text_or_none))
        found = [Linted("command", findings, catalogue=catalogues[0])]
    said = _formatted(found, format_)
    if said:
        # With `--fix -`, standard output is the fixed file.
        typer.echo(said, err=found[0].fixed is not None and found[0].file == STANDARD_INPUT)
    raise typer.Exit(max(_exit_code(one.findings, fail_on) for one in found))


@dataclass(frozen=True, slots=True)
class _Target:
    """A file, the section that uWSGI is asked for (empty: its own), and the form; None for ini.

    `is_named`: in the command. Others are only read.
    """

    file: str
    section: str
    form: Form | None
    is_named: bool = True


def _targets(files: Sequence[str]) -> list[_Target]:
    """Each file, the vassals of each folder, and those that the ini of an emperor starts."""
    if len(files) > 1 and STANDARD_INPUT in files:
        raise InvalidInput.at("FILE", "standard input must be the only one")
    targets = [_target(name) for file in files for name in _vassals(file)]
    named_files = {target.file for target in targets}
    started = (name for target in targets for name in _started_by(target))
    others = [name for name in dict.fromkeys(started) if name not in named_files]
    return [*targets, *(replace(_target(name), is_named=False) for name in others)]


def _started_by(target: _Target) -> list[str]:
    """The vassals of an ini with `emperor`, if they are in its folder or below, as its includes.

    uWSGI takes a relative folder from where it runs: here, from the folder of the ini.
    """
    text = None if target.form or target.file == STANDARD_INPUT else text_or_none(target.file)
    steps = IniFile.parse(text or "", target.section or SECTION).read.steps
    home = Path(target.file).parent
    found: list[str] = []
    for value in (step.line.value for step in steps if step.line.key == "emperor"):
        pattern = os.path.join(escape(str(home)), value, "*" if (home / value).is_dir() else "")
        found += sorted(name for name in glob(pattern.rstrip("/")) if name.endswith(SUFFIXES))
    reach = home.resolve()
    return [n for n in found if Path(n).is_file() and Path(n).resolve().is_relative_to(reach)]


def _vassals(file: str) -> list[str]:
    """The file itself, or the files of a folder that an emperor would start."""
    folder = Path(file)
    if not folder.is_dir():
        return [file]
    with named(file):
        paths = (path for path in folder.iterdir() if path.name.endswith(SUFFIXES))
        found = sorted(str(path) for path in paths if path.is_file())
    if not found:
        raise InvalidInput.at(file, f"has no vassal: no file ends in {', '.join(SUFFIXES)}")
    return found


def _target(name: str) -> _Target:
    """uWSGI takes what follows the last colon for a section, as in `uwsgi.ini:prod`."""
    file, _, section = name.rpartition(":")
    if not file.endswith(SUFFIXES) or Path(name).exists():
        file, section = name, ""
    return _Target(file, section, form_of(file))


def _defined(definitions: Sequence[str], fix: Fixes) -> dict[str, str]:
    """The values of placeholders. Raises `InvalidInput`: a fix would write them into the file."""
    values: dict[str, str] = {}
    for definition in definitions:
        name, equals, value = definition.partition("=")
        if not equals or not re.fullmatch(r"\w+", name):
            raise InvalidInput.at("--define", f"{definition} is not NAME=VALUE")
        if not value.isprintable():
            raise InvalidInput.at("--define", f"the value of {name} must be printable, on one line")
        values[name] = value
    if values and fix != "none":
        raise InvalidInput.at("--define", "--fix would write the values into the file")
    return values


def _beside(file: str) -> Files:
    """Reads what the file includes: files in its folder, or below it."""
    if file == STANDARD_INPUT:
        return lambda _name: None
    return partial(text_beside, Path(file).absolute().parent)


def _of_target(target: _Target, values: Mapping[str, str], asked: Asked, fix: Fixes) -> Linted:
    """The findings that remain; the file is written where a fix is allowed."""
    file, form, section, catalogue = target.file, target.form, target.section, asked.catalogue
    text = filled(decoded(bytes_of(file, MOST_BYTES)), values)

    def look(text: str) -> tuple[Finding, ...]:
        return of_file(text, form, section, asked)

    findings = look(text)
    if fix == "none" or not target.is_named or not linter.is_usable(findings):
        return Linted(file, findings, None, catalogue, section)
    fixed = mended(text, look, unsafe=fix == "all")
    left = look(fixed)
    _write(file, text, fixed)
    _say_fixed(file, text != fixed, len(findings) - len(left))
    return Linted(file, left, fixed, catalogue, section)


def _explain(name: str) -> None:
    found = linter.rule_of(name)
    if found is None:
        raise InvalidInput([_no_rule("--explain", name)])
    typer.echo(formats.explained(found))


def _no_rule(option: str, name: str) -> Mistake:
    return Mistake(option, f"there is no rule {name!r}")


def _chosen(only: Sequence[str], ignored: Sequence[str]) -> tuple[Rule, ...]:
    """The rules to check. Rules for a file that is not an ini file cannot be skipped."""
    given = [("--rule", name) for name in only] + [("--ignore", name) for name in ignored]
    mistakes = [_no_rule(option, name) for option, name in given if linter.rule_of(name) is None]
    if mistakes:
        raise InvalidInput(mistakes)
    return tuple(
        rule
        for rule in linter.RULES
        if rule.id in linter.UNUSABLE
        or ((not only or _is_in(rule, only)) and not _is_in(rule, ignored))
    )


def _is_in(rule: Rule, names: Sequence[str]) -> bool:
    return rule.id in names or rule.name in names


def _refuse_beside_image(uwsgi: str | None, dockerfile: str | None) -> None:
    if uwsgi is not None:
        raise InvalidInput.at("--uwsgi", "the image says which uWSGI it has")
    if dockerfile is not None:
        raise InvalidInput.at("--dockerfile", "the image says its environment")


def _read_image(image: str, box: Box) -> tuple[Catalogue, Box]:
    """The options of the image's uWSGI, and the box with the image's command and environment."""
    facts = facts_of(image)
    catalogue = of_build(facts.uwsgi_version, facts.options)
    return catalogue, replace(box, command=facts.command, environ=facts.environ)


def _with_surroundings(
    box: Box,
    dockerfile: str | None,
    env_file: str | None,
    nginx: str | None,
    deployed_by: str | None,
) -> Box:
    """The box with what these files say of its environment and of the time limits around it.

    The reader of each file is imported only where it is asked for.
    """
    environ, proxy, grace = dict(box.environ), box.proxy, box.grace
    if dockerfile is not None:
        from tuner.cli.around import environ_of

        with explained("--dockerfile"):
            environ |= environ_of(text_of(dockerfile))
    if env_file is not None:
        from tuner.nouns.model.named_files import variables

        with explained("--env-file"):
            environ |= variables(text_of(env_file))
    if nginx is not None:
        from tuner.cli.around import nginx_limit

        with explained("--nginx"):
            proxy = nginx_limit(text_of(nginx), nginx)
    if deployed_by is not None:
        from tuner.cli.around import grace_of

        file, _, name = deployed_by.partition(":")
        with explained("--deployed-by"):
            grace = grace_of(text_of(file), file, name)
    return replace(box, environ=environ, proxy=proxy, grace=grace)


def _write(file: str, text: str, fixed: str) -> None:
    """Replace the file at once and keep its mode; a link stays a link. Raises `InvalidInput`."""
    content = fixed.encode("utf-8", "surrogateescape")
    if file == STANDARD_INPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    elif text != fixed:
        path = Path(file).resolve()
        with named(file):
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as draft:
                draft.write(content)
            os.chmod(draft.name, path.stat().st_mode & 0o7777)
            Path(draft.name).replace(path)


def _say_fixed(file: str, is_changed: bool, fewer: int) -> None:
    said = "changed" if is_changed else "nothing to fix"
    if is_changed and fewer > 0:
        said = f"fixed {count(fewer, 'finding')}"
    typer.echo(f"{file}: {said}", err=True)


def _formatted(found: Sequence[Linted], format_: Format) -> str:
    match format_:
        case "text":
            return formats.text_of(found)
        case "github":
            return formats.github_of(found)
        case "sarif":
            return formats.sarif_of(found)
        case "json":
            return formats.json_of(found)
        case _:
            assert_never(format_)


def _exit_code(findings: Sequence[Finding], fail_on: Severity) -> int:
    if not linter.is_usable(findings):
        return 2
    worst = linter.worst(findings)
    return int(worst is not None and worst.rank <= fail_on.rank)
