"""Set-up of a machine: from "CPython, make and nothing else" to "the demo measures".

Only the standard library may be imported here: this package runs under the system's interpreter
before any dependency of the product exists (``python3 -m tuner.provision demo``). `tuner setup` of
an installed wheel takes the same steps. Every step is
idempotent, prints one line, and ends with a ``StepFailed`` that says what failed, why, and what to
do.

    recipes        what each command needs, in which order, and what it hands over to
    ├── docker_engine  an engine that answers
    ├── images         the images the product starts its containers from, built if a recipe changed
    │   ├── oha            the load generator's binary
    │   └── k6             the binary of the second one, for bursts and journeys
    ├── removal        `tuner setup --remove`
    ├── for_tests      the commands of `make test`; Chromium, Compose, faults, Prometheus, Helm
    └── programs       a single program, made once and kept; uv and the locked dependencies
        └── machine        steps, StepFailed, the one door to other programs, Debian packages
            └── host           facts about this machine, decided once
"""
