"""One worker for each benchmark host: it runs `advance` and `measure`, one at a time.

Parallel measurements disturb each other. So a host has one worker (an advisory lock in the
database), a worker does one thing at a time, and the engine's lock stops workers of other databases
on the same machine meanwhile.

running         the process of one host; between two measurements: schedules, and what is old
└── working     its tasks
    └── making      makes a claimed measurement: its attempts, and its end
"""

from tuner.service.worker.making import Patience, failure_of, make, prepared
from tuner.service.worker.running import Schedules, prune, run
from tuner.service.worker.working import FAULTS_ALLOWED, Worker
