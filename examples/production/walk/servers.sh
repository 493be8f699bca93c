# Postgres with a standby, and Redis with a replica and three sentinels, of Debian's packages and on this machine. To be sourced by walk.sh. In
# production each is on a machine of its own, with passwords and TLS: docs/high-availability.md.

# The programs of the newest Postgres that is installed.
postgres_bin() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

need_servers() {
  [ -n "$(postgres_bin)" ] || install_packages postgresql >"$WORK/log/apt" 2>&1 || fail 'no postgresql' apt
  need redis-server || fail 'no redis-server' apt
  PG=$(postgres_bin)
}

as_postgres() { (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"); }
sql() { as_postgres "$PG/psql" -XAtq -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$1" -U postgres "${@:3}" -c "$2"; } # PORT STATEMENT [OPTIONS]

postgres_folder() { install -d -m 700 -o postgres -g postgres "$1"; }
# run_postgres FOLDER PORT
run_postgres() {
  install -m 600 -o postgres -g postgres /dev/null "$WORK/log/${1##*/}"
  local settings="-p $2 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=600"
  as_postgres "$PG/pg_ctl" start -s -w -t 120 -D "$1" -l "$WORK/log/${1##*/}" -o "$settings" || fail "Postgres does not start in $1" "${1##*/}"
}

# start_primary FOLDER PORT: with a role that owns its database and nothing else
start_primary() {
  postgres_folder "$1"
  as_postgres "$PG/initdb" -D "$1" --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 >/dev/null
  run_postgres "$1" "$2"
  sql "$2" 'create role perennial login'
  sql "$2" 'create database perennial owner perennial'
}

# start_standby FOLDER PORT PRIMARY: a copy that follows; from then on the primary answers a commit when the standby has it
start_standby() {
  postgres_folder "$1"
  as_postgres "$PG/pg_basebackup" -D "$1" -h 127.0.0.1 -p "$3" -U postgres --write-recovery-conf --wal-method=stream --checkpoint=fast
  run_postgres "$1" "$2"
  sql "$3" "alter system set synchronous_standby_names = '*'"
  sql "$3" 'select pg_reload_conf()' >/dev/null
  wait_for 'a synchronous standby' 180 is_synchronous "$3"
}
is_synchronous() { [ "$(sql "$1" 'select sync_state from pg_stat_replication')" = sync ]; }

# kill_postgres FOLDER: as a machine that is gone; nothing is written or said. Its other processes end by themselves.
kill_postgres() {
  local pid
  pid=$(head -n 1 "$1/postmaster.pid")
  kill -9 "$pid"
}
is_port_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

redis() { redis-cli -h 127.0.0.1 -p "$1" "${@:2}"; } # PORT COMMAND
# run_redis PORT [SETTINGS]
run_redis() {
  mkdir -p "$WORK/redis-$1"
  redis-server --bind 127.0.0.1 --port "$1" --dir "$WORK/redis-$1" --save '' --appendonly yes --maxmemory-policy noeviction \
    "${@:2}" >>"$WORK/log/redis-$1" 2>&1 &
  PIDS[redis-$1]=$!
  wait_for "Redis on port $1" 30 redis "$1" ping
}

# start_redis MASTER REPLICA SENTINEL…: ports
start_redis() {
  local master=$1 replica=$2 port
  shift 2
  run_redis "$master"
  run_redis "$replica" --replicaof 127.0.0.1 "$master"
  for port; do
    printf '%s\n' "port $port" 'bind 127.0.0.1' "dir $WORK" "sentinel monitor queues 127.0.0.1 $master 2" \
      'sentinel down-after-milliseconds queues 2000' 'sentinel failover-timeout queues 10000' >"$WORK/sentinel-$port.conf"
    redis-server "$WORK/sentinel-$port.conf" --sentinel >>"$WORK/log/sentinel-$port" 2>&1 &
    PIDS[sentinel-$port]=$!
  done
  for port; do wait_for "sentinel on port $port" 180 knows_all "$port"; done
}
knows_all() {
  local state
  state=$(redis "$1" sentinel master queues | paste -sd ' ')
  [[ $state == *'num-slaves 1 '* && $state == *'num-other-sentinels 2 '* ]]
}
# The port of the master, as a sentinel says it.
master_by() { redis "$1" sentinel get-master-addr-by-name queues | tail -n 1; }
is_master_by() { [ "$(master_by "$1")" = "$2" ]; }
is_replica() { redis "$1" info replication | grep -q 'role:slave'; }
# How often workers have taken a message from this server. A replica repeats what its master has done under another name.
taken_from() { redis "$1" info commandstats | sed -n 's/^cmdstat_bzpopmin:calls=\([0-9]*\).*/\1/p'; }
is_taken_from() { [ "$(taken_from "$1")" -gt 0 ]; }
