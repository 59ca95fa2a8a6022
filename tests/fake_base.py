"""The type of the store, for its fakes: mypy holds each of their methods against the real one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuner.store.db import Store as Store
else:
    Store = object
