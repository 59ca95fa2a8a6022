"""The answers of `api` as pages for people: server-rendered, without a build step.

site            all of it on an app of `api`
├── apps            all apps; one app, its files, and the diff between any two
├── jobs            all jobs; cancel
├── job             one job while it runs and afterwards, in parts; its tables, also as CSV
│   ├── findings        rows of a job → the sections of its page
│   │   └── plotting        trials → what the browser draws
│   └── queueing        when a queued job is expected to start
├── new             a new job: its form, checked as somebody writes
│   ├── drafting        the fields of the form ↔ the document of the request
│   └── outlook         what the job would take and show; the same as YAML and curl
├── sharing         links to one job, and the page of the job that they show
├── lint            findings in a pasted file
├── hosts           pools and hosts
├── knowledge       options, rules, search spaces
├── signing_in      a key in a form → a session, and its end
├── assets          the files that pages load
└── refusals        problems as pages, for browsers
forms           what a form must show before it changes anything
answering       a template → an answer, with its headers
└── templating      the templates, and what they may use

Everything is read by the functions behind the calls, so that a page and its call say the same.
"""

from tuner.service.pages.site import install
