"""The service over HTTP: typed answers, retries, ETags; problems become `tuner.nouns.errors`.

    client           the client of one service
    ├── jobs             submit, look at, watch, wait for, cancel, delete; their raw data
    ├── recommendations  verdicts, files and reports, by job and by app
    └── catalogue        names for requests; lint; health
        watching         a job until it has ended, through restarts of the service
        streams          events: when to look at a job again
        wire             one call: headers, tags, retries
        ├── retries          when to call again
        ├── replies          HTTP answers → models and texts
        ├── problems         problems of the service → errors
        └── remembered       answers by ETag
        documents        models → JSON

Nothing of httpx leaves this package: every error is a `TunerError`.
"""

from tuner.client.client import Client
from tuner.client.documents import document_of
from tuner.client.jobs import Asked
from tuner.client.watching import Watching
