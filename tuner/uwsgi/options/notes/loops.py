"""Many requests in one worker without threads."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "gevent": Note(
        sentence="Each worker works on this many requests at a time, in greenlets.",
        rules=(
            "`threads` must be 1, or memory is corrupted.",
            "The image needs gevent, or workers start and die for ever.",
            "Without `gevent-monkey-patch` an app that blocks serves one request at a time.",
            "Makes `thunder-lock` useless and `harakiri` unreliable, and `socket-timeout` 30.",
        ),
    ),
    "gevent-monkey-patch": Note(
        sentence="Makes the standard library give way to other greenlets where it waits."
    ),
    "gevent-early-monkey-patch": Note(
        sentence="The same, before the app is imported.",
    ),
    "gevent-wait-for-hub": Note(sentence="A worker stops only once all greenlets have."),
    "asyncio": Note(
        sentence="Each worker works on this many requests at a time, on asyncio.",
        rules=("No build has it by default; a WSGI app gains nothing by it.",),
        advice=Advice.NEVER,
    ),
    "tornado": Note(
        sentence="Each worker works on this many requests at a time, on Tornado.",
        advice=Advice.NEVER,
    ),
    "async": Note(
        sentence="How many requests a worker may have open, for a loop that some option starts.",
        default="1",
        rules=("Alone it does harm: without a loop, requests disturb each other.",),
        advice=Advice.NEVER,
    ),
    "ugreen": Note(
        sentence="Green threads of uWSGI's own.",
        rules=("Only for apps written for them.",),
        advice=Advice.NEVER,
    ),
    "loop": Note(
        sentence="The name of the loop that takes requests.",
        rules=("With an unknown name workers start and die for ever.",),
        advice=Advice.NEVER,
    ),
}
