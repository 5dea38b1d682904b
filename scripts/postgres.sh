#!/usr/bin/env bash
# A private PostgreSQL server, with a PgBouncer in front of it, for tests and benchmarks.
#
#   scripts/postgres.sh run COMMAND...   for as long as the command runs; the exit code is its own
#   scripts/postgres.sh start            one that stays, and its address; again: only its address
#   scripts/postgres.sh stop             ends that one
#
# It lives in a temporary folder (TMPDIR; build/postgres leads to the one that stays) and has Debian's
# settings, fsync included. Nothing is left when it ends. The command finds in its environment, and
# the file build/postgres/environment has for others:
#
#   FF_TEST_POSTGRES       an empty database, through the Unix socket, which trusts everybody
#   FF_TEST_POSTGRES_TCP   the same through TCP, which asks for the password
#   FF_TEST_PGBOUNCER      the same through PgBouncer, which changes sessions at each transaction
#   FF_TEST_POSTGRES_DATA  the server's data
#   FF_TEST_POSTGRES_BIN   its programs; pg_ctl there may be called by root, for restarts
set -euo pipefail
unset "${!PG@}" # a PGHOST or PGOPTIONS of the caller would lead elsewhere

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kept=$root/build/postgres
folder=

give_up() {
    echo "postgres: $1" >&2
    exit 1
}

usage() {
    echo "usage: scripts/postgres.sh run COMMAND... | start | stop" >&2
    exit 2
}

# The server refuses to run as root.
as_server=()
if [[ $(id -u) -eq 0 ]]; then
    account=postgres
    id "$account" > /dev/null 2>&1 || account=nobody
    as_server=(setpriv "--reuid=$account" "--regid=$(id -g "$account")" --clear-groups)
fi

# Sets `programs`: Debian keeps the server's out of PATH.
find_programs() {
    programs=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2> /dev/null \
        | sort -V | tail -n 1)
    if [[ ! -x $programs/pg_ctl ]]; then
        programs=$(dirname "$(readlink -f "$(command -v pg_ctl || true)")")
    fi
    [[ -x $programs/pg_ctl ]] || give_up "PostgreSQL is not installed; see scripts/bootstrap.sh"
    command -v pgbouncer > /dev/null || give_up "pgbouncer is not installed; see scripts/bootstrap.sh"
}

# Sets `folder`. A socket's path has room for 107 bytes, and is part of an address.
make_folder() {
    local parent=${TMPDIR:-/tmp}
    if [[ ! $parent =~ ^/[A-Za-z0-9/._-]{1,60}$ ]] || ! "${as_server[@]}" test -x "$parent"; then
        parent=/tmp
    fi
    folder=$(mktemp -d "${parent%/}/ff-postgres-XXXXXX") || give_up "no folder in $parent"
    if [[ ${#as_server[@]} -gt 0 ]]; then
        chown "$account:" "$folder"
    fi
}

# Below the ports that the kernel gives to outgoing connections: one of those could take the place
# of a server that is being restarted.
free_port() {
    local port
    while true; do
        port=$((20000 + RANDOM % 12000))
        if ! (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then
            echo "$port"
            return
        fi
    done
}

# Runs a program of the server in its folder, as its account.
serve() {
    (cd "$folder" && "${as_server[@]}" env "HOME=$folder" "$@")
}

# What is said when that fails: the last line of the log.
last_words() {
    tail -n 1 "$1" 2> /dev/null || true
}

# The server's programs under one name, with a pg_ctl that knows account, data and log. After a kill
# `pg_ctl start` must wait for the processes of the old server. Where nobody collects dead processes,
# as in many containers, even a dead server seems to be there, and its locks keep a new one from
# starting: once no process works in the data folder they get a number that no process can have.
write_programs() {
    mkdir "$folder/bin"
    ln -s "$programs"/* "$folder/bin"
    rm "$folder/bin/pg_ctl"
    cat > "$folder/bin/pg_ctl" << END
#!/bin/sh
cd '$folder' || exit
in_use() {
    ls -l /proc/[0-9]*/cwd 2> /dev/null | grep -q ' $folder/data\$'
}
case " \$* " in *" start "*)
    tries=50
    while in_use && [ \$((tries -= 1)) -gt 0 ]; do sleep 0.1; done
    if [ -e data/postmaster.pid ] && ! in_use; then
        ${as_server[*]} sed -i '1s/.*/999999999/' data/postmaster.pid .s.PGSQL.*.lock
    fi
esac
exec ${as_server[*]} '$programs/pg_ctl' --silent --pgdata=data --log=server.log "\$@"
END
    chmod 755 "$folder/bin/pg_ctl"
}

start_server() {
    local log=$folder/log
    serve bash -c 'umask 077; echo secret > password'
    serve "$programs/initdb" --pgdata=data --username=ff --pwfile=password --encoding=UTF8 \
        --locale=C --auth-local=trust --auth-host=scram-sha-256 --no-sync --no-instructions \
        > "$log" 2>&1 || give_up "no database could be made: $(last_words "$log")"
    cat >> "$folder/data/postgresql.conf" << END
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = '$folder'
max_connections = 200
END
    write_programs
    "$folder/bin/pg_ctl" start > /dev/null 2>&1 \
        || give_up "the server did not start: $(last_words "$folder/server.log")"
    "$programs/psql" -X -q "postgresql:///postgres?host=$folder&port=$port&user=ff" \
        -c 'CREATE DATABASE ff_test' || give_up "the server made no database"
}

start_pgbouncer() {
    local log=$folder/pgbouncer.log
    serve tee pgbouncer.ini > /dev/null << END
[databases]
* = host=$folder port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pgbouncer_port
unix_socket_dir =
pool_mode = transaction
auth_type = trust
auth_file = $folder/users
max_client_conn = 200
logfile = $log
pidfile = $folder/pgbouncer.pid
END
    serve tee users > /dev/null <<< '"ff" "secret"'
    serve pgbouncer --daemon --quiet pgbouncer.ini > /dev/null 2>&1 \
        || give_up "pgbouncer did not start: $(last_words "$log")"
    local tries=100
    until [[ $("$programs/psql" -X -t -A "$FF_TEST_PGBOUNCER" -c 'SELECT 1' 2> /dev/null) == 1 ]]; do
        ((--tries > 0)) || give_up "pgbouncer does not answer: $(last_words "$log")"
        sleep 0.1
    done
}

start_all() {
    find_programs
    make_folder
    local port pgbouncer_port
    port=$(free_port)
    until pgbouncer_port=$(free_port) && ((pgbouncer_port != port)); do :; done
    export FF_TEST_POSTGRES="postgresql:///ff_test?host=$folder&port=$port&user=ff"
    export FF_TEST_POSTGRES_TCP="postgresql://ff:secret@127.0.0.1:$port/ff_test"
    export FF_TEST_PGBOUNCER="postgresql://ff@127.0.0.1:$pgbouncer_port/ff_test"
    export FF_TEST_POSTGRES_DATA=$folder/data
    export FF_TEST_POSTGRES_BIN=$folder/bin
    start_server
    start_pgbouncer
}

# Ends what runs in `folder` at once, as a test may have left it, and removes the folder.
stop_all() {
    trap '' HUP INT QUIT TERM
    [[ -n $folder ]] || return 0
    local pid
    if pid=$(cat "$folder/pgbouncer.pid" 2> /dev/null); then
        kill -KILL "$pid" 2> /dev/null || true
    fi
    if [[ -e $folder/data/postmaster.pid ]]; then
        "$folder/bin/pg_ctl" stop --mode=immediate > /dev/null 2>&1 || true
    fi
    # Processes of a killed server take a moment to see that it is gone.
    rm -rf "$folder" 2> /dev/null || { sleep 1 && rm -rf "$folder"; }
}

stop_kept() {
    folder=$(readlink -e "$kept" || true)
    stop_all
    rm -f "$kept"
}

end_on_signals() {
    trap stop_all EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 131' QUIT
    trap 'exit 143' TERM
}

# The command runs beside this shell, which so can pass a signal on at once. Ctrl-C reaches it from
# the terminal already.
run_command() {
    local child code passed_on
    env --default-signal=INT,QUIT "$@" <&0 &
    child=$!
    trap 'passed_on=1' INT QUIT
    trap 'passed_on=1; kill -TERM "$child" 2> /dev/null || true' TERM
    trap 'passed_on=1; kill -HUP "$child" 2> /dev/null || true' HUP
    while true; do
        passed_on=
        code=0
        wait "$child" || code=$?
        [[ -n $passed_on ]] || return "$code" # else it was the signal that ended the wait
    done
}

case "${1:-}" in
    run)
        [[ $# -ge 2 ]] || usage
        shift
        end_on_signals
        start_all
        run_command "$@"
        ;;
    start)
        [[ $# -eq 1 ]] || usage
        if ! "$kept/bin/pg_ctl" status > /dev/null 2>&1; then
            stop_kept
            end_on_signals
            start_all
            for name in ${!FF_TEST_P@}; do
                echo "export $name='${!name}'"
            done > "$folder/environment"
            mkdir -p "$(dirname "$kept")"
            ln -s "$folder" "$kept"
            trap - EXIT
        fi
        # shellcheck source=/dev/null
        (. "$kept/environment" && echo "$FF_TEST_POSTGRES")
        ;;
    stop)
        [[ $# -eq 1 ]] || usage
        stop_kept
        ;;
    *) usage ;;
esac
