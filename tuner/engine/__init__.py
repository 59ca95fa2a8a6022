"""Docker: the images, the target, the load generator's container and what the kernel counts.

The only package that imports `docker`. Everything it starts carries the labels of `labels.py`, so
that whatever a crash leaves behind can be found and removed.
"""

from tuner.engine.config import EngineConfig
from tuner.engine.launcher import DockerLauncher

__all__ = ["DockerLauncher", "EngineConfig"]
