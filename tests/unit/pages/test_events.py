"""The script of events knows what the service sends: nobody would see that it does not."""

import re

from tuner.nouns.model import EventKind
from tuner.service.pages.answering import assets

SCRIPT = assets()["events.js"].plain.decode()


def test_the_script_listens_to_every_kind_of_event() -> None:
    listed = re.search(r"KINDS = \[([^\]]*)\]", SCRIPT)
    assert listed is not None
    assert set(re.findall(r'"(\w+)"', listed[1])) == {kind.value for kind in EventKind}


def test_the_script_finds_the_stream_beside_itself_below_any_base_path() -> None:
    assert 'new URL("../v1/events", HERE)' in SCRIPT
    assert "/tuner" not in SCRIPT
