#!/usr/bin/env bash
# Plays the recipe with a broker of its own, or with one that runs already.
#
# Usage: run.sh BIN [--broker URL] [OPTION ...]
#
# BIN is the folder of the executables; the options are those of task_queue, which --help lists. RabbitMQ takes a few
# seconds to start; broker.sh says what it does.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${1?usage: run.sh BIN [OPTION ...]}/task_queue
shift

broker=new
for option in "$@"; do
  case "$option" in
    --help) exec "$program" --help ;;
    --broker | --broker=*) broker=given ;;
  esac
done
"$program" --check-options "$@"  # ends this script if they are wrong, before seconds are spent on the broker
if [[ $broker == given ]]; then exec "$program" "$@"; fi
exec "$here/broker.sh" sh -c 'exec "$@" --broker "$BROKER"' sh "$program" "$@"
