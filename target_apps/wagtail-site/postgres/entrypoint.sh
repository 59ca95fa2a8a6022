#!/bin/sh
# Makes a cluster in an empty data folder, then becomes the server. As root it needs the capabilities CHOWN,
# DAC_OVERRIDE, SETGID and SETUID; the server has none of them.
set -eu
export PGDATA=/var/lib/postgresql/data

if [ "$(id -u)" = 0 ]; then
    chown postgres:postgres "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?set it to the password of the user postgres}"
    password=$(mktemp)
    printf '%s\n' "$POSTGRES_PASSWORD" > "$password"
    initdb --encoding=UTF8 --locale=C.UTF-8 --auth-local=peer --auth-host=scram-sha-256 --pwfile="$password"
    rm "$password"
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    # In single-user mode no port is open: `pg_isready` does not see a server that is still without its database.
    if [ "${POSTGRES_DB:-postgres}" != postgres ]; then
        echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single postgres
    fi
fi

server=$1
shift
exec "$server" -c listen_addresses='*' "$@"
