"""All containers that an app may need, as the tree of one compose file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tuner.nouns.errors import InvalidInput
from tuner.targets.compose.document import Node
from tuner.targets.compose.findings import Findings
from tuner.targets.compose.selection import COMPLETED, is_proxy
from tuner.targets.kubernetes.manifests import Container, Options, Stands
from tuner.targets.kubernetes.names import Place, main_container, names_of, places_of, words_in
from tuner.targets.kubernetes.objects import Manifests, Workload
from tuner.targets.kubernetes.probes import app_health, service_health
from tuner.targets.kubernetes.roles import (
    is_store,
    is_wait,
    name_kept_away,
    why_left_out,
    why_no_step,
)
from tuner.targets.kubernetes.tree import Translator, leaf, listed, mapped
from tuner.targets.kubernetes.volumes import files_of
from tuner.uwsgi.command_line import words_for_uwsgi

_HOOK, _WEIGHT = "helm.sh/hook", "helm.sh/hook-weight"
_MOST_REACHED = 50  # of a target app with at most 12 services
_OF_APP = frozenset({"expose", "sysctls"})
_FILLS = re.compile(r"(?:pre|post)-(?:install|upgrade)")


@dataclass(slots=True)
class Gathered:
    """The tree, the name of the app in it, and what there is to say of each service."""

    root: Node
    app: str
    steps: frozenset[str]
    findings: dict[str, Findings]


@dataclass(slots=True)
class Gatherer:
    """Makes the tree. `own` are the findings of the app."""

    manifests: Manifests
    app: Container
    options: Options
    translator: Translator = field(init=False)
    places: list[Place] = field(init=False)
    own: Findings = field(default_factory=Findings)
    services: dict[str, Node] = field(default_factory=dict)
    findings: dict[str, Findings] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.places = places_of(self.manifests, _texts(self.app, self.manifests))
        names = names_of(self.manifests, self.places)
        self.translator = Translator(self.manifests, names)

    def gather(self) -> Gathered:
        """The tree with all services, configs and secrets."""
        name = self._name
        self.findings[name] = self.own
        node = self.translator.service(name, self.app, self.own)
        waits: dict[str, Node | str] = {}
        extra: dict[str, Node] = {}
        for title, workload, step in self._steps():
            self._step(title, Container(workload, step, ()), node, extra, waits)
        self._sidecars(node, waits)
        fields = dict(node.items()) | {"depends_on": mapped(node, waits)}
        if extra:
            environment = {**extra, **node.get("environment").items()}
            fields["environment"] = mapped(node, environment)
        if health := self._health():
            fields["healthcheck"] = health
        self.services[name] = self._started(mapped(node, fields))
        for place in self._reached():
            self._other(place)
        root = mapped(
            node,
            {
                "services": mapped(node, self.services),
                "configs": mapped(node, self.translator.configs),
                "secrets": mapped(node, self.translator.stores),
            },
        )
        return Gathered(root, name, frozenset(self.steps), self.findings)

    @property
    def _name(self) -> str:
        """The name of the app: that of its Service, as others call it."""
        workload = self.app.workload
        same = (p.name for p in self.places if p.workload.resource is workload.resource)
        return next(same, workload.name)

    def _started(self, node: Node) -> Node:
        """With a command for the file of a ConfigMap that a script of the image starts."""
        if self.options.stands is not Stands.CONFIG_MAP or words_for_uwsgi(self.app.words):
            return node
        at = self.options.nodes[0]
        told = " ".join(self.app.words) or "that of the image"
        why = "what it does before uwsgi is not done: make it a step of `prepare` if it counts"
        self.own.changed(f"command ({told}) -> uwsgi --ini {self.options.path}", why)
        command = listed(at, ["uwsgi", "--ini", self.options.path])
        fields = {key: each for key, each in node.items().items() if key != "entrypoint"}
        return mapped(node, {**fields, "entrypoint": command, "command": listed(at, [])})

    def _health(self) -> Node | None:
        beside = [n for n in self.app.workload.containers if is_proxy(n.text_of("image"))]
        return app_health(self._name, self.app.node, beside, self.own)

    # ---- The other containers of the app's pod

    def _sidecars(self, node: Node, waits: dict[str, Node | str]) -> None:
        workload = self.app.workload
        for each in workload.containers:
            name = each.text_of("name")
            if name == self.app.name:
                continue
            if not is_store(each):
                self.own.left_out(f"container {name}", why_left_out(each, self.app.node))
                if is_proxy(each.text_of("image")):
                    files = files_of(workload, each, self.manifests)
                    name_kept_away(each, files, self.own)
                continue
            called = name if name not in self._taken else f"{workload.name}-{name}"
            self._add(called, Container(workload, each, ()), [])
            waits[called] = mapped(each, {"condition": "service_started"})
            why = (
                f"production has it in the app's pod, at 127.0.0.1: here its name is {called}, so"
                f" put {called} in the place of 127.0.0.1 and localhost. A socket file in a shared"
                " folder stays as it is. `runs: beside` shares the app's CPUs"
            )
            self.own.todo(f"service {called}", why)

    @property
    def _taken(self) -> set[str]:
        return {place.name for place in self.places} | {*self.services}

    # ---- What fills the data

    def _steps(self) -> Iterator[tuple[str, Workload, Node]]:
        """Jobs before the app, its init containers, and Jobs after it: by the weights of hooks."""
        each = [w for w in self.manifests.workloads() if w.resource.kind == "Job"]
        jobs = [w for w in each if self._fills(w)]
        jobs.sort(key=_weight)
        before = [w for w in jobs if not w.resource.label(_HOOK).startswith("post-")]
        for workload in before:
            yield from ((workload.name, workload, node) for node in _of_job(workload))
        for node in self.app.workload.steps:
            yield f"{self._name}-{node.text_of('name')}", self.app.workload, node
        for workload in (w for w in jobs if w not in before):
            yield from ((workload.name, workload, node) for node in _of_job(workload))

    def _fills(self, workload: Workload) -> bool:
        hook = workload.resource.label(_HOOK)
        if hook and not _FILLS.search(hook):
            self.own.left_out(f"Job {workload.name}", f"a hook for {hook}: it fills no data")
        is_own = workload.namespace in ("", self.app.workload.namespace)
        return is_own and (not hook or _FILLS.search(hook) is not None)

    def _step(
        self,
        title: str,
        step: Container,
        app: Node,
        extra: dict[str, Node],
        waits: dict[str, Node | str],
    ) -> None:
        why = why_no_step(step.node, self.app.node)
        if why is not None:
            self.own.left_out(title, why)
            if is_wait(step.node):
                waits |= self._waited_for(step)
            return
        findings = Findings()
        node = self.translator.service(title, step, findings)
        words = [*node.get("entrypoint").each(), *node.get("command").each()]
        prefix = self._own_variables(title, node, app, extra)
        if prefix and words:
            words = [leaf(node, "env"), *prefix, *words]
        user = node.text_of("user")
        if user != app.text_of("user"):
            self.own.todo(f"prepare {title}", f"it runs as {user or 'the user of the image'} there")
        command = {"command": listed(step.node, words)} if words else {}
        self.services[title] = mapped(step.node, {"image": node.get("image"), **command})
        self.findings[title] = findings
        self.steps.append(title)
        waits[title] = mapped(step.node, {"condition": COMPLETED})

    def _own_variables(
        self, title: str, step: Node, app: Node, extra: dict[str, Node]
    ) -> list[Node]:
        """What a step needs beside the app's variables; a secret gets into those of the app."""
        of_app, found = app.get("environment").items(), list[Node]()
        for key, node in step.get("environment").items().items():
            same = of_app.get(key) or extra.get(key)
            if same is not None and (same.value, same.used) == (node.value, node.used):
                continue
            if not node.used:
                found.append(leaf(node, f"{key}={node.text}"))
            elif same is None:
                extra[key] = replace(node, path=f"{self._name}.env.{key}")
                why = f"only {title} has it in production: a step has the app's environment"
                self.own.changed(f"{self._name}.env.{key}", why)
            else:
                why = "it is another secret than that of the app: a step has the app's"
                self.own.todo(f"prepare {title} {key}", why)
        return found

    def _waited_for(self, step: Container) -> dict[str, Node | str]:
        """The Services that a waiting container names."""
        texts = _texts(step, self.manifests)
        return {
            place.name: mapped(step.node, {"condition": "service_started"})
            for place in self.places
            if place.workload.resource is not self.app.workload.resource
            and re.search(rf"(?<![\w-]){re.escape(place.name)}(?![\w-])", texts)
        }

    # ---- Other workloads

    def _reached(self) -> list[Place]:
        """The workloads that the app names, and those that they name in turn.

        Those with the app's image are there too, as each has a reason of its own.
        """
        others = [p for p in self.places if p.workload.resource is not self.app.workload.resource]
        texts = [_texts(self.app, self.manifests)]
        texts += [_texts(Container(w, node, ()), self.manifests) for _, w, node in self._steps()]
        words, found = words_in("\n".join(texts)), dict[str, Place]()
        while new := [p for p in others if p.name not in found and self._is_near(p, words)]:
            found |= {place.name: place for place in new}
            if len(found) > _MOST_REACHED:
                names = ", ".join([*found][:5])
                told = f"the app names more than {_MOST_REACHED} workloads, such as {names}"
                raise InvalidInput.at("--kubernetes", f"{told}: give only those that it needs")
            nodes = [(p.workload, node) for p in new for node in p.workload.containers]
            words = words_in(
                "\n".join(_texts(Container(w, node, ()), self.manifests) for w, node in nodes)
            )
        for place in others:
            if place.name not in found:
                self.own.left_out(f"service {place.name}", "the app does not name it")
        return [place for place in others if place.name in found]

    def _is_near(self, place: Place, words: frozenset[str]) -> bool:
        images = {node.text_of("image") for node in place.workload.containers}
        names = {place.name, *place.aliases}
        return bool(names & words) or self.app.node.text_of("image") in images

    def _other(self, place: Place) -> None:
        """A workload as a service: its main container."""
        main = main_container(place.workload, place.services)
        if main is None:
            return
        self._add(place.name, Container(place.workload, main, ()), place.aliases)
        for each in (*place.workload.containers, *place.workload.steps):
            if each is not main:
                what = f"{place.name} container {each.text_of('name')}"
                why = "an arm has one container of each service, and no init containers of it"
                self.findings[place.name].left_out(what, why)

    def _add(self, name: str, container: Container, aliases: list[str]) -> None:
        findings = self.findings.setdefault(name, Findings())
        node = self.translator.service(name, container, findings)
        fields = {key: each for key, each in node.items().items() if key not in _OF_APP}
        if health := service_health(container.node):
            fields["healthcheck"] = health
        if aliases:
            own = mapped(node, {"aliases": listed(node, aliases)})
            fields["networks"] = mapped(node, {"default": own})
        self.services[name] = mapped(node, fields)


def _of_job(workload: Workload) -> list[Node]:
    """What a Job does, one after the other."""
    return [*workload.steps, *workload.pod.get("containers").each()]


def _weight(workload: Workload) -> int:
    try:
        return int(workload.resource.label(_WEIGHT) or 0)
    except ValueError:
        return 0


def _texts(container: Container, manifests: Manifests) -> str:
    """All texts in which a container may name what it needs."""
    node, files = container.node, files_of(container.workload, container.node, manifests)
    maps = [each.get("configMapRef").text_of("name") for each in node.get("envFrom").each()]
    found = [manifests.find("ConfigMap", name, container.workload.namespace) for name in maps]
    data = [each.node.get("data") for each in found if each is not None]
    nodes = [*node.walk(), *(n for each in data for n in each.walk()), *(f.node for f in files)]
    return "\n".join(each.text for each in nodes)
