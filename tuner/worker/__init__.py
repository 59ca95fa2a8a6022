"""One per benchmark host: takes `advance` and `measure` off the queue and runs them, one at a time.

Measurements that run together disturb each other. So a host has one worker (an advisory lock in
the database sees to that), the worker does one thing at a time, and a file lock keeps workers of
other databases on the same machine from measuring meanwhile.

working   the tasks of one host, and the process that runs them
├── making    a measurement that was claimed, made
└── alone     one measurement at a time on a machine
"""

from tuner.worker.alone import alone_on_this_machine
from tuner.worker.making import make, prepared
from tuner.worker.working import FAULTS_ALLOWED, Worker, run

__all__ = ["FAULTS_ALLOWED", "Worker", "alone_on_this_machine", "make", "prepared", "run"]
