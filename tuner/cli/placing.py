"""Findings in a file that was made of another form: as places in what the user wrote."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tuner.nouns.errors import InvalidInput
from tuner.uwsgi import lint as linter
from tuner.uwsgi.command_line import file_of, lines_of, words_of
from tuner.uwsgi.forms import Form, Malformed
from tuner.uwsgi.lint import Box, Finding, Rule
from tuner.uwsgi.options import Catalogue

_LINE = re.compile(r"`[^`]*`|\bline (\d{1,6})\b")
"""What is between backticks is of the user, and may say `line 7` too."""

_SETTING = re.compile(r"`([\w-]+) = ([^`]+)`")


def of_command(
    command: str, catalogue: Catalogue, box: Box, rules: Sequence[Rule]
) -> tuple[Finding, ...]:
    """The findings in a command, each with its words; a command has no lines to fix."""
    try:
        lines = lines_of(command, catalogue)
    except InvalidInput as error:
        raise InvalidInput([replace(m, path="--command") for m in error.mistakes]) from error
    box = replace(box, words=tuple(words for _line, words in lines))
    text = file_of(line for line, _words in lines)
    places = {number: f"`{words}`" for number, words in enumerate(box.words, start=2)}

    def written(key: str, value: str) -> str:
        return " ".join(words_of(key, value, catalogue.find(key)))

    return tuple(
        _at_words(_placed(finding, places, written), places.get(finding.line or 0))
        for finding in linter.lint(linter.subject_of(text, catalogue, box), rules)
    )


def of_form(  # the arguments of a lint, and the form with its section
    text: str, form: Form, section: str, catalogue: Catalogue, box: Box, rules: Sequence[Rule]
) -> tuple[Finding, ...]:
    """The findings in YAML, XML or JSON, each at its line there; a file nobody can read has one."""
    try:
        read = form.read(text, section)
    except Malformed as error:
        return (_unreadable(form, error),)
    box = replace(box, misread=tuple(read.misread))
    taken = (setting.line for setting in read.settings)
    lines = dict(enumerate((read.top, *taken), start=1))
    places = {number: f"line {line}" for number, line in lines.items()}
    found = [
        _at_line(_placed(finding, places, form.written), lines)
        for finding in linter.lint(linter.subject_of(file_of(read.lines), catalogue, box), rules)
    ]
    return tuple(sorted(found, key=lambda f: (f.line or 0, f.severity.rank, f.rule)))


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
    finding: Finding, places: Mapping[int, str], written: Callable[[str, str], str]
) -> Finding:
    """With the user's places in the message, and the user's form in the advice; without edits."""

    def place(line: re.Match[str]) -> str:
        return places.get(int(line[1]), line[0]) if line[1] else line[0]

    if _is_of_form(finding):
        return finding
    message = _LINE.sub(place, finding.message)
    if finding.fix is None:
        return replace(finding, message=message)
    sentence = _SETTING.sub(lambda found: f"`{written(*found.groups())}`", finding.fix.sentence)
    return replace(finding, message=message, fix=replace(finding.fix, sentence=sentence, edits=()))


def _at_words(finding: Finding, words: str | None) -> Finding:
    message = f"{words}: {finding.message}" if words else finding.message
    fix = finding.fix
    if fix:
        fix = replace(fix, sentence=fix.sentence.replace("the line", "the option"))
    return replace(finding, line=None, message=message, fix=fix)


def _at_line(finding: Finding, lines: Mapping[int, int]) -> Finding:
    if _is_of_form(finding) or finding.line is None:
        return finding
    return replace(finding, line=lines.get(finding.line))


def _is_of_form(finding: Finding) -> bool:
    """Whether its reader found it: then its line is the user's already."""
    return finding.name == "misread-form"
