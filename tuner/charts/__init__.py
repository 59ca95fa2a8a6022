"""Windows and latencies as SVG: text that a browser shows without anything else.

Each chart is a whole file: no script, no font or picture from elsewhere, light and dark by the
reader's own setting. `stacked` puts several of them below each other into one file.

    plots    windows over time, latency percentiles
    └── svg      axes, colours, elements
"""

from tuner.charts.plots import Dot, latency_percentiles, windows_over_time
from tuner.charts.svg import stacked

__all__ = ["Dot", "latency_percentiles", "stacked", "windows_over_time"]
