"""From a file to what runs of it: less the options that a benchmark host does not run."""

from tuner.measurement.host import ArmSpec
from tuner.model import JobSpec, LeftOut
from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.sanitised import sanitised


def arm_of(spec: JobSpec, index: int, ini: str) -> ArmSpec:
    """The arm that runs `ini` in the job's box, less what the job does not allow.

    It is the same for every file of a job, so that none wins by what another goes without.
    """
    runs = sanitised(IniFile.parse(ini), spec.allow).ini.dump()
    return ArmSpec(index=index, ini=runs, target=spec.target, limits=spec.limits)


def left_out(spec: JobSpec) -> tuple[LeftOut, ...]:
    """What trials of a job go without, in each of its files."""
    files = [(variant.name, variant.ini) for variant in spec.variants] or [("", spec.baseline_ini)]
    several = len(files) > 1
    return tuple(
        LeftOut(option=out.option, line=out.line, danger=out.danger, file=name if several else "")
        for name, ini in files
        for out in sanitised(IniFile.parse(ini), spec.allow).left_out
    )
