"""An app among others: its newest job, and the answers that its jobs have had."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tuner.nouns.model.answers import ChangedLine, Effect, Verdict
from tuner.nouns.model.checks import Check
from tuner.nouns.model.measuring import JobId
from tuner.nouns.model.noun import about
from tuner.nouns.model.status import JobSummary

MOST_ANSWERS = 20
"""Of one app: the newest."""

MOST_LISTED = 4
"""Of each app in a list of apps: with more, the list of an old service would be half a megabyte."""


@dataclass(frozen=True, kw_only=True)
class PastAnswer:
    """The answer of one job, in short."""

    job: Annotated[JobId, about("the job that found it")]
    verdict: Annotated[Verdict, about("what fresh data said about its candidate")]
    finished_at: Annotated[datetime, about("when it was confirmed")]
    effect: Annotated[Effect | None, about("of the objective; null: not measured")]
    lines: Annotated[tuple[ChangedLine, ...], about("what changes in the file and its box")]
    measure_again: Annotated[
        str | None, about("why it is not true for production; null: nothing says so")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppInBrief:
    """An app that has been tuned or compared, or will be."""

    app: str
    newest: JobSummary  # of kind tune or compare
    open_jobs: int  # that are queued or run
    answers: tuple[PastAnswer, ...]  # the newest first: `MOST_ANSWERS`, or `MOST_LISTED` in a list
    checks: tuple[Check, ...] = ()  # at most one of each checker
