#!/usr/bin/env bash
# A walk through production, by a script that somebody can read who has written none of it. It builds what is deployed, starts it on a Postgres with a
# standby and on Redis with sentinels, sees the first report arrive, kills the databases under load, upgrades an installation of the last release while
# it works, and restores a backup after everything was destroyed. Each step prints one line of what was seen; what should not be ends the script.
#
#   examples/production/walk.sh   # as root, on Debian, in a clone after `npm ci`
#
# Packages of Debian that are missing are installed. Everything else is in one folder, and is ended and removed with it. It listens on 127.0.0.1 alone.
set -Eeuo pipefail
cd "$(dirname "$0")/../.."
ROOT=$PWD HERE=$ROOT/examples/production/walk
# The Node of `npm ci`, where this machine's own is too old.
PATH=$ROOT/node_modules/.bin:$PATH
VERSION=$(node -p 'require("./package.json").version') REVISION=$(git rev-parse --short=8 HEAD)

WORK=$(mktemp -d /var/tmp/perennial-walk-XXXXXX)
declare -A PIDS=()
chmod 711 "$WORK"
mkdir "$WORK/log" "$WORK/backups"

STEP=0 TITLE=preparation
step() { STEP=$((STEP + 1)) TITLE=$1; }
saw() { echo "$STEP. $TITLE: $1"; }
# fail WHY [LOG]: with the last lines of a log
fail() {
  echo "step $STEP ($TITLE) failed: $1" >&3
  [ $# -lt 2 ] || tail -n 20 "$WORK/log/$2" >&3
  exit 1
}
# wait_for WHAT SECONDS COMMAND…
wait_for() {
  local what=$1 end=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what: waited in vain"
    sleep 0.2
  done
}
install_packages() {
  # The package postgresql would start a server of its own.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] || echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
  apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@"
}
# need COMMAND…: each has a package of its name
need() {
  local missing=() name
  for name; do type -P "$name" >/dev/null || missing+=("$name"); done
  [ ${#missing[@]} -eq 0 ] || install_packages "${missing[@]}" >"$WORK/log/apt" 2>&1
}

. "$HERE/servers.sh"
. "$HERE/deployment.sh"
. "$HERE/requests.sh"

leave() {
  local code=$? folder
  set +e
  trap - EXIT ERR
  [ ${#PIDS[@]} -eq 0 ] || kill -9 "${PIDS[@]}" 2>/dev/null
  for folder in "$WORK"/postgres-*; do [ ! -e "$folder/postmaster.pid" ] || as_postgres "$PG/pg_ctl" stop -s -m immediate -D "$folder" >/dev/null 2>&1; done
  [ ${#PIDS[@]} -eq 0 ] || wait "${PIDS[@]}" 2>/dev/null
  rm -rf "$WORK"
  exit "$code"
}
trap leave EXIT
exec 3>&2
trap 'echo "step $STEP ($TITLE) failed in line $LINENO of ${BASH_SOURCE[0]}: $BASH_COMMAND" >&3' ERR
trap 'exit 130' INT
trap 'exit 143' TERM

[ "$(id -u)" = 0 ] || fail 'run it as root: Postgres, the service and the script are three users'
need curl openssl || fail 'no curl and openssl' apt
need_servers

# Sixteen ports that are free, below those that the kernel gives to connections.
PORT=$((20000 + RANDOM % 600 * 16))
are_free() { local n; for n in {0..15}; do is_port_free $(($1 + n)) || return 1; done; }
until are_free "$PORT"; do PORT=$((PORT + 16)); done
read -r PG1 PG2 REDIS1 REDIS2 SENTINEL1 SENTINEL2 SENTINEL3 API1 API2 METRICS1 METRICS2 METRICS3 METRICS4 OLD1 OLD2 RECEIVER \
  <<<"$(seq -s ' ' "$PORT" $((PORT + 15)))"
API_PORT=([1]=$API1 [2]=$API2)
declare -A METRICS_PORT=([api-1]=$METRICS1 [api-2]=$METRICS2 [worker-1]=$METRICS3 [worker-2]=$METRICS4)
SECRET_KEY=sk_$(openssl rand -hex 20)

# One file of variables for all processes of an installation, as systemd and containers take it.
settings() { # FILE DATABASE
  cat >"$1" <<END
DATABASE_URL=postgres://perennial@127.0.0.1:$PG1,127.0.0.1:$PG2/$2?sslmode=disable&target_session_attrs=read-write
APP_SECRET=$(openssl rand -hex 32)
BOOTSTRAP_SECRET_KEY=$SECRET_KEY
REDIS_SENTINELS=127.0.0.1:$SENTINEL1,127.0.0.1:$SENTINEL2,127.0.0.1:$SENTINEL3
REDIS_MASTER_NAME=queues
PUBLIC_URL=http://127.0.0.1:$API1
HOST=127.0.0.1
ALLOW_PRIVATE_NETWORK=true
LOG_LEVEL=warn
END
}
# The folder of export files, which all processes of an installation see.
data_folder() { install -d -m 700 -o "$USER_ID" -g "$USER_ID" "$1"; }

RECEIVED=$WORK/received
touch "$RECEIVED" "$WORK/acknowledged"
node "$HERE/receiver.ts" "$RECEIVER" "$RECEIVED" >"$WORK/log/receiver" 2>&1 &
PIDS[receiver]=$!

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'what is deployed is built'
build_archive
saw "$BUILT of $VERSION ($REVISION)"

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'it is started'
start_primary "$WORK/postgres-1" "$PG1"
start_standby "$WORK/postgres-2" "$PG2" "$PG1"
start_redis "$REDIS1" "$REDIS2" "$SENTINEL1" "$SENTINEL2" "$SENTINEL3"
settings "$WORK/first.env" perennial
data_folder "$WORK/data-1"
run_all "$WORK/first.env" "$WORK/data-1"
saw "2 API and 2 workers of the archive, on Postgres $(sql "$PG1" 'show server_version' | cut -d ' ' -f 1) with a synchronous standby and Redis with a replica and 3 sentinels"

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'the first event and the first report arrive'
API=http://127.0.0.1:$API1 KEY=$SECRET_KEY
connect
api POST events "{ \"events\": [$(event first walk.step ada)] }" >/dev/null
echo first >>"$WORK/acknowledged"
wait_for 'the webhook of the first event' 120 has_received '"event_id":"first"'
# A report is due at a full or half hour. The clock of the sandbox brings one at once.
KEY=test_$SECRET_KEY
api POST events "{ \"events\": [$(event in-report walk.reported ada)] }" >/dev/null
DESTINATION=$(integration reports '[]')
api POST scheduled-reports '{ "report_name": "Daily events", "send_at": "09:00", "included_range_days": 1, "status": "active", "environment": "sandbox",
  "destinations": [{ "type": "target_integration", "id": "'"$DESTINATION"'" }] }' >/dev/null
api POST test-clock/advance '{ "by": "P1D" }' >/dev/null
wait_for 'the webhook of the report' 120 has_received '"path":"/reports"'
REPORT=$(grep '"path":"/reports"' "$RECEIVED" | head -n 1)
FILE=$(curl -sS --fail "$(field .body.file_url <<<"$REPORT")")
[[ $FILE == *walk.reported* ]] || fail "the file of the report lacks the event: $FILE"
KEY=$SECRET_KEY
saw "a webhook for the event; a report of the slot $(field .body.slot <<<"$REPORT") with $(field .body.rows <<<"$REPORT") row, whose file has the event"

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'the Postgres primary is killed'
addresses "$API1" "$API2"
begin_traffic failover
await_events 50
kill_postgres "$WORK/postgres-1"
sql "$PG2" 'select pg_promote()' >/dev/null
await_events 50
# The service needs no new setting: its address names both hosts. A new standby takes the port of the one that is gone.
wait_for 'the port of the former primary' 120 is_port_free "$PG1"
start_standby "$WORK/postgres-3" "$PG1" "$PG2"
await_events 50
saw "the standby was promoted, the same processes went on, and a new standby follows"

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'the Redis master is killed'
[ "$(taken_from "$REDIS1")" -gt 0 ] || fail 'no worker has used Redis'
kill_process "redis-$REDIS1"
wait_for 'a promoted replica' 120 is_master_by "$SENTINEL1" "$REDIS2"
wait_for 'workers that take messages from it' 120 is_taken_from "$REDIS2"
run_redis "$REDIS1"
wait_for 'the former master as a replica' 120 is_replica "$REDIS1"
await_events 50
end_traffic
compare
TOTAL=$events WEBHOOKS=$webhooks REPEATED=$repeated
saw "workers went on with the promoted replica; of both outages: $events events, $webhooks webhooks, $lost lost, $twice twice, $repeated repeated under their ids; the longest request with its repetitions took $longest_ms ms"

# --------------------------------------------------------------------------------------------------------------------------------------------------
# An installation of the last release, on a database of its own on the present primary.
step 'the last release is upgraded while it works'
stop_process api-1 api-2 worker-1 worker-2
check_out_former
sql "$PG2" 'create database upgraded owner perennial'
settings "$WORK/second.env" upgraded
# It knows one address of Postgres, and one of Redis.
sed -e "s|^DATABASE_URL=.*|DATABASE_URL=postgres://perennial@127.0.0.1:$PG2/upgraded?sslmode=disable|" \
  -e "s|^REDIS_SENTINELS=.*|REDIS_URL=redis://127.0.0.1:$REDIS2|" -e '/^REDIS_MASTER_NAME=/d' "$WORK/second.env" >"$WORK/former.env"
data_folder "$WORK/data-2"
run_former old-api-1 "$WORK/former.env" "$WORK/data-2" ROLE=api PORT="$OLD1"
run_former old-api-2 "$WORK/former.env" "$WORK/data-2" ROLE=api PORT="$OLD2"
run_former old-worker-1 "$WORK/former.env" "$WORK/data-2" ROLE=worker
run_former old-worker-2 "$WORK/former.env" "$WORK/data-2" ROLE=worker
are_ready "$OLD1" "$OLD2"
for name in old-worker-1 old-worker-2; do wait_for "$name" 300 grep -q 'worker is ready' "$WORK/log/$name"; done
API=http://127.0.0.1:$OLD1
connect
schema() { sql "$PG2" 'select max(version) from migrations' -d upgraded; }
BEFORE=$(schema)
: >"$WORK/acknowledged"
addresses "$OLD1" "$OLD2"
begin_traffic upgrade
await_events 50
# 1. One new API process: it migrates the database while the old ones work.
run_api 1 "$WORK/second.env" "$WORK/data-2"
are_ready "$API1"
addresses "$OLD1" "$OLD2" "$API1"
await_events 50
# 2. The new workers, then no old ones.
run_worker 1 "$WORK/second.env" "$WORK/data-2"
run_worker 2 "$WORK/second.env" "$WORK/data-2"
are_ready "$METRICS3" "$METRICS4"
stop_process old-worker-1 old-worker-2
# 3. The other API process. The balancer leads to the new ones, and the old ones stop when nobody asks them any more.
run_api 2 "$WORK/second.env" "$WORK/data-2"
are_ready "$API2"
addresses "$API1" "$API2"
await_events 20
stop_process old-api-1 old-api-2
await_events 50
end_traffic
[ "$failed" = 0 ] || fail "$failed requests failed, the last one with: $last_failure"
compare
TOTAL=$((TOTAL + events)) WEBHOOKS=$((WEBHOOKS + webhooks)) REPEATED=$((REPEATED + repeated))
# 4. No job is left that nobody knows.
API=http://127.0.0.1:$API1
wait_for 'readiness' 120 answers "http://127.0.0.1:$METRICS1/readyz"
READYZ=$(curl -sS "http://127.0.0.1:$METRICS1/readyz")
for figure in unknown overdue orphans; do [ "$(field ".$figure" <<<"$READYZ")" = 0 ] || fail "/readyz has $READYZ"; done
saw "from $FORMER_VERSION (${FORMER_COMMIT:0:8}, schema $BEFORE) to $VERSION ($REVISION, schema $(schema)): $events events, 0 failed requests, $webhooks webhooks, $lost lost, $twice twice, $repeated repeated"

# --------------------------------------------------------------------------------------------------------------------------------------------------
step 'backed up, destroyed and restored'
# Twenty people whose runs wait for what they do next: work that is open when the backup is made.
automation walk.wait '{ "id": "go", "type": "wait_for_event", "event": "walk.go", "timeout": "P1D" }, { "id": "tell", "type": "webhook", "integration_id": "'"$HOOK"'" }'
api POST events "{ \"events\": [$(of_twenty wait)] }" >/dev/null
LEDGER_FROM=$(date -u -d '-6 hours' +%FT%TZ)
wait_for 'twenty runs that wait' 120 is_open 20
BEFORE=$(ledger)
HAD=$(count "$RECEIVED")
install -d -m 700 -o "$USER_ID" -g "$USER_ID" "$WORK/backups"
cli "$WORK/second.env" "$WORK/data-2" backup "$WORK/backups/one" >"$WORK/log/backup" 2>&1 || fail 'no backup' backup
cli "$WORK/second.env" "$WORK/data-2" backup verify "$WORK/backups/one" >"$WORK/log/backup" 2>&1 || fail 'the backup is not whole' backup
kill_process api-1 api-2 worker-1 worker-2
sql "$PG2" 'drop database upgraded with (force)'
redis "$REDIS2" flushall >/dev/null
rm -rf "$WORK/data-2"
! answers "$API/healthz" || fail 'something still answers'
# Nothing is left but the backup and APP_SECRET, which is not in it.
sql "$PG2" 'create database upgraded owner perennial'
data_folder "$WORK/data-2"
cli "$WORK/second.env" "$WORK/data-2" restore "$WORK/backups/one" >"$WORK/log/restore" 2>&1 || fail 'no restore' restore
run_all "$WORK/second.env" "$WORK/data-2"
AFTER=$(ledger)
[ "$AFTER" = "$BEFORE" ] || fail "the ledger was $BEFORE, and is $AFTER"
# What was open goes on: the people do it.
api POST events "{ \"events\": [$(of_twenty go)] }" >/dev/null
wait_for 'the ends of the runs that waited' 120 is_open 0
[ "$(grep -c '"path":"/runs".*"event_id":"wait-' "$RECEIVED")" = 20 ] || fail 'the receiver has not got one webhook of each run that waited'
[ "$(count "$RECEIVED")" = $((HAD + 40)) ] || fail "the receiver has $(($(count "$RECEIVED") - HAD)) webhooks since the backup: 20 of events and 20 of runs are due"
saw "the ledger is as it was ($BEFORE: promised/kept/declined/broken/outstanding); the 20 runs that waited went on, and nothing was sent again"

stop_process api-1 api-2 worker-1 worker-2
echo "The walk is done: 7 steps, $TOTAL events, $WEBHOOKS webhooks, 0 lost, 0 twice, $REPEATED repeated under their ids."
