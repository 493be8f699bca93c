# Builds what is deployed, and runs processes of it. To be sourced by walk.sh. WALK says how: `image`, containers of the Containerfile's image under
# Podman; `archive`, processes of the archive that `npm run release` makes.

# The user of both: it owns nothing but the data.
USER_ID=10001
as_service() { setpriv --reuid=$USER_ID --regid=$USER_ID --clear-groups "$@"; }

containers=(--root "$WORK/containers" --runroot "$WORK/run" --storage-driver overlay)
podman() { command podman "${containers[@]}" --cgroup-manager cgroupfs --runtime runc "$@"; }
buildah() { TMPDIR=$WORK command buildah "${containers[@]}" "$@"; }
# The network is that of the host, because all servers of the walk are on its loopback address.
ON_HOST=(--network host --ulimit nofile=1024:1024 --ulimit nproc=1024:1024)

build_archive() {
  npm run --silent release -- "$WORK/release" >"$WORK/log/build" 2>&1 || fail 'npm run release' build
  (cd "$WORK/release" && sha256sum --check --strict --quiet SHA256SUMS) || fail 'the checksums of the archive do not hold'
  mkdir "$WORK/perennial"
  tar -xzf "$WORK"/release/*.tar.gz -C "$WORK/perennial" --strip-components=1 --no-same-owner
  BUILT="the archive ($(du -m "$WORK"/release/*.tar.gz | cut -f 1) MB packed)"
}

# Both bases come from Debian's packages, and Node and npm from this machine, so that no registry of images is needed. Where there is one, leave the
# arguments out: the Containerfile names its bases.
build_image() {
  need buildah podman runc mmdebstrap || fail 'no buildah, podman, runc and mmdebstrap' apt
  make_base >"$WORK/log/build" 2>&1
  make_builder >>"$WORK/log/build" 2>&1
  local policy=$WORK/policy.json authorities=${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}
  echo '{ "default": [{ "type": "insecureAcceptAnything" }] }' >"$policy"
  buildah build --isolation chroot --format docker --pull-never --signature-policy "$policy" --secret "id=ca,src=$authorities" \
    --build-arg BASE=localhost/base --build-arg BUILDER=localhost/builder --build-arg VERSION="$VERSION" \
    --target perennial -t localhost/perennial -f Containerfile . >>"$WORK/log/build" 2>&1 || fail 'the Containerfile' build
  BUILT="the image perennial ($(podman image inspect --format '{{.Size}}' localhost/perennial | awk '{ printf "%d", $1 / 1e6 }') MB with its base)"
}
make_base() {
  local container
  mmdebstrap --variant=minbase --include=libstdc++6,ca-certificates bookworm "$WORK/base.tar" /etc/apt/sources.list.d/debian.sources
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$WORK/base.tar" /
  buildah commit --quiet --format docker "$container" localhost/base
  buildah rm "$container"
}
make_builder() {
  local container npm
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  printf '#!/bin/sh\nexec node /usr/local/lib/npm/bin/npm-cli.js "$@"\n' >"$WORK/npm"
  container=$(buildah from localhost/base)
  cp "$(node -p process.execPath)" "$WORK/node"
  buildah copy --quiet --chmod 755 "$container" "$WORK/node" /usr/local/bin/node
  buildah copy --quiet "$container" "$npm" /usr/local/lib/npm
  buildah copy --quiet --chmod 755 "$container" "$WORK/npm" /usr/local/bin/npm
  buildah commit --quiet --format docker "$container" localhost/builder
  buildah rm "$container"
}

# run_process NAME SERVICE SETTINGS DATA VARIABLE=VALUE…: SERVICE of deploy/compose.yaml, a file of variables, the folder for DATA_DIR
run_process() {
  local name=$1 service=$2 settings=$3 data=$4 options
  shift 4
  if [ "$WALK" = image ]; then
    mapfile -t options < <(node "$HERE/compose-options.ts" "$service")
    [ ${#options[@]} -gt 0 ] || fail "no service $service in deploy/compose.yaml"
    podman run --detach --name "$name" "${options[@]}" "${ON_HOST[@]}" --volume "$data:/data" --env-file "$settings" "${@/#/--env=}" \
      localhost/perennial >/dev/null
  else
    run_program "$name" "$settings" "$data" "$@" -- "$WORK/perennial/bin/perennial"
  fi
}

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
run_api() { run_process "api-$1" "api-$1" "$2" "$3" ROLE=api PORT="${API_PORT[$1]}" METRICS_PORT="${METRICS_PORT[api-$1]}"; }
run_worker() { run_process "worker-$1" worker "$2" "$3" ROLE=worker METRICS_PORT="${METRICS_PORT[worker-$1]}"; }
are_ready() { # PORT…
  local port
  for port; do wait_for "a process on port $port that is ready" 300 answers "http://127.0.0.1:$port/readyz"; done
}

is_container() { [ "$WALK" = image ] && podman container exists "$1"; }
# Asks a process to stop and waits until it has. It must end with 0.
stop_process() {
  local name code
  for name; do if is_container "$name"; then podman kill --signal TERM "$name" >/dev/null; else kill -TERM "${PIDS[$name]}"; fi; done
  for name; do
    code=0
    if is_container "$name"; then
      code=$(podman wait "$name")
      podman logs "$name" >>"$WORK/log/$name" 2>&1
      podman rm "$name" >/dev/null
    else
      wait "${PIDS[$name]}" || code=$?
      unset "PIDS[$name]"
    fi
    [ "$code" = 0 ] || fail "$name has ended with $code" "$name"
  done
}
# As a machine that is gone.
kill_process() {
  local name
  for name; do
    if is_container "$name"; then podman rm --force --time 0 "$name" >/dev/null; else
      kill -9 "${PIDS[$name]}"
      wait "${PIDS[$name]}" 2>/dev/null || true
      unset "PIDS[$name]"
    fi
  done
}

# cli SETTINGS DATA ARGUMENT…: a command of the service
cli() {
  local settings=$1 data=$2 variables
  shift 2
  if [ "$WALK" = image ]; then
    podman run --rm --read-only --cap-drop ALL "${ON_HOST[@]}" --volume "$data:/data" --volume "$WORK/backups:$WORK/backups" --env-file "$settings" localhost/perennial cli "$@"
  else
    mapfile -t variables <"$settings"
    (cd / && as_service env -i PATH=/usr/bin:/bin DATA_DIR="$data" "${variables[@]}" "$WORK/perennial/bin/perennial" cli "$@")
  fi
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
