"""The study as a state machine over rows.

intake     a request → a job, or every mistake in it
└── targets      the app of the job, and those of arms that name their own
renewing   a job of a schedule: its reasons, its request, and what changed since the answer before
decide     a job's rows → its next step, by phase; no phase knows another one:
├── calibrating  the baseline against itself
├── searching    seeds, then what the optimiser proposes; then the race of the likely best
├── ablating     which options of the winner earn their place; alternative levels in the same runs
├── confirming   the finalist, on fresh data, with looks; then conditions and scenes
├── comparing    a comparison: every given file in every pass, as memory allows
└── answering    how a job ends; what a job that still runs has shown, for those who watch it
state      what the phases share, derived once for a step:
├── candidates   the trials of the search: scores, noise, memory, Pareto front
├── replaying    rounds and winner of the race; factors of the ablation and their effects
└── advice       what the study asks of an optimiser (`sampler` answers)
"""

from tuner.study.advice import Belief, Observation, Optimiser, Proposal
from tuner.study.answering import Scored, answer_so_far, searched
from tuner.study.comparing import arms_at_once, needs_mb, passes, rounds
from tuner.study.decide import decide, decider
from tuner.study.intake import mistakes_in, resolve
from tuner.study.renewing import followed, reasons, renewed, target_of
from tuner.study.state import derived_seed
