"""What a job recommends, and the form in which it goes back to where the options stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tuner.uwsgi.ini import IniFile
from tuner.uwsgi.places import Change, Places


@dataclass(frozen=True, slots=True)
class Recommended:
    """What a job recommends: its changes with a note on each, on top of which header, for what."""

    ini: IniFile
    changes: Sequence[Change]
    notes: Mapping[str, str] = field(default_factory=dict)
    places: Places = field(default_factory=Places)

    @property
    def values(self) -> dict[str, str | None]:
        """The new value by option; None: it comes out."""
        return {change.option: change.value for change in self.changes}

    def applied(self, ini: str) -> str:
        """A file with the changes; without any change it is the same, byte for byte."""
        if not self.changes:
            return ini
        patched = IniFile.parse(ini).patch(self.values, self.notes)
        return patched.annotate(self.ini.header).dump()


@dataclass(frozen=True, slots=True)
class Answer:
    """A text to apply, what to know before, and a sentence for each option without a place."""

    text: str
    remarks: Sequence[str] = ()
    homeless: Sequence[str] = ()
    takes_comments: bool = True  # lines with `#`
