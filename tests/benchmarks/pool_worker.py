"""One host of `tests.benchmarks.pool`: the product's worker, which notes the time of its tasks."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.killable_worker import ENDS_WITHIN_S, forking, work_on
from tests.killable_worker import SPEC as KILLABLE
from tuner.nouns.model import Claim, History, JobId, MeasurementId, MeasurementResult, Step
from tuner.store.db import Store, make_engine
from tuner.store.queue import Queue

SPEC = KILLABLE.model_copy(
    update={
        "budget": KILLABLE.budget.model_copy(
            update={"trials": 10, "race": 2, "ablate_runs": 0, "confirm_blocks": 8}
        )
    }
)
"""Short enough that no idle host helps: then the rows of all its jobs are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One task of a job, by the clock of the machine."""

    task: str
    job: int
    began: float
    took_s: float
    thought_s: float = 0.0  # of an `advance`: in the study, which asks the sampler


def spans_in(folder: Path) -> list[Span]:
    """What all workers noted."""
    lines = [line for file in folder.iterdir() for line in file.read_text().splitlines()]
    return [Span(**json.loads(line)) for line in lines]


class NotingStore(Store):
    """The store of a worker, which notes the times of decisions and measurements."""

    def __init__(self, url: str, file: Path) -> None:
        super().__init__(make_engine(url), Queue())
        self._file = file
        self._claimed = (0, 0.0)

    def advance(self, job_id: JobId, decide: Callable[[History], Step | None]) -> None:
        """As the product's own."""
        thought_s = 0.0

        def timed(history: History) -> Step | None:
            nonlocal thought_s
            began = time.perf_counter()
            try:
                return decide(history)
            finally:
                thought_s += time.perf_counter() - began

        began = time.time()
        super().advance(job_id, timed)
        self._note("advance", job_id, began, thought_s)

    def claim(self, measurement_id: MeasurementId, host: str) -> Claim | None:
        """As the product's own."""
        began = time.time()
        claim = super().claim(measurement_id, host)
        self._claimed = (claim.job.id, began) if claim else (0, began)
        return claim

    def complete(
        self, measurement_id: MeasurementId, attempt: int, result: MeasurementResult
    ) -> bool:
        """As the product's own."""
        is_stored = super().complete(measurement_id, attempt, result)
        self._note("measure", *self._claimed)
        return is_stored

    def _note(self, task: str, job: int, began: float, thought_s: float = 0.0) -> None:
        took_s = time.time() - began
        span = Span(task=task, job=job, began=began, took_s=took_s, thought_s=thought_s)
        with self._file.open("a") as file:
            print(json.dumps(asdict(span)), file=file)


def work(url: str, host: str, window_s: float, file: Path) -> None:
    """What the process of a host does."""
    work_on(NotingStore(url, file), url, host, lambda: time.sleep(window_s))


class PoolWorker:
    """A host of the pool, in a process of its own."""

    def __init__(self, url: str, host: str, window_s: float, folder: Path) -> None:
        self._process = forking.Process(target=work, args=(url, host, window_s, folder / host))
        self._process.start()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is dead."""
        self._process.kill()
        self._process.join(ENDS_WITHIN_S)
