"""The load generator: two tools of others, and the probe that runs beside them.

oha sends closed loops, ladders and fixed rates of one kind of request. k6 sends what needs a
script: users who start at one instant, users who go through requests in order with their own
cookies, and mixes of unlike requests. Together they send every load that we need, and their counts
are shown to agree with uWSGI's. A generator of our own would have to show that first.

`probe` runs inside the generator's container, on its Python, without the rest of this package: the
engine copies in the `probe_files`. The probe turns the output of either tool into the same figures.
"""

from tuner.bench.load.generators import Generators
from tuner.bench.load.k6 import K6
from tuner.bench.load.oha import Oha
from tuner.bench.load.probing import DELAY_COMMAND, probe_files
