"""The load generator: two tools that others keep, and the probe that runs beside them.

oha sends what it can: closed loops, ladders and fixed rates over one kind of request. k6 sends what
takes a script: users who start at one instant, go through requests in order with cookies of their
own, or draw from a mix of unlike requests. Nothing is left that a generator of our own would have
to send, and one would have to prove what these two have shown: that their counts are uWSGI's.

`probe` runs inside the generator's container, on the Python there, with nothing of ours around:
`probe_files` is what the engine copies in. It turns what either tool leaves into the same figures.
"""

from tuner.load.generators import Generators
from tuner.load.k6 import K6
from tuner.load.oha import Oha
from tuner.load.probing import probe_files
