"""The nouns of the product: frozen, without I/O, units in their names."""

from tuner.nouns.model.activity import (
    LABELS,
    Activity,
    Counted,
    Labels,
    OpenJobs,
    Total,
    end_of_job,
)
from tuner.nouns.model.answers import (
    AnswerInBrief,
    Bottleneck,
    ByRequest,
    Calibration,
    ChangedLine,
    Comparison,
    Compromise,
    Diagnosis,
    Effect,
    MissedBound,
    Recommendation,
    ServiceUse,
    Sign,
    Since,
    UnderCondition,
    Verdict,
    box_of,
    notes_of,
)
from tuner.nouns.model.budgets import (
    ANSWERS_OF_A_CONNECTION,
    LONGER_AT_MOST,
    PRESETS,
    RUNS_OF_A_BLOCK,
    WARM_UPS_AT_MOST,
    Budget,
    PresetBudget,
)
from tuner.nouns.model.checks import MOST_SAID, Check, Checker, NewCheck
from tuner.nouns.model.conditions import Condition, Slots, conditions_of
from tuner.nouns.model.curves import Curve
from tuner.nouns.model.document import NAME, Document, Name
from tuner.nouns.model.documents import (
    JobKind,
    JobSpec,
    Priority,
    SamplerName,
    Variant,
    mistakes_of,
)
from tuner.nouns.model.doubts import Advice, Doubt, measure_again
from tuner.nouns.model.events import EVENTS_KEPT, Event, EventKind
from tuner.nouns.model.evidence import (
    Ablation,
    Evidence,
    Factor,
    Importance,
    Look,
    ParetoPoint,
    Round,
    Slice,
    SlicePoint,
    Standing,
)
from tuner.nouns.model.figures import (
    Histogram,
    OverTime,
    ProxyTimes,
    ServerFigures,
    ServiceFigures,
    Spread,
    Surroundings,
    UsageSeries,
)
from tuner.nouns.model.fleet import MOST_ANSWERS, MOST_LISTED, AppInBrief, PastAnswer
from tuner.nouns.model.hosts import HAS_A_JOB, IS_DRAINED, BenchmarkHost, is_live, what_is_missing
from tuner.nouns.model.http_requests import (
    MOST_ROWS_BYTES,
    NAMED,
    HttpRequest,
    Take,
    Upload,
    UserData,
)
from tuner.nouns.model.images import ImageName, ImageText
from tuner.nouns.model.kernel import OF_A_NAMESPACE, SOMAXCONN, is_sysctl
from tuner.nouns.model.keys import (
    ANYBODY,
    Action,
    AuditEntry,
    Caller,
    Key,
    Scope,
    too_many_waiting,
)
from tuner.nouns.model.limits import BOX_SIZES, BYTES_PER_MB, Limits, cpus_in
from tuner.nouns.model.links import MOST_LINKS, Link
from tuner.nouns.model.measuring import (
    AS_BUDGETED,
    BASELINE,
    HOST_IS_STALE_AFTER,
    BlockOptions,
    Failure,
    FailureCode,
    Futility,
    HostFingerprint,
    JobId,
    Measurement,
    MeasurementId,
    MeasurementKind,
    MeasurementResult,
    MeasurementState,
    MemoryLine,
    Resolved,
    TargetFacts,
    TrialNumber,
)
from tuner.nouns.model.needs import SECRETS, FromFile, FromWorker, Needs
from tuner.nouns.model.noun import LOG, HighEnd, LowEnd, about, extended
from tuner.nouns.model.objectives import Aim, Bound, Metric, Objective, RelativeBound, Slo
from tuner.nouns.model.preflight import Danger, LeftOut, Preflight, PreflightFinding, options_of
from tuner.nouns.model.reports import (
    ArmReport,
    Figure,
    Report,
    RungReport,
    StepEffect,
    TypicalWindow,
)
from tuner.nouns.model.requests import (
    MOST_ARMS,
    REQUESTS,
    Baseline,
    CalibrateRequest,
    CompareRequest,
    Request,
    TuneRequest,
)
from tuner.nouns.model.scenes import SCENE_S, Scene, SceneComparison, SceneRun
from tuner.nouns.model.schedules import Followed, Schedule
from tuner.nouns.model.services import (
    APP,
    Backed,
    HealthCheck,
    PrepareStep,
    Runs,
    Service,
    StartCondition,
)
from tuner.nouns.model.spaces import (
    BoolParameter,
    ChoiceParameter,
    Constraint,
    Emitted,
    Expression,
    IntParameter,
    OwnValue,
    Parameter,
    Params,
    Scalar,
    SearchSpace,
)
from tuner.nouns.model.status import JobStatus, JobSummary, Tally, version_of
from tuner.nouns.model.stubs import Latency, Response, Scheme, Stub, text_of
from tuner.nouns.model.studying import (
    Claim,
    Enter,
    Fail,
    History,
    Job,
    JobState,
    Measure,
    Origin,
    Outcome,
    Phase,
    Plan,
    Settle,
    Step,
    Succeed,
    Trial,
    TrialState,
)
from tuner.nouns.model.targets import DEFAULT_COMMAND, Target, TargetApp, TargetRequest
from tuner.nouns.model.windows import (
    SERIES_STEP_S,
    Answered,
    ClientFigures,
    RequestFigures,
    Window,
    by_request,
)
from tuner.nouns.model.workloads import (
    CONNECT_TIMEOUT_S,
    MOST_CONNECTIONS,
    Burst,
    ClosedLoop,
    Journey,
    Ladder,
    Load,
    OpenLoop,
    Paths,
    Rung,
    Workload,
    at_rung,
    connections,
    rungs,
    scaled,
    wants_kept,
    with_keep_alive,
)
