#!/usr/bin/env bash
# Starts the program on three hosts, two ranks on each. hosts.sh makes these hosts within this one.
#
# Usage: run.sh BIN [OPTION ...]
#
# BIN is the folder of the executables; the options are those of mpi_many_hosts, which --help lists.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1-} != --on-node1 ]]; then
  program=$(cd "${1?usage: run.sh BIN [OPTION ...]}" && pwd)/mpi_many_hosts
  shift
  [[ $# == 0 || $* == --json ]] || exec "$program" "$@"  # --help and wrong options need no hosts
  exec "$here/hosts.sh" "$here/run.sh" --on-node1 "$program" "$@"
fi
shift

# Linux 6.18 was seen to leave the ranks of one host without a core while those of another one wait, in 2 runs of 50. So
# a run of 15 s is given up (mpirun then ends with code 110) and started once more. Open MPI 4.1 may warn that it could
# not put ssh into a process group, since ssh has done so before it; that does no harm.
for limit in 15 60; do
  code=0
  mpirun --quiet --timeout "$limit" --hostfile /run/hosts/hostfile "$@" \
    >/run/hosts/output 2>/run/hosts/errors || code=$?
  [[ $code == 110 ]] || break
done
cat /run/hosts/output
sed '/plm:rsh: Warning: setpgid/d' /run/hosts/errors >&2
exit "$code"
