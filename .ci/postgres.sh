# Sourced: starts a private PostgreSQL on loopback for the tests of the ledger, exports
# HEXCURSION_TEST_POSTGRES, and removes the server with its data when the calling shell ends.
# PostgreSQL refuses to run as root, so as root it runs as the package's own user `postgres`.

postgres_bin=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -n 1)
if [ -z "$postgres_bin" ] && command -v initdb > /dev/null; then
  postgres_bin=$(dirname "$(command -v initdb)")
fi
if [ -z "$postgres_bin" ]; then
  echo "PostgreSQL is not installed: install it (on Debian: apt-get install postgresql)." >&2
  return 1
fi

postgres_dir=$(mktemp -d "${TMPDIR:-/tmp}/hexcursion-postgres.XXXXXX")
if [ "$(id -u)" -eq 0 ]; then
  chown postgres "$postgres_dir"
  postgres_run() { (cd "$postgres_dir" && runuser -u postgres -- "$@"); }
else
  postgres_run() { (cd "$postgres_dir" && "$@"); }
fi

postgres_stop() {
  postgres_run "$postgres_bin/pg_ctl" -D "$postgres_dir/data" -m immediate -s stop > /dev/null 2>&1 || true
  rm -rf "$postgres_dir"
}
postgres_earlier_trap=$(trap -p EXIT | sed -n "s/^trap -- '\(.*\)' EXIT$/\1/p")
# The earlier trap is expanded now on purpose: it runs after ours, as it was written.
# shellcheck disable=SC2064
trap "postgres_stop; $postgres_earlier_trap" EXIT

postgres_password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
postgres_run sh -c 'umask 077; cat > password' <<< "$postgres_password"
postgres_run "$postgres_bin/initdb" -D "$postgres_dir/data" -U hexcursion -E UTF8 --locale=C.UTF-8 \
  --auth=scram-sha-256 --pwfile="$postgres_dir/password" --no-sync > "$postgres_dir/initdb.log" 2>&1 || {
  cat "$postgres_dir/initdb.log" >&2
  return 1
}

# Another program may take a free port before we do, so try a few. fsync is off because a test's data
# need not outlive the machine; the tests kill clients, never the server.
postgres_port=""
for _ in 1 2 3 4 5; do
  postgres_try=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  if postgres_run "$postgres_bin/pg_ctl" -D "$postgres_dir/data" -l "$postgres_dir/server.log" -s -w -t 60 -o \
    "-c listen_addresses=127.0.0.1 -c port=$postgres_try -c unix_socket_directories='' -c fsync=off -c max_connections=60" \
    start > /dev/null 2>&1; then
    postgres_port=$postgres_try
    break
  fi
done
if [ -z "$postgres_port" ]; then
  echo "PostgreSQL did not start; the end of its log:" >&2
  tail -n 20 "$postgres_dir/server.log" >&2 || true
  return 1
fi

export HEXCURSION_TEST_POSTGRES="postgresql+psycopg://hexcursion:$postgres_password@127.0.0.1:$postgres_port/postgres"
