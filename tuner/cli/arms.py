"""`--step` and `--vary` of `tuner measure` → files: each builds on the one before, or a grid."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from tuner.cli.asking import Json, fit, names_of
from tuner.cli.changes import changes_of
from tuner.cli.files import text_of
from tuner.cli.options import why_missing
from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import BOX_SIZES, MOST_ARMS
from tuner.uwsgi.ini import IniFile, canonical
from tuner.uwsgi.options import known

Levels = Mapping[str, Sequence[str]]
"""Values of each option or limit that a grid varies."""


def check_one_way(inis: Sequence[Path], steps: Sequence[str], vary: Sequence[str]) -> None:
    """Raise `InvalidInput` if files are named in two ways."""
    if steps and (inis or vary):
        other = "--ini" if inis else "--vary"
        raise InvalidInput.at("--step", f"excludes {other}: the first step names the file")
    if vary and len(inis) > 1:
        raise InvalidInput.at("--vary", "varies one file: give one --ini")


def steps_of(steps: Sequence[str]) -> list[Json]:
    """Name and text of each step's file. Raises `InvalidInput` with every mistake."""
    names = iter(names_of([Path(step) for step in steps if not _is_change(step)]))
    found: list[Json] = []
    mistakes: list[Mistake] = []
    for step in steps:
        before = found[-1]["ini"] if found else None
        name, text = fit(step) if _is_change(step) else next(names), before or ""
        try:
            text = _changed(step, before) if _is_change(step) else text_of(step)
        except InvalidInput as error:
            mistakes += error.mistakes
        if any(own["name"] == name for own in found):
            mistakes.append(Mistake(f"--step {step}", f"is there twice: two steps named {name}"))
        found.append({"name": name, "ini": text})
    if mistakes:
        raise InvalidInput(mistakes)
    return found


def _is_change(step: str) -> bool:
    return step.startswith("+")


def _changed(step: str, before: str | None) -> str:
    """The file before with the changes of a step. Raises `InvalidInput` with every mistake."""
    ini, settings = IniFile.parse(before or ""), step.removeprefix("+").split(",")
    mistakes: list[Mistake] = []
    text = ""
    if before is None:
        mistakes.append(Mistake(f"--step {step}", "has no file before it: begin with a file"))
    for setting in settings:
        name, equals, _ = (part.strip() for part in setting.partition("="))
        # A file may have names of its own, as in processes = %(slots).
        if equals and known().find(name) is None and ini.get(name) is None:
            mistakes.append(Mistake(f"--step +{setting}", why_missing(known(), name)))
    try:
        text = ini.patch(changes_of(settings, "--step +")).dump()
    except InvalidInput as error:
        mistakes += error.mistakes
    if mistakes:
        raise InvalidInput(mistakes)
    return text


def levels_of(vary: Sequence[str]) -> Levels:
    """The values to vary, by name. Raises `InvalidInput` with every mistake."""
    levels: dict[str, list[str]] = {}
    mistakes: list[Mistake] = []
    for given in vary:
        name, equals, values = (part.strip() for part in given.partition("="))
        of_name = [value.strip() for value in values.split(",")]
        wrong = [*_wrong(name, of_name)] if name and equals else ["is not NAME=VALUE,VALUE"]
        if canonical(name) in map(canonical, levels):
            wrong.append(f"varies {name} a second time")
        mistakes += [Mistake(f"--vary {given}", why) for why in wrong]
        levels[name] = of_name
    count = math.prod(map(len, levels.values()))
    if count > MOST_ARMS and not mistakes:
        mistakes.append(Mistake("--vary", f"makes {count} files; at most {MOST_ARMS} are measured"))
    if mistakes:
        raise InvalidInput(mistakes)
    return levels


def _wrong(name: str, values: Sequence[str]) -> Iterator[str]:
    if len(values) < 2:
        yield "has one value: give two or more, as in processes=2,4,8"
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        yield f"has a value twice: {', '.join(twice)}"
    if name in BOX_SIZES:
        yield from (f"{value!r} is no number" for value in values if _number(value) is None)
        return
    if known().find(name) is None:
        yield why_missing(known(), name)
        return
    for value in values:
        try:
            changes_of([f"{name}={value}"], "")
        except InvalidInput as error:
            yield from (mistake.message for mistake in error.mistakes)


def _number(text: str) -> float | None:
    """A size of a box; None where the text is none."""
    if not text.replace(".", "", 1).isdecimal():
        return None
    return int(text) if text.isdecimal() else float(text)


def own_ini(known: Json) -> str:
    """The file of a target app. Raises `InvalidInput` for an image, whose file nobody knows."""
    if "uwsgi_ini" not in known:
        raise InvalidInput.at("--vary", "an image does not tell what its file is: give --ini")
    return str(known["uwsgi_ini"])


def grid_of(levels: Levels, base: str, limits: Json | None) -> list[Json]:
    """Name, text and box of every combination, made from the text of one file."""
    ini, found = IniFile.parse(base), []
    for values in product(*levels.values()):
        chosen = dict(zip(levels, values, strict=True))
        box = {name: _number(value) for name, value in chosen.items() if name in BOX_SIZES}
        changes = {name: value for name, value in chosen.items() if name not in BOX_SIZES}
        name = fit(",".join(f"{name}={value}" for name, value in chosen.items()))
        file = {"name": name, "ini": ini.patch(changes).dump()}
        found.append(file | ({"limits": {**(limits or {}), **box}} if box else {}))
    return found
