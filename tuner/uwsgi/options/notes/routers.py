"""uWSGI's own proxies in front of the workers, of which `http` is the common one."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "http": Note(
        sentence="A proxy process that speaks HTTP and hands requests to the workers.",
        rules=(
            "One process for all clients, unless `http-processes` says more.",
            "Costs about five times the system calls of http-socket, and shields workers from"
            " slow clients.",
            "Not together with `http-socket`, to which it would speak uwsgi.",
        ),
        advice=Advice.NEVER,
    ),
    "https": Note(
        sentence="The HTTP router with TLS: address, certificate and key with commas.",
        advice=Advice.NEVER,
    ),
    "http-processes": Note(
        sentence="How many processes the HTTP router has.",
        default="1",
        rules=("Only with `http`.", "Helps where one router process fills a CPU."),
        advice=Advice.TUNE,
    ),
    "http-to": Note(
        sentence="Where the HTTP router sends requests, instead of to its own workers.",
        advice=Advice.NEVER,
    ),
    "http-keepalive": Note(
        sentence="The HTTP router keeps client connections open.",
        default="0",
        rules=(
            "In a file it needs a number: alone or as `true` it is 0, which is off.",
            "Answers need a Content-Length, or `http-auto-chunked`.",
        ),
    ),
    "http-auto-chunked": Note(
        sentence="Answers of unknown length are sent in chunks, so that connections stay open."
    ),
    "http-auto-gzip": Note(sentence="Answers that ask for it by a header are compressed."),
    "http-timeout": Note(
        sentence="Seconds that the HTTP router waits for a client or a worker.",
        default="60",
        rules=("A request that takes longer is cut off, whatever harakiri says.",),
    ),
    "http-headers-timeout": Note(
        sentence="Seconds that a client may take for its headers; `http-timeout` without it."
    ),
    "http-connect-timeout": Note(
        sentence="Seconds to connect to a worker's socket; `http-timeout` without it."
    ),
    "http-buffer-size": Note(
        sentence="Bytes of the HTTP router's buffer; one memory page without it."
    ),
    "http-events": Note(
        sentence="How many events the HTTP router takes from the kernel at a time.", default="64"
    ),
    "http-raw-body": Note(sentence="Passes bodies on as they come."),
    "http-websockets": Note(sentence="Passes websockets through."),
    "http-chunked-input": Note(sentence="Passes chunked bodies through."),
    "http-stats": Note(sentence="Serves the HTTP router's own counters."),
    "http-var": Note(sentence="Adds a variable to every request."),
    "http-fallback": Note(sentence="Where requests go when no worker takes them."),
    "http-subscription-server": Note(sentence="Other instances announce themselves here."),
    "http-quiet": Note(sentence="Says nothing of failed connections to workers."),
    "fastrouter": Note(sentence="A proxy that speaks uwsgi, for many instances."),
    "rawrouter": Note(sentence="A proxy for plain TCP."),
    "sslrouter": Note(sentence="A proxy that ends TLS."),
}
