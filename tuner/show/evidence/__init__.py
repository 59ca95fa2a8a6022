"""A job's answer with all its evidence, as a document for people.

    page, markdown   a document → HTML or Markdown, by the files in `templates`; all escaping
    ├── comparison       a comparison: who differs from the first arm
    │   ├── compared_figures    metric by metric: a chart, and its figures
    │   ├── compared_steps      each step against the one before, and curves
    │   └── compared_arms       arm by arm: limits, failures, doubts, requests, files
    ├── so_far           a tuning job without its answer: what there is
    └── composition      a tuning job: sections in their order
        ├── headline                deploy or keep, in one sentence
        ├── file_changes            lines, side effects, the file
        ├── reliability             conditions, scenes, A/A, doubts, bottleneck
        ├── preflight               what was odd about the file, what trials leave out
        ├── search                  trials, slices, importances, Pareto front, gaps
        ├── race_and_confirmation   race, ablation, confirmation
        ├── by_request              each request of a journey or a mix, both files
        └── provenance              host, box, load, budget
            ├── job_evidence        rows of a job → `MeasuredJob`, `JobEvidence`
            ├── whiskers            effects as small pictures
            └── document            what a page is made of

Nothing here judges: every figure was stored with the job, or is a plain count of its rows.
"""

from tuner.show.evidence.comparison import compose_comparison, compose_comparison_so_far
from tuner.show.evidence.composition import compose, compose_so_far
from tuner.show.evidence.document import (
    Document,
    Headline,
    Section,
    Table,
    Words,
    tables_in,
    words_of,
)
from tuner.show.evidence.file_changes import changes
from tuner.show.evidence.job_evidence import JobEvidence, MeasuredJob, collect, measured_job
from tuner.show.evidence.rendering import POLICY, environment, markdown, page, stylesheet
