"""The uWSGI autotuner: an app, a workload and the present uwsgi.ini in; the file to deploy out.

    ops / CI / dashboard ──HTTP──► api ──SQL──► PostgreSQL ◄──SQL── worker (one per host) ──► Docker
                                                rows + queue          │ per arm: target + oha in
                                                                      │ one network namespace
                                                                      └ windows, counters, doubts

Imports point down only; import-linter holds that, and that each outside system has one door.

| layer     | module           | purpose                                                          |
|-----------|------------------|------------------------------------------------------------------|
| entry     | `cli`            | Typer: parse, call, print, exit code                             |
| entry     | `provision`      | makes a bare machine ready; standard library only                |
| entry     | `pages`          | the answers of `api` as pages for people, in the same process     |
| entry     | `api`            | HTTP in, stored results out; never measures                      |
| entry     | `worker`         | binds queue tasks to the use cases; one per benchmark host       |
| entry     | `supervisor`     | keeps PostgreSQL, API and worker running under `tuner serve`     |
| wiring    | `bootstrap`      | the only place where settings meet adapters                      |
| adapter   | `settings`       | environment → one frozen `Settings`                              |
| adapter   | `catalogue`      | reads `search_spaces/*.yaml` and `target_apps/*/target.yaml`     |
| adapter   | `compose`        | a compose file → the folder of a target app                      |
| adapter   | `sampler`        | Optuna behind ask and tell; what to believe of what was seen     |
| adapter   | `engine`         | Docker: images, targets, namespaces, counters                    |
| adapter   | `load`           | drives oha, reads what it and uWSGI say                          |
| adapter   | `db`             | tables, store, embedded PostgreSQL                               |
| adapter   | `queue`          | procrastinate: defer within our transaction, run, retry, sweep   |
| adapter   | `client`         | the service over HTTP: typed, with retries and ETags             |
| use case  | `study`          | the state machine: rows → next step (pure); requests → jobs      |
| use case  | `measurement`    | one measurement: start arms, alternate windows, always stop      |
| judgement | `recommendation` | comparison, bounds, doubts → deploy this, or keep yours          |
| judgement | `report`         | a comparison's blocks → figures, effects, doubts, rungs; CSV     |
| judgement | `evidence`       | a job's answer and evidence → HTML, Markdown                     |
| judgement | `grids`          | steps and grids: who is compared with whom, where a curve ends   |
| judgement | `diagnosis`      | counters → the bottleneck, with its evidence                     |
| judgement | `analysis`       | blocks → noise, effect, interval, verdict                        |
| judgement | `charts`         | windows, latencies, searches, comparisons → SVG                  |
| judgement | `objective`      | windows → score and broken bounds                                |
| format    | `uwsgi`          | `ini` (lossless parse, patch, overlay), `options`, `lint`, stats |
| format    | `search_space`   | bounds, conditions and rules of a space, evaluated for one job   |
| format    | `schemas`        | the JSON answers, as `api` sends and `client` reads them         |
| format    | `wording`        | figures and names as text, the same everywhere                   |
| nouns     | `model`          | frozen, no I/O, units in names                                   |
| nouns     | `masking`        | what looks like a secret becomes `***` in documents and logs     |
| nouns     | `log_context`    | which job, block and request the present work is about           |
| nouns     | `errors`         | the tree of failures                                             |

A **window** is one stretch of load; a **block** is fresh starts of every arm with windows in
shuffled alternation, and the unit of replication; a **trial** is one candidate configuration;
the **baseline** is the user's own file.
"""
