"""The JSON answers, field by field. Times are ISO 8601 in UTC; units are in the names."""

from tuner.nouns.schemas.base import (
    Answer,
    Health,
    IniForm,
    MistakeAnswer,
    Problem,
    ReportForm,
    Require,
    SysctlForm,
)
from tuner.nouns.schemas.catalogue import SpaceList, SpaceSummary, TargetAppAnswer, TargetAppList
from tuner.nouns.schemas.comparisons import ArmAnswer, ReportAnswer, WindowAnswer, WindowList
from tuner.nouns.schemas.evidence import EvidenceAnswer, LookAnswer
from tuner.nouns.schemas.hosts import (
    CalibrationAnswer,
    CalibrationReport,
    HostAnswer,
    PoolAnswer,
    PoolList,
    SeesAnswer,
)
from tuner.nouns.schemas.jobs import (
    AppAnswer,
    AppPage,
    AuditPage,
    CircumstancesAnswer,
    Incumbent,
    JobAnswer,
    JobPage,
    LinkList,
    NewLink,
    PhaseSize,
    Progress,
    RecommendationAnswer,
    ScheduleAnswer,
    Size,
    TrialAnswer,
    TrialList,
)
from tuner.nouns.schemas.lint import FindingAnswer, FixAnswer, LintAnswer, LintRequest
from tuner.nouns.schemas.preflight import LeftOutAnswer, PreflightAnswer
from tuner.nouns.schemas.reports import ProvenanceAnswer, TrialsAnswer, TrialSummary, TuneReport
