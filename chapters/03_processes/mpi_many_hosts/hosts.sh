#!/usr/bin/env bash
# Makes three hosts within this one, and runs a command on the first of them.
#
# Usage: hosts.sh [--slots N] COMMAND [ARGUMENT ...]
#
# The hosts are node1, node2 and node3, at 10.0.0.1 to 10.0.0.3. Each has a network namespace of its own (a process in
# it has network cards and addresses of its own), plugged into one bridge (a network switch in software), a host name,
# and an sshd; kernel, cores and file system are this host's. mpirun starts ranks on all of them, N on each (2 unless
# given). When the command ends, or this script in whatever way, nothing of it is left. Exit code: the command's; 77,
# and the reason, where such hosts cannot be made.
set -euo pipefail

complain() { echo "hosts.sh: $*" >&2; }
skip() { complain "skipped: $*"; exit 77; }

slots=2
if [[ ${1-} == --slots ]]; then slots=$2; shift 2; fi

# Outside --------------------------------------------------------------------------------------------------------------

if [[ ${1-} != --inside ]]; then
  PATH=$PATH:/usr/sbin:/sbin
  [[ $(id -u) == 0 ]] || skip "only root may make networks and start sshd"
  for tool in ip:iproute2 sshd:openssh-server ssh:openssh-client mpirun:openmpi-bin unshare:util-linux; do
    command -v "${tool%:*}" >/dev/null || skip "${tool%:*} is not installed: install ${tool#*:}"
  done
  # A system of its own: networks, mounts, processes, the host's name. They all end with its first process.
  own=(unshare --net --mount --ipc --uts --pid --fork --kill-child --mount-proc)
  refusal=$("${own[@]}" true 2>&1) || skip "no namespaces here: $refusal"

  # It ends when this script does, even by SIGKILL: the kernel then kills unshare, and with it the first process. The
  # message of unshare about that is dropped; those of the others go through descriptor 3.
  (trap - INT; exec setpriv --pdeathsig KILL "${own[@]}" "$0" --slots "$slots" --inside "$@") <&0 3>&2 2>/dev/null &
  system=$!
  end() {
    trap '' INT TERM HUP
    kill -KILL $(cat "/proc/$system/task/$system/children") 2>/dev/null || kill -KILL "$system" 2>/dev/null || true
    wait "$system" 2>/dev/null || true
    exit "$1"
  }
  trap 'end 130' INT
  trap 'end 143' TERM HUP
  code=0
  wait "$system" || code=$?
  exit "$code"
fi
shift
exec 2>&3 3>&-

# Inside ---------------------------------------------------------------------------------------------------------------

# Memory in the place of /run and /dev/shm: whatever is written there is seen by nobody else, and ends with this system.
room=/run/hosts
network() {
  mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd "$room" && mkdir "$room/tmp" || return
  if [[ -d /dev/shm ]]; then mount -t tmpfs tmpfs /dev/shm || return; fi
  echo "127.0.0.1 localhost" >"$room/hosts"
  ip link add bridge type bridge && ip link set bridge up || return
  for i in 1 2 3; do
    ip netns add "node$i" && ip link add "node$i" type veth peer name eth0 netns "node$i" || return
    ip link set "node$i" master bridge up || return
    ip -n "node$i" address add "10.0.0.$i/24" dev eth0 && ip -n "node$i" link set eth0 up || return
    ip -n "node$i" link set lo up || return
    echo "10.0.0.$i node$i" >>"$room/hosts"
    echo "node$i slots=$slots" >>"$room/hostfile"
  done
  mount --bind "$room/hosts" /etc/hosts || return
  # sshd refuses a user whose password is locked (!), as root's may be. It does not refuse *, which no password matches.
  (umask 077 && sed 's/^root:!/root:*/' /etc/shadow >"$room/shadow") && mount --bind "$room/shadow" /etc/shadow
}
refusal=$(network 2>&1) || skip "no networks here: $refusal"

# One key lets its owner in on each host; each host has a key of its own, by which ssh knows it. The home directory
# after a login is an empty one, since the shell's start-up files in the real one may do anything.
ssh-keygen -q -t ed25519 -N '' -f "$room/key"
cat >"$room/sshd_config" <<END
AuthenticationMethods publickey
AuthorizedKeysFile $room/key.pub
PermitRootLogin prohibit-password
SetEnv HOME=$room EVENT_NOEPOLL=1
PidFile none
StrictModes no
UsePAM no
END
cat >"$room/ssh_config" <<END
BatchMode yes
ConnectTimeout 5
IdentityFile $room/key
IdentitiesOnly yes
UserKnownHostsFile $room/known_hosts
StrictHostKeyChecking yes
END
on() { nsenter --net="/run/netns/$1" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$@"; }
for i in 1 2 3; do
  ssh-keygen -q -t ed25519 -N '' -f "$room/node$i"
  echo "node$i $(cut -d ' ' -f 1,2 "$room/node$i.pub")" >>"$room/known_hosts"
  on "node$i" /usr/sbin/sshd -D -e -f "$room/sshd_config" -h "$room/node$i" 2>>"$room/log" </dev/null &
done
answers() {
  for ((tries = 0; tries < 100; ++tries)); do
    on node1 ssh -F "$room/ssh_config" "$1" true 2>"$room/refusal.$1" && return
    sleep 0.05
  done
  complain "sshd does not answer on $1: $(cat "$room/refusal.$1" "$room/log")"
  return 3
}
asked=()
for i in 1 2 3; do answers "node$i" & asked+=($!); done
for question in "${asked[@]}"; do wait "$question" || exit 3; done

# What mpirun must know of these hosts. On a cluster most of it is in a file of its administrator's.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_default_hostfile=$room/hostfile       # where the ranks go
export OMPI_MCA_plm_rsh_agent="ssh -F $room/ssh_config"    # how a host is reached
export OMPI_MCA_oob_tcp_if_include=eth0                    # by which network the daemons talk
export OMPI_MCA_btl_tcp_if_include=eth0                    # and by which the ranks
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp        # memory within a host, TCP between two
export OMPI_MCA_hwloc_base_binding_policy=none             # the hosts share their cores: bind no rank to one,
export OMPI_MCA_mpi_yield_when_idle=1                      # and let one that waits give way to others
export OMPI_MCA_orte_tmpdir_base=$room/tmp
export EVENT_NOEPOLL=1  # else mpirun's event library may write warnings of its own, as on the other hosts (sshd_config)
on node1 "$@"
