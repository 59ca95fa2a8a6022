"""`tuner lint`: findings on uwsgi.ini files or on a command, and the same files fixed."""

import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, assert_never

import typer

from tuner.cli import findings as formats
from tuner.cli.findings import Linted
from tuner.cli.shared import (
    STANDARD_INPUT,
    Cpus,
    Image,
    MemoryMb,
    Nofile,
    Somaxconn,
    bytes_of,
    named,
    text_of,
)
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.plain import count
from tuner.uwsgi import lint as linter
from tuner.uwsgi.command_line import file_of, lines_of, shell_words, words_of
from tuner.uwsgi.lint import Box, Finding, Rule, Severity, Subject
from tuner.uwsgi.options import Catalogue, known, of_build

_UTF_8 = ("utf-8", "surrogateescape")
_MOST_BYTES = 4 * linter.MAX_CHARS + 4
"""Enough to see that a file is too long, if it never ends."""


Format = Literal["text", "json", "sarif", "github"]
Fixes = Literal["none", "safe", "all"]


def lint(  # long: Typer reads the options from here
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="uwsgi.ini files; - alone is standard input."),
    ] = None,
    image: Image = None,
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
    """Find the mistakes in uwsgi.ini files or in a command, and fix those of files.

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
    catalogue, box = _read_image(image, box) if image is not None else (known(), box)
    if env_file is not None:
        box = replace(box, environ={**box.environ, **_environment(env_file)})
    if files:
        if command is not None:
            box = replace(box, command=tuple(shell_words(command)))
        fixes: Fixes = "all" if unsafe else "safe" if fix else "none"
        found = [_of_file(file, catalogue, box, chosen, fixes) for file in _several(files)]
    elif command is None or fix:
        raise InvalidInput.at("FILE", "name a uwsgi.ini, or - for standard input")
    else:
        found = [Linted("command", _of_command(command, catalogue, box, chosen))]
    said = _formatted(found, format_, catalogue)
    if said:
        # With `--fix -`, standard output is the fixed file.
        typer.echo(said, err=found[0].fixed is not None and found[0].file == STANDARD_INPUT)
    raise typer.Exit(max(_exit_code(one.findings, fail_on) for one in found))


def _several(files: Sequence[str]) -> Sequence[str]:
    if len(files) > 1 and STANDARD_INPUT in files:
        raise InvalidInput.at("FILE", "standard input must be the only one")
    return files


def _of_file(
    file: str, catalogue: Catalogue, box: Box, rules: Sequence[Rule], fix: Fixes
) -> Linted:
    """The findings that remain; the file is written where a fix is allowed."""
    text = bytes_of(file, _MOST_BYTES).decode(*_UTF_8)
    subject = linter.subject_of(text, catalogue, box)
    findings = linter.lint(subject, rules)
    if fix == "none" or not linter.is_usable(findings):
        return Linted(file, findings)
    fixed, left = linter.repaired(text, subject, rules, unsafe=fix == "all")
    _write(file, text, fixed)
    _say_fixed(file, text != fixed, len(findings) - len(left))
    return Linted(file, left, fixed)


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


def _read_image(image: str, box: Box) -> tuple[Catalogue, Box]:
    """The options of the image's uWSGI, and the box with the image's command and environment."""
    from tuner.service import bootstrap
    from tuner.service.settings import Settings

    facts = bootstrap.image_facts(Settings.from_environ(os.environ), image)
    catalogue = of_build(facts.uwsgi_version, facts.options)
    return catalogue, replace(box, command=facts.command, environ=facts.environ)


def _environment(env_file: str) -> dict[str, str]:
    from tuner.nouns.model.named_files import variables

    text = text_of(env_file)
    try:
        return variables(text)
    except ValueError as error:
        raise InvalidInput.at("--env-file", str(error)) from error


def _of_command(
    command: str, catalogue: Catalogue, box: Box, rules: Sequence[Rule]
) -> tuple[Finding, ...]:
    """The findings in a command, each with its words; a command has no lines to fix."""
    try:
        lines = lines_of(command, catalogue)
    except InvalidInput as error:
        raise InvalidInput([replace(m, path="--command") for m in error.mistakes]) from error
    box = replace(box, words=tuple(words for _line, words in lines))
    subject = linter.subject_of(file_of(line for line, _words in lines), catalogue, box)
    return tuple(_at_words(finding, subject) for finding in linter.lint(subject, rules))


def _at_words(finding: Finding, subject: Subject) -> Finding:
    """With words of the command where the finding has a line or a setting of a file."""

    of_lines = {number: f"`{words}`" for number, words in enumerate(subject.box.words, start=2)}

    def words(line: re.Match[str]) -> str:
        return of_lines.get(int(line[1]), line[0]) if line[1] else line[0]

    def option(setting: re.Match[str]) -> str:
        key, value = setting.groups()
        return f"`{' '.join(words_of(key, value, subject.catalogue.find(key)))}`"

    # What is between backticks is of the user, and may say `line 7` too.
    message = re.sub(r"`[^`]*`|\bline (\d{1,6})\b", words, finding.message)
    if finding.line in of_lines:
        message = f"{of_lines[finding.line]}: {message}"
    if finding.fix is None:
        return replace(finding, line=None, message=message)
    sentence = re.sub(r"`([\w-]+) = ([^`]+)`", option, finding.fix.sentence)
    fix = replace(finding.fix, sentence=sentence.replace("the line", "the option"), edits=())
    return replace(finding, line=None, message=message, fix=fix)


def _write(file: str, text: str, fixed: str) -> None:
    """Replace the file at once and keep its mode; a link stays a link. Raises `InvalidInput`."""
    content = fixed.encode(*_UTF_8)
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


def _formatted(found: Sequence[Linted], format_: Format, catalogue: Catalogue) -> str:
    match format_:
        case "text":
            return formats.text_of(found)
        case "github":
            return formats.github_of(found)
        case "sarif":
            return formats.sarif_of(found)
        case "json":
            return formats.json_of(found, catalogue)
        case _:
            assert_never(format_)


def _exit_code(findings: Sequence[Finding], fail_on: Severity) -> int:
    if not linter.is_usable(findings):
        return 2
    worst = linter.worst(findings)
    return int(worst is not None and worst.rank <= fail_on.rank)
