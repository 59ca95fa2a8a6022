"""HTTP in, stored results out; nothing here measures.

app               everything put together, and the OpenAPI document
├── jobs             jobs of all kinds: submit, list, look at, cancel; their raw data
├── links            read-only links to one job: make, list, revoke
├── events           what changes, as server-sent events
├── trials           the trials of a tuning job, and the best one so far
├── apps             all apps, their newest jobs and their answers
├── recommendations  the verdict and the files to deploy, by job and by app
├── reports          the figures of a job, for people and for machines
├── pools            pools, their hosts, and what each host can detect
├── catalogue        search spaces, target apps
├── lint             findings in a uwsgi.ini
├── health           alive? ready?
└── metrics          all of it in sums, for Prometheus
views, measured, evidence, preflight   nouns → answers, pure
sizes             how much a job measures: blocks, time and memory, pure
progress          how far a job is
equal_jobs        the job of an equal request, for a command that goes on
parameters        what several calls take
files             nouns → uwsgi.ini, compose.yaml, sysctls, pure
reading, shape    a request body → a job, or every mistake in it
conditional       ETag and If-None-Match
problems          errors → problem+json
security          the API key, or a session; no pages of other sites
└── sessions         signed cookies of browsers
observing         the id of a request, and how long its answer took
examples          what OpenAPI shows
feed              the newest events, and the streams that wait for the next
services          what the API needs from outside
serving           the process
"""

from tuner.service.api.app import create_app
from tuner.service.api.services import Feed, Services
