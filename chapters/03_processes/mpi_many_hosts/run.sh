#!/usr/bin/env bash
# Runs the program on one host and on three, which hosts.sh makes within this one, and compares.
#
# Usage: run.sh BIN [OPTION ...]
#
# BIN is the folder of the executables; the options are those of mpi_many_hosts, which --help lists.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1-} != --on-node1 ]]; then
  program=$(cd "${1?usage: run.sh BIN [OPTION ...]}" && pwd)/mpi_many_hosts
  shift
  slots=2
  for ((i = 1; i <= $#; ++i)); do
    case "${!i}" in
      --help) exec "$program" --help ;;
      --ranks-per-host) next=$((i + 1)) slots=${!next-} ;;
      --ranks-per-host=*) slots=${!i#*=} ;;
    esac
  done
  "$program" --check-options "$@"  # ends this script if they are wrong
  exec "$here/hosts.sh" --slots "$slots" "$here/run.sh" --on-node1 $((3 * slots)) "$program" "$@"
fi

ranks=$2
shift 2
# Open MPI 4.1 may warn that it could not put ssh into a process group, when ssh has done so before it. It does no harm.
start() {
  { mpirun --quiet --timeout 100 -n "$ranks" "$@" 2>&1 >&3 | sed -u '/plm:rsh: Warning: setpgid/d' >&2; } 3>&1
}
result=/run/hosts/one_host
start --host node1:"$ranks" "$@" --save "$result"
start --hostfile /run/hosts/hostfile "$@" --compare "$result"
