"""What was measured and searched as SVG: text that a browser shows without anything else.

Each chart is a whole file: no script, no font or picture from elsewhere, light and dark by the
reader's own setting, a title and a description for who cannot see it. `stacked` puts several of
them below each other into one file; `embedded` makes one a part of a page, which has `style()`
once for all.

    plots        windows over time, latency percentiles
    searching    trials over time, parallel coordinates
    explaining   slices with their bands, importances
    deciding     race, effects, confirmation, Pareto front
    └── frame        axes, ticks, legend, the file around them
        └── svg          elements, escaping
            └── paint        colours
"""

from tuner.charts.deciding import (
    Glance,
    Row,
    Spot,
    confirmation,
    effects_chart,
    interval_bar,
    pareto,
    race_chart,
)
from tuner.charts.explaining import Bar, Guess, importance_bars, slice_band
from tuner.charts.paint import style
from tuner.charts.plots import Dot, latency_percentiles, windows_over_time
from tuner.charts.searching import Attempt, parallel_coordinates, trials_over_time, varied
from tuner.charts.svg import embedded, escaped, stacked, writable

__all__ = [
    "Attempt",
    "Bar",
    "Dot",
    "Glance",
    "Guess",
    "Row",
    "Spot",
    "confirmation",
    "effects_chart",
    "embedded",
    "escaped",
    "importance_bars",
    "interval_bar",
    "latency_percentiles",
    "parallel_coordinates",
    "pareto",
    "race_chart",
    "slice_band",
    "stacked",
    "style",
    "trials_over_time",
    "varied",
    "windows_over_time",
    "writable",
]
