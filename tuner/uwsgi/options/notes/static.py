"""Files that uWSGI sends without the app."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "static-map": Note(
        sentence="Serves the files of a directory under a path, as in `/static=/app/static`.",
        rules=(
            "Without `=`, uWSGI does not start.",
            "A worker is busy while it sends, unless `offload-threads` is set.",
        ),
    ),
    "static-map2": Note(sentence="Like static-map; the path is kept below the directory."),
    "check-static": Note(
        sentence="Looks in this directory before the app is asked, at every request."
    ),
    "static-index": Note(sentence="The file to send where a directory is asked for."),
    "static-skip-ext": Note(sentence="Files that end so are left to the app."),
    "static-safe": Note(sentence="A directory to which links may lead."),
    "static-gzip-all": Note(sentence="Sends the .gz beside a file to clients that take it."),
    "static-gzip": Note(sentence="The same, for paths that match."),
    "static-expires": Note(sentence="Sets Expires on files whose name matches."),
    "static-expires-uri": Note(sentence="Sets Expires on files whose URI matches."),
    "static-expires-type": Note(sentence="Sets Expires on files of a content type."),
    "static-cache-paths": Note(
        sentence="Seconds for which the file behind a path is remembered, in a cache.",
        default="0",
    ),
    "offload-threads": Note(
        sentence="Threads in each worker that send files, so that it can go on.",
        default="0",
        rules=(
            "Helps static-map, X-Sendfile and file_wrapper, and nothing else.",
            "A worker that max-requests replaces cuts off what they are sending.",
        ),
        advice=Advice.TUNE,
    ),
    "file-serve-mode": Note(
        sentence="Lets the proxy send files: `nginx` or `x-sendfile`.",
        rules=("Any other word is ignored in silence.", "The proxy must know of it."),
    ),
    "disable-sendfile": Note(sentence="Reads and writes files instead of sendfile."),
    "honour-range": Note(sentence="Answers requests for a part of a file."),
    "mimefile": Note(sentence="Where the content types of endings are listed."),
    "route": Note(sentence="Acts on requests whose path matches."),
    "route-run": Note(sentence="Acts on every request."),
    "route-host": Note(sentence="Acts on requests whose Host matches."),
    "route-uri": Note(sentence="Acts on requests whose URI matches."),
    "cache2": Note(sentence="A cache in memory that all workers share."),
    "cache": Note(sentence="How many items the shared cache has.", default="0"),
    "check-cache": Note(sentence="Answers from the cache where it can."),
    "websockets-max-size": Note(sentence="The longest websocket message, in KB.", default="1024"),
}
