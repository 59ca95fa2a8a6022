"""Set-up of a machine: from "CPython, make and nothing else" to "the demo measures".

Only the standard library may be imported here: this package runs under the system's interpreter
before any dependency of the product exists (``python3 -m tuner.provision demo``). Every step is
idempotent, prints one line, and ends with a ``StepFailed`` that says what failed, why, and what to
do.

    steps          what a step prints, StepFailed
    commands       the one door to other programs, and the log of what they said
    host           facts about this machine, decided once
    machine        what every step works with: facts, programs, packages, progress
    apt            Debian packages
    uv             uv and the locked Python dependencies
    docker_engine  an engine that answers
    docker_build   building an image again only when its recipe changed
    python_image   the image with a Python: pulled, or made from Debian's packages
    programs       a single program: out of an image, or made once and kept
    oha            the load generator's binary
    k6             the binary of the second one, for bursts and journeys
    images         the images the product starts its containers from
    compose        Docker Compose, which one acceptance test drives
    chromium       the browser that the tests of the pages drive
    faults         socat and faketime, for the tests that lose packets and move clocks
    prometheus     Prometheus and promtool, which read what the product's metrics say
    checks         the commands of `make check`, `make test` and `make test-all`, once
    recipes        what each command needs, in which order, and what it hands over to
"""
