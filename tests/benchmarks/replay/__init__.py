"""Whole jobs on recorded landscapes: the study is the real one, only the engine is replaced.

| module     | purpose                                                                    |
|------------|----------------------------------------------------------------------------|
| `surface`  | a recorded grid → what any params do, between and beyond what was recorded |
| `smoothing`| a rough record as smooth as its own noise allows                       |
| `landscape`| the truth that a job is held to, and truths derived from it                |
| `noise`    | what one window says beside the truth: starts, windows, drift, bursts      |
| `world`    | truth + noise → the results that a host would hand back                    |
| `driver`   | `study.decide` and a world → a job from its request to its answer          |
| `rivals`   | what others do with the same seconds: Optuna and its `best_trial`          |
| `jobs`     | one case (landscape, noise, method, seed) → one line of results            |
| `scoring`  | an answer and the truth → regret, claims, coverage, lines kept             |
| `intervals`| Clopper-Pearson and bootstrap                                              |
| `figures`  | many lines of results → the figures of a table                             |
| `tables`   | figures in words, for the terminal and as Markdown                         |
| `overview` | the tables themselves                                                      |
| `samplers` | a Sobol sequence and chance, which only benchmarks use                     |
| `asking`   | how long one proposal takes                                                |

`landscapes/*.json` are recorded by `tuner record` on real containers.
"""
