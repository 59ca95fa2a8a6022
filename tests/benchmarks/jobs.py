"""Whole tuning jobs through the running service, and what is noted of each."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests import plants
from tests.plants import Planting
from tests.service import Json, Service, running

LONGEST_JOB_S = 3600.0


@contextmanager
def service() -> Iterator[Service]:
    """The product as a user runs it, with the app `planted` among its target apps."""
    with running(TUNER_TARGET_APPS=str(plants.TARGET_APPS)) as found:
        yield found


def finished(service: Service, **request: Any) -> tuple[Json, Json]:
    """Run one job to its end: what every journal keeps of it, and the job itself."""
    began = time.monotonic()
    job = service.submit(**request)
    ended = service.finish(job["id"], within_s=LONGEST_JOB_S, every_s=2.0)
    row: Json = {
        "seed": request["seed"],
        "minutes": round((time.monotonic() - began) / 60, 1),
        "state": ended["state"],
    }
    if ended["state"] != "succeeded":
        row["reason"] = str(ended["failure"])
    return row, ended


def tuned(service: Service, planting: Planting, *, seed: int) -> Json:
    """Run one tuning job to its end; what a journal keeps of it."""
    row, ended = finished(service, **planting.request(seed=seed))
    named = {"name": planting.name, **row}
    if row["state"] != "succeeded":
        return named
    return {**named, **answered(service.get(f"/v1/jobs/{ended['id']}/recommendation").json())}


def answered(answer: Json) -> Json:
    """Of an answer what its readers want to see again in a year."""
    return {
        "verdict": answer["verdict"],
        "effect": interval(answer["effect"]),
        "blocks": answer["blocks"],
        "mde": answer["mde"],
        "kept": [line_of(line) for line in answer["lines"]],
        "reverted": [line_of(line) for line in answer["reverted"]],
        "reason": answer["reason"],
        "uwsgi_ini": answer["uwsgi_ini"],
    }


def line_of(line: Json) -> Json:
    """One option, its value and its own effect."""
    return {
        "option": line["option"],
        "value": line["value"],
        "effect": interval(line["effect"]),
    }


def interval(effect: Json | None) -> list[float] | None:
    """Estimate, lower and upper end of its interval."""
    return [effect["estimate"], effect["ci_low"], effect["ci_high"]] if effect else None


def percent(effect: list[float] | None) -> str:
    """An effect with its interval, for people."""
    if effect is None:
        return "not measured"
    estimate, low, high = effect
    return f"{estimate:+.1%} ({low:+.1%} .. {high:+.1%})"


def in_words(lines: list[dict[str, Any]]) -> str:
    """Lines of a file, each with its effect."""
    words = (f"{line['option']} = {line['value']}: {percent(line['effect'])}" for line in lines)
    return ", ".join(words) or "none"
