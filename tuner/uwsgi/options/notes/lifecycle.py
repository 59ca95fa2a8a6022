"""Starting, stopping, reloading, watching over workers, and the memory that they take."""

from tuner.uwsgi.options.notes.note import Note

_PER_REQUEST = "Reads /proc at every request: four more calls on top of six."
_MERCY = "Wanted short in a trial, long enough for the slowest request in production."

NOTES = {
    "master": Note(
        sentence="A process that starts the workers anew when they die, and serves the stats.",
        default="false",
        rules=("Without it nobody replaces a dead worker.",),
    ),
    "die-on-term": Note(
        sentence="SIGTERM stops uWSGI instead of reloading it.",
        default="false",
        rules=("Without it `docker stop` waits in vain and then kills.",),
    ),
    "vacuum": Note(sentence="Removes its sockets and pid files when it ends.", default="false"),
    "exit-on-reload": Note(sentence="Ends instead of reloading."),
    "no-orphans": Note(sentence="Workers end when the master is gone."),
    "harakiri": Note(
        sentence="A worker that is busy with a request for this many seconds is killed.",
        default="0",
        rules=(
            "One clock a worker: with threads or gevent any other request sets it back.",
            "Must be above the slowest request that is wanted.",
        ),
    ),
    "harakiri-verbose": Note(sentence="Logs where the killed worker was."),
    "harakiri-graceful-timeout": Note(
        sentence="Seconds between asking such a worker to end and killing it.",
        default="0",
        since="2.0.22",
    ),
    "harakiri-graceful-signal": Note(
        sentence="The signal that asks it, by number.", since="2.0.22"
    ),
    "harakiri-queue-threshold": Note(
        sentence="Kills only while more connections than this wait.", default="0", since="2.0.22"
    ),
    "mule-harakiri": Note(sentence="The same for a mule's tasks.", default="0"),
    "spooler-harakiri": Note(sentence="The same for a spooler's tasks.", default="0"),
    "reload-mercy": Note(
        sentence="Seconds that other processes have to end on reload or stop.", default="0"
    ),
    "worker-reload-mercy": Note(
        sentence="Seconds that a worker has to end on reload or stop.",
        default="60",
        rules=(_MERCY,),
    ),
    "mule-reload-mercy": Note(sentence="Seconds that a mule has to end.", default="60"),
    "reload-on-rss": Note(
        sentence="A worker above this many MB of memory is replaced after its request.",
        default="0",
        rules=(_PER_REQUEST, "Not before `min-worker-lifetime`."),
    ),
    "reload-on-as": Note(
        sentence="A worker above this many MB of address space is replaced after its request.",
        default="0",
        rules=(
            _PER_REQUEST,
            "Each thread takes some 76 MB of address space: with threads it replaces workers"
            " that are well.",
        ),
    ),
    "evil-reload-on-rss": Note(
        sentence="The master kills a worker above this many MB of memory, in mid-request.",
        default="0",
        rules=(_PER_REQUEST,),
    ),
    "evil-reload-on-as": Note(
        sentence="The master kills a worker above this many MB of address space, in mid-request.",
        default="0",
        rules=(_PER_REQUEST,),
    ),
    "limit-as": Note(
        sentence="No process gets more than this many MB of address space.",
        default="0",
        rules=("Each thread takes some 76 MB of it.",),
    ),
    "never-swap": Note(sentence="Locks all memory, so that none is swapped."),
    "ksm": Note(sentence="Lets the kernel merge equal pages, at some CPU.", default="0"),
    "reload-on-exception": Note(sentence="A worker is replaced after any exception."),
    "touch-reload": Note(sentence="Reloads all when this file changes."),
    "touch-workers-reload": Note(sentence="Reloads the workers when this file changes."),
    "touch-chain-reload": Note(
        sentence="Reloads one worker after the other when this file changes.",
        rules=("Needs `lazy-apps`.",),
    ),
    "fs-reload": Note(sentence="Reloads all when this file or directory changes."),
    "stats": Note(
        sentence="Serves counters as JSON on this address.",
        rules=("They hold headers and variables of requests: not for everybody to read.",),
    ),
    "stats-http": Note(sentence="Serves them over HTTP."),
    "stats-minified": Note(sentence="Serves them without blanks."),
    "stats-push": Note(sentence="Sends the counters to others again and again."),
    "enable-metrics": Note(sentence="Keeps counters under names of their own."),
    "carbon": Note(sentence="Sends counters to a carbon server."),
    "auto-procname": Note(sentence="Names processes after what they do."),
    "procname-prefix": Note(sentence="Starts the names of processes with a word."),
    "honour-stdin": Note(sentence="Leaves standard input open, for debuggers."),
    "check-interval": Note(sentence="Seconds between two looks of the master.", default="1"),
    "forkbomb-delay": Note(
        sentence="Seconds to wait when workers die as soon as they start.", default="2"
    ),
    "no-server": Note(sentence="Loads everything and ends, for a check."),
    "refork": Note(sentence="Forks once more when rights are given up."),
}
