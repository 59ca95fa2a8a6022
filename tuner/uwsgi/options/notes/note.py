"""What we add to an option that the C source does not say."""

from dataclasses import dataclass

from tuner.uwsgi.options.option import Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Fields mean what they mean in `Option`; `advice` is None where its default will do."""

    sentence: str = ""
    default: str | None = None
    since: str | None = None
    rules: tuple[str, ...] = ()
    advice: Advice | None = None
