"""Docker: images, the target, the load generator's container, and the kernel's counters.

Only this package imports `docker`. Everything that it starts carries the labels of `config`, so
that the next worker finds and removes what a crash leaves behind.
"""

from tuner.bench.engine.config import EngineConfig
from tuner.bench.engine.launcher import DockerLauncher
