"""`make sbom`: bills of materials in CycloneDX, of the wheel and of each image, in `sbom/`."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from tuner.provision import images, k6, oha, programs
from tuner.provision.host import detect

FOLDER = Path("sbom")
IMAGES = (images.BASE_TAG, images.LOAD_TAG, images.JOURNEY_TAG)
_DEBIAN = ("dpkg-query", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}\n")
_PYTHON = """
from importlib.metadata import distributions
for found in distributions():
    print(found.name, found.version, sep="\\t")
"""
_OURS = {
    images.LOAD_TAG: (("cargo", "oha", oha.VERSION),),
    images.JOURNEY_TAG: (
        ("cargo", "oha", oha.VERSION),
        ("golang", "go.k6.io/k6", f"v{k6.VERSION}"),
    ),
}
"""Programs that we compile: no package of the image has them."""


def main() -> None:
    """Write all of them."""
    uv = shutil.which("uv") or str(programs.private_path(detect(os.environ).cache))
    FOLDER.mkdir(exist_ok=True)
    export = (uv, "export", "--quiet", "--locked", "--no-dev", "--format", "cyclonedx1.5")
    _write("wheel", _said(export))
    for tag in IMAGES:
        name = tag.rpartition("/")[2].replace(":", "-")
        _write(name, json.dumps(of_image(tag, _components(tag)), indent=2))


def of_image(tag: str, components: Sequence[dict[str, str]]) -> dict[str, object]:
    """The document of an image."""
    name, _, version = tag.rpartition(":")
    image = {"type": "container", "bom-ref": tag, "name": name, "version": version}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": now, "component": image},
        "components": list(components),
    }


def _components(tag: str) -> list[dict[str, str]]:
    """Debian's packages, those of each Python, and what we compiled."""
    found = []
    for line in _inside(tag, *_DEBIAN).splitlines():
        package, version, machine = line.split("\t")
        purl = f"pkg:deb/debian/{package}@{quote(version, safe='.+-~')}?arch={machine}"
        found.append(_component(package, version, purl))
    for package, version in _python_packages(tag):
        found.append(_component(package, version, f"pkg:pypi/{package.lower()}@{version}"))
    for kind, package, version in _OURS.get(tag, ()):
        found.append(_component(package, version, f"pkg:{kind}/{package}@{version}"))
    return list({each["bom-ref"]: each for each in found}.values())


def _python_packages(tag: str) -> Iterator[tuple[str, str]]:
    for line in sorted({*_inside(tag, "python3", "-c", _PYTHON).splitlines()}):
        package, version = line.split("\t")
        yield package, version


def _component(name: str, version: str, purl: str) -> dict[str, str]:
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _inside(tag: str, program: str, *words: str) -> str:
    run = ("docker", "run", "--rm", "--network=none", "--user=root", "--entrypoint", program)
    return _said((*run, tag, *words))


def _said(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _write(name: str, text: str) -> None:
    file = FOLDER / f"{name}.cdx.json"
    file.write_text(text)
    print(f"{file}: {len(json.loads(text)['components'])} components")  # noqa: T201


if __name__ == "__main__":
    main()
