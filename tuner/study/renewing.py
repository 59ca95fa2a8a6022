"""Tuning an app again by itself: is there a reason, what is asked, and what came of it."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from tuner.nouns.model import (
    Baseline,
    Followed,
    Job,
    JobSpec,
    PresetBudget,
    Priority,
    Recommendation,
    Schedule,
    Since,
    Target,
    TargetRequest,
    TuneRequest,
    Verdict,
    box_of,
)
from tuner.nouns.wording import effect_with_interval
from tuner.study import targets
from tuner.targets.catalogue import CataloguedApp
from tuner.uwsgi.derived import OptionDifference, semantic_diff
from tuner.uwsgi.ini import IniFile

MOST_NAMES = 5  # in a reason


def reasons(
    last: Job | None, known: CataloguedApp, image: str | None, schedule: Schedule, now: datetime
) -> tuple[str, ...]:
    """Why the app of `last` is to be tuned again, each in a sentence; empty: no reason.

    `last` is the newest job with an answer, `image` the digest of the app's image of now; None: not
    known here. A file in an image changes with the image.
    """
    if last is None or last.recommendation is None:
        return ("there is no answer yet",)
    return tuple(_reasons(last, last.recommendation, known, image, schedule, now))


def _reasons(
    last: Job,
    found: Recommendation,
    known: CataloguedApp,
    image: str | None,
    schedule: Schedule,
    now: datetime,
) -> Iterator[str]:
    spec = last.spec
    if found.measure_again is not None:
        yield f"the answer of job {last.id} was {found.measure_again}"
    if spec.in_image is None and known.baseline_ini != spec.baseline_ini:
        own, new = (
            _differ(old, known.baseline_ini) for old in (spec.baseline_ini, found.uwsgi_ini)
        )
        if own and new:
            names = ", ".join([one.option for one in own][:MOST_NAMES])
            yield f"the file uwsgi.ini has changed since job {last.id}: {names}"
    fields = _changed_fields(spec.target, target_of(spec, known))
    if fields:
        names = ", ".join(fields[:MOST_NAMES])
        yield f"the file target.yaml has changed since job {last.id}: {names}"
    measured = last.facts.image_digest if last.facts else None
    if image is not None and measured is not None and image != measured:
        yield f"the image has changed since job {last.id}: {image}"
    if last.finished_at is not None:
        days = (now - last.finished_at).total_seconds() / 86_400
        if days > schedule.older_than_days:
            older = f"older than {schedule.older_than_days:g}"
            yield f"the answer of job {last.id} is {days:.0f} days old, {older}"


def target_of(spec: JobSpec, known: CataloguedApp) -> Target:
    """The target as target.yaml has it now, with its file where the job had it."""
    return targets.of_app(known, spec.in_image)


def renewed(name: str, last: JobSpec | None, known: CataloguedApp, pool: str) -> TuneRequest:
    """The request of `last` once more, with the app as it is now; by default the app's own.

    It first tries what earlier jobs recommended.
    """
    asked: dict[str, Any] = {} if last is None else _asked(last)
    return TuneRequest(
        app=name,
        target=TargetRequest(target_app=name),
        warm_start=True,
        priority=Priority.NIGHTLY,
        **{"pool": pool, **asked},
    )


def _asked(last: JobSpec) -> dict[str, Any]:
    kept = ("limits", "workload", "objective", "max_slots", "sampler", "min_effect", "allow")
    numbers = last.budget.model_dump(include=set(PresetBudget.model_fields))
    return {
        **{name: getattr(last, name) for name in (*kept, "pool", "seed")},
        "slo": last.slo.model_copy(update={bound.value: None for bound in last.own_bounds}),
        "budget": PresetBudget(**numbers),
        **({"search_space": last.search_space} if last.search_space is not None else {}),
        **({"baseline": Baseline(in_image=last.in_image)} if last.in_image is not None else {}),
    }


def followed(last: Job) -> Followed | None:
    """What a new job has to know of the answer that it follows; None without an answer."""
    found = last.recommendation
    if found is None:
        return None
    return Followed(
        job=last.id,
        params=dict(found.params),
        uwsgi_ini=found.uwsgi_ini,
        limits=box_of(last.spec.limits, found.lines),
    )


def since(spec: JobSpec, found: Recommendation) -> Since | None:
    """What has changed since the answer that the job follows; None where it follows none."""
    if spec.follows is None:
        return None
    holds, sentence = _holds(spec, spec.follows, found)
    return Since(
        job=spec.follows.job,
        because=spec.because,
        holds=holds,
        sentence=sentence,
        changed=tuple(
            f"{one.option}: {_values(one.first)} -> {_values(one.second)}"
            for one in _differ(spec.follows.uwsgi_ini, found.uwsgi_ini)
        ),
    )


def _holds(spec: JobSpec, old: Followed, found: Recommendation) -> tuple[bool | None, str]:
    """Whether the old file holds. Only the confirmation counts: it had one file against yours."""
    effect = found.comparison.effect
    gain = f": {effect_with_interval(effect)}" if effect is not None else ""
    name, verdict = f"the file of job {old.job}", found.verdict
    is_yours = spec.limits == old.limits and not _differ(old.uwsgi_ini, spec.baseline_ini)
    if is_yours and verdict is Verdict.INCONCLUSIVE:
        return None, f"it is not known whether {name} holds: the noise was too large"
    if is_yours and verdict is Verdict.BETTER:
        return False, f"{name} does not hold: the new file is better than it{gain}"
    if is_yours:
        return True, f"{name} holds: no file was proven better than it"
    if verdict is Verdict.BETTER and dict(old.params) == dict(found.params):
        return True, f"{name} holds: its values won again, against your file{gain}"
    return None, (
        f"it is not known whether {name} holds: it is not your file of now, and this job compared"
        " only your file with its best candidate"
    )


def _differ(first: str, second: str) -> tuple[OptionDifference, ...]:
    return semantic_diff(IniFile.parse(first), IniFile.parse(second))


def _changed_fields(old: Target, new: Target) -> list[str]:
    names = sorted(Target.model_fields)
    return [name for name in names if getattr(old, name) != getattr(new, name)]


def _values(values: tuple[str, ...]) -> str:
    return ", ".join(value or "(empty)" for value in values) or "(not set)"
