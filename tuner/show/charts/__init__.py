"""What was measured and searched as SVG: text that a browser shows without anything else.

Each chart is a whole file: no script, no font or picture from elsewhere, light and dark by the
reader's own setting, with a title and a description for readers who cannot see it. Charts take the
model's nouns; gains in them are log ratios, and are drawn in percent. `stacked` puts several charts
below each other into one file. `embedded` makes one a part of a page, which has `style()` once.

    plots        windows over time, latency percentiles; the answers of an app, small
    searching    trials over time, parallel coordinates, slices with their bands, importances
    deciding     race, effects, confirmation, Pareto front; log ratios → shares
    capacity     latency over the rate, with the limit
    comparing    figures of several arms: over a ladder, side by side, over seconds
    └── frame        axes, ticks, legend, the file around them
        └── svg          elements, escaping, colours
"""

from tuner.show.charts.capacity import capacity_chart
from tuner.show.charts.comparing import arms_chart, ladder_chart, seconds_chart
from tuner.show.charts.deciding import (
    LARGEST_Z,
    confirmation,
    effects_chart,
    gain_in,
    gain_of,
    interval_bar,
    pareto,
    race_chart,
)
from tuner.show.charts.plots import latency_percentiles, sparkline, windows_over_time
from tuner.show.charts.searching import (
    importance_bars,
    parallel_coordinates,
    slice_band,
    trials_over_time,
    varied,
)
from tuner.show.charts.svg import embedded, stacked, style, writable
