"""The services beside an app: what they used, and which of them limits the app."""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from tuner.nouns.model import ServiceFigures, Window

FULL = 0.9  # share of its CPU limit that leaves a service no room
MOSTLY = 0.5  # share of its periods in which a service was throttled


def services_of(windows: Sequence[Window]) -> dict[str, ServiceFigures]:
    """The figures of each service, by name: medians over the windows.

    Kills are a sum. `written_mb` is the most: it grows from window to window of a block.
    """
    names = sorted({name for window in windows for name in window.services})
    return {
        name: _together([window.services[name] for window in windows if name in window.services])
        for name in names
    }


def _together(seen: Sequence[ServiceFigures]) -> ServiceFigures:
    return ServiceFigures(
        cores=median(each.cores for each in seen),
        cpu=_median(each.cpu for each in seen),
        is_limit_of_bench=seen[-1].is_limit_of_bench,
        throttled=_median(each.throttled for each in seen),
        rtt_ms=_median(each.rtt_ms for each in seen),
        memory_mb=median(each.memory_mb for each in seen),
        written_mb=max((w for each in seen if (w := each.written_mb) is not None), default=None),
        oom_kills=sum(each.oom_kills for each in seen),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def saturated(services: Mapping[str, ServiceFigures]) -> str | None:
    """The name of the service with the least CPU left, if that is none."""
    full = [name for name, each in services.items() if _pressure(each) >= 1]
    return max(full, key=lambda name: _pressure(services[name]), default=None)


def _pressure(used: ServiceFigures) -> float:
    """1 and more at its limit."""
    return max((used.cpu or 0.0) / FULL, (used.throttled or 0.0) / MOSTLY)
