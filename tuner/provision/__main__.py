"""`python3 -m tuner.provision COMMAND`.

Finds a fitting CPython before any module is imported whose syntax an old one cannot read.
"""

import os
import shutil
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
CHOSEN = "TUNER_PROVISION_PYTHON"  # set for our own second start only


def _fits():
    # type: () -> bool
    return OLDEST <= sys.version_info[:2] <= NEWEST


def _start_again_with_a_fitting_python():
    # type: () -> None
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which("python3.{}".format(minor))  # noqa: UP032 - an old CPython reads this
        if found and CHOSEN not in os.environ:
            os.environ[CHOSEN] = found
            os.execv(found, [found, "-m", "tuner.provision", *sys.argv[1:]])  # noqa: S606 - us again


def _main():
    # type: () -> int
    if not _fits():
        _start_again_with_a_fitting_python()
        sys.stdout.write(
            "[!!] Python: this is CPython {}.{}, and no python3.11, 3.12 or 3.13 is on PATH\n"
            "     -> install one of them (Debian 12: apt-get install python3),"
            " then run the same command again\n".format(*sys.version_info[:2])
        )
        return 1
    os.environ.pop(CHOSEN, None)
    from tuner.provision.recipes import main

    return main(sys.argv[1:])


sys.exit(_main())
