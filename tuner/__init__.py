"""The uWSGI autotuner: an app, a workload and the present uwsgi.ini in; the file to deploy out.

    ops / CI / dashboard ──HTTP──► api ──SQL──► PostgreSQL ◄──SQL── worker (one per host) ──► Docker
                                                rows + queue          │ per arm: target + oha in
                                                                      │ one network namespace
                                                                      └ windows, counters, doubts

| room        | what it is for                                                                     |
|-------------|------------------------------------------------------------------------------------|
| `cli`       | the command line: parse, call, print, exit code                                    |
| `provision` | makes a bare machine ready; standard library only                                  |
| `service`   | API, pages and workers; `bootstrap` is where settings meet adapters                |
| `client`    | the service over HTTP: typed, with retries and ETags                               |
| `production`| a look at a running uWSGI: stats server, queue, cgroup → what limits it            |
| `study`     | the state machine of a job: rows → next step (pure); `sampler` has Optuna          |
| `bench`     | one measurement: `measurement` decides (pure), `engine` has Docker, `load` sends   |
| `store`     | `db`: tables, store, embedded PostgreSQL; `queue`: tasks in the same transactions  |
| `show`      | an answer and its evidence → HTML, Markdown, SVG                                   |
| `judge`     | windows → scores, effects, bottlenecks, bounds → deploy this, or keep yours        |
| `traffic`   | what production does: access logs → the requests, weights and rates of a workload  |
| `targets`   | what a user brings: the folder of an app, a compose file, a search space           |
| `uwsgi`     | `ini` (lossless parse, patch, overlay), other `forms`, `options`, `lint`, stats    |
| `nouns`     | `model` (frozen, no I/O, units in names), their JSON, words, failures, masking     |

Imports point down only; import-linter holds that, and that each outside system has one door.

A **window** is one stretch of load; a **block** is fresh starts of every arm with windows in
shuffled alternation, and the unit of replication; a **trial** is one candidate configuration;
the **baseline** is the user's own file.
"""
