# What the walk asks of an installation, as its clients and its load balancer do. To be sourced by walk.sh.

answers() { curl -sS --fail --max-time 10 "$1" >/dev/null 2>&1; }

# Requests, as in docs/walk-through.md. KEY: of the environment; API: the address.
api() { # METHOD PATH [BODY]
  curl -sS --fail-with-body --max-time 90 -X "$1" "$API/v4/$2" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' ${3:+-d "$3"} ||
    { echo " <- $1 /v4/$2" >&2; return 1; }
}
field() { node -p "JSON.parse(fs.readFileSync(0, 'utf8'))$1"; }
# An active webhook integration. Prints its id.
integration() { # PATH EVENTS
  local id url=http://127.0.0.1:$RECEIVER/$1
  id=$(api POST integrations '{ "title": "Walk", "integration": "webhooks", "target_platform": "iOS" }' | field .id)
  api PUT "integrations/$id/config" '{ "settings": { "url": "'"$url"'", "sandbox_url": "'"$url"'" }, "events": '"$2"' }' >/dev/null
  api POST "integrations/$id/status" '{ "status": 1 }' >/dev/null
  echo "$id"
}
automation() { # EVENT STEPS
  api POST automations '{ "name": "On '"$1"'", "status": "active",
    "data": { "initiators": [{ "uid": "'"$1"'", "type": "event" }], "actions": {}, "steps": ['"$2"'] } }' >/dev/null
}
# What both installations have: every event goes to the receiver, and `walk.step` also starts a run that calls it.
connect() {
  integration events '["*"]' >/dev/null
  HOOK=$(integration runs '[]')
  automation walk.step '{ "id": "tell", "type": "webhook", "integration_id": "'"$HOOK"'" }'
}
event() { # ID NAME PERSON
  echo '{ "event_id": "'"$1"'", "event_name": "'"$2"'", "identity_id": "'"$3"'", "happened_at": "'"$(date -u +%FT%TZ)"'" }'
}
# The event walk.NAME of each of twenty people.
of_twenty() { # NAME
  local n
  for n in {1..20}; do event "$1-$n" "walk.$1" "waiting-$n"; done | paste -sd ,
}
has_received() { grep -q "$1" "$RECEIVED"; }

# Traffic, until `end_traffic`: events at an even pace to the addresses of a file, as a load balancer would spread them.
begin_traffic() { # NAME
  KEY=$SECRET_KEY node "$HERE/traffic.ts" "$1" "$WORK/addresses" "$WORK/acknowledged" >"$WORK/log/traffic" 2>&1 &
  PIDS[traffic]=$!
}
addresses() { # PORT…
  printf 'http://127.0.0.1:%s\n' "$@" >"$WORK/addresses.new"
  mv "$WORK/addresses.new" "$WORK/addresses"
}
count() { wc -l <"$1"; }
# Waits until so many more events are acknowledged.
await_events() {
  local until=$(($(count "$WORK/acknowledged") + $1))
  wait_for "$1 more events" 300 has_acknowledged "$until"
}
has_acknowledged() { [ "$(count "$WORK/acknowledged")" -ge "$1" ]; }
end_traffic() {
  kill -TERM "${PIDS[traffic]}"
  wait "${PIDS[traffic]}" || fail 'the traffic has ended' traffic
  unset 'PIDS[traffic]'
  eval "$(tail -n 1 "$WORK/log/traffic")" # acknowledged, failed, longest_ms, last_failure
}
# Sets events, webhooks, lost, twice, repeated.
compare() {
  local line
  line=$(node "$HERE/compare.ts" "$WORK/acknowledged" "$RECEIVED" 240) || fail "what the receiver has is not what was acknowledged: $line"
  eval "$line"
}

# The ledger since LEDGER_FROM: promised/kept/declined/broken/outstanding of runs and of deliveries.
ledger() {
  api GET "ledger?from=$LEDGER_FROM" | node -e '
    const { data } = JSON.parse(fs.readFileSync(0, "utf8"))
    const line = kind => ["promised", "kept", "declined", "broken", "outstanding"].map(name => data.find(one => one.kind === kind)[name]).join("/")
    console.log(`runs ${line("automation_runs")}, deliveries ${line("deliveries")}`)'
}
# Whether nothing is open but so many runs, and nothing has failed.
is_open() { [[ $(ledger) =~ ^runs\ [0-9]+/[0-9]+/0/0/"$1",\ deliveries\ [0-9]+/[0-9]+/0/0/0$ ]]; }
