"""A tuning job's answer with all its evidence, as a document for people.

    page, markdown   a document → HTML or Markdown, by the files in `templates`; all escaping
    └── composition      sections in their order
        ├── headline                deploy or keep, in one sentence
        ├── file_changes            lines, side effects, the file
        ├── reliability             smallest detectable effect, A/A, doubts, bottleneck
        ├── preflight               what was odd about the file, what trials leave out
        ├── search                  trials, slices, importances, Pareto front, gaps
        ├── race_and_confirmation   race, ablation, confirmation
        ├── by_request              each request of a journey or a mix, both files
        └── provenance              host, box, load, budget
            ├── job_evidence        rows of a job → `JobEvidence`
            └── document            what a page is made of

Nothing here judges: every figure was stored with the job, or is a plain count of its rows.
"""

from tuner.evidence.composition import compose
from tuner.evidence.job_evidence import JobEvidence, collect
from tuner.evidence.markdown import markdown
from tuner.evidence.page import POLICY, page
