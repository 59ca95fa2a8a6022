#!/bin/sh
# Becomes the server. As root it needs the capabilities CHOWN, DAC_OVERRIDE, SETGID and SETUID; the server has none.
set -eu

if [ "$(id -u)" = 0 ]; then
    chown redis:redis /data
    exec setpriv --reuid=redis --regid=redis --init-groups "$0" "$@"
fi

server=$1
shift
# Only containers of its own network reach it: it has no password.
exec "$server" --bind 0.0.0.0 --protected-mode no --dir /data "$@"
