"""Findings as the JSON answer of the API and of the command line."""

from collections.abc import Sequence

from tuner.schemas.lint import FindingAnswer, FixAnswer, LintAnswer
from tuner.uwsgi.lint.finding import Finding, Fix
from tuner.uwsgi.lint.linting import is_usable
from tuner.uwsgi.lint.ruleset import rule_of
from tuner.uwsgi.options.catalogue import Catalogue


def answer_of(
    findings: Sequence[Finding], catalogue: Catalogue, fixed_ini: str | None = None
) -> LintAnswer:
    """All findings; `fixed_ini` when fixes were made."""
    return LintAnswer(
        uwsgi_version=catalogue.version,
        is_of_build=catalogue.is_of_build,
        is_usable=is_usable(findings),
        findings=[_finding(finding) for finding in findings],
        fixed_ini=fixed_ini,
    )


def _finding(finding: Finding) -> FindingAnswer:
    rule = rule_of(finding.rule)
    return FindingAnswer(
        rule=finding.rule,
        name=rule.name if rule else finding.rule,
        severity=finding.severity.value,
        line=finding.line,
        message=finding.message,
        fix=_fix(finding.fix) if finding.fix else None,
    )


def _fix(fix: Fix) -> FixAnswer:
    return FixAnswer(sentence=fix.sentence, is_safe=fix.is_safe, is_automatic=bool(fix.edits))
