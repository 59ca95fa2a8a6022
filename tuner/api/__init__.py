"""HTTP in, stored results out; nothing here measures.

app               everything put together, and the OpenAPI document
├── jobs             submit, list, look at, cancel; trials and the incumbent
├── recommendations  the verdict and the files to deploy, by job and by app
├── catalogue        search spaces, target apps, pools
└── health           alive? ready?
views             nouns → answers, pure
files             nouns → uwsgi.ini, compose.yaml, sysctls, pure
reading           a request body → a job, or every mistake in it
conditional       ETag and If-None-Match
problems          errors → problem+json
security          the API key
schemas, examples what OpenAPI shows
services          what all of it needs from outside
"""

from tuner.api.app import create_app
from tuner.api.services import Services

__all__ = ["Services", "create_app"]
