"""Whether a container is killed before uWSGI's own time limits end."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.uwsgi.ini import IniFile

_TIMES = ("harakiri", "worker-reload-mercy")
_HOOKS = ("hook-master-start", "hook-asap", "hook-as-root")
_ON_TERM = ("unix_signal:15 ", "unix_signal:TERM")


@dataclass(frozen=True, slots=True)
class Stop:
    """How long a container may take to stop, and how much of it passes before SIGTERM."""

    option: str  # such as terminationGracePeriodSeconds
    grace_s: float
    before_s: float = 0  # such as a `sleep` in preStop

    @property
    def left_s(self) -> float:
        """Seconds between SIGTERM and SIGKILL."""
        return max(self.grace_s - self.before_s, 0)

    def __str__(self) -> str:
        before = f", of which preStop takes {self.before_s:g} s" if self.before_s else ""
        return f"{self.option} {self.grace_s:g} s{before}"


def killed_early(ini: IniFile, stop: Stop) -> Iterator[str]:
    """A sentence for each time limit of the file that is longer than what the stop leaves."""
    hooked = any(value.startswith(_ON_TERM) for hook in _HOOKS for value in ini.values(hook))
    at_once = ini.flag("die-on-term") and not hooked
    for option in _TIMES:
        seconds = ini.integer(option, 0)
        if seconds > stop.left_s:
            needed = math.ceil(seconds + stop.before_s)
            why = (
                "die-on-term ends the requests at once in any case, see `tuner lint`"
                if at_once
                else f"set {stop.option} above {needed}, or lower {option}"
            )
            yield (
                f"the container is killed {stop.left_s:g} s after SIGTERM ({stop}), before"
                f" {option} = {seconds} ends: {why}"
            )
