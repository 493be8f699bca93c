# Builds the archive of `npm run release`, and runs processes of it. To be sourced by walk.sh.

# Their user: it owns nothing but the data.
USER_ID=10001
as_service() { (cd / && exec setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups "$@"); }

build_archive() {
  npm run --silent release -- "$WORK/release" >"$WORK/log/build" 2>&1 || fail 'npm run release' build
  (cd "$WORK/release" && sha256sum --check --strict --quiet SHA256SUMS) || fail 'the checksums of the archive do not hold'
  mkdir "$WORK/perennial"
  tar -xzf "$WORK"/release/*.tar.gz -C "$WORK/perennial" --strip-components=1 --no-same-owner
  BUILT="the archive ($(du -m "$WORK"/release/*.tar.gz | cut -f 1) MB packed)"
}

# run_process NAME SETTINGS DATA VARIABLE=VALUE…: a file of variables, the folder for DATA_DIR
run_process() { run_program "$@" -- "$WORK/perennial/bin/perennial"; }

# run_program NAME SETTINGS DATA VARIABLE=VALUE… -- PROGRAM…
run_program() {
  local name=$1 data=$3 variables
  mapfile -t variables <"$2"
  shift 3
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  (cd / && exec setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups env -i PATH=/usr/bin:/bin DATA_DIR="$data" "${variables[@]}" "$@") \
    >"$WORK/log/$name" 2>&1 &
  PIDS[$name]=$!
}

# Two API processes and two workers. Waits until each is ready.
run_all() { # SETTINGS DATA
  run_api 1 "$@"
  run_api 2 "$@"
  run_worker 1 "$@"
  run_worker 2 "$@"
  are_ready "${API_PORT[@]}" "${METRICS_PORT[@]}"
}
run_api() { run_process "api-$1" "$2" "$3" ROLE=api PORT="${API_PORT[$1]}" METRICS_PORT="${METRICS_PORT[api-$1]}"; }
run_worker() { run_process "worker-$1" "$2" "$3" ROLE=worker METRICS_PORT="${METRICS_PORT[worker-$1]}"; }
are_ready() { # PORT…
  local port
  for port; do wait_for "a process on port $port that is ready" 300 answers "http://127.0.0.1:$port/readyz"; done
}

# Asks processes to stop and waits until they have. Each must end with 0.
stop_process() { # NAME…
  local name code
  for name; do kill -TERM "${PIDS[$name]}"; done
  for name; do
    code=0
    wait "${PIDS[$name]}" || code=$?
    unset "PIDS[$name]"
    [ "$code" = 0 ] || fail "$name has ended with $code" "$name"
  done
}
# As a machine that is gone.
kill_process() { # NAME…
  local name
  for name; do
    kill -9 "${PIDS[$name]}"
    wait "${PIDS[$name]}" 2>/dev/null || true
    unset "PIDS[$name]"
  done
}

# cli SETTINGS DATA ARGUMENT…: a command of the service
cli() {
  local data=$2 variables
  mapfile -t variables <"$1"
  shift 2
  as_service env -i PATH=/usr/bin:/bin DATA_DIR="$data" "${variables[@]}" "$WORK/perennial/bin/perennial" cli "$@"
}

# The last release before this commit, as its own files with its own packages: 0.1.0 had no image and no archive yet.
check_out_former() {
  read -r FORMER_VERSION FORMER_COMMIT < <(node -p "
    const head = '$(git rev-parse HEAD)'
    const { version, commit } = JSON.parse(fs.readFileSync('releases.json', 'utf8')).findLast(one => one.commit !== head)
    version + ' ' + commit")
  git cat-file -e "$FORMER_COMMIT^{commit}" 2>/dev/null || fail "this clone does not have the commit of $FORMER_VERSION: clone it whole"
  mkdir "$WORK/former"
  git archive "$FORMER_COMMIT" | tar -x -C "$WORK/former"
  (cd "$WORK/former" && npm ci --omit=dev --no-audit --no-fund) >"$WORK/log/former" 2>&1 || fail "the packages of $FORMER_VERSION are not installed" former
}
# run_former NAME SETTINGS DATA VARIABLE=VALUE…
run_former() { run_program "$@" CONSOLE=off -- "$WORK/former/node_modules/.bin/node" "$WORK/former/start.mjs"; }
