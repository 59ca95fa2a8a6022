"""One worker for each benchmark host: it runs `advance` and `measure`, one at a time.

Parallel measurements disturb each other. So a host has one worker (an advisory lock in the
database), a worker does one thing at a time, and the engine's lock stops workers of other databases
on the same machine meanwhile.

running         the process of one host
├── working     its tasks
│   ├── making    makes a claimed measurement
│   ├── attempt   one attempt at a measurement, and its end
│   └── patience  how long a measurement waits for an engine that is away
├── scheduling  which apps are tuned again by themselves
└── pruning     what is removed as it is old
"""

from tuner.service.worker.making import Patience, failure_of, make, prepared
from tuner.service.worker.running import Schedules, prune, run
from tuner.service.worker.working import FAULTS_ALLOWED, Worker
