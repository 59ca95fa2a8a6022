#!/bin/sh
# Initialise an empty data directory, then serve it on every address.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    secret=$(mktemp)
    printf '%s' "$POSTGRES_PASSWORD" >"$secret"
    initdb --username="$POSTGRES_USER" --pwfile="$secret" --auth=scram-sha-256 --encoding=UTF8 --locale=C.UTF-8
    rm "$secret"
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    PGPASSWORD=$POSTGRES_PASSWORD
    export PGPASSWORD
    pg_ctl --wait start --options="-c listen_addresses='' -k /tmp"
    [ "$POSTGRES_DB" = postgres ] || createdb --host=/tmp --username="$POSTGRES_USER" "$POSTGRES_DB"
    pg_ctl --wait --mode=fast stop
fi
exec postgres -c listen_addresses='*' -k /tmp
