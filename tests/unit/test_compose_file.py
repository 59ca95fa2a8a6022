"""What each service of docker-compose.yml may do on the host."""

from pathlib import Path

import pytest
import yaml

FILE = Path(__file__).parents[2] / "docker-compose.yml"
SERVICES = yaml.safe_load(FILE.read_text())["services"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_no_service_has_more_than_it_needs(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["mem_limit"]
    assert service["pids_limit"] <= 256
    assert ("cap_add" in service) is (name == "postgres")
