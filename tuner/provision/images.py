"""The images that the product starts its containers from: built again only for a new recipe."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.provision import k6, oha, programs
from tuner.provision.machine import Machine, StepFailed

# ---- Building an image, and knowing that it need not be built again

# On the image, so that a changed Dockerfile or parent is noticed. Not `tuner`: containers inherit
# an image's labels, and whatever carries that one is reaped.
_RECIPE_LABEL = "org.uwsgi-tuner.recipe"


@dataclass(frozen=True)
class Recipe:
    """All that decides what an image holds.

    `files` are those of its context, `Dockerfile` among them, under the names they have there.
    """

    tag: str
    files: Mapping[str, Path]
    arguments: Mapping[str, str]
    parent_id: str = ""

    @property
    def digest(self) -> str:
        sha = hashlib.sha256(self.parent_id.encode())
        for name, path in sorted(self.files.items()):
            sha.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        for name, value in sorted(self.arguments.items()):
            sha.update(f"{name}={value}\0".encode())
        return sha.hexdigest()[:16]


def image_id(machine: Machine, tag: str) -> str | None:
    """The id of a local image, None when there is none."""
    return _inspect(machine, tag, "{{.Id}}")


def is_current(machine: Machine, recipe: Recipe) -> bool:
    template = f'{{{{index .Config.Labels "{_RECIPE_LABEL}"}}}}'
    return _inspect(machine, recipe.tag, template) == recipe.digest


def build(machine: Machine, recipe: Recipe, *, doing: str, todo: str) -> None:
    """Build the image from exactly the recipe's files.

    Builds use the host's network: on some machines only that one reaches a package index.
    Raises StepFailed.
    """
    with (
        machine.steps.slow(doing, f"{recipe.tag} built"),
        tempfile.TemporaryDirectory(prefix="uwsgi-tuner-build-") as folder,
    ):
        context = Path(folder)
        for name, path in recipe.files.items():
            (context / name).write_bytes(path.read_bytes())
            # Only root may read a program: see the Dockerfile of the load generator.
            (context / name).chmod(0o711 if path.stat().st_mode & 0o111 else 0o644)
        arguments = [
            f"--build-arg={name}={value}" for name, value in sorted(recipe.arguments.items())
        ]
        label = f"{_RECIPE_LABEL}={recipe.digest}"
        options = ["--network=host", "--label", label, *arguments, "-t", recipe.tag]
        machine.commands.must(
            ["docker", "build", *options, folder],
            what=f"image {recipe.tag}",
            todo=todo,
            timeout_s=900,
        )


def _inspect(machine: Machine, tag: str, template: str) -> str | None:
    finished = machine.run(["docker", "image", "inspect", "--format", template, tag])
    return finished.output.strip() if finished.ok else None


# ---- The image with a Python that everything starts from: pulled, or made of Debian's packages

TAG = "uwsgi-tuner/python:local"
DEFAULT_SOURCE = "python:3.12-slim-bookworm"

_CA_PATH = "/etc/ssl/certs/ca-certificates.crt"
_TRUST = {name: _CA_PATH for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")}
_PACKAGES = "ca-certificates,gcc,libc6-dev,python3,python3-dev,python3-venv"
_UNREAD = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")
_TODO = (
    "make a registry reachable for `docker pull`, or name an image that this engine has with"
    " TUNER_PYTHON_IMAGE, then run the same command again"
)


def ensure(machine: Machine, source: str = DEFAULT_SOURCE) -> None:
    """Have `uwsgi-tuner/python:local`, which trusts the certificates that this machine trusts.

    It is made once: neither a registry nor a mirror is asked again while it exists.
    Raises StepFailed.
    """
    if image_id(machine, TAG):
        machine.steps.ok(f"image {TAG} is here")
    elif image_id(machine, source) or _pulled(machine, source):
        _add_trust(machine, source)
    else:
        _bootstrap(machine)


def _pulled(machine: Machine, source: str) -> bool:
    machine.steps.working(f"asking the registry for {source}")
    return programs.pull(machine, source)


def _add_trust(machine: Machine, source: str) -> None:
    with tempfile.TemporaryDirectory(prefix="uwsgi-tuner-") as folder:
        dockerfile = Path(folder) / "Dockerfile"
        lines = [f"FROM {source}"]
        files = {"Dockerfile": dockerfile}
        if machine.host.ca_bundle is not None:
            lines += [
                f"COPY ca.crt {_CA_PATH}",
                *(f"ENV {name}={path}" for name, path in _TRUST.items()),
            ]
            files["ca.crt"] = machine.host.ca_bundle
        dockerfile.write_text("\n".join(lines) + "\n")
        recipe = Recipe(tag=TAG, files=files, arguments={})
        build(machine, recipe, doing=f"adding this machine's certificates to {source}", todo=_TODO)


def _bootstrap(machine: Machine) -> None:
    what = f"image {TAG}"
    if not machine.host.is_debian or not machine.host.suite:
        raise StepFailed(
            what, "no registry answers, and only Debian and Ubuntu can make it from packages", _TODO
        )
    _have_mmdebstrap(machine, what)
    suite = machine.host.suite
    doing = f"no registry answers: making it from {suite}'s packages (about 40 seconds, once)"
    machine.host.cache.mkdir(parents=True, exist_ok=True)
    with (
        machine.steps.slow(doing, f"{what} made from Debian packages"),
        tempfile.TemporaryDirectory(prefix="python-image-", dir=machine.host.cache) as folder,
    ):
        archive = str(Path(folder) / "root.tar")
        argv = ["mmdebstrap", *_mmdebstrap_options(machine), machine.host.suite, archive]
        # The machine's own mirror, rather than mmdebstrap's default.
        if machine.host.apt_sources is not None:
            argv.append(str(machine.host.apt_sources))
        machine.commands.must(argv, what=what, todo=_TODO, timeout_s=600)
        changes = [f"--change=ENV {name}={path}" for name, path in _TRUST.items()]
        argv = ["docker", "import", *changes, archive, TAG]
        machine.commands.must(argv, what=what, todo=_TODO, timeout_s=300)


def _have_mmdebstrap(machine: Machine, what: str) -> None:
    if machine.which("mmdebstrap"):
        return
    if not machine.host.can_apt:
        raise StepFailed(
            what,
            "no registry answers, mmdebstrap is missing, and we are not root",
            "run `sudo apt-get install -y mmdebstrap` (or this command as root), or " + _TODO,
        )
    with machine.steps.slow(
        "no registry answers: installing mmdebstrap with apt", "mmdebstrap installed"
    ):
        machine.apt.install(["mmdebstrap"], what=what)


def _mmdebstrap_options(machine: Machine) -> list[str]:
    options = ["--variant=minbase", f"--include={_PACKAGES}"]
    options += [f"--dpkgopt=path-exclude={pattern}" for pattern in _UNREAD]
    if machine.host.ca_bundle is not None:
        options.append(f"--customize-hook=upload {machine.host.ca_bundle} {_CA_PATH}")
    return options


# ---- The images that the product's engine starts its containers from

UWSGI_VERSION = "2.0.31"
BASE_TAG = f"uwsgi-tuner/base:{UWSGI_VERSION}"
LOAD_TAG = f"uwsgi-tuner/load:{oha.VERSION}"
JOURNEY_TAG = f"uwsgi-tuner/load-k6:{k6.VERSION}"

_FOLDER = Path("tuner/bench/load/image")
_AGAIN = "then run the same command again"


def ensure_base(machine: Machine) -> None:
    """uWSGI compiled once: every app is measured with the same binary. Raises StepFailed."""
    folder = (machine.apps or machine.checkout / "target_apps") / "_base"
    found = _other_version(
        machine,
        BASE_TAG,
        {name: folder / name for name in ("Dockerfile", "requirements.txt")},
        {"PYTHON_IMAGE": TAG},
        doing="which compiles uWSGI (about 30 seconds, once)",
        todo="make the Python package index reachable from a docker build",
        asked=("uwsgi", "--version"),
        wanted=UWSGI_VERSION,
    )
    if found is not None:
        todo = f"`docker rmi {BASE_TAG}`, {_AGAIN}"
        raise StepFailed(f"image {BASE_TAG}", f"its uWSGI says {found!r}", todo)


def ensure_load(machine: Machine, binary: Path) -> None:
    """The load generator oha on the base image: a known Python and C library."""
    dockerfile = machine.checkout / _FOLDER / "Dockerfile"
    found = _other_version(
        machine,
        LOAD_TAG,
        {"Dockerfile": dockerfile, "oha": binary},
        {"BASE_IMAGE": BASE_TAG},
        doing="which installs nginx",
        todo="make the distribution's packages reachable from a docker build",
        asked=("oha", "--version"),
        wanted=f"oha {oha.VERSION}",
    )
    if found is not None:
        # Such a binary does not start there.
        newer = ": it was compiled against a newer C library than the image has"
        said = f"`oha --version` says {found!r}{newer if 'GLIBC' in found else ''}"
        todo = (
            "name an image that holds a fitting oha with TUNER_OHA_IMAGE, or let a registry answer"
            " so that it is compiled in a container"
        )
        raise _unusable(machine, LOAD_TAG, binary, said, todo)


def ensure_journeys(machine: Machine, binary: Path) -> None:
    """The load generator image with k6 on top, for bursts and journeys. Raises StepFailed."""
    dockerfile = machine.checkout / _FOLDER / "journeys.Dockerfile"
    found = _other_version(
        machine,
        JOURNEY_TAG,
        {"Dockerfile": dockerfile, "k6": binary},
        {"LOAD_IMAGE": LOAD_TAG},
        doing="",
        todo="read the lines above",
        asked=("k6", "version"),
        wanted=f"k6 v{k6.VERSION}",
    )
    if found is not None:  # another version may write other rows
        todo = f"name an image that holds k6 {k6.VERSION} with TUNER_K6_IMAGE, or unset it"
        raise _unusable(machine, JOURNEY_TAG, binary, f"`k6 version` says {found!r}", todo)


def _other_version(
    machine: Machine,
    tag: str,
    files: Mapping[str, Path],
    parent: Mapping[str, str],
    *,
    doing: str,
    todo: str,
    asked: tuple[str, ...],
    wanted: str,
) -> str | None:
    """Build the image unless it is current; what its program says if it is not the wanted one.

    `parent` is the build argument with the image that this one is made on.
    """
    ids = [image_id(machine, name) or "" for name in parent.values()]
    recipe = Recipe(tag=tag, files=files, arguments=parent, parent_id="".join(ids))
    if not is_current(machine, recipe):
        doing = f"building {recipe.tag}{doing and ', '}{doing}"
        build(machine, recipe, doing=doing, todo=f"{todo}, {_AGAIN}")
        program, *words = asked
        inside = ["docker", "run", "--rm", "--network=none", "--entrypoint", program, recipe.tag]
        said = machine.run([*inside, *words])
        if not said.ok or f" {wanted} " not in f" {' '.join(said.output.split())} ":
            return said.last_lines
    machine.steps.ok(f"image {recipe.tag} is current")
    return None


def _unusable(machine: Machine, tag: str, binary: Path, said: str, todo: str) -> StepFailed:
    """Remove the image and the binary in it, and say why."""
    programs.forget(binary)
    machine.run(["docker", "rmi", "--force", tag])
    todo = f"{todo}; {_AGAIN} (the unusable binary was deleted)"
    return StepFailed(f"image {tag}", f"inside the image {said}", todo)
