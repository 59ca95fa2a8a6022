"""Users who log in at once, with more processes and a longer queue: `make bench-login`.

Submits `target_apps/django-shop/burst/job.yaml` to the real service and prints its report: all
users start at the same instant, and each logs in, uploads and lists, in this order, through nginx.
Every request has 5 s. Compared are 2 to 64 processes, and `listen` at 100 and at 4096: some 30
minutes. Nothing here asserts.
"""

import sys
from argparse import Namespace

from tests.benchmarks import rig
from tests.service import Json, running
from tuner.cli import tables
from tuner.cli.asking import read_document
from tuner.client import Client
from tuner.targets.catalogue import own_data

JOB = own_data("target_apps") / "django-shop" / "burst" / "job.yaml"
LONGEST_JOB_S = 3600.0


def main() -> int:
    """Run and print; the exit code."""
    options = parsed()
    rig.begin()
    with running(TUNER_READY_TIMEOUT_S="60") as service:
        ended = service.finish(
            service.submit(**request(options))["id"], within_s=LONGEST_JOB_S, every_s=2.0
        )
        with Client(f"http://127.0.0.1:{service.port}") as client:
            job = client.job(ended["id"])
    if job.report is None:
        print(job.failure)
        return 1
    tables.show(tables.comparison_parts(job, job.report))
    return 0


def parsed() -> Namespace:
    """The command line."""
    parser = rig.arguments(__doc__)
    parser.add_argument("--users", type=int, help="who start at once")
    parser.add_argument("--blocks", type=int, help="fresh starts of every file")
    parser.add_argument("--cycles", type=int, help="bursts of every file in a block")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="files, as the job names them")
    return parser.parse_args()


def request(options: Namespace) -> Json:
    """The document of the job with what the command line replaces."""
    found: Json = read_document(str(JOB))
    if options.users is not None:
        found["workload"]["users"] = options.users
    for name in ("blocks", "cycles"):
        found[name] = getattr(options, name) or found[name]
    if options.only:
        found["arms"] = [each for each in found["arms"] if each["name"] in options.only]
    return found


if __name__ == "__main__":
    sys.exit(main())
