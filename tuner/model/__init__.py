"""The nouns of the product: frozen, without I/O, units in their names."""

from tuner.model.activity import (
    LABELS,
    Activity,
    Counted,
    Labels,
    OpenJobs,
    Total,
    end_of_job,
)
from tuner.model.answers import (
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
from tuner.model.budgets import (
    ANSWERS_OF_A_CONNECTION,
    LONGER_AT_MOST,
    PRESETS,
    RUNS_OF_A_BLOCK,
    WARM_UPS_AT_MOST,
    Budget,
    PresetBudget,
)
from tuner.model.checks import MOST_SAID, Check, Checker, NewCheck
from tuner.model.conditions import Condition, Slots, conditions_of
from tuner.model.curves import Curve
from tuner.model.document import NAME, Document, Name
from tuner.model.documents import JobKind, JobSpec, Priority, SamplerName, Variant, mistakes_of
from tuner.model.doubts import Advice, Doubt, measure_again
from tuner.model.events import EVENTS_KEPT, Event, EventKind
from tuner.model.evidence import (
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
from tuner.model.figures import (
    Histogram,
    OverTime,
    ProxyTimes,
    ServerFigures,
    ServiceFigures,
    Spread,
    Surroundings,
    UsageSeries,
)
from tuner.model.fleet import MOST_ANSWERS, MOST_LISTED, AppInBrief, PastAnswer
from tuner.model.hosts import HAS_A_JOB, IS_DRAINED, BenchmarkHost, is_live, what_is_missing
from tuner.model.http_requests import MOST_ROWS_BYTES, NAMED, HttpRequest, Take, Upload, UserData
from tuner.model.images import ImageName, ImageText
from tuner.model.kernel import OF_A_NAMESPACE, SOMAXCONN, is_sysctl
from tuner.model.keys import (
    ANYBODY,
    Action,
    AuditEntry,
    Caller,
    Key,
    Scope,
    too_many_waiting,
)
from tuner.model.limits import BOX_SIZES, BYTES_PER_MB, Limits, cpus_in
from tuner.model.links import MOST_LINKS, Link
from tuner.model.measuring import (
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
from tuner.model.needs import SECRETS, FromFile, FromWorker, Needs
from tuner.model.noun import LOG, HighEnd, LowEnd, about, extended
from tuner.model.objectives import Aim, Bound, Metric, Objective, RelativeBound, Slo
from tuner.model.preflight import Danger, LeftOut, Preflight, PreflightFinding, options_of
from tuner.model.reports import ArmReport, Figure, Report, RungReport, StepEffect, TypicalWindow
from tuner.model.requests import (
    MOST_ARMS,
    REQUESTS,
    Baseline,
    CalibrateRequest,
    CompareRequest,
    Request,
    TuneRequest,
)
from tuner.model.scenes import SCENE_S, Scene, SceneComparison, SceneRun
from tuner.model.schedules import Followed, Schedule
from tuner.model.services import (
    APP,
    Backed,
    HealthCheck,
    PrepareStep,
    Runs,
    Service,
    StartCondition,
)
from tuner.model.spaces import (
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
from tuner.model.status import JobStatus, JobSummary, Tally, version_of
from tuner.model.stubs import Latency, Response, Scheme, Stub, text_of
from tuner.model.studying import (
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
from tuner.model.targets import DEFAULT_COMMAND, Target, TargetApp, TargetRequest
from tuner.model.windows import (
    SERIES_STEP_S,
    Answered,
    ClientFigures,
    RequestFigures,
    Window,
    by_request,
)
from tuner.model.workloads import (
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
