"""Findings in a file that was made of another form: as places in what the user wrote."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tuner.cli.shared import naming_the_command
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.uwsgi import lint as linter
from tuner.uwsgi.command_line import file_of, lines_of, words_of
from tuner.uwsgi.forms import Form, Malformed, Misread
from tuner.uwsgi.forms.editing import Change, rewritten
from tuner.uwsgi.forms.including import Files, Whole, whole_of
from tuner.uwsgi.ini import INCLUDES, SECTION
from tuner.uwsgi.ini.lines import MAX_CHARS
from tuner.uwsgi.lint import Box, Edit, Finding, Fix, Rule, Subject
from tuner.uwsgi.lint.finding import edit_between
from tuner.uwsgi.options import Catalogue

_LINE = re.compile(r"`[^`]*`|\bline (\d{1,6})\b")
"""What is between backticks is of the user, and may say `line 7` too."""

_SETTING = re.compile(r"`([\w-]+) = ([^`]+)`")


@dataclass(frozen=True, slots=True)
class Asked:
    """How a configuration is checked: for which uWSGI, where it runs, by which rules.

    `files` reads what it includes.
    """

    catalogue: Catalogue
    box: Box
    rules: Sequence[Rule]
    files: Files

    def subject(self, text: str, section: str = "", **facts: Any) -> Subject:
        """The text as a uwsgi.ini, with more facts of its box."""
        box = replace(self.box, **facts)
        return linter.subject_of(text, self.catalogue, box, section or SECTION)

    def found(self, text: str, section: str = "", **facts: Any) -> tuple[Finding, ...]:
        """What is wrong with it."""
        return linter.lint(self.subject(text, section, **facts), self.rules)


def of_command(command: str, asked: Asked) -> tuple[Finding, ...]:
    """The findings in a command and its files, each with its place; there are no lines to fix."""
    catalogue = asked.catalogue
    with naming_the_command():
        lines = lines_of(command, catalogue, keeps_files=True)
        whole = whole_of(file_of(line for line, _words in lines), SECTION, asked.files)
        _refuse_unread(whole)
    own = ["", *(words for _line, words in lines)]
    words = ["" if where else own[number - 1] for number, where in whole.origins]
    places = {
        at: where or f"`{own[number - 1]}`"
        for at, (number, where) in enumerate(whole.origins[1:], start=2)
    }

    def written(key: str, value: str) -> str:
        return " ".join(words_of(key, value, catalogue.find(key)))

    misread = (*asked.box.misread, *whole.misread)
    return tuple(
        _at_words(_placed(finding, places, written), places.get(finding.line or 0))
        for finding in asked.found("".join(whole.lines), words=tuple(words[1:]), misread=misread)
    )


def _refuse_unread(whole: Whole) -> None:
    """Raises `InvalidInput`: without them nobody knows the options."""
    left = [line.partition(" = ") for line in whole.lines]
    unread = [value.strip() for key, _, value in left if key in INCLUDES]
    if unread:
        message = "cannot be read: without it nobody knows the options"
        raise InvalidInput([Mistake("", f"{file} {message}") for file in unread])


def of_file(text: str, form: Form | None, section: str, asked: Asked) -> tuple[Finding, ...]:
    """The findings in a file, each at its line; in YAML, XML and JSON none if nobody can read it.

    Findings in the files that it includes are at the line that includes them.
    """
    return _of_ini(text, section, asked) if form is None else _of_form(text, form, section, asked)


def _of_ini(text: str, section: str, asked: Asked) -> tuple[Finding, ...]:
    subject = asked.subject(text, section)
    if not any(step.is_foreign for step in subject.ini.read.steps):
        return linter.lint(subject, asked.rules)
    whole = whole_of(text, section or SECTION, asked.files)
    if not whole.has_others or sum(map(len, whole.lines)) > MAX_CHARS:
        return linter.lint(subject, asked.rules)
    numbers = range(1, len(subject.ini.lines) + 1)
    return _found(whole, numbers, section, asked, "{} = {}".format, tuple)


def _of_form(text: str, form: Form, section: str, asked: Asked) -> tuple[Finding, ...]:
    try:
        read = form.read(text, section)
    except Malformed as error:
        return (_unreadable(form, error),)
    whole = whole_of(file_of(read.lines), SECTION, asked.files)
    numbers = [read.top, *(setting.line for setting in read.settings)]
    told = [Misread(numbers[each.line - 1], each.message) for each in whole.misread]
    whole.misread = [*read.misread, *told]

    def edits(own: Sequence[Edit]) -> tuple[Edit, ...]:
        return _edits(own, text, form, section)

    return _found(whole, numbers, "", asked, form.written, edits)


def _found(  # a whole with the numbers of its lines, and how its form is written and edited
    whole: Whole,
    numbers: Sequence[int],
    section: str,
    asked: Asked,
    written: Callable[[str, str], str],
    edits: Callable[[Sequence[Edit]], tuple[Edit, ...]],
) -> tuple[Finding, ...]:
    lines = {at: numbers[own - 1] for at, (own, _) in enumerate(whole.origins, start=1)}
    others = {at: where for at, (_, where) in enumerate(whole.origins, start=1) if where}
    places = {at: others.get(at) or f"line {line}" for at, line in lines.items()}

    def edited(fix: Fix) -> tuple[Edit, ...]:
        own = [_own_edit(edit, whole) for edit in fix.edits]
        return edits([edit for edit in own if edit]) if all(own) else ()

    found = [
        _at_line(_placed(finding, places, written, edited), lines, others)
        for finding in asked.found("".join(whole.lines), section, misread=tuple(whole.misread))
    ]
    return tuple(sorted(found, key=lambda f: (f.line or 0, f.severity.rank, f.rule)))


def _own_edit(edit: Edit, whole: Whole) -> Edit | None:
    """The edit in the lines of the configuration itself; None where it is in another file."""
    touched = whole.origins[edit.first - 1 : edit.last]
    if any(where for _number, where in touched):
        return None
    if touched:
        return replace(edit, first=touched[0][0], last=touched[-1][0])
    above = whole.origins[edit.first - 2][0] if edit.first > 1 else 0
    return replace(edit, first=above + 1, last=above)


def _edits(own: Sequence[Edit], text: str, form: Form, section: str) -> tuple[Edit, ...]:
    """Edits of the user's text, for those of the uwsgi.ini that was made of it.

    Line 2 of that file is the first setting. None where another effect is not excluded.
    """
    changes = [Change(edit.first - 2, edit.last - 1, edit.lines) for edit in own]
    if not changes or any(change.first < 0 for change in changes):
        return ()
    new = rewritten(text, form, section, changes)
    return () if new is None or new == text else (edit_between(text, new),)


def _unreadable(form: Form, error: Malformed) -> Finding:
    rule = next(rule for rule in linter.RULES if rule.name == "other-format")
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=rule.severity,
        line=error.line,
        message=f"no {form.name} that can be checked: {error}",
    )


def _placed(
    finding: Finding,
    places: Mapping[int, str],
    written: Callable[[str, str], str],
    edits: Callable[[Fix], tuple[Edit, ...]] = lambda _fix: (),
) -> Finding:
    """With the user's places in the message, and the user's form in the advice and its edits."""

    def place(line: re.Match[str]) -> str:
        return places.get(int(line[1]), line[0]) if line[1] else line[0]

    if _is_of_form(finding):
        return finding
    message = _LINE.sub(place, finding.message)
    fix = finding.fix
    if fix:
        sentence = _SETTING.sub(lambda found: f"`{written(*found.groups())}`", fix.sentence)
        fix = replace(fix, sentence=sentence, edits=edits(fix))
    return replace(finding, message=message, fix=fix)


def _at_words(finding: Finding, words: str | None) -> Finding:
    message = f"{words}: {finding.message}" if words else finding.message
    fix = finding.fix
    if fix:
        fix = replace(fix, sentence=fix.sentence.replace("the line", "the option"))
    return replace(finding, line=None, message=message, fix=fix)


def _at_line(finding: Finding, lines: Mapping[int, int], others: Mapping[int, str]) -> Finding:
    """At its line; before the message the place in another file."""
    if _is_of_form(finding) or finding.line is None:
        return finding
    where = others.get(finding.line)
    message = f"{where}: {finding.message}" if where else finding.message
    return replace(finding, line=lines.get(finding.line), message=message)


def _is_of_form(finding: Finding) -> bool:
    """Whether its reader found it: then its line is the user's already."""
    return finding.name == "misread-form"
