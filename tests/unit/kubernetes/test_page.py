"""docs/kubernetes.md: its example is what `init` makes."""

import re
from pathlib import Path

import yaml

from tests.unit.kubernetes.conftest import Cluster

PAGE = Path(__file__).parents[3] / "docs" / "kubernetes.md"


def test_the_example_of_the_page(cluster: Cluster) -> None:
    manifests, target = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    made = cluster.made(manifests)
    written = (cluster.folder / "shop" / "target.yaml").read_text()
    described = {"description": "shop-web of all.yaml", **yaml.safe_load(target)}
    found = yaml.safe_load(written)
    assert found.pop("command", ["uwsgi", "--ini", "{ini}"]) == described.pop("command")
    assert found == described
    for line in target.splitlines():
        if line.startswith("#"):
            assert line.removesuffix(" [...]") in written
    assert made.ini.splitlines()[1] == "socket = 0.0.0.0:5000"
