"""The state of a study at one step: the rows of a job, and what the phases derive from them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from tuner.judge import analysis, objective
from tuner.nouns.model import (
    AS_BUDGETED,
    BASELINE,
    Ablation,
    BlockOptions,
    Fail,
    History,
    JobSpec,
    Measure,
    Measurement,
    MeasurementKind,
    MeasurementState,
    Origin,
    Params,
    Phase,
    Plan,
    Settle,
    Standing,
    Trial,
    TrialNumber,
    TrialState,
)
from tuner.study.advice import Belief, Observation, Optimiser
from tuner.study.candidates import Candidates, Noise, learnt
from tuner.study.replaying import Race, ablation_of, replayed, wide_of, with_race
from tuner.targets.search_space import Domain, derive

# ---- Idle hosts that help a search: each first measures the baseline against itself
#
# Whether it may help, `tuner.judge.analysis.calibrating` says by those blocks.

A_A_BLOCKS = analysis.FEWEST_A_A
"""A/A blocks of each host that would help."""

LEAST_LEFT = 4 * A_A_BLOCKS
"""Blocks that the search must still have: a shorter one is over before help pays."""


def newcomer(history: History) -> str | None:
    """An idle host that has not measured the baseline yet, if the search is long enough."""
    left = history.job.spec.budget.trials - len(history.blocks(Phase.SEARCH))
    if history.job.calibration is None or left < LEAST_LEFT:
        return None
    return next((host for host in history.idle_hosts if not _a_a_blocks(history, host)), None)


def helpers(history: History) -> tuple[str, ...]:
    """The idle hosts that were found to be alike."""
    return tuple(host for host in history.idle_hosts if _helps(history, host))


def _helps(history: History, host: str) -> bool:
    calibration, blocks = history.job.calibration, _a_a_blocks(history, host)
    if calibration is None or not blocks or any(block.is_open for block in blocks):
        return False
    return analysis.unlike(calibration, blocks, history.job.spec) is None


def _a_a_blocks(history: History, host: str) -> list[Measurement]:
    blocks = (block for block in history.blocks(Phase.CALIBRATE) if block.host == host)
    return [block for block in blocks if block.state is not MeasurementState.CANCELLED]


BASELINE_MAY_FAIL = 2
"""Blocks of one phase in which the user's own file may break before the job fails."""

Arms = tuple[TrialNumber, ...]


def derived_seed(seed: int, number: int) -> int:
    """A seed for one draw: the same job and number give the same draw after any restart."""
    return (seed * 1_000_003 + number) % 2**32


@dataclass(frozen=True, eq=False)
class StudyState:
    """Built once for a step and given to its phase. Every property is derived at most once."""

    history: History
    optimiser: Optimiser

    @cached_property
    def spec(self) -> JobSpec:
        """What the job asks for, with a budget that fits in its minutes."""
        return analysis.within_minutes(self.history.job.spec, self.history.job.calibration)

    @cached_property
    def helpers(self) -> tuple[str, ...]:
        """The hosts that measure the job beside its own."""
        return helpers(self.history)

    @cached_property
    def domain(self) -> Domain:
        """The domain of the job, with the memory line learnt so far."""
        domain = derive(self.spec, self.history.memory_line)
        return replace(domain, memory=learnt(self.history))

    @cached_property
    def noise(self) -> Noise:
        """The noise that the calibration found."""
        return Noise(self.history.job.calibration)

    @cached_property
    def candidates(self) -> Candidates:
        """What the search tried."""
        return Candidates.of(self.history)

    @cached_property
    def observations(self) -> Sequence[Observation]:
        """What the optimiser may know of the search, scored by the main metric."""
        return self.candidates.observations(self.noise)

    @cached_property
    def beliefs(self) -> Mapping[TrialNumber, Belief]:
        """What to believe of every feasible candidate, by the search alone."""
        return self.optimiser.believe(self.domain, self.observations)

    @cached_property
    def race(self) -> Race:
        """The race so far."""
        return replayed(self.history.blocks(Phase.RACE), self.spec.budget, self.placed)

    @cached_property
    def wide(self) -> Params | None:
        """The params whose factors the ablation tells apart; None without a whole ablation."""
        if self.history.job.finish_in is Phase.ABLATE:
            return None
        return wide_of(self.history, self.domain)

    @cached_property
    def ablation(self) -> Ablation | None:
        """The effect of each factor; None where there was no ablation, or too few runs worked."""
        return None if self.wide is None else ablation_of(self.history, self.domain, self.wide)

    @property
    def finalist(self) -> Trial:
        """The trial to ablate or to confirm. Raises `ValueError` before there is one."""
        job = self.history.job
        if job.finalist is None:
            raise ValueError(f"job {job.id} reached {job.phase} without a finalist")
        return self.history.trial(job.finalist)

    @property
    def is_finishing(self) -> bool:
        """Whether somebody asked the job to finish."""
        return self.history.job.finish_in is not None

    @property
    def block_cycles(self) -> int:
        """Windows of each arm in a block of the search and of the confirmation."""
        return analysis.block_cycles(self.history.job.calibration, self.spec)

    @property
    def least_gain(self) -> float:
        """The smallest relative gain that the confirmation will detect."""
        calibration = self.history.job.calibration
        return calibration.mde if calibration else self.spec.min_effect

    @property
    def stagnates(self) -> bool:
        """Whether the search has not found a better candidate for a while."""
        return self.candidates.stagnate(self.least_gain)

    @property
    def is_spent(self) -> bool:
        """Whether the search has used up its blocks, or its minutes."""
        budget, job = self.spec.budget, self.history.job
        if len(self.history.blocks(Phase.SEARCH)) >= budget.trials:
            return True
        if budget.minutes is None or job.started_at is None:
            return False
        spent_s = (self.history.now - job.started_at).total_seconds()
        left_s = 60 * budget.minutes - spent_s
        return left_s < analysis.after_search_s(self.spec, job.calibration)

    def baseline_failed(self, phase: Phase) -> Fail | None:
        """The end of a job whose own file breaks again and again in the blocks of a phase."""
        blocks = self.history.blocks(phase)
        failures = [block.failure for block in blocks if block.broken_trial == BASELINE]
        if len(failures) <= BASELINE_MAY_FAIL or failures[0] is None:
            return None
        return Fail(failure=failures[0])

    def settle(self, trial: Trial, blocks: Sequence[Measurement]) -> Settle:
        """Write down the outcome of a trial by its blocks, each (baseline, trial)."""
        return Settle(number=trial.number, outcome=objective.outcome_of(blocks, self.spec))

    def new_trial(self, params: Params, origin: Origin, *, ahead: int = 0) -> Trial:
        """A trial of these params, numbered behind `ahead` others that are new too."""
        number = TrialNumber(len(self.history.trials) + ahead)
        return Trial(number=number, params=params, origin=origin, state=TrialState.RUNNING)

    def measure(
        self,
        arms: Sequence[Arms],
        *,
        trials: Sequence[Trial] = (),
        options: BlockOptions = AS_BUDGETED,
    ) -> Measure:
        """One block of the present phase for each of `arms`; `trials` are the new ones."""
        phase = self.history.job.phase
        plans = self._plans(phase, arms, self._hosts_of(len(arms)), options)
        return Measure(plans=plans, trials=tuple(trials))

    def calibrate(self, host: str) -> Measure:
        """A/A blocks on a host that would help."""
        arms = [(BASELINE, BASELINE)] * A_A_BLOCKS
        return Measure(plans=self._plans(Phase.CALIBRATE, arms, [host] * len(arms), AS_BUDGETED))

    def _plans(
        self,
        phase: Phase,
        arms: Sequence[Arms],
        hosts: Sequence[str | None],
        options: BlockOptions,
    ) -> tuple[Plan, ...]:
        first = len(self.history.measurements)
        return tuple(
            Plan(
                sequence=sequence,
                kind=MeasurementKind.BLOCK,
                phase=phase,
                arms=of_block,
                block_options=options,
                host=host,
            )
            for sequence, of_block, host in zip(count(first), arms, hosts, strict=False)
        )

    def _hosts_of(self, blocks: int) -> Sequence[str | None]:
        """The hosts of new blocks: each goes to the one with the fewest open ones."""
        own = self.history.job.host
        taken = Counter(block.host for block in self.history.measurements if block.is_open)
        chosen: list[str | None] = []
        for _ in range(blocks):
            chosen.append(min((own, *self.helpers), key=lambda host: taken[host]))
            taken[chosen[-1]] += 1
        return chosen

    def placed(
        self, blocks: Sequence[Measurement], racing: Sequence[TrialNumber]
    ) -> tuple[Standing, ...]:
        """The trials that race and have usable windows, the best by belief first.

        An unstable trial is placed by its belief less its penalty.
        """
        main, budget = self.spec.objective, self.spec.budget
        found = {s.number: s for s in analysis.standings(blocks, main.metric, main.sign)}
        block_sd = self.noise.of_block(budget.race_cycles)
        known = [with_race(o, found.get(o.number), block_sd) for o in self.observations]
        beliefs = self.optimiser.believe(self.domain, known)
        placed = [
            replace(found[number], belief=beliefs[number].mean - found[number].penalty)
            for number in racing
            if number in found
        ]
        return tuple(sorted(placed, key=lambda s: (-(s.belief or 0.0), s.number)))
