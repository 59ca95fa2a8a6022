"""What the start of an app has to say: what is lost with a script, what uWSGI reads elsewhere."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

from tuner.targets.compose.baseline import INI, Start
from tuner.targets.compose.calls import Call
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.uwsgi.command_line import arguments, words_for_uwsgi
from tuner.uwsgi.ini import IniFile, canonical
from tuner.uwsgi.options import Kind, Option, known

_PREFIX = "UWSGI_"


def with_exports(app: Node, call: Call) -> Node:
    """The app with the variables that a script sets, which does not run any more."""
    environment = app.get("environment")
    own = {
        name: replace(environment, value=value, path=f"{environment.path}.{name}", used=())
        for name, (value, _at) in call.exports.items()
        if value is not None
    }
    both = replace(environment, value={**environment.items(), **own})
    return replace(app, value={**app.items(), "environment": both})


def name_lost(call: Call, findings: Findings) -> None:
    """Say what the script of a call does, which does not run any more."""
    findings.changed(
        f"{call.at} `{shlex.join(call.words)}`",
        "an arm runs this line alone, and not the script around it",
    )
    for name, (value, at) in call.exports.items():
        if value is None:
            why = f"only a run of {at} shows its value: give it in `env` if the app needs it"
            findings.todo(f"env.{name}", why)
        else:
            findings.changed(f"env.{name}", f"{at} sets it, and an arm does not run that script")
    for step in call.sourced:
        why = "it is not here, and an arm does not run it: give the variables that it sets in `env`"
        findings.todo(f"{step.at} `{step.command}`", why)
    for step in call.steps:
        words = ", ".join(_yaml(word) for word in shlex.split(step.command))
        on = "" if step.sure else ", on a condition"
        why = f"it runs before uwsgi{on}: if it fills data, add it to `prepare`"
        findings.todo(f"{step.at} {{in: app, run: [{words}]}}", why)


def name_other_options(start: Start, findings: Findings) -> None:
    """Say which options are not in the file, so that a search cannot vary them."""
    words = words_for_uwsgi(start.command) or []
    found = [each.text for each in arguments(words, known()) if not isinstance(each, str)]
    if others := [text for text in found if INI not in text]:
        why = "the search varies the file only: move these options into it, if they count"
        findings.todo(f"command {' '.join(others)}", why)


def name_variables(name: str, app: Node, ini: IniFile, place: str, findings: Findings) -> None:
    """Say which variables uWSGI reads as options, and which ones the file uses."""
    for variable in app.get("environment").items():
        line = next(_lines_with(variable, ini), None)
        option = known().find(variable.removeprefix(_PREFIX).lower().replace("_", "-"))
        is_option = variable.startswith(_PREFIX) and option is not None
        if line is not None and is_option:
            why = f"{place}:{line} has it already: leave both as they are, or write its value there"
            findings.changed(f"{name}.env.{variable}", why)
        elif line is not None and variable.startswith(_PREFIX):
            why = f"uWSGI has no such option, but {place}:{line} uses it: keep it"
            findings.changed(f"{name}.env.{variable}", why)
        elif is_option and option is not None and _is_set(option, ini):
            why = f"{place} sets {option.name}, and the file counts more: the variable does nothing"
            findings.changed(f"{name}.env.{variable}", why)
        elif is_option and option is not None:
            why = f"uWSGI reads it as {option.name}: move it into the file, so that it can be tuned"
            findings.todo(f"{name}.env.{variable}", why)


def _is_set(option: Option, ini: IniFile) -> bool:
    """Whether the file surely sets an option of one value: uWSGI reads variables before files."""
    return option.kind is not Kind.LIST and any(
        canonical(step.line.setting[0]) == canonical(option.name)
        for step in ini.read.steps
        if step.line.setting is not None and not step.is_conditional
    )


def _lines_with(variable: str, ini: IniFile) -> Iterator[int]:
    """The lines of a file that use a variable, from 1."""
    pattern = re.compile(rf"\$\({re.escape(variable)}\)")
    for number, line in enumerate(ini.lines, start=1):
        is_asked = line.key in {"if-env", "ifenv", "if-not-env"}
        name = line.value.partition("=")[0].strip()
        if line.key and (pattern.search(line.value) or (is_asked and name == variable)):
            yield number


def _yaml(word: str) -> str:
    return word if re.fullmatch(r"[\w./=-]*[A-Za-z/][\w./=-]*", word) else f'"{word}"'
