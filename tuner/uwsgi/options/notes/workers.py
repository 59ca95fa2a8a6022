"""Processes, threads, how many and for how long."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "processes": Note(
        sentence="How many workers answer requests; each is a copy of the app.",
        default="1",
        rules=(
            "Must be above 0: with none, uWSGI starts and answers nobody.",
            "Must be above `cheaper`.",
            "Every worker needs its own memory and its own connections.",
        ),
        advice=Advice.TUNE,
    ),
    "threads": Note(
        sentence="How many requests one worker works on at a time.",
        default="1",
        rules=(
            "The app must be thread-safe.",
            "Must be 1 with gevent, asyncio or async, or memory is corrupted.",
            "Above 1, harakiri is unreliable and reload-on-as counts each thread's stack.",
        ),
        advice=Advice.TUNE,
    ),
    "enable-threads": Note(
        sentence="Lets the app start threads of its own.",
        default="true",
        rules=("Since 2.0.27 it is always on and `false` is ignored; before, it was off.",),
    ),
    "thread-stacksize": Note(
        sentence="The stack of each thread, in KB; 0 leaves it to the system, most often 8 MB.",
        default="0",
        rules=("Takes address space, not memory; a value too small is reported and ignored.",),
    ),
    "no-threads-wait": Note(sentence="A worker that stops does not wait for its threads."),
    "cheaper": Note(
        sentence="The least number of workers; others come and go with the load.",
        default="0",
        rules=(
            "Must be below `processes`, or uWSGI does not start.",
            "Adds a worker only every three seconds or more: short loads see few of them.",
        ),
    ),
    "cheaper-initial": Note(
        sentence="How many workers there are at the start, where `cheaper` is set.",
        rules=("Moved to between `cheaper` and `processes`, with a warning.",),
    ),
    "cheaper-algo": Note(
        sentence="How it is decided when a worker comes or goes.",
        default="spare",
        rules=(
            "One of spare, backlog, manual and, with its plugin, busyness; others mean spare.",
            "`backlog` sees nothing on unix sockets.",
        ),
    ),
    "cheaper-step": Note(sentence="How many workers come at once.", default="1"),
    "cheaper-overload": Note(
        sentence="Seconds between two decisions on the number of workers.", default="3"
    ),
    "cheaper-rss-limit-soft": Note(
        sentence="No more workers once they all hold this much memory, in bytes.",
        default="0",
        rules=("Needs `memory-report`, or uWSGI does not start.",),
    ),
    "cheaper-rss-limit-hard": Note(
        sentence="Workers are stopped once they all hold this much memory, in bytes.",
        default="0",
        rules=("Must be above `cheaper-rss-limit-soft`, or uWSGI does not start.",),
    ),
    "cheaper-busyness-max": Note(
        sentence="Percent of time in requests above which workers count as overloaded.",
        default="50",
    ),
    "cheaper-busyness-min": Note(
        sentence="Percent of time in requests below which workers count as idle.", default="25"
    ),
    "cheaper-busyness-multiplier": Note(
        sentence="How many idle rounds it takes until a worker goes.", default="10"
    ),
    "cheaper-busyness-penalty": Note(
        sentence="Rounds more before the next one goes, when one went too early.", default="2"
    ),
    "cheaper-busyness-backlog-alert": Note(
        sentence="More connections than this in the queue bring workers at once.",
        default="33",
        rules=("Blind on unix sockets.",),
    ),
    "cheaper-busyness-backlog-step": Note(
        sentence="How many workers a full queue brings.", default="1"
    ),
    "cheaper-busyness-backlog-nonzero": Note(
        sentence="Seconds with anything in the queue until a worker is added.", default="60"
    ),
    "cheap": Note(sentence="Starts no worker before the first request."),
    "idle": Note(
        sentence="Seconds without a request after which all workers are stopped.", default="0"
    ),
    "max-requests": Note(
        sentence="A worker is replaced after this many requests.",
        default="0",
        rules=(
            "Without `max-requests-delta` all workers are replaced at about the same time.",
            "Not before `min-worker-lifetime`.",
        ),
    ),
    "max-requests-delta": Note(
        sentence="Worker n may answer n times this many requests more than `max-requests`.",
        default="0",
        since="2.0.29",
    ),
    "max-worker-lifetime": Note(
        sentence="A worker is replaced after this many seconds.",
        default="0",
        rules=("Must be above `min-worker-lifetime`, or uWSGI does not start.",),
    ),
    "max-worker-lifetime-delta": Note(
        sentence="Worker n may live n times this many seconds longer.",
        default="0",
        since="2.0.19",
    ),
    "min-worker-lifetime": Note(
        sentence="Seconds that a worker lives at least before any limit replaces it.",
        default="10",
    ),
    "cpu-affinity": Note(
        sentence="Binds each worker to this many CPUs, one worker after the other.",
        default="0",
        rules=(
            "Counts the CPUs of the host from 0 and knows no cpuset and no quota: in a container"
            " several of them end up on the same CPU, or binding fails.",
        ),
        advice=Advice.NEVER,
    ),
    "thunder-lock": Note(
        sentence="Only one worker at a time waits for a connection, so none wakes in vain.",
        default="false",
        rules=(
            "Does nothing with one process, with gevent or with http11-socket.",
            "Costs two futex calls a request.",
        ),
        advice=Advice.TUNE,
    ),
    "lock-engine": Note(
        sentence="The kind of lock that workers share.",
        rules=("`ipcsem` or nothing: any other stops uWSGI.",),
        advice=Advice.NEVER,
    ),
    "locks": Note(sentence="Locks for the app's own use, besides the one that there always is."),
    "limit-nproc": Note(
        sentence="The most processes of this user.",
        default="0",
        rules=("Set too low, uWSGI starts with fewer workers than asked.",),
    ),
    "prio": Note(sentence="The niceness of all processes.", default="0"),
    "mule": Note(sentence="A process beside the workers that runs tasks, or the given file."),
    "mules": Note(sentence="That many mules; they take memory as workers do.", default="0"),
    "farm": Note(sentence="A named group of mules."),
    "spooler": Note(sentence="Runs tasks that the app leaves in this directory."),
    "spooler-processes": Note(sentence="Processes of each spooler.", default="1"),
}
