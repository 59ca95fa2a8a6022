"""A job's answer with all its evidence, as a document for people.

    rendering        a document → HTML or Markdown, by the files in `templates`; all escaping
    ├── comparison       a comparison: who differs from the first arm; steps and curves
    │   ├── compared_figures    metric by metric: a chart, and its figures; seconds
    │   └── compared_arms       arm by arm: limits, failures, doubts, requests, files
    └── composition      a tuning job: sections in their order, also before its answer
        ├── file_changes     lines, side effects, the file
        ├── reliability      conditions, scenes, A/A, doubts, bottleneck; host, box, load, budget
        ├── search           trials, slices, Pareto front; race, ablation, confirmation
        ├── job_evidence     rows of a job → `MeasuredJob`, `JobEvidence`
        └── document         what a page is made of

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
