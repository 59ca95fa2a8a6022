"""What a job must know before its first block: the image, the file, and the memory it takes."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from tuner.bench.measurement.bench import Bench
from tuner.bench.measurement.driving import Stopwatch, arm_at_fault, services_running
from tuner.bench.measurement.host import ArmSpec
from tuner.bench.measurement.preflight import seen, strict_copy
from tuner.bench.measurement.steadiness import warming
from tuner.nouns.errors import TargetFailed
from tuner.nouns.model import (
    MeasurementResult,
    MemoryLine,
    Preflight,
    Resolved,
    Target,
    TargetFacts,
    Workload,
    extended,
)
from tuner.uwsgi.ini import IniFile

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
        facts = extended(
            TargetFacts,
            build,
            fingerprint=self.bench.launcher.fingerprint(),
            memory=_memory_line(looks.memory_mb, processes, baseline.target),
            topology=looks.topology,
            effective_ini=looks.effective_ini,
            nofile=looks.nofile,
            preflight=preflight,
            images=images,
        )
        return MeasurementResult(
            facts=facts,
            setup_s=watch.setup_s,
            load_s=watch.load_s,
            ready_s=looks.ready_s,
            ini_sha256=(baseline.ini_sha256,),
            image_digest=build.image_digest,
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
