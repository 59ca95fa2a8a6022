"""Looking at something again and again while the load runs."""

import threading
from typing import Self


class Watch:
    """Calls `look` every `every_s` from a thread of its own while its context lasts.

    An `OSError` ends that: the kernel does not have what is looked at, or keeps it from us.
    """

    every_s: float

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Look once. Raises `OSError`."""
        raise NotImplementedError

    def _run(self) -> None:
        try:
            while not self._ended.wait(self.every_s):
                self.look()
        except OSError:
            return
