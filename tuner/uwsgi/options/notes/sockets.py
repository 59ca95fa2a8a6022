"""Where connections come in, and how they are taken."""

from tuner.uwsgi.options.notes.note import Note
from tuner.uwsgi.options.option import Advice

NOTES = {
    "socket": Note(
        sentence="Listens for a proxy that speaks the uwsgi protocol, such as nginx.",
        rules=("Browsers and HTTP load balancers cannot speak to it.",),
        advice=Advice.NEVER,
    ),
    "uwsgi-socket": Note(
        sentence="Listens for a proxy that speaks the uwsgi protocol, whatever `protocol` says.",
        advice=Advice.NEVER,
    ),
    "http-socket": Note(
        sentence="Workers speak HTTP themselves, one request a connection.",
        rules=(
            "Closes after every answer without saying so, and takes slow clients' time itself.",
            "Not together with `http`: its router would speak uwsgi to this socket.",
        ),
        advice=Advice.NEVER,
    ),
    "http11-socket": Note(
        sentence="Workers speak HTTP and keep connections open, one worker thread for each.",
        rules=(
            "A worker waits up to `socket-timeout` for the next request of the same client while"
            " others wait: it looks fast in a benchmark and starves clients in production.",
            "Switches thunder-lock off.",
        ),
        advice=Advice.NEVER,
    ),
    "https-socket": Note(
        sentence="Workers speak HTTPS themselves: address, certificate and key with commas.",
        advice=Advice.NEVER,
    ),
    "fastcgi-socket": Note(
        sentence="Listens for a proxy that speaks FastCGI.", advice=Advice.NEVER
    ),
    "scgi-socket": Note(sentence="Listens for a proxy that speaks SCGI.", advice=Advice.NEVER),
    "puwsgi-socket": Note(
        sentence="Like `socket`, on connections that stay open.",
        rules=("Each open connection holds a worker thread.",),
        advice=Advice.NEVER,
    ),
    "protocol": Note(
        sentence="What is spoken on sockets that do not say so by their name.",
        default="uwsgi",
        advice=Advice.NEVER,
    ),
    "shared-socket": Note(sentence="A socket that others take as `=0`, `=1`, ... by their number."),
    "map-socket": Note(sentence="Gives a socket to some workers only, as in `0:1,2`."),
    "listen": Note(
        sentence="How many connections may wait on each socket until a worker is free.",
        default="100",
        rules=(
            "Must not be above net.core.somaxconn of the container, or uWSGI does not start.",
            "Makes bursts wait instead of fail; it adds no capacity.",
        ),
        advice=Advice.TUNE,
    ),
    "reuse-port": Note(
        sentence="Lets another process bind the same port.",
        default="false",
        rules=(
            "Balances nothing: the one socket is bound before the workers start.",
            "Hides that the port is taken.",
        ),
        advice=Advice.NEVER,
    ),
    "no-defer-accept": Note(
        sentence="Takes connections before their first byte has arrived.",
        default="false",
        advice=Advice.NEVER,
    ),
    "socket-timeout": Note(
        sentence="Seconds to wait for a client that neither sends nor reads.",
        default="4",
        rules=("With gevent it is 30.",),
    ),
    "so-keepalive": Note(
        sentence="TCP's own probes on idle connections.",
        default="false",
        rules=("Has nothing to do with HTTP keep-alive.",),
    ),
    "so-send-timeout": Note(
        sentence="Seconds that one write may take.",
        default="0",
        rules=("On the command line it takes no value; in a file it does.",),
    ),
    "tcp-nodelay": Note(
        sentence="Sends small pieces at once.",
        default="false",
        rules=("One more call a request; only streaming apps gain.",),
        advice=Advice.NEVER,
    ),
    "socket-sndbuf": Note(
        sentence="The kernel's send buffer of each connection, in bytes; 0 lets it adapt.",
        default="0",
        advice=Advice.NEVER,
    ),
    "socket-rcvbuf": Note(
        sentence="The kernel's receive buffer of each connection, in bytes; 0 lets it adapt.",
        default="0",
        advice=Advice.NEVER,
    ),
    "tcp-fast-open": Note(
        sentence="How many connections may bring data with their first packet.",
        default="0",
        rules=("Does nothing unless the host's net.ipv4.tcp_fastopen allows servers.",),
        advice=Advice.NEVER,
    ),
    "chmod-socket": Note(
        sentence="The mode of unix sockets, three digits; nothing means 666.",
        rules=("Three digits from 0 to 7, or uWSGI does not start.",),
    ),
    "chown-socket": Note(sentence="Who owns the unix sockets, as `user:group`."),
    "abstract-socket": Note(sentence="Unix sockets get names that are no files."),
    "max-fd": Note(
        sentence="The most open files and connections.",
        default="0",
        rules=(
            "0 takes the limit of the container; the HTTP router sets aside 8 bytes for each,"
            " which is gigabytes where that limit is 2**30.",
            "Raising it needs rights that a container seldom has.",
        ),
    ),
    "buffer-size": Note(
        sentence="The most bytes that a request's headers may have.",
        default="4096",
        rules=(
            "At most 65535; more is cut to that in silence.",
            "Requests above it are dropped: long cookies and URLs need 8192 or more.",
        ),
    ),
    "post-buffering": Note(
        sentence="Bodies above this many bytes go to a file before the app is called.",
        default="0",
        rules=("With threads and harakiri, 2.0.31 may kill workers for no reason.",),
    ),
    "limit-post": Note(sentence="The most bytes of a body; 0 is no limit.", default="0"),
    "max-vars": Note(sentence="The most variables of a request.", default="64"),
    "enable-proxy-protocol": Note(
        sentence="HTTP sockets read the client's address from a PROXY line."
    ),
    "add-header": Note(
        sentence="Adds a header to every answer.",
        rules=("`Connection: Keep-Alive` keeps nothing alive on http-socket.",),
    ),
    "response-headers-limit": Note(sentence="The most bytes of an answer's headers."),
}
