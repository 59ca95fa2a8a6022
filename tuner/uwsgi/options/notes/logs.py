"""What is logged, how, where to."""

from tuner.uwsgi.options.notes.note import Note

NOTES = {
    "disable-logging": Note(
        sentence="No line for each request; errors of the app are still logged.",
        default="false",
        rules=(
            "Saves one write a request, which counts where the log is slow to take it.",
            "`log-4xx`, `log-5xx` and `log-slow` still log what they are about.",
        ),
    ),
    "log-4xx": Note(sentence="Logs requests answered with 4xx, even with disable-logging."),
    "log-5xx": Note(sentence="Logs requests answered with 5xx, even with disable-logging."),
    "log-slow": Note(
        sentence="Logs requests that take more than this many milliseconds.",
        default="0",
        rules=("Needs a number: `true` is 0, which is off.",),
    ),
    "log-big": Note(
        sentence="Logs requests with an answer of more than this many bytes.", default="0"
    ),
    "log-zero": Note(sentence="Logs requests with an empty answer."),
    "log-ioerror": Note(sentence="Logs requests whose client went away."),
    "log-sendfile": Note(sentence="Logs requests answered through sendfile."),
    "log-master": Note(
        sentence="Workers hand their lines to the master, which writes them.",
        rules=(
            "Costs a worker as much as writing itself; pays where the log blocks.",
            "Lines longer than `log-master-bufsize` are cut.",
        ),
    ),
    "log-master-bufsize": Note(
        sentence="The longest line that log-master takes, in bytes.", default="8192"
    ),
    "threaded-logger": Note(sentence="The master writes lines in a thread of its own."),
    "logger": Note(
        sentence="Where lines go: `file:`, `syslog:`, `socket:`, ...; with several, to all.",
    ),
    "req-logger": Note(sentence="Where the lines of requests go, apart from the others."),
    "log-encoder": Note(sentence="How lines are written, for instance as JSON."),
    "log-req-encoder": Note(sentence="How the lines of requests are written."),
    "log-format": Note(
        sentence="What the line of a request says; %(uri) and the like are filled in.",
        rules=("A name that is also a key of the file is replaced by that key's value.",),
    ),
    "logformat-strftime": Note(sentence="Lets `log-format` hold strftime's codes."),
    "logto": Note(
        sentence="Writes the log to this file instead of to the container's log.",
        rules=("Grows without end unless `log-maxsize` is set.",),
    ),
    "logto2": Note(sentence="Like logto, once rights are given up."),
    "log-maxsize": Note(sentence="A log file above this many bytes is moved aside.", default="0"),
    "log-backupname": Note(sentence="The name under which it is moved aside."),
    "log-reopen": Note(sentence="Opens the log file anew on reload."),
    "logdate": Note(sentence="Starts each line with the date, or with a strftime format."),
    "log-prefix": Note(sentence="Starts each line with a word."),
    "log-micros": Note(sentence="Times in microseconds instead of milliseconds."),
    "log-x-forwarded-for": Note(sentence="Logs the address that X-Forwarded-For says."),
    "log-route": Note(sentence="Lines that match go to that logger."),
    "log-drain": Note(sentence="Lines that match are not logged."),
    "ignore-sigpipe": Note(sentence="Says nothing of clients that went away."),
    "ignore-write-errors": Note(sentence="Says nothing of answers that nobody took."),
    "disable-write-exception": Note(
        sentence="A client that went away raises no exception in the app."
    ),
    "memory-report": Note(
        sentence="Adds memory to each line, and to the stats.",
        rules=("Reads /proc at every request: four more calls on top of six.",),
    ),
    "daemonize": Note(
        sentence="Goes to the background and logs to this file.",
        rules=("In a container the first process ends, and the container with it.",),
    ),
}
