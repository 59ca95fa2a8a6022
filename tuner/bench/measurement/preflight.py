"""Findings about a user's file before it is measured, from uWSGI and from our rules.

Only a listen queue above the container's limit stops the job: uWSGI would not start.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from tuner.bench.measurement.arms import left_out
from tuner.bench.measurement.host import ArmSpec, Checked, target_failed
from tuner.nouns.model import (
    FailureCode,
    JobSpec,
    Preflight,
    PreflightFinding,
    TargetFacts,
    wants_kept,
)
from tuner.uwsgi.ini import IniFile, Line
from tuner.uwsgi.lint import RULES, Box, Severity, lint, subject_of
from tuner.uwsgi.options import Catalogue, of_build
from tuner.uwsgi.sanitised import sanitised

STRICT = "strict"
RUNS_ANYWAY = "runs-anyway"
MOST_FINDINGS = 200
"""All findings are stored with the job; a file with more needs more than fixes line by line."""

_OF_IMAGES = tuple(rule for rule in RULES if rule.name != "command-without-file")
"""An image's own command need not name the file that the check has read: a variable may."""

_UNKNOWN = "unknown config directive:"
_PLACEHOLDER = "set-placeholder"
_DEFAULT_LISTEN = 100  # of uWSGI 2.0.31


def strict_copy(ini: IniFile, known: Collection[str]) -> str:
    """The file for `uwsgi --strict`: unknown keys become placeholders.

    A file may define any key and use it as `%(key)` below. `--strict` refuses such a key.
    """
    lines: list[Line] = []
    is_declared = False
    for line in ini.lines:
        if line.joined and is_declared:
            continue  # its text is in the value of the line above
        declared = _declared(line, known)
        is_declared = declared is not line
        lines.append(declared)
    return IniFile(tuple(lines)).dump()


def _declared(line: Line, known: Collection[str]) -> Line:
    if line.setting is None or line.setting[0] in known:
        return line
    option, value = line.setting
    text = f"{_PLACEHOLDER} = {option}={value}{line.ending}"
    return replace(line, raw=text, key=_PLACEHOLDER, value=f"{option}={value}")


def seen(arm: ArmSpec, checked: Checked, refused: str) -> Preflight:
    """What a host found in the arm's file. Raises `TargetFailed` for a listen queue too long.

    `refused` is the message of `uwsgi --strict` about the `strict_copy`.
    """
    listen = IniFile.parse(checked.effective_ini or arm.ini).integer("listen", _DEFAULT_LISTEN)
    if checked.somaxconn is not None and listen > checked.somaxconn:
        raise target_failed(
            FailureCode.BAD_OPTIONS,
            f"listen = {listen} is above net.core.somaxconn, which is {checked.somaxconn} in the"
            " container: uWSGI does not start",
        )
    return Preflight(somaxconn=checked.somaxconn, findings=tuple(_refused(refused)))


def completed(spec: JobSpec, facts: TargetFacts) -> TargetFacts:
    """The facts with all findings about each of the job's files, for this build of uWSGI."""
    found = facts.preflight or Preflight()
    linted = _linted(spec, facts, found.somaxconn, of_build(facts.uwsgi_version, facts.options))
    findings = (*found.findings, *_run_anyway(spec, facts), *linted)[:MOST_FINDINGS]
    return replace(facts, preflight=replace(found, findings=findings, left_out=left_out(spec)))


def _linted(
    spec: JobSpec,
    facts: TargetFacts,
    somaxconn: int | None,
    catalogue: Catalogue,
) -> Iterable[PreflightFinding]:
    rules = _OF_IMAGES if facts.command else RULES
    files = {variant.name: variant.ini for variant in spec.variants} or {"": spec.baseline_ini}
    arms = zip(files.items(), spec.boxes, spec.targets, spec.workloads, strict=True)
    for (name, text), limits, target, workload in arms:
        if text is None:
            continue  # another server
        read = somaxconn if limits.somaxconn == spec.limits.somaxconn else None
        box = Box(
            cpus=limits.cpus,
            memory_mb=limits.memory_mb,
            somaxconn=read or limits.somaxconn,
            nofile=facts.nofile,
            memory_per_process_mb=facts.memory.per_process_mb,
            command=target.command or facts.command,
            clients_keep=wants_kept(workload),
        )
        for finding in lint(subject_of(text, catalogue, box), rules):
            yield PreflightFinding(
                rule=finding.rule,
                severity=finding.severity.value,
                line=finding.line,
                message=finding.message,
                file=name if len(files) > 1 else "",
            )


def _refused(refused: str) -> Iterable[PreflightFinding]:
    """An unknown key in an included file; our rules report the file's own.

    Other messages of `--strict` mean nothing: the check has read the file with the job's command.
    """
    if _UNKNOWN in refused:
        name = refused.partition(_UNKNOWN)[2].strip()
        yield _warning(STRICT, f"an included file sets {name}: this uWSGI ignores it as unknown")


def _run_anyway(spec: JobSpec, facts: TargetFacts) -> Iterable[PreflightFinding]:
    """Options that trials should leave out but run: they are not in the job's own file."""
    merged = sanitised(IniFile.parse(facts.effective_ini), spec.allow).left_out
    for option in dict.fromkeys(out.option for out in merged):
        yield _warning(
            RUNS_ANYWAY,
            f"{option} comes from the command, the image's environment or an included file: "
            "trials run it",
        )


def _warning(rule: str, message: str) -> PreflightFinding:
    return PreflightFinding(rule=rule, severity=Severity.WARNING.value, line=None, message=message)
