# The broker is killed and comes back. This scene starts its brokers itself, both with the same files and port.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# A worker is in mid-task, twenty tasks wait behind it.
broker.sh --data "$folder" bash -c '
  source "$TESTS/prelude.sh"
  echo "$BROKER" >url
  worker --concurrency 1 --prefetch 1 >log 2>&1 &
  echo $! >worker
  await log ready
  post --task addTask.nap --args "[2]"
  await log Received
  task_queue_client --broker "$BROKER" --no-wait --times 20 >posted
  kill -KILL "$BROKER_PID"
  await log "trying again" 3
'
code=$?
if ((code != 0)); then exit $code; fi

# While it is gone, two clients give up, and a third posts one more task when it is back.
port=$(sed 's/.*:\([0-9]*\).*/\1/' "$folder/scene/url")
task_queue_client --broker "$(<"$folder/scene/url")" --max-retries 2 --interval-start 0.02 --interval-step 0.03
echo "exit code $?"
task_queue_client --broker "$(<"$folder/scene/url")" --no-retry
echo "exit code $?"
task_queue_client --broker "$(<"$folder/scene/url")" --max-retries 100 --interval-max 1 >"$folder/scene/persistent" 2>&1 &

broker.sh --data "$folder" --port "$port" bash -c '
  source "$TESTS/prelude.sh"
  await persistent SUCCESS
  await log "Task addTask.nap.*succeeded"
  await log "Task addTask.add.*succeeded" 21
  kill "$(<worker)"
  await log "Stopped"
  grep -o "but its connection is lost.*" log
  cat posted persistent | sed -n "s/^posted //p" | sort >wanted
  sed -n "s/^Task \(addTask.add[^ ]*\) succeeded.*/\1/p" log | sort >done
  cmp wanted done && echo "each task was done once"
  echo "the persistent client: $(grep SUCCESS persistent)"
  sed -n "s/.*trying again in \(.*\) s/again \1/p" log
'
