"""Truths planted in the target app `planted`, and the jobs that have to find or to refuse them.

Every option here does nothing to uWSGI 2.0.31 while it serves; what it does to the app is planted.
So what a job says of an option can be held against the truth.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tuner.uwsgi.ini import IniFile

TARGET_APPS = Path(__file__).parent / "bench_apps"
"""For `TUNER_TARGET_APPS`: one of the folders with a target.yaml in them is the app `planted`."""

UNITS = 2000  # some 3 ms: what uWSGI adds to it takes little away from a planted 5 %

PARAMETERS: Mapping[str, Any] = {
    "vacuum": {"type": "bool"},
    "reload-mercy": {"type": "choice", "values": [60, 30]},
    "backtrace-depth": {"type": "choice", "values": [64, 32]},
    "buffer-size": {"type": "choice", "values": [4096, 8192, 16384, 32768]},
    "procname-prefix": {
        "type": "choice",
        "values": ["user", "named"],
        "emit": {"named": {"procname-prefix": "app-"}},
    },
}
"""The search space of every job: which of its parameters matter is the job's own truth."""

USELESS = {"backtrace-depth": 32, "buffer-size": 32768, "procname-prefix": "named"}
"""Values for which nothing is planted in any job."""

_INI = """\
[uwsgi]
http-socket = :8000
chdir = /app
wsgi-file = planted.py
master = true
processes = {processes}
die-on-term = true
vacuum = false
reload-mercy = 60
backtrace-depth = 64
buffer-size = 4096
env = UNITS={units}
env = PLANTS={plants}
"""

_TEN_TO_SIXTEEN_MINUTES = {
    "preset": "quick",
    "trials": 10,
    "calibrate_blocks": 4,
    "race": 3,
    "race_blocks": 4,
    "ablate_runs": 24,
    "confirm_blocks": 24,
    "cycles": 2,
    "window_s": 1.2,
    "warmup_s": 0.6,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planting:
    """One truth: what the options do, what every file must hold that ships, and what none may.

    `plants` are as the app reads them (`bench_apps/planted/planted.py`, `Plant`); `keep` and
    `refuse` name options.
    """

    name: str
    about: str
    plants: tuple[Mapping[str, Any], ...] = ()
    heuristics: tuple[Mapping[str, Any], ...] = ()
    keep: frozenset[str] = frozenset()
    refuse: frozenset[str] = frozenset()
    processes: int = 2
    memory_mb: int = 256
    slo: Mapping[str, Any] = field(default_factory=dict)
    budget: Mapping[str, Any] = field(default_factory=lambda: _TEN_TO_SIXTEEN_MINUTES)

    @property
    def baseline_ini(self) -> str:
        """The user's own file, in which nothing that is planted is switched on."""
        plants = json.dumps(self.plants)
        return _INI.format(processes=self.processes, units=UNITS, plants=plants)

    def request(self, *, seed: int = 1) -> dict[str, Any]:
        """The body of `POST /v1/jobs`."""
        return {
            "app": f"planted-{self.name}",
            "target": {"target_app": "planted"},
            "baseline": {"ini": self.baseline_ini},
            "limits": {"cpus": 1.0, "memory_mb": self.memory_mb, "somaxconn": 4096},
            "search_space": {
                "name": f"planted-{self.name}",
                "parameters": PARAMETERS,
                "heuristics": self.heuristics,
            },
            "slo": self.slo,
            "budget": self.budget,
            "seed": seed,
        }

    def wrong_with(self, shipped_ini: str) -> tuple[str, ...]:
        """What speaks against a file that was shipped, a sentence each; nothing where it passes."""
        shipped = changed(self.baseline_ini, shipped_ini)
        missing = sorted(self.keep - shipped.keys())
        harmful = sorted(self.refuse & shipped.keys())
        return (
            *(f"{option} is not in the file" for option in missing),
            *(f"{option} = {shipped[option]} is in the file" for option in harmful),
        )


def changed(baseline_ini: str, shipped_ini: str) -> dict[str, str]:
    """The options of `PARAMETERS` that the shipped file sets otherwise, read from the files."""
    before, after = IniFile.parse(baseline_ini), IniFile.parse(shipped_ini)
    values = ((option, after.get(option)) for option in PARAMETERS)
    return {
        option: value
        for option, value in values
        if value is not None and value != before.get(option)
    }


def gains(share: float) -> float:
    """The factor on the work that makes an app serve so much more: 0.05 is 5 %."""
    return 1 / (1 + share)


NOTHING = Planting(name="nothing", about="no option matters", budget={"preset": "demo"})
"""The null case: whatever a job claims here is wrong."""

GAIN = Planting(
    name="gain",
    about="vacuum: +5 %; it has to be found and kept",
    plants=(dict(option="vacuum", value="true", work=gains(0.05)),),
    keep=frozenset({"vacuum"}),
    budget={**_TEN_TO_SIXTEEN_MINUTES, "ablate_runs": 48},
)

# What must not ship is in a heuristic: it is tried for certain, and refused for what it does.
HARMFUL_SEED = Planting(
    name="harmful-seed",
    about="a heuristic with reload-mercy: +10 %, and vacuum: -5 %",
    plants=(
        dict(option="reload-mercy", value="30", work=gains(0.10)),
        dict(option="vacuum", value="true", work=gains(-0.05)),
    ),
    heuristics=({"reload-mercy": 30, "vacuum": True, **USELESS},),
    refuse=frozenset({"vacuum"}),
)

UNSTABLE = Planting(
    name="unstable",
    about="vacuum: +15 % in 60 % of the starts, -40 % in the others",
    plants=(
        dict(
            option="vacuum",
            value="true",
            work=gains(0.15),
            unlucky_share=0.4,
            unlucky_work=gains(-0.40),
        ),
    ),
    heuristics=({"vacuum": True},),
    refuse=frozenset({"vacuum"}),
)

LATENCY_CLIFF = Planting(
    name="latency-cliff",
    about="vacuum: +25 %, but 8 % of the requests wait for 200 ms: p95 doubles",
    plants=(dict(option="vacuum", value="true", work=gains(0.25), slow_share=0.08, slow_ms=200.0),),
    heuristics=({"vacuum": True},),
    refuse=frozenset({"vacuum"}),
    processes=16,  # one for each connection: those that wait leave the CPU to the others
    memory_mb=512,
)

OUT_OF_MEMORY = Planting(
    name="out-of-memory",
    about="vacuum: +25 %, but under load both processes grow by 150 MiB in a box of 256",
    plants=(dict(option="vacuum", value="true", work=gains(0.25), hold_mb=150),),
    heuristics=({"vacuum": True},),
    refuse=frozenset({"vacuum"}),
)

NEARLY_OUT_OF_MEMORY = Planting(
    name="nearly-out-of-memory",
    about="vacuum: +25 %, but some 95 % of the box are in use, and 85 % are allowed",
    plants=(dict(option="vacuum", value="true", work=gains(0.25), hold_mb=228),),
    heuristics=({"vacuum": True},),
    refuse=frozenset({"vacuum"}),
    memory_mb=512,
    slo={"memory_mb": 435},
)

PLANTINGS = (
    GAIN,
    HARMFUL_SEED,
    UNSTABLE,
    LATENCY_CLIFF,
    OUT_OF_MEMORY,
    NEARLY_OUT_OF_MEMORY,
)

TWO_LARGE_GAINS = Planting(
    name="two-large-gains",
    about="vacuum: +40 %, reload-mercy: +20 %, and a heuristic that sets them and all the rest",
    plants=(
        dict(option="vacuum", value="true", work=gains(0.40)),
        dict(option="reload-mercy", value="30", work=gains(0.20)),
    ),
    heuristics=({"reload-mercy": 30, "vacuum": True, **USELESS},),
    keep=frozenset({"vacuum", "reload-mercy"}),
    budget={
        "preset": "demo",
        "trials": 6,
        "calibrate_blocks": 2,
        "race": 2,
        "race_blocks": 4,
        "ablate_runs": 24,
        "confirm_blocks": 8,
        "cycles": 1,
        "window_s": 0.5,
        "warmup_s": 0.2,
    },
)
"""Large effects, so that a job of little more than a minute can be held to what it says."""
