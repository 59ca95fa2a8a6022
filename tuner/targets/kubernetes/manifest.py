"""One manifest as a text and its container that starts uwsgi: its ini, and the answer for it."""

import re
from dataclasses import dataclass
from pathlib import Path

from tuner.nouns.errors import InvalidInput, Mistake
from tuner.targets.answers import Answer, Recommended
from tuner.targets.compose.findings import Findings
from tuner.targets.kubernetes.answering import answer
from tuner.targets.kubernetes.documents import read_texts
from tuner.targets.kubernetes.editing import ConfigMapKey, with_text
from tuner.targets.kubernetes.manifests import (
    Choice,
    Container,
    Options,
    Stands,
    chosen,
    options_of,
)
from tuner.targets.kubernetes.objects import Manifests
from tuner.targets.kubernetes.variables import SecretNames, Variables, expanded
from tuner.uwsgi.command_line import ini_of
from tuner.uwsgi.options import known
from tuner.uwsgi.stopping import Stop

_GRACE_S = 30.0
_SLEEP = re.compile(r"\bsleep\s+([0-9]+(?:\.[0-9]+)?)s?(?=$|[\s;&|])")
_KIND = re.compile(r"(?:^|[{,])[ \t-]*[\"']?kind[\"']?[ \t]*:", re.MULTILINE)
_VERSION = re.compile(r"\bapiVersion[\"']?[ \t]*:")


def is_manifest(text: str) -> bool:
    """Whether a text is of Kubernetes, and no uwsgi.ini."""
    return _KIND.search(text) is not None and _VERSION.search(text) is not None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest: `file` is its name, `container` the one that starts uwsgi."""

    file: str
    text: str
    manifests: Manifests
    container: Container
    options: Options

    @classmethod
    def read(cls, file: str, text: str, choice: Choice, namespace: str = "") -> "Manifest":
        """Raises `InvalidInput` for another text, and unless one container starts uwsgi."""
        manifests = Manifests(tuple(read_texts([(Path(file), text)])), namespace)
        container = chosen(manifests, choice)
        return cls(file, text, manifests, container, options_of(container, manifests))

    def answer(self, recommended: Recommended, *, kustomize: bool) -> Answer:
        """The answer in the form in which the options stand here. Raises `InvalidInput`."""
        return answer(self.text, self.manifests, self.container, recommended, kustomize=kustomize)

    @property
    def key(self) -> ConfigMapKey:
        """The key that has the uwsgi.ini. Raises `InvalidInput` if the options stand elsewhere."""
        if self.options.file is None:
            told = f"the options of {self.container.title} stand in its {self.options.stands}"
            raise InvalidInput.at(self.file, f"{told}, and in no uwsgi.ini")
        return ConfigMapKey.of(self.options.file)

    @property
    def is_command(self) -> bool:
        """Whether the options are the words of a command."""
        return self.options.stands is Stands.COMMAND

    @property
    def ini(self) -> str:
        """The uwsgi.ini in it, or what the command means; empty without both."""
        if self.is_command:
            return self._of_command()
        return self.options.file.node.text if self.options.file else ""

    def _of_command(self) -> str:
        """The file that means the same. Raises `InvalidInput` for words that are no options."""
        known_here = Variables(self.manifests, SecretNames(), Findings([]))
        environment = known_here.of(self.container, self.container.name)
        words = [expanded(word, environment)[0] for word in self.container.words]
        try:
            return ini_of(words, known())
        except InvalidInput as error:
            what = f"{self.file}, {self.container.title}"
            raise InvalidInput([Mistake(what, each.message) for each in error.mistakes]) from None

    def with_ini(self, ini: str) -> str:
        """The whole text with another uwsgi.ini in it. Raises `InvalidInput`."""
        return with_text(self.text, self.key, ini)

    @property
    def limits(self) -> str:
        """Such as `resources.limits {cpu: 1500m, memory: 1Gi}`."""
        limits = self.container.node.get("resources", "limits").items()
        given = ", ".join(f"{name}: {node.text}" for name, node in limits.items())
        return f"resources.limits {{{given}}}" if given else "no resources.limits"

    @property
    def stop(self) -> Stop:
        """How long the pod may take to stop; of preStop only a `sleep` is known."""
        before = self.container.node.get("lifecycle", "preStop")
        said = " ".join(word.text for word in before.get("exec", "command").each())
        slept = _SLEEP.search(said)
        before_s = before.text_of("sleep", "seconds") or (slept[1] if slept else "0")
        option = "terminationGracePeriodSeconds"
        grace_s = _seconds(self.container.workload.pod.text_of(option), _GRACE_S)
        return Stop(option, grace_s, _seconds(before_s, 0))


def _seconds(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default
