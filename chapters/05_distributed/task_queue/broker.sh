#!/usr/bin/env bash
# Runs a command with a RabbitMQ broker of its own.
#
# Usage: broker.sh [--data FOLDER] [--port N] COMMAND [ARGUMENT ...]
#
# The command finds the broker's address in $BROKER, its process in $BROKER_PID, its files in $BROKER_FOLDER. The broker
# listens on the loop-back address only, at a port that the system chooses (or at --port); all its files are in a
# temporary folder (or in --data, which is kept, so that a broker can be started again). When the command ends, or this
# script by a signal, the broker is gone and so is the folder. Exit code: the command's; 77 if RabbitMQ is not
# installed, 3 if it does not start.
set -euo pipefail

complain() { echo "broker.sh: $*" >&2; }

data='' port=0
while [[ ${1-} == --* ]]; do
  case "$1" in
    --data) data=$2; shift 2 ;;
    --port) port=$2; shift 2 ;;
    *) complain "unknown option $1; the options are --data, --port"; exit 2 ;;
  esac
done

# Debian's /usr/sbin/rabbitmq-server runs as a user of its own and starts the system's broker; this one does not.
server=/usr/lib/rabbitmq/bin/rabbitmq-server
if [[ ! -x $server ]]; then
  complain "RabbitMQ is not installed: install rabbitmq-server, or name a broker that runs with --broker URL"
  exit 77
fi

scratch='' broker='' command=''
# end SIGNAL PROCESS: sends the signal, and waits until the process is gone; after 10 s it is killed.
end() {
  kill "-$1" "$2" || return 0
  for ((i = 0; i < 200; ++i)); do kill -0 "$2" && sleep 0.05 || break; done
  kill -KILL "$2" || true
  wait "$2" || true
} 2>/dev/null
clean_up() {
  trap '' INT TERM HUP
  if [[ -n $command ]]; then end TERM "$command"; fi
  if [[ -n $broker ]]; then
    # A broker whose files are kept shuts down in order, which takes a second; of another nothing is to be saved. Its
    # helper process sees its end, and ends as well.
    helpers=$(cat /proc/"$broker"/task/*/children 2>/dev/null) || true
    if [[ -n $scratch ]]; then end KILL "$broker"; else end TERM "$broker"; fi
    for helper in $helpers; do end 0 "$helper"; done
  fi
  if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [[ -z $data ]]; then
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/task_queue.XXXXXX")
  data=$scratch
fi
mkdir -p "$data"
data=$(cd "$data" && pwd)
echo '[].' >"$data/plugins"
cat >"$data/rabbitmq.conf" <<END
listeners.tcp.1 = 127.0.0.1:$port
END

# Erlang nodes find one another by name, through a daemon (epmd) that would outlive the broker. This node is to be found
# by nobody: it does not listen for other nodes and starts no such daemon, so its name need not be unique either.
# The broker is killed when this script is, even by SIGKILL. It gets no Ctrl-C of its own: clean_up ends it in order.
name=$(basename "$data" | tr -c '[:alnum:]\n' _)@localhost
HOME=$data \
  RABBITMQ_NODENAME=$name RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE=$data/rabbitmq.conf \
  RABBITMQ_MNESIA_BASE=$data/data RABBITMQ_LOG_BASE=$data/log RABBITMQ_PID_FILE=$data/pid \
  RABBITMQ_ENABLED_PLUGINS_FILE=$data/plugins RUNNING_UNDER_SYSTEMD=true \
  ERL_CRASH_DUMP=$data/crash ERL_EPMD_PORT=1 ERL_FLAGS="-start_epmd false" \
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-sname $name -dist_listen false -erl_epmd_port 1 +B i" \
  setpriv --pdeathsig KILL "$server" >"$data/output" 2>&1 </dev/null &
broker=$!

# The port on which the process `broker` listens, read from the system's list of its sockets.
listening_port() {
  local sockets
  sockets=$(readlink /proc/"$broker"/fd/* 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/\1/p') || true
  awk -v sockets="$sockets" 'BEGIN { split(sockets, list); for (i in list) mine[list[i]] = 1 }
    $4 == "0A" && ($10 in mine) { split($2, address, ":"); print address[2]; exit }' /proc/net/tcp
}
found=''
until [[ -n $found ]]; do
  if ! kill -0 "$broker" 2>/dev/null; then
    complain "RabbitMQ did not start; it says:"
    tail -n 20 "$data/output" >&2
    exit 3
  fi
  sleep 0.1
  found=$(listening_port)
done

export BROKER=amqp://guest:guest@127.0.0.1:$((16#$found))// BROKER_PID=$broker BROKER_FOLDER=$data
(trap - INT; exec "$@") &
command=$!
code=0
wait "$command" || code=$?
command=''
exit "$code"
