"""The answers of `api` as pages for people: server-rendered, without a build step.

site            all of it on an app of `api`; problems as pages, for browsers
├── apps            all apps; one app, its files, and the diff between any two
├── jobs            all jobs, and one while it runs and afterwards; the hosts
│   └── findings        rows of a job → the sections of its page, and its charts
├── new             a new job: its form, checked as somebody writes; what it would take
│   └── drafting        the fields of the form ↔ the document of the request
├── sharing         links to one job, and the page of the job that they show
├── lint            findings in a pasted file; options, rules, search spaces
└── signing_in      a key in a form → a session, and its end; what a form must show
answering       a template → an answer with its headers; the files that pages load

Everything is read by the functions behind the calls, so that a page and its call say the same.
"""

from tuner.service.pages.site import install
