"""HTTP in, stored results out; nothing here measures.

app               everything put together, the OpenAPI document, and the process
├── jobs             jobs of all kinds: submit, list, look at, cancel; raw data; links to one
├── reports          the trials of a job, and its figures for people and for machines
├── recommendations  the verdict and the files to deploy, by job and by app
├── listings         apps, pools, search spaces, target apps
├── lint             findings in a uwsgi.ini
├── monitoring       events, metrics, alive and ready, what callers have changed
└── reference        /docs, and the examples of OpenAPI
views             nouns → answers, pure
sizes             how much a job measures, and how far it is, pure
apart             reading that may take long, in processes of their own
reading           a request body → a job, or every mistake in it
parameters        what several calls take; ETag and If-None-Match
problems          errors → problem+json; the id of a request, and how long its answer took
security          the API key, or a session; no pages of other sites
└── callers          who sends a request; signed cookies of browsers
services          what the API needs from outside; the newest events
"""

from tuner.service.api.app import create_app
from tuner.service.api.services import Feed, Services
