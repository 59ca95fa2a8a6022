"""bjoern has no command: its documentation says to call `run`."""

import bjoern  # type: ignore[import-not-found]  # only in the image
from app import application

bjoern.run(application, "0.0.0.0", 8000)  # noqa: S104  # in a container without a network
