# Of use to all scenes, which run beside a broker, as the command of broker.sh. What they write goes with its files.
mkdir -p "$BROKER_FOLDER/${scene:=scene}"
cd "$BROKER_FOLDER/$scene" || exit 3

worker() { exec task_queue_worker --broker "$BROKER" "$@"; }
status() { task_queue_status --broker "$BROKER" "$@"; }

# status_with REGEX [OPTION ...]: prints what the programs say once a line has the regex; workers get more time each time
status_with() {
  local regex=$1 text
  shift
  for wait in 100 1000 10000; do
    text=$(status --wait-ms $wait "$@")
    if grep -qE "$regex" <<<"$text"; then break; fi
  done
  echo "$text"
}

# ask WHAT [OPTION ...]: posts a task; prints what became of it, after the word
ask() {
  local what=$1
  shift
  echo "$what: $(task_queue_client --broker "$BROKER" "$@" 2>&1 | grep -v '^posted')"
}

# post [OPTION ...]: posts a task, and waits for no result
post() { task_queue_client --broker "$BROKER" --no-wait "$@" >/dev/null; }

# await FILE REGEX [N]: waits until N lines of the file have it
await() {
  for ((i = 0; i < 1000; ++i)); do
    [[ -f $1 && $(grep -cE -- "$2" "$1") -ge ${3:-1} ]] && return
    sleep 0.03
  done
  echo "in vain: await $*"
  cat "$1"
  exit 9
}
