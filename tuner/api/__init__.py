"""HTTP in, stored results out; nothing here measures.

app               everything put together, and the OpenAPI document
├── jobs             submit, list, look at, cancel; trials and the incumbent
├── measurements     the same for files that are measured, not tuned
├── calibrations     the same for a look at the hosts; what each can tell apart
├── recommendations  the verdict and the files to deploy, by job and by app
├── catalogue        search spaces, target apps, pools
└── health           alive? ready?
views, measured   nouns → answers, pure: jobs and their answers; figures and hosts
progress          how far a job is
kinds             tuning jobs, measurements, calibrations: one row of numbers, three addresses
parameters        what several calls take
files             nouns → uwsgi.ini, compose.yaml, sysctls, pure
reading           a request body → a job, or every mistake in it
conditional       ETag and If-None-Match
problems          errors → problem+json
security          the API key
schemas, examples, measured_examples  what OpenAPI shows
services          what all of it needs from outside
"""

from tuner.api.app import create_app
from tuner.api.services import Services

__all__ = ["Services", "create_app"]
