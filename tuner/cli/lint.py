"""`tuner lint`: what is wrong with a uwsgi.ini, and the same file put right."""

import os
import sys
import tempfile
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, assert_never

import typer

from tuner.errors import InvalidInput, Mistake
from tuner.uwsgi import lint as linter
from tuner.uwsgi.lint import Box, Finding, Rule, Severity, Subject
from tuner.uwsgi.options import Catalogue, known, of_build

STANDARD_INPUT = "-"
_UTF_8 = ("utf-8", "surrogateescape")
_MOST_BYTES = 4 * linter.MAX_CHARS + 4
"""Enough to know that a file is too long, of one that never ends."""


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


Rules = Annotated[
    list[str] | None, typer.Option(help="This rule alone, by id or name; may repeat.")
]


def lint(
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="A uwsgi.ini; - is standard input.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(help="Ask this image for its options, command and environment.")
    ] = None,
    cpus: Annotated[float | None, typer.Option(min=0.01, help="CPUs it may use.")] = None,
    memory: Annotated[int | None, typer.Option(min=1, help="Its memory limit, in MB.")] = None,
    somaxconn: Annotated[
        int | None, typer.Option(min=1, help="net.core.somaxconn where it runs.")
    ] = None,
    nofile: Annotated[int | None, typer.Option(min=1, help="Open files it may have.")] = None,
    memory_per_process: Annotated[
        float | None, typer.Option(min=0.1, help="What one worker takes, in MB.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TEXT,
    fail_on: Annotated[
        Severity, typer.Option(help="The mildest finding that makes the exit code 1.")
    ] = Severity.WARNING,
    fix: Annotated[bool, typer.Option("--fix", help="Make the safe fixes in the file.")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="With --fix: make all others too.")
    ] = False,
    rule: Rules = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Not this rule, by id or name; may repeat.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="RULE", help="Say what a rule is about, and end.")
    ] = None,
) -> None:
    """Look for mistakes in a uwsgi.ini.

    Exit code 0: none at or above --fail-on; 1: some; 2: the file cannot be looked at.
    """
    if explain is not None:
        _explain(explain)
        return
    chosen = _chosen(rule or (), ignore or ())
    content = _content(file, unsafe=unsafe, fix=fix)
    box = Box(
        cpus=cpus,
        memory_mb=memory,
        somaxconn=somaxconn,
        nofile=nofile,
        memory_per_process_mb=memory_per_process,
    )
    catalogue, box = _asked(image, box) if image is not None else (known(), box)
    text = content.decode(*_UTF_8)
    subject = linter.subject_of(text, catalogue, box)
    findings = linter.lint(subject, chosen)
    name = file or STANDARD_INPUT
    fixed_text = None
    if fix and linter.is_usable(findings):
        before = len(findings)
        fixed_text, findings = linter.repaired(text, subject, chosen, unsafe=unsafe)
        _put(name, text, fixed_text)
        _say_fixed(name, text != fixed_text, before - len(findings))
    _print(name, format_, subject, findings, fixed_text)
    raise typer.Exit(_exit_code(findings, fail_on))


def _explain(name: str) -> None:
    from tuner.cli import findings

    found = linter.rule_of(name)
    if found is None:
        raise InvalidInput([Mistake("--explain", f"there is no rule {name!r}")])
    typer.echo(findings.explained(found))


def _chosen(only: Sequence[str], ignored: Sequence[str]) -> tuple[Rule, ...]:
    """The rules to go by. Those that say that it is no ini at all cannot be left out."""
    named = [("--rule", name) for name in only] + [("--ignore", name) for name in ignored]
    mistakes = [
        Mistake(option, f"there is no rule {name!r}")
        for option, name in named
        if linter.rule_of(name) is None
    ]
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


def _content(file: str | None, *, unsafe: bool, fix: bool) -> bytes:
    """The bytes to look at. Raises `InvalidInput` where there are none."""
    if file is None:
        raise InvalidInput([Mistake("FILE", "name a uwsgi.ini, or - for standard input")])
    if unsafe and not fix:
        raise InvalidInput([Mistake("--unsafe", "belongs to --fix")])
    try:
        if file == STANDARD_INPUT:
            return sys.stdin.buffer.read(_MOST_BYTES)
        with Path(file).open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except OSError as error:
        raise InvalidInput([Mistake(file, error.strerror or "cannot be read")]) from error


def _asked(image: str, box: Box) -> tuple[Catalogue, Box]:
    """What the image's uWSGI can do, and what the image itself says."""
    from dataclasses import replace

    from tuner import bootstrap
    from tuner.settings import Settings

    facts = bootstrap.image_facts(Settings.from_environ(os.environ), image)
    catalogue = of_build(facts.uwsgi_version, facts.options)
    return catalogue, replace(box, command=facts.command, environ=facts.environ)


def _put(name: str, text: str, fixed_text: str) -> None:
    """Write the file anew, all of it or nothing, with the mode that it had."""
    content = fixed_text.encode(*_UTF_8)
    if name == STANDARD_INPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
        return
    if text == fixed_text:
        return
    path = Path(name).resolve()  # a link stays a link
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as draft:
            draft.write(content)
        os.chmod(draft.name, path.stat().st_mode & 0o7777)
        Path(draft.name).replace(path)
    except OSError as error:
        raise InvalidInput([Mistake(name, error.strerror or "cannot be written")]) from error


def _say_fixed(name: str, is_changed: bool, fewer: int) -> None:
    if is_changed:
        said = f"{name}: put right {fewer} of its findings" if fewer > 0 else f"{name}: changed"
    else:
        said = f"{name}: nothing that could be put right"
    typer.echo(said, err=True)


def _print(
    name: str, format_: Format, subject: Subject, findings: Sequence[Finding], fixed: str | None
) -> None:
    from tuner.cli import findings as shown

    # With --fix of standard input, standard output is the file.
    to_stderr = fixed is not None and name == STANDARD_INPUT
    match format_:
        case Format.TEXT:
            said = shown.text_of(name, findings)
        case Format.GITHUB:
            said = shown.github_of(name, findings)
        case Format.SARIF:
            said = shown.sarif_of(name, findings)
        case Format.JSON:
            from tuner.uwsgi.lint.answering import answer_of

            answer = answer_of(findings, subject.catalogue, _sendable(fixed))
            said = answer.model_dump_json(indent=2)
        case _:
            assert_never(format_)
    if said:
        typer.echo(said, err=to_stderr)


def _sendable(text: str | None) -> str | None:
    """What JSON can hold: bytes that were no UTF-8 become question marks."""
    return None if text is None else text.encode("utf-8", "replace").decode()


def _exit_code(findings: Sequence[Finding], fail_on: Severity) -> int:
    if not linter.is_usable(findings):
        return 2
    worst = linter.worst(findings)
    return int(worst is not None and worst.rank <= fail_on.rank)
