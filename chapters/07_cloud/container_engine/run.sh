#!/usr/bin/env bash
# Starts an engine, and runs the recipe with it and with the image that the build has made. It need not be read.
#
# Usage: run.sh BIN                   BIN is the folder of the executables
#        run.sh BIN OPTION ...        the program alone, with its options
#
# With podman it starts an engine of its own, and root gives it namespaces of its own for mounts, network and processes:
# what the engine makes outside of its folder disappears with them. Without podman it uses the docker engine that runs.
set -euo pipefail

bin=$(realpath "${1?usage: run.sh BIN [OPTION ...]}")
if [[ $# -gt 1 ]]; then exec "$bin/container_engine" "${@:2}"; fi
skip() { echo "skipped: $*"; exit 77; }
[[ -f $bin/greeting.tar ]] || skip "there is no image; install python3, which packs it"

if command -v podman >/dev/null && [[ $(id -u) -eq 0 && ${COOKBOOK_IN_NAMESPACES-} != yes ]]; then
  isolated=(unshare --mount --net --pid --fork --mount-proc --kill-child)
  "${isolated[@]}" true 2>/dev/null || skip "this system allows no namespaces"
  COOKBOOK_IN_NAMESPACES=yes exec "${isolated[@]}" "$0" "$bin"
fi

folder=$(mktemp -d)
clean_up() { :; }
trap 'clean_up; rm -rf --one-file-system "$folder"' EXIT

if command -v podman >/dev/null; then
  socket=$folder/engine.sock
  # Who is not root has podman's settings and processes of their own: in the folder, and ended with the engine.
  export HOME=$folder TMPDIR=$folder XDG_RUNTIME_DIR=$folder/runtime
  mkdir -m 700 "$XDG_RUNTIME_DIR"
  podman=(podman --root "$folder/images" --runroot "$folder/run" --storage-driver vfs)
  if command -v runc >/dev/null; then podman+=(--runtime runc); fi
  if [[ ${COOKBOOK_IN_NAMESPACES-} == yes ]]; then ip link set lo up; fi
  setsid "${podman[@]}" system service --time 0 "unix://$socket" 2>"$folder/log" &
  engine=$!
  clean_up() {
    "${podman[@]}" rm --all --force >/dev/null 2>&1 || true
    kill -- -"$engine" 2>/dev/null && wait "$engine" || true
    if [[ $(id -u) -ne 0 ]]; then
      "${podman[@]}" unshare rm -rf "$folder/images" || true  # what belongs to other users within the containers
      kill -KILL "$(cat "$XDG_RUNTIME_DIR/libpod/tmp/pause.pid")" 2>/dev/null || true
    fi
  }
  until [[ -S $socket ]]; do
    kill -0 "$engine" 2>/dev/null || skip "podman does not start: $(tail -1 "$folder/log")"
    sleep 0.05
  done
elif socket=${DOCKER_HOST-unix:///var/run/docker.sock} socket=${socket#unix://} && [[ -S $socket ]]; then
  # An image of this name that is there already is the user's: the recipe takes it, and leaves it.
  if ! docker image inspect localhost/greeting:1.0 >/dev/null 2>&1; then
    clean_up() { docker rmi localhost/greeting:1.0 >/dev/null 2>&1 || true; }
  fi
else
  skip "no container engine; install podman and runc, or docker"
fi
code=0
"$bin/container_engine" --socket "$socket" --archive "$bin/greeting.tar" 2>"$folder/error" || code=$?
if [[ $code -eq 3 ]] && grep -E "[Pp]ermi|cgroup|netns|namespace" "$folder/error" >/dev/null; then
  skip "the engine may run no containers here: $(tail -1 "$folder/error")"
fi
cat "$folder/error" >&2
exit "$code"
