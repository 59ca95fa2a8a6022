"""From a compose file and the options of `tuner app init` to the parts of a target app."""

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import TargetApp, mistakes_of
from tuner.nouns.model.named_files import expanded
from tuner.nouns.model.services import APP
from tuner.nouns.model.targets import DEFAULT_COMMAND
from tuner.targets.compose.asking import (
    Wanted,
    chosen,
    compose_of,
    files_of,
    refuse_manifest,
    services_of,
    with_start,
)
from tuner.targets.compose.baseline import Baseline, Start, of_variable
from tuner.targets.compose.building import name_build, name_guessed
from tuner.targets.compose.calls import Trail
from tuner.targets.compose.document import Node, missing, text_of
from tuner.targets.compose.files import Files, shown
from tuner.targets.compose.findings import Findings, Weight
from tuner.targets.compose.mounts import (
    Mounted,
    Places,
    holds_secrets,
    mounted,
    mounts_of,
    only_ini,
    texts_of,
)
from tuner.targets.compose.naming import name_hosts, name_of
from tuner.targets.compose.noting import (
    name_lost,
    name_other_options,
    name_variables,
    with_exports,
)
from tuner.targets.compose.project import ComposeFile
from tuner.targets.compose.selection import Selection, kernel_settings
from tuner.targets.compose.serving import serving
from tuner.targets.compose.starting import (
    call_of,
    command_of,
    context_of,
    dockerfile_for,
    folder_of,
    image_of,
    source_of,
    trail_of,
    variables_of,
    why_no_call,
    words_of,
)
from tuner.targets.compose.translation import Translator, limits_of, nofile_of
from tuner.uwsgi.ini import IniFile

_EMPTY = (
    "a volume of the arm's own, empty at first: `prepare` can fill it. With `copy: true`, which"
    " --copy-data writes, it starts with a copy of the folder"
)
_SECRETS = (
    "it looks as if it has secrets, and each arm gets it: if they are those of production, give a"
    " file with others"
)
_COPY = "a volume of the arm's own that starts with a copy of the folder: stop what writes there"
_GONE = "a volume of the arm's own, empty at first: there is no such folder here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A target app that is not written yet: target.yaml, and what gets beside it, by its name.

    `texts` are those of new files, `private` the names of those that only the user may read, and
    `folders` those of which copies are made.
    """

    origin: str
    document: Mapping[str, Any]
    texts: Mapping[str, str]
    private: Collection[str]
    folders: Mapping[str, Path]
    findings: Findings
    stubs: Sequence[str] = ()  # hosts in whose place a stub can be


def draft(wanted: Wanted, compose: ComposeFile | None = None) -> Draft:
    """The target app of one service. Raises `InvalidInput` with all mistakes and their lines.

    `compose` is a tree that was made from something else than a compose file.
    """
    for file in wanted.compose:
        refuse_manifest(file)
    compose = compose or compose_of(wanted)
    services = services_of(compose)
    app = chosen(wanted, compose, services)
    services[app] = with_start(app, wanted, compose, services)
    profiles = compose.variables.find("COMPOSE_PROFILES").value.split(",")
    selection = Selection(
        app, services, frozenset(profiles), lambda service: texts_of(service, compose.root)
    )
    findings = Findings([*compose.mistakes, *selection.mistakes])
    places = Places(wanted.folder.resolve(), findings)
    return _Maker(wanted, compose, selection, findings, places).draft()


@dataclass(slots=True)
class _Maker:
    wanted: Wanted
    compose: ComposeFile
    selection: Selection
    findings: Findings
    places: Places

    def draft(self) -> Draft:
        app = self.selection.services[self.selection.app]
        for name in (self.selection.app, *self.selection.taken, *self.selection.prepare):
            self.findings.mistakes += missing(self.selection.services[name])
        document = self._document(app)
        self._name_the_rest()
        name_build(self.selection.app, app, self.findings)
        stubs = name_hosts(self.selection, document, self.findings)
        if self.findings.mistakes:
            raise InvalidInput(list(dict.fromkeys(self.findings.mistakes)))
        made = Draft(
            origin=f"service {self.selection.app} of {self.compose.file}",
            document=document,
            texts=self.places.texts,
            private=self.places.private,
            folders=self.places.folders,
            findings=self.findings,
            stubs=stubs,
        )
        self._check(made)
        return made

    def _document(self, app: Node) -> dict[str, Any]:
        name = self.selection.app
        source = self._source(app)
        context = context_of(app.get("build"))
        folder = context if "build" in source else None
        translator = Translator(self.compose, self.selection, self.findings, folder, self._place)
        found: dict[str, Any] = {
            "name": self.wanted.folder.resolve().name,
            "description": f"{name} of {self.compose.file.name}",
            **source,
        }
        mounts = mounts_of(app, self.compose.root)
        gets = mounted(name, mounts, dockerfile_for(app), self.findings)
        start = self._start(app)
        if start is not None:
            if start.lost is not None:
                name_lost(start.lost, self.findings)
                app = with_exports(app, start.lost)
            found |= self._configuration(name, app, start)
            present = (start.file, start.ini)
            gets.files = {path: file for path, file in gets.files.items() if file not in present}
        found |= translator.needs(name, app, is_app=True)
        if start is not None and start.lost is not None:
            began = folder_of(app, dockerfile_for(app))
            found |= {"working_dir": start.lost.folder} if start.lost.folder != began else {}
        found |= self._parts(name, gets)
        found |= self._limits(name, app)
        called = {
            each: name_of(each, self.selection, self.findings) for each in self.selection.taken
        }
        services = {}
        for each in self.selection.taken:
            fields, gets = translator.service(each)
            waits = {called[key]: how for key, how in fields.pop("depends_on", {}).items()}
            own = {**fields, **({"depends_on": waits} if waits else {})}
            services[called[each]] = own | self._parts(each, gets)
        if services:
            found["services"] = services
        if steps := [step for each in self.selection.prepare for step in translator.steps(each)]:
            found["prepare"] = steps
        elif empty := [
            name for name, each in found.get("services", {}).items() if "volumes" in each
        ]:
            why = (
                f"the data of {', '.join(empty)} are empty: give the steps that fill them, such as"
            )
            self.findings.todo(
                "prepare", f"{why} {{in: app, run: python manage.py migrate}}", Weight.FIGURES
            )
        return found

    def _source(self, app: Node) -> dict[str, str]:
        if self.wanted.image is not None:
            return {"image": self.wanted.image}
        return source_of(self.selection.app, app, self.compose.project, self._place, self.findings)

    def _place(self, path: Path) -> str:
        """A path as target.yaml has it."""
        return Path(os.path.relpath(path, self.wanted.folder.resolve())).as_posix()

    def _start(self, app: Node) -> Start | None:
        """How the app starts; None if that is a mistake, which is collected."""
        name, wanted = self.selection.app, self.wanted
        image = wanted.image or image_of(name, app, self.compose.project)
        entry = wanted.entry(image)
        words, at = command_of(app, entry), self._place_of_command(app)
        has_own_start = not any(app.get(key) for key in ("command", "entrypoint"))
        if wanted.command is not None:
            words, at, has_own_start = shlex.split(wanted.command), "--command", False
        files = files_of(name, app, self.compose, wanted)
        trail = trail_of(app, words, files)
        try:
            call = call_of(trail, wanted.ini, at)
            if call is None:
                return self._without_call(app, words, trail, files, at)
            start = Baseline(
                words, call, files, wanted.ini, at, self.findings, has_own_start
            ).start()
        except InvalidInput as error:
            self.findings.mistakes += error.mistakes
            return None
        name_guessed(image, files, self.findings)
        if wanted.command is None and words != command_of(app):
            self.findings.changed("command", f"it is what the image {image} on this host starts")
        elif entry is None and files.build is None and words == words_of(app.get("command")):
            why = "it is not run: only `command` is"
            self.findings.changed("the image's ENTRYPOINT, if it has one", why)
        return start

    def _place_of_command(self, app: Node) -> str:
        command, build = app.get("command") or app.get("entrypoint"), dockerfile_for(app)
        if not command and build is not None and build.entry:
            return shown(build.file)
        command = command or app
        return f"{command.file}:{command.line}"

    def _without_call(
        self, app: Node, words: list[str], trail: Trail, files: Files, at: str
    ) -> Start:
        """The start by a variable, or by a file that is given. Raises `InvalidInput`."""
        given = self.wanted.ini or only_ini(files.mounts)
        if given is None:
            start = of_variable(app, words, files, self.findings)
            if start is None:
                raise InvalidInput.at(at, why_no_call(words, trail))
            return start
        told = " ".join(words) or "that of the image"
        why = (
            "variables and options that it gives uwsgi are lost, and what it does before uwsgi is"
            " not done: give them in `env`, in the file and in `prepare`, or give its line for"
            " uwsgi with --command"
        )
        lost = "".join(f"; {each}" for each in trail.lost)
        self.findings.todo(f"command ({told}) -> {' '.join(DEFAULT_COMMAND)}", why + lost)
        return Start(DEFAULT_COMMAND, text_of(given), given)

    def _configuration(self, name: str, app: Node, start: Start) -> dict[str, Any]:
        """The command, its file, and what follows from the file."""
        found: dict[str, Any] = {}
        if start.ini_path is not None:
            found["ini_path"] = start.ini_path
            why = "the container starts as always, and each trial's file is there"
            self.findings.changed(f"ini_path {start.ini_path}", why)
        elif start.command != DEFAULT_COMMAND:
            found["command"] = list(start.command)
        name_other_options(start, self.findings)
        place = "uwsgi.ini"
        if start.file is not None and not start.made_of:
            place = self.places.of_text(name, start.file, place)
        else:
            if start.made_of and os.path.lexists(self.wanted.folder / place):
                place = "baseline.ini"
            self.places.texts[place] = start.ini
            what, why = f"{name}.command", f"its options are in {place} now"
            if start.made_of:
                what, why = place, f"it is made of {start.made_of}"
            elif start.in_image is not None:
                what, why = f"{start.in_image} in the container", f"{place} is a copy of it"
            self.findings.changed(what, why)
        if place != "uwsgi.ini":
            found["uwsgi_ini"] = place
        ini = IniFile.parse(start.ini)
        name_variables(name, app, ini, place, self.findings)
        variables = variables_of(app, dockerfile_for(app))
        return found | serving(name, app, ini, variables, self.findings)

    def _limits(self, name: str, app: Node) -> dict[str, Any]:
        limits: dict[str, Any] = limits_of(app)
        for key in [key for key in ("cpus", "memory_mb") if key not in limits]:
            why = "the file has no such limit: give that of production"
            self.findings.todo(f"limits.{key}", why, Weight.FIGURES)
        limits |= nofile_of(app) | kernel_settings(name, app, self.findings)
        return {"limits": limits} if limits else {}

    def _parts(self, name: str, gets: Mounted) -> dict[str, Any]:
        places = self.places
        self._name_secrets(name, gets)
        texts: dict[str, Any] = {
            path: file if isinstance(file, str) else {"file": places.of_text(name, file)}
            for path, file in gets.files.items()
        }
        parts = {
            "volumes": self._volumes(name, gets),
            "tmpfs": gets.tmpfs,
            "files": texts,
            "executables": [path for path in texts if path in gets.executables],
        }
        return {key: part for key, part in parts.items() if part}

    def _name_secrets(self, name: str, gets: Mounted) -> None:
        if found := ", ".join(path for path, file in gets.files.items() if holds_secrets(file)):
            self.findings.changed(f"{name}.files {found}", _SECRETS)

    def _volumes(self, name: str, gets: Mounted) -> list[Any]:
        """The volumes of the compose file, and one for each folder of data."""
        found: list[Any] = [*gets.volumes]
        for mount in gets.data:
            copies = self.wanted.copy_data
            if copies and mount.host.is_dir():
                source = self.places.of_folder(name, mount.host)
                found.append({"source": source, "target": mount.target, "copy": True})
                why = _COPY
            else:
                found.append(mount.target)
                why = _GONE if copies else _EMPTY
            self.findings.changed(f"{name}.volumes {mount.text}", why, Weight.FIGURES)
        return found

    def _name_the_rest(self) -> None:
        app, root = self.selection.app, self.compose.root
        for name, why in self.selection.left.items():
            self.findings.left_out(f"service {name}", why)
        for name in self.selection.taken:
            if app != APP and self.selection.calls_app(name):
                why = f"it calls the app {app}: in an arm the app's name is {APP}"
                self.findings.todo(f"service {name}", why)
        for name, node in root.get("volumes").items().items():
            if node.items():
                why = "an arm makes each volume itself, empty at first: `prepare` can fill it"
                self.findings.left_out(f"volumes.{name}", why)
        if root.get("networks"):
            why = "each arm has one network of its own"
            self.findings.left_out("networks", why)

    def _check(self, made: Draft) -> None:
        folder = self.wanted.folder

        def read(name: str) -> str:
            return made.texts[name] if name in made.texts else text_of(folder / name)

        try:
            TargetApp.model_validate(expanded(dict(made.document), read))
        except ValidationError as error:
            found = [Mistake(f"target.yaml: {path}", told) for path, told in mistakes_of(error)]
            raise InvalidInput(found) from error
