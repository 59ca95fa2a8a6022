"""What was measured and searched as SVG: text that a browser shows without anything else.

Each chart is a whole file: no script, no font or picture from elsewhere, light and dark by the
reader's own setting, with a title and a description for readers who cannot see it. Charts take the
model's nouns; gains in them are log ratios, and are drawn in percent. `stacked` puts several charts
below each other into one file. `embedded` makes one a part of a page, which has `style()` once.

    plots        windows over time, latency percentiles
    searching    trials over time, parallel coordinates
    explaining   slices with their bands, importances
    deciding     race, effects, confirmation, Pareto front
    comparing    figures of several arms, over the connections of a ladder or side by side
    spark        the answers of an app over time, small
    elapsing     figures of several arms, over the seconds of a window
    ├── naming       names beside the ends of lines
    ├── gains        log ratios → shares, and their axis
    └── values       the values of a parameter, and their axis
        └── frame        axes, ticks, legend, the file around them
            └── svg          elements, escaping
                └── paint        colours
"""

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
