"""Optimisers that do as they are told, for tests of the study."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuner.nouns.model import Importance, Params, SamplerName, Slice, TrialNumber
from tuner.study import Belief, Observation, Proposal
from tuner.targets.search_space import Domain


@dataclass(slots=True)
class Ladder:
    """Proposes processes 3, 4, 5 ..., believes what it sees, and remembers what it was told."""

    told: list[Observation] = field(default_factory=list)
    gain: float | None = None
    noise_sd: float = 0.0

    def propose(
        self,
        domain: Domain,
        observations: Sequence[Observation],
        *,
        sampler: SamplerName,
        seed: int,
    ) -> Proposal | None:
        """The next params."""
        self.told = list(observations)
        params = self.following()
        return None if params is None else Proposal(params=params, gain=self.gain)

    def following(self) -> Params | None:
        """One process more than the last."""
        return {"processes": 2 + len(self.told)}

    def believe(
        self, domain: Domain, observations: Sequence[Observation]
    ) -> Mapping[TrialNumber, Belief]:
        """The score itself."""
        return {
            trial.number: Belief(mean=trial.score, sd=self.noise_sd)
            for trial in observations
            if trial.score is not None and trial.feasible
        }

    def explain(
        self, domain: Domain, observations: Sequence[Observation], at: Params
    ) -> tuple[tuple[Importance, ...], tuple[Slice, ...]]:
        """Nothing."""
        return (), ()


class Exhausted(Ladder):
    """A space with nothing left in it."""

    def following(self) -> Params | None:
        """Nothing."""
        return None


@dataclass(slots=True)
class Again(Ladder):
    """Proposes the same params whenever it is asked."""

    params: Params = field(default_factory=dict)

    def following(self) -> Params | None:
        """The same again."""
        return self.params
