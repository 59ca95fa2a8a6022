"""Findings as the JSON answer of the API and of the command line."""

from collections.abc import Sequence

from tuner.nouns.schemas.lint import FindingAnswer, LintAnswer
from tuner.uwsgi.lint.finding import Finding
from tuner.uwsgi.lint.linting import is_usable
from tuner.uwsgi.options.catalogue import Catalogue


def answer_of(
    findings: Sequence[Finding], catalogue: Catalogue, fixed_ini: str | None = None
) -> LintAnswer:
    """All findings; `fixed_ini` when fixes were made."""
    return LintAnswer(
        uwsgi_version=catalogue.version,
        is_of_build=catalogue.is_of_build,
        is_usable=is_usable(findings),
        findings=[FindingAnswer.model_validate(f, from_attributes=True) for f in findings],
        fixed_ini=fixed_ini,
    )
