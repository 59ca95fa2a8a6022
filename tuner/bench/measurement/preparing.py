"""What a job must know before its first block: the image, the file, and the memory it takes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tuner.bench.measurement.bench import Bench
from tuner.bench.measurement.course import warming
from tuner.bench.measurement.driving import Stopwatch, arm_at_fault, services_running
from tuner.bench.measurement.host import ArmSpec, BuildInfo, Checked, target_failed
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    FailureCode,
    JobSpec,
    LeftOut,
    Limits,
    MeasurementResult,
    MemoryLine,
    Preflight,
    PreflightFinding,
    Resolved,
    Target,
    TargetFacts,
    Workload,
    extended,
    wants_kept,
)
from tuner.uwsgi.derived import sanitised
from tuner.uwsgi.ini import IniFile, Line
from tuner.uwsgi.lint import RULES, Box, Severity, lint, subject_of
from tuner.uwsgi.options import Catalogue, of_build

# ---- From a file to its arm: the options that a benchmark host does not run are left out


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


# ---- Findings about a user's file before it is measured, from uWSGI and from our rules
#
# Only a listen queue above the container's limit stops the job: uWSGI would not start.

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


MEMORY_PROBE_S = 0.6  # long enough for every process to serve a request
MEMORY_PROBE_MORE = 2  # processes on top of the baseline's, for the second point of the line


@dataclass(frozen=True, slots=True)
class Preparation:
    """Looks at the target on a bench."""

    bench: Bench

    def run(
        self,
        baseline: ArmSpec,
        larger: ArmSpec | None,
        workload: Workload,
        *,
        processes: int,
        arms_at_once: int = 2,
        others: Sequence[Target] = (),
    ) -> MeasurementResult:
        """Build the image, let uWSGI check the baseline, start it, and measure its memory.

        The baseline has `processes`, and `larger` has `MEMORY_PROBE_MORE` more: two points of the
        memory line. Another server than uWSGI is started alone, without a check of its file.
        `others` are targets of further arms: their images are built or found too.
        Raises `TargetFailed` if the baseline itself does not work, or the largest block of the
        job, with `arms_at_once`, does not fit into the host's memory.
        """
        watch = Stopwatch()
        self.bench.launcher.check_room([baseline] * arms_at_once)
        with self.bench.aborting():
            build = self.bench.launcher.inspect(baseline.target)
            arms = [
                replace(arm, image_digest=build.image_digest, data_sha256=build.data_sha256)
                for arm in (baseline, larger)
                if arm is not None
            ]
            preflight = self._preflight(arms[0], build.options) if larger else Preflight()
            self.bench.check_wanted()
            looks = self._look_at_all(arms, workload, watch)
            images = self._resolved(others)
        line = _memory_line(looks.memory_mb, processes, baseline.target)
        return MeasurementResult(
            facts=replace(self._facts(build, looks, line), preflight=preflight, images=images),
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=looks.ready_s,
            ini_sha256=(baseline.ini_sha256,),
            image_digest=build.image_digest,
        )

    def _facts(self, build: BuildInfo, looks: "_Looks", line: MemoryLine) -> TargetFacts:
        return extended(
            TargetFacts,
            build,
            fingerprint=self.bench.launcher.fingerprint(),
            memory=line,
            topology=looks.topology,
            effective_ini=looks.effective_ini,
            nofile=looks.nofile,
        )

    def _resolved(self, targets: Sequence[Target]) -> Mapping[str, Resolved]:
        """By their names. If one cannot be had, the block of its arm says why."""
        found: dict[str, Resolved] = {}
        for target in targets:
            self.bench.check_wanted()
            with suppress(TargetFailed):
                build = self.bench.launcher.inspect(target)
                found[target.name] = Resolved(
                    image_digest=build.image_digest, data_sha256=build.data_sha256
                )
        return found

    def _preflight(self, baseline: ArmSpec, known: Collection[str]) -> Preflight:
        """What uWSGI reports about the baseline before it serves, also with --strict."""
        with arm_at_fault(baseline):
            checked = self.bench.launcher.check(baseline)
            self.bench.check_wanted()
            copy = strict_copy(IniFile.parse(baseline.ini), frozenset(known))
            refused = self.bench.launcher.strict(replace(baseline, ini=copy))
            return seen(baseline, checked, refused)

    def _look_at_all(
        self, arms: Sequence[ArmSpec], workload: Workload, watch: Stopwatch
    ) -> "_Looks":
        """Without the larger one if that does not work."""
        baseline, *_ = arms
        try:
            return self._look(arms, workload, watch)
        except TargetFailed as failure:
            if failure.arm == baseline.index:
                raise
            return self._look([baseline], workload, watch)

    def _look(self, arms: Sequence[ArmSpec], workload: Workload, watch: Stopwatch) -> "_Looks":
        """Looks at arms that run under a little load; the first is the baseline.

        Checks the workload too.
        """
        used = []
        with self.bench.started(arms) as (running, ready_s):
            first = running[0]
            with arm_at_fault(arms[0]), services_running(first):
                self.bench.load.check(first, arms[0].target, workload)
            for arm, target in zip(arms, running, strict=True):
                self.bench.check_wanted()
                driver = self.bench.driver(target, arm, workload, watch)
                driver.drive(warming(driver.loads[0]), MEMORY_PROBE_S)
                used.append(target.usage().memory_mb)
            topology = first.front.topology.value
            return _Looks(used, ready_s, topology, first.effective_ini(), first.nofile)


@dataclass(frozen=True, slots=True)
class _Looks:
    """What `prepare` reads from started arms: the memory of each, and more of the first."""

    memory_mb: Sequence[float]
    ready_s: tuple[float, ...]
    topology: str
    effective_ini: str
    nofile: int


def _memory_line(used: Sequence[float], processes: int, target: Target) -> MemoryLine:
    """The line through both points; with one point, the slope that the target gives.

    Another server than uWSGI is one point: its processes are its own affair.
    """
    if not target.is_uwsgi:
        return MemoryLine(base_mb=used[0], per_process_mb=0.0)
    slope = float(target.memory_per_process_mb)
    if len(used) > 1:
        slope = max(0.5, (used[1] - used[0]) / MEMORY_PROBE_MORE)
    return MemoryLine(base_mb=max(0.0, used[0] - processes * slope), per_process_mb=slope)
