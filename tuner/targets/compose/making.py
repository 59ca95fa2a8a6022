"""From a compose file and the options of `tuner app init` to the parts of a target app."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.nouns.model import TargetApp, mistakes_of
from tuner.nouns.model.named_files import expanded
from tuner.nouns.model.services import APP
from tuner.nouns.model.targets import DEFAULT_COMMAND
from tuner.targets.compose.document import ComposeFile, Node, Variables, missing, read_tree, text_of
from tuner.targets.compose.environment import with_env_files
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.mounts import (
    Mounted,
    Places,
    file_at,
    mounted,
    mounts_of,
    only_ini,
    texts_of,
)
from tuner.targets.compose.selection import Selection, kernel_settings, serving
from tuner.targets.compose.starting import (
    Entry,
    Start,
    beside,
    command_of,
    context_of,
    image_of,
    name_other_options,
    source_of,
    start_of,
    words_of,
)
from tuner.targets.compose.translation import Translator, limits_of
from tuner.uwsgi.command_line import words_for_uwsgi
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.options import known

# ---- What `tuner app init` is asked for: the compose file, and the service in it

NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
"""What Compose looks for, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What `tuner app init` is asked for. `environ` is the environment of the command.

    `copy_data` lets volumes start with a copy of the folders that are mounted there. `read` gives
    the text of a file in an image, and `entry` what it starts; None without the image, or Docker.
    """

    folder: Path
    compose: Path | None = None
    service: str | None = None
    ini: Path | None = None
    image: str | None = None
    copy_data: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[str, str], str | None] = lambda image, path: None
    entry: Callable[[str], Entry | None] = lambda image: None


def compose_of(wanted: Wanted) -> ComposeFile:
    """The compose file; without one, that of an image or a Dockerfile alone."""
    file = wanted.compose or next((Path(name) for name in NAMES if Path(name).is_file()), None)
    if file is not None:
        env = file.parent / ".env"
        variables = Variables(wanted.environ)
        return ComposeFile(file, variables.with_dotenv(text_of(env) if env.is_file() else ""))
    if wanted.image is None and not (wanted.folder / "Dockerfile").is_file():
        names = ", ".join(NAMES)
        told = f"there is none of {names} here: give --compose FILE, or --image NAME and --ini FILE"
        raise InvalidInput.at("--compose", told)
    alone = wanted.folder / "Dockerfile"
    text = "services: {app: {image: alone}}" if wanted.image else "services: {app: {build: .}}"
    compose = ComposeFile(alone, Variables())
    compose.give(read_tree(alone, text, Variables()))
    return compose


def chosen(wanted: Wanted, compose: ComposeFile, services: Mapping[str, Node]) -> str:
    """The service to tune: as given, or the only one that starts uwsgi."""
    found = list(services)
    if wanted.service is not None:
        found = [name for name in found if name == wanted.service]
    elif len(found) > 1:
        found = [name for name in found if _starts_uwsgi(name, services[name], compose, wanted)]
    if len(found) == 1:
        return found[0]
    which = f"no service {wanted.service}" if wanted.service else "no single service with uwsgi"
    names = ", ".join(found or services) or "none"
    raise InvalidInput.at("--service", f"{which} in {compose.file}; there are: {names}")


def _starts_uwsgi(name: str, service: Node, compose: ComposeFile, wanted: Wanted) -> bool:
    if only_ini(mounts_of(service, compose.root)) is not None:
        return True
    of_image = wanted.entry(image_of(name, service, compose.project))
    return words_for_uwsgi(command_of(service, of_image)) is not None


_EMPTY = (
    "a volume of the arm's own, empty at first: `prepare` can fill it. With `copy: true`, which"
    " --copy-data writes, it starts with a copy of the folder"
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


def draft(wanted: Wanted) -> Draft:
    """The target app of one service. Raises `InvalidInput` with all mistakes and their lines."""
    compose = compose_of(wanted)
    services = {
        name: with_env_files(node, compose.variables) for name, node in compose.services().items()
    }
    app = chosen(wanted, compose, services)
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
        if self.findings.mistakes:
            raise InvalidInput(list(dict.fromkeys(self.findings.mistakes)))
        made = Draft(
            origin=f"service {self.selection.app} of {self.compose.file}",
            document=document,
            texts=self.places.texts,
            private=self.places.private,
            folders=self.places.folders,
            findings=self.findings,
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
        gets = mounted(name, mounts, context, self.findings)
        start = self._start(app)
        if start is not None:
            found |= self._configuration(name, app, start)
            gets.files = {path: file for path, file in gets.files.items() if file != start.file}
        found |= translator.needs(name, app, is_app=True)
        found |= self._parts(name, gets)
        found |= self._limits(name, app)
        called = {each: self._name_of(each) for each in self.selection.taken}
        services = {}
        for each in self.selection.taken:
            fields, gets = translator.service(each)
            waits = {called[key]: how for key, how in fields.pop("depends_on", {}).items()}
            own = {**fields, **({"depends_on": waits} if waits else {})}
            services[called[each]] = own | self._parts(each, gets)
        if services:
            found["services"] = services
        if steps := [step for each in self.selection.prepare for step in self._steps(each)]:
            found["prepare"] = steps
        elif empty := [
            name for name, each in found.get("services", {}).items() if "volumes" in each
        ]:
            why = (
                f"the data of {', '.join(empty)} are empty: give the steps that fill them, such as"
            )
            self.findings.todo("prepare", f"{why} {{in: app, run: python manage.py migrate}}")
        return found

    def _source(self, app: Node) -> dict[str, str]:
        if self.wanted.image is not None:
            return {"image": self.wanted.image}
        return source_of(self.selection.app, app, self.compose.project, self._place, self.findings)

    def _place(self, path: Path) -> str:
        """A path as target.yaml has it."""
        return Path(os.path.relpath(path, self.wanted.folder.resolve())).as_posix()

    def _start(self, app: Node) -> Start | None:
        mounts, context = mounts_of(app, self.compose.root), context_of(app.get("build"))
        named = image_of(self.selection.app, app, self.compose.project)
        image = self.wanted.image or named
        entry = self.wanted.entry(image)
        words = command_of(app, entry)
        given = self.wanted.ini
        if given is None and words_for_uwsgi(words) is None:
            given = only_ini(mounts)
        command = app.get("command") or app
        at = f"{command.file}:{command.line}"

        def find(path: str) -> Path | None:
            found = file_at(mounts, path)
            return found or (beside(context, path) if context is not None else None)

        def read(path: str) -> str | None:
            place = str(PurePosixPath(app.text_of("working_dir"), path))
            return self.wanted.read(image, place)

        try:
            start = start_of(words, find, given, at, read)
        except InvalidInput as error:
            self.findings.mistakes += error.mistakes
            return None
        if words_for_uwsgi(words) is None:
            told = " ".join(words) or "that of the image"
            why = "what it does before uwsgi is not done: make it a step of `prepare` if it counts"
            self.findings.changed(f"command ({told}) -> {' '.join(DEFAULT_COMMAND)}", why)
        elif words != command_of(app):
            self.findings.changed("command", f"it is what the image {image} on this host starts")
        elif entry is None and app.get("command") and not app.get("entrypoint") and context is None:
            why = "it is not run: only `command` is"
            self.findings.changed("the image's ENTRYPOINT, if it has one", why)
        return start

    def _configuration(self, name: str, app: Node, start: Start) -> dict[str, Any]:
        """The command, its file, and what follows from the file."""
        found: dict[str, Any] = {}
        if start.command != DEFAULT_COMMAND:
            found["command"] = list(start.command)
        name_other_options(start, self.findings)
        for variable in app.get("environment").items():
            option = variable.removeprefix("UWSGI_").lower().replace("_", "-")
            if variable.startswith("UWSGI_") and known().find(option) is not None:
                why = f"uWSGI reads it as {option}: move it into the file, so that it can be tuned"
                self.findings.todo(f"{name}.env.{variable}", why)
        place = "uwsgi.ini"
        if start.file is not None:
            place = self.places.of_text(name, start.file, place)
        else:
            self.places.texts[place] = start.ini
            what, why = f"{name}.command", f"its options are in {place} now"
            if start.in_image is not None:
                what, why = f"{start.in_image} in the image", f"{place} is a copy of it"
            self.findings.changed(what, why)
        if place != "uwsgi.ini":
            found["uwsgi_ini"] = place
        return found | serving(name, app, IniFile.parse(start.ini), self.findings)

    def _limits(self, name: str, app: Node) -> dict[str, Any]:
        limits: dict[str, Any] = limits_of(app)
        for key in [key for key in ("cpus", "memory_mb") if key not in limits]:
            why = "the compose file has no such limit: give that of production"
            self.findings.todo(f"limits.{key}", why)
        limits |= kernel_settings(name, app, self.findings)
        return {"limits": limits} if limits else {}

    def _parts(self, name: str, gets: Mounted) -> dict[str, Any]:
        places = self.places
        texts = {path: {"file": places.of_text(name, file)} for path, file in gets.files.items()}
        parts = {"volumes": self._volumes(name, gets), "tmpfs": gets.tmpfs, "files": texts}
        return {key: part for key, part in parts.items() if part}

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
            self.findings.changed(f"{name}.volumes {mount.text}", why)
        return found

    def _steps(self, name: str) -> list[dict[str, Any]]:
        node = self.selection.services[name]
        words = [*words_of(node.get("entrypoint")), *words_of(node.get("command"))]
        if not words:
            self.findings.todo(f"service {name}", "its command is that of its image: add a step")
            return []
        why = "a step of `prepare`: it runs once in the app's container, with the app's environment"
        self.findings.changed(f"service {name}", why)
        return [{"in": APP, "run": words}]

    def _name_of(self, service: str) -> str:
        """The name by which the app calls it: an arm has no other names."""
        called = self.selection.called.get(service, set())
        others = sorted(called - {service})
        if not others:
            return service
        if called == {others[0]} and others[0] not in self.selection.services:
            self.findings.changed(f"service {service}", f"its name is {others[0]} here")
            return others[0]
        why = f"it is also called {', '.join(others)}: an arm knows one name, so use one everywhere"
        self.findings.todo(f"service {service}", why)
        return service

    def _name_the_rest(self) -> None:
        app, root = self.selection.app, self.compose.root
        for name, why in self.selection.left.items():
            self.findings.left_out(f"service {name}", why)
        for name in self.selection.taken:
            if app != APP and self.selection.mentions(name, app):
                why = f"it calls the app {app}: in an arm the app's name is {APP}"
                self.findings.todo(f"service {name}", why)
        if root.get("include"):
            why = "give one file with all services, as `docker compose config` prints it"
            self.findings.todo("include", why)
        for name, node in root.get("volumes").items().items():
            if node.items():
                why = "an arm makes each volume itself, empty at first: `prepare` can fill it"
                self.findings.left_out(f"volumes.{name}", why)
        if root.get("networks"):
            why = "each arm has one network of its own"
            self.findings.left_out("networks", why)
        for other in ("compose.override", "docker-compose.override"):
            for file in self.compose.file.parent.glob(f"{other}.y*ml"):
                why = "it was not read: give the file that `docker compose config` prints"
                self.findings.todo(file.name, why)

    def _check(self, made: Draft) -> None:
        folder = self.wanted.folder

        def read(name: str) -> str:
            return made.texts[name] if name in made.texts else text_of(folder / name)

        try:
            TargetApp.model_validate(expanded(dict(made.document), read))
        except ValidationError as error:
            found = [Mistake(f"target.yaml: {path}", told) for path, told in mistakes_of(error)]
            raise InvalidInput(found) from error
