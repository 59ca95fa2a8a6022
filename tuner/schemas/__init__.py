"""The JSON answers, field by field. Times are ISO 8601 in UTC; units are in the names."""

from tuner.schemas.base import (
    Answer,
    Health,
    IniForm,
    MistakeAnswer,
    Problem,
    ReportForm,
    Require,
    SysctlForm,
)
from tuner.schemas.catalogue import SpaceList, SpaceSummary, TargetAppAnswer, TargetAppList
from tuner.schemas.comparisons import ArmAnswer, ReportAnswer, WindowAnswer, WindowList
from tuner.schemas.evidence import EvidenceAnswer, LookAnswer
from tuner.schemas.hosts import (
    CalibrationAnswer,
    CalibrationReport,
    HostAnswer,
    PoolAnswer,
    PoolList,
    SeesAnswer,
)
from tuner.schemas.jobs import (
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
from tuner.schemas.lint import FindingAnswer, FixAnswer, LintAnswer, LintRequest
from tuner.schemas.preflight import LeftOutAnswer, PreflightAnswer
from tuner.schemas.reports import ProvenanceAnswer, TrialsAnswer, TrialSummary, TuneReport
