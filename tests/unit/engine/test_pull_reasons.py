"""Why a pull failed, in our own words only."""

import pytest

from tuner.bench.engine.failures import why_not_pulled


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "manifest for 127.0.0.1:5000/x:1 not found: manifest unknown: manifest unknown",
            "the registry has no such tag",
        ),
        (
            "Get http://10.0.0.7:5000/v2/: dial tcp 10.0.0.7:5000: connect: connection refused",
            "the registry does not answer",
        ),
        (
            "pull access denied for x, repository does not exist or may require 'docker login'",
            "the registry asks for a login, or has no such repository",
        ),
        (
            'error parsing HTTP 403 response body: invalid character: "root:$6$secret:"',
            "the registry's answer is none that Docker understands",
        ),
        ("write /var/lib/docker/tmp/x: no space left on device", "Docker's disk is full"),
    ],
)
def test_the_reason_is_one_of_a_few(said: str, reason: str) -> None:
    assert why_not_pulled(said) == reason
