"""The service over HTTP: typed answers, retries, ETags; problems become `tuner.nouns.errors`.

    client           the client of one service: verdicts, files, reports, names, lint, health
    ├── jobs             submit, look at, watch, wait for, cancel, delete; their raw data
    └── watching         a job until it has ended, through restarts; streams of events
        wire             one call: headers, tags, retries
        ├── retries          when to call again; problems of the service → errors
        └── documents        models → JSON, HTTP answers → models and texts

Nothing of httpx leaves this package: every error is a `TunerError`.
"""

from tuner.client.client import Client
from tuner.client.documents import document_of
from tuner.client.jobs import Asked
from tuner.client.watching import Watching
