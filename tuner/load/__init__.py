"""The load generator: oha's command line and output, and the probe that runs beside it.

`probe.py` runs inside the generator's container, on the Python there, with nothing of ours around:
it is sent as text and imports the standard library only.
"""

from tuner.load.oha import Oha

__all__ = ["Oha"]
