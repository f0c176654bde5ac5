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
# Linux 6.18 was seen to give ranks that wait on one host both cores, and those on the other hosts none, now and then.
# So a run that takes 15 s is given up (mpirun then ends with code 110) and started once more. And Open MPI 4.1 may warn
# that it could not put ssh into a process group, when ssh has done so before it; that does no harm.
start() {
  local code limit
  local -a pass=(${COOKBOOK_ROUNDS+-x COOKBOOK_ROUNDS})  # else only the ranks of this host would know of it
  for limit in 15 600; do
    code=0
    mpirun --quiet --timeout "$limit" "${pass[@]}" -n "$ranks" "$@" >/run/hosts/output 2>/run/hosts/errors || code=$?
    [[ $code == 110 ]] || break
  done
  cat /run/hosts/output
  sed '/plm:rsh: Warning: setpgid/d' /run/hosts/errors >&2
  return "$code"
}
result=/run/hosts/one_host
start --host node1:"$ranks" "$@" --save "$result"
start --hostfile /run/hosts/hostfile "$@" --compare "$result"
