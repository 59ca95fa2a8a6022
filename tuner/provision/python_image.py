"""The image with a Python that everything starts from: pulled, or made of Debian's packages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tuner.provision import docker_build, programs
from tuner.provision.machine import Machine
from tuner.provision.steps import StepFailed

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
    if docker_build.image_id(machine, TAG):
        machine.steps.ok(f"image {TAG} is here")
    elif docker_build.image_id(machine, source) or _pulled(machine, source):
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
        recipe = docker_build.Recipe(tag=TAG, files=files, arguments={})
        docker_build.build(
            machine, recipe, doing=f"adding this machine's certificates to {source}", todo=_TODO
        )


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
