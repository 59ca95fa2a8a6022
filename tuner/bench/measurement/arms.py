"""From a file to its arm: the options that a benchmark host does not run are left out."""

from tuner.bench.measurement.host import ArmSpec
from tuner.nouns.model import JobSpec, LeftOut, Limits, Resolved, Target, TargetFacts
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.sanitised import sanitised


def arm_of(
    spec: JobSpec,
    index: int,
    ini: str | None,
    facts: TargetFacts | None = None,
    limits: Limits | None = None,
    target: Target | None = None,
    keep_alive: bool | None = None,
) -> ArmSpec:
    """The arm that runs `ini` in the job's box, or in `limits`, without what is not allowed.

    `target` is the arm's own where it is not the job's; without an ini it is another server. With
    `facts` the arm has the image and the data that the job has resolved. All files of a job lose
    the same options, so none gains by it.
    """
    runs = sanitised(IniFile.parse(ini), spec.allow).ini.dump() if ini is not None else ""
    its = target or spec.target
    found = facts.resolved(its.name) if facts else Resolved()
    return ArmSpec(
        index=index,
        ini=runs,
        target=its,
        limits=limits or spec.limits,
        image_digest=found.image_digest,
        data_sha256=found.data_sha256,
        keep_alive=keep_alive,
    )


def left_out(spec: JobSpec) -> tuple[LeftOut, ...]:
    """The options that trials of a job leave out, for each of its files."""
    files = [(variant.name, variant.ini) for variant in spec.variants] or [("", spec.baseline_ini)]
    several = len(files) > 1
    return tuple(
        LeftOut(option=out.option, line=out.line, danger=out.danger, file=name if several else "")
        for name, ini in files
        if ini is not None
        for out in sanitised(IniFile.parse(ini), spec.allow).left_out
    )
