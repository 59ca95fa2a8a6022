"""The data directory of the embedded server: its places, who may enter it, its lock."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tuner.nouns.errors import InvalidInput
from tuner.store.db.binaries import Account


class Home:
    """The data directory.

    A cluster gets its place by a rename alone, so what is found there is complete:

        postgres            the cluster in use
        postgres.upgraded   complete, and not yet in use: an upgrade was cut short
        postgres.17         the cluster before an upgrade
        upgrade-...         what an upgrade works with; never complete
    """

    def __init__(self, data_dir: Path) -> None:
        self.folder = data_dir.resolve()
        self.cluster = self.folder / "postgres"
        self.upgraded = self.folder / "postgres.upgraded"
        self.log = self.folder / "postgres.log"
        self.lock = self.folder / "postgres.lock"

    def kept(self, major: str) -> Path:
        """Where the cluster of an older major stays after an upgrade."""
        return self.folder / f"postgres.{major}"

    def make(self, account: Account) -> None:
        """Create the directory. Raises `InvalidInput` where we or `account` cannot use it."""
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True)
                self.folder.chmod(0o711)  # the server's user has to pass, with any umask of ours
        except OSError as error:
            raise self._unusable(f"cannot be created: {error.strerror}") from error
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise self._unusable("is not writable")
        barred = account.stopped_at(self.cluster)
        if barred is not None:
            raise self._unusable(
                f"is below {barred}. User {account.name!r} may not enter that, and PostgreSQL has "
                f"to run as this user instead of root. Run `chmod o+x {barred}`, choose another "
                "directory, or set TUNER_DATABASE_URL",
            )

    @contextmanager
    def lock_file(self) -> Iterator[int]:
        """An open lock file; closing it frees our share of the lock, not the server's."""
        try:
            lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unusable(f"is not writable: {error.strerror}") from error
        with os.fdopen(lock):
            yield lock

    def finish_upgrade(self) -> bool:
        """Take the new cluster into use if an upgrade has moved the old one away; whether so.

        The caller holds the lock.
        """
        if self.cluster.exists() or not self.upgraded.is_dir():
            return False
        self.upgraded.rename(self.cluster)
        return True

    def _unusable(self, why: str) -> InvalidInput:
        return InvalidInput.at("TUNER_DATA_DIR", f"{self.folder} {why}")


def taken(lock: int) -> bool:
    """Try to take the lock of an open file; whether it is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
