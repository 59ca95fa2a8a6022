"""The report of job 7, in each of its forms."""

from typing import Any

from tuner.api.examples.catalogue import HOST
from tuner.api.examples.evidence import HTML, MARKDOWN, TRIALS
from tuner.api.examples.jobs import JOB_REQUEST, PREFLIGHT
from tuner.api.examples.recommending import RECOMMENDATION
from tuner.api.examples.responses import Responses, ok, text

REPORT: dict[str, Any] = {
    "recommendation": RECOMMENDATION,
    "preflight": PREFLIGHT,
    "trials": TRIALS,
    "provenance": {
        "hosts": ["bench-1"],
        "pool": "default",
        "fingerprint": HOST["fingerprint"],
        "uwsgi_version": "2.0.31",
        "image_digest": "sha256:2f1c",
        "target": "registry.example/checkout:1.4",
        "limits": JOB_REQUEST["limits"],
        "workload": JOB_REQUEST["workload"],
        "objective": JOB_REQUEST["objective"],
        "slo": JOB_REQUEST["slo"],
        "min_effect": 0.02,
        "sampler": "gp",
        "seed": 1,
        "blocks": 44,
        "load_s": 610.5,
        "setup_s": 96.2,
        "measured_from": "2026-01-15T09:30:09Z",
        "measured_until": "2026-01-15T09:40:51Z",
        "rendered_by": "uwsgi-tuner 0.1.0",
    },
}


def report() -> Responses:
    """A 200 with a report in each of its forms."""
    found = ok(REPORT)
    words = {"text/html": HTML, "text/markdown": MARKDOWN}
    for media_type, example in words.items():
        found[200]["content"] |= text(example, media_type)[200]["content"]
    return found
