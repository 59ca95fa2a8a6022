"""The answer of a job in the form in which the options stand: variables, Compose, Kubernetes."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tuner.cli.shared import STANDARD_INPUT, text_of
from tuner.nouns.errors import InvalidInput
from tuner.nouns.model import box_of, is_sysctl
from tuner.nouns.wording import box

if TYPE_CHECKING:
    from tuner.client import Client
    from tuner.nouns.schemas import RecommendationAnswer
    from tuner.targets.answers import Answer, Recommended
    from tuner.targets.kubernetes import Manifest
    from tuner.uwsgi.stopping import Stop

Form = Literal[
    "ini", "patched", "overlay", "command",
    "environment", "compose", "kubernetes", "helm", "kustomize",
]  # fmt: skip
FILES = frozenset({"ini", "patched", "overlay"})
"""What a deployed file is compared with."""

_IN = "--in"
_MANIFESTS = ("kubernetes", "kustomize")
_READS = {**dict.fromkeys(_MANIFESTS, True), "helm": False, "compose": False}
"""The forms that read `--in`, and whether they need it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Where the options stand today: a file, what to take of it, and places by option."""

    file: str | None = None
    service: str | None = None
    deployment: str | None = None
    container: str | None = None
    namespace: str = ""
    values_map: Sequence[str] = ()


def refuse(form: Form, given: Given) -> None:
    """Raise `InvalidInput` for options that do not fit together, before anything is asked."""
    from tuner.uwsgi.places import Places

    if _READS.get(form) and given.file is None:
        told = f"{form} changes what is there: give the manifest with {_IN} FILE"
        raise InvalidInput.at(_IN, told)
    if given.file is not None and form not in _READS:
        raise InvalidInput.at(_IN, f"only {', '.join(_READS)} read a file")
    if given.file == STANDARD_INPUT and form == "compose":
        raise InvalidInput.at(_IN, "give the path of the compose file: its folder counts")
    if Places.parse(given.values_map, "--values-map").rest and form != "helm":
        raise InvalidInput.at("--values-map", "`*` is a key of --form helm: name each option")


def placed(
    client: "Client", found: "RecommendationAnswer", form: Form, given: Given
) -> "Answer | None":
    """The answer in a form that is no file for uWSGI; None for such a file."""
    recommended = _recommended(found, given)
    match form:
        case "environment":
            answer = _environment(recommended)
        case "helm":
            answer = _helm(recommended, given)
        case "compose":
            return _compose(client, found, recommended, given)
        case "kubernetes" | "kustomize":
            manifest = manifest_of(_text(given), given)
            answer = manifest.answer(recommended, kustomize=form == "kustomize")
            answer = _with_pod(answer, recommended, manifest)
        case _:
            return None
    return _with_box(answer, found, form)


def manifest_of(text: str, given: Given) -> "Manifest":
    """The manifest in a text, and its container that starts uwsgi. Raises `InvalidInput`."""
    from tuner.targets.kubernetes import Choice, Manifest

    choice = Choice(deployment=given.deployment, container=given.container)
    return Manifest.read(given.file or STANDARD_INPUT, text, choice, given.namespace)


def _recommended(found: "RecommendationAnswer", given: Given) -> "Recommended":
    from tuner.judge.recommendation.lines import notes_on
    from tuner.targets.answers import Recommended
    from tuner.uwsgi.ini import IniFile
    from tuner.uwsgi.places import Change, Places

    lines = [line for line in found.lines if not is_sysctl(line.option)]
    return Recommended(
        ini=IniFile.parse(found.uwsgi_ini),
        changes=[Change(line.option, line.value, line.baseline_value) for line in lines],
        notes=notes_on(found.lines, found.effect),
        places=Places.parse(given.values_map, "--values-map"),
    )


def _text(given: Given) -> str:
    return text_of(given.file) if given.file is not None else ""


def _environment(recommended: "Recommended") -> "Answer":
    from tuner.targets.answers import Answer
    from tuner.uwsgi.places import env_file

    found = env_file(recommended.changes, recommended.places)
    remarks = [f"remove the variable {name}" for name in found.out]
    return Answer(found.placed, remarks, found.homeless)


def _helm(recommended: "Recommended", given: Given) -> "Answer":
    from tuner.targets.answers import Answer
    from tuner.targets.yaml_text import yaml_text
    from tuner.uwsgi.places import values

    found = values(recommended.changes, recommended.places)
    answer = Answer(yaml_text(found.placed) if found.placed else "", (), found.homeless)
    if given.file is None:
        return answer
    return _with_pod(answer, recommended, manifest_of(_text(given), given))


def _compose(
    client: "Client", found: "RecommendationAnswer", recommended: "Recommended", given: Given
) -> "Answer":
    from tuner.targets.answers import Answer

    if given.file is None:
        remark = "write the file to ./uwsgi.ini beside it: --form ini prints it"
        return Answer(client.compose(found.job), [remark])
    import yaml

    from tuner.cli.around import grace_of
    from tuner.targets.compose.asking import Wanted
    from tuner.targets.compose.overriding import override
    from tuner.uwsgi.stopping import Stop

    limits: dict[str, Any] = yaml.safe_load(client.sysctls(found.job, "compose"))
    file = Path(given.file)
    wanted = Wanted(folder=file.parent, compose=(file,), service=given.service, environ=os.environ)
    name, answer = override(wanted, recommended, limits)
    try:
        grace = grace_of(_text(given), given.file, name)
    except ValueError as error:  # such as a service of an included file
        unknown = f"how long {name} may take to stop is not known: {error}"
        answer = replace(answer, remarks=[*answer.remarks, unknown])
    else:
        if grace is not None:
            stop = Stop(grace.name, grace.seconds)
            answer = _with_stop(answer, found.uwsgi_ini, stop)
    return _with_box(answer, found, "compose")


def _with_pod(answer: "Answer", recommended: "Recommended", manifest: "Manifest") -> "Answer":
    """What a stop of the pod cuts short, and the limits that it has today."""
    own = "" if manifest.is_command else manifest.ini
    ini = recommended.applied(own) if own else recommended.ini.dump()
    answer = _with_stop(answer, ini, manifest.stop)
    return replace(answer, remarks=[*answer.remarks, f"the manifest has {manifest.limits}"])


def _with_stop(answer: "Answer", ini: str, stop: "Stop") -> "Answer":
    from tuner.uwsgi.ini import IniFile
    from tuner.uwsgi.stopping import killed_early

    early = killed_early(IniFile.parse(ini), stop)
    return replace(answer, remarks=[*answer.remarks, *early])


def _with_box(answer: "Answer", found: "RecommendationAnswer", form: Form) -> "Answer":
    """The limits that the answer holds for, above it and beside it."""
    lines = [f"job {found.job} for {found.app}: holds for {_limits(found, form)}"]
    text = answer.text
    if answer.takes_comments:
        text = "".join(f"# {line}\n" for line in lines) + text
    homeless = [] if form == "compose" else list(_kernel_settings(found))
    return replace(
        answer,
        text=text,
        remarks=[*lines, *answer.remarks],
        homeless=[*answer.homeless, *homeless],
    )


def _limits(found: "RecommendationAnswer", form: Form) -> str:
    limits = box_of(found.circumstances.limits, found.lines)
    if form not in (*_MANIFESTS, "helm"):
        return box(limits)
    settings = ", ".join(f"{name}={value}" for name, value in limits.kernel_settings.items())
    sizes = f'{{cpu: "{limits.cpus:g}", memory: {limits.memory_mb}Mi}}'
    return f"resources.limits {sizes}, sysctls {settings}"


def _kernel_settings(found: "RecommendationAnswer") -> Iterator[str]:
    for line in found.lines:
        if is_sysctl(line.option):
            where = "the pod's securityContext.sysctls, or the container's sysctls"
            yield f"{line.option}: a kernel setting: {line.value or 'not set'} in {where}"


# ---- What is deployed: a uwsgi.ini, or a manifest that has one


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed file with its text."""

    file: str
    text: str
    manifest: "Manifest | None" = None
    place: str = ""  # of the ini in a manifest

    @property
    def name(self) -> str:
        """The file, and where in a manifest the ini is."""
        return f"{self.file} ({self.place})" if self.place else self.file

    @property
    def ini(self) -> str:
        """The deployed uwsgi.ini."""
        return self.manifest.ini if self.manifest else self.text

    def with_ini(self, ini: str) -> str:
        """The file as it would be with another uwsgi.ini."""
        return self.manifest.with_ini(ini) if self.manifest else ini


def deployed(file: str, given: Given) -> Deployed:
    """The file that `--check` names, or the ini that a command means. Raises `InvalidInput`."""
    from tuner.targets.kubernetes import is_manifest

    text = text_of(file)
    if not is_manifest(text):
        return Deployed(file, text)
    manifest = manifest_of(text, replace(given, file=file))
    if manifest.is_command:
        return Deployed(file, manifest.ini, None, f"the command of {manifest.container.title}")
    return Deployed(file, text, manifest, str(manifest.key))
