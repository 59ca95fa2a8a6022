"""A tuning job's answer with all its evidence, as a document for people.

    page, markdown   a document → HTML or Markdown; all escaping is there
    └── composing        sections in their order
        ├── answer           deploy or keep, in one sentence
        ├── changes          lines, side effects, the file
        ├── trust            what could be seen at all; doubts; diagnosis
        ├── preflight        what was odd about the file, and what trials went without
        ├── search           trials, slices, importances, Pareto front, gaps
        ├── contest          race, ablation, confirmation
        └── provenance       host, box, load, budget
            ├── gathering        rows of a job → `JobEvidence`
            └── parts            what a document is made of

Nothing here judges: every figure was stored with the job, or is a plain count of its rows.
"""

from tuner.evidence.composing import compose
from tuner.evidence.gathering import JobEvidence, gather
from tuner.evidence.markdown import markdown
from tuner.evidence.page import POLICY, page

__all__ = [
    "POLICY",
    "JobEvidence",
    "compose",
    "gather",
    "markdown",
    "page",
]
