"""The service over HTTP: typed answers, retries, ETags, and its problems as our errors.

    client           one service: everything that can be asked of it
    ├── jobs             submit, look at, watch, wait for, cancel; their raw data
    ├── recommendations  verdicts, files and reports, by job and by app
    └── catalogue        what a request may name; lint; whether the service is ready
        watching         a job until it has ended, through restarts of the service
        wire             one call: headers, tags, retries
        ├── retries          when to call again
        ├── replies          what comes back → models and texts
        ├── problems         errors of the service → ours
        └── remembered       ETags, and the answers that they stand for
        documents        models → JSON, as it was said

Nothing of httpx leaves this package: whatever fails is a `TunerError`.
"""

from tuner.client.client import Client
from tuner.client.documents import document_of
from tuner.client.jobs import Asked
from tuner.client.recommendations import IniForm, ReportForm, Require, SysctlForm
from tuner.client.watching import Watching

__all__ = [
    "Asked",
    "Client",
    "IniForm",
    "ReportForm",
    "Require",
    "SysctlForm",
    "Watching",
    "document_of",
]
