"""The one way to start a process: with a limit of time, its output as a text, and nothing left running behind it."""
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import re
import select
import signal
import subprocess
import time

import cookbook

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KEPT = 4 << 20  # bytes of output; what a program prints beyond that is read and dropped
# Seconds for a program of a recipe; scripts/mutate has less patience with those into which it has put a mistake.
LIMIT = int(os.environ.get("COOKBOOK_MUTATED", 60))
libc = ctypes.CDLL(None)


@dataclasses.dataclass
class Outcome:
    code: int  # -N if signal N ended it
    text: str
    timed_out: bool = False

    @property
    def lines(self):
        """Those that are not empty."""
        return [line for line in self.text.splitlines() if line.strip()]


def die_with_parent():
    """In a child, before its program starts: it is killed when this process ends, however that happens."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans():
    """What a program leaves running becomes a child of this process, which can end it."""
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)


def descendants():
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            parents[int(entry)] = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found = [os.getpid()]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def end_descendants(spared=()):
    """Kills every process that descends from this one but the `spared`, and waits for them."""
    for _ in range(50):
        left = [one for one in descendants() if one not in spared]
        for one in left:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(one, os.WNOHANG)
        if not left:
            return
        time.sleep(0.02)


def end_group(process):
    """Ends a process and its group: by SIGTERM, so that mpirun can remove the memory that the ranks share, and by
    SIGKILL if the process is still there 2 s later."""
    for sign, patience in ((signal.SIGTERM, 2), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def threads_of(group):
    """Of each thread of a process group its state, and how often it has slept or given way so far."""
    threads = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(process)) == group:
                for thread in os.listdir(f"/proc/{process}/task"):
                    status = pathlib.Path(f"/proc/{process}/task/{thread}/status").read_text()
                    threads[thread] = re.findall(r"^(?:State|\w+_ctxt_switches):\t(\w+)", status, re.M)
        except OSError:
            continue  # it has just ended
    return threads


def run(command, limit=None, environment=None, cwd=None, until_asleep=0, errors=subprocess.STDOUT, end_orphans=False,
        spared=()):
    """Runs a command in a process group of its own; its output is one text with its errors, unless `errors` is None:
    then these go through. The group is ended at the limit (seconds), when it has printed something and all its threads
    have slept, or had ended, for `until_asleep` seconds on end since, and when this process is interrupted. Usually the
    output ends when nobody has it open any more; with `end_orphans` (after adopt_orphans()), when the command has
    ended: whatever it has left running but the `spared` is killed."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd=cwd,
                               start_new_session=True, preexec_fn=die_with_parent,
                               env={**os.environ, **(environment or {})})
    start = since = time.monotonic()
    output, threads, timed_out = bytearray(), {}, False
    pipe, ended = process.stdout.fileno(), os.pidfd_open(process.pid)
    try:
        waiting = [pipe, ended]
        while waiting and not timed_out:
            left = None if limit is None else max(0, start + limit - time.monotonic())
            ready = select.select(waiting, [], [], min(0.1, left or 0.1) if until_asleep else left)[0]
            if pipe in ready:
                data = os.read(pipe, 1 << 16)
                output += data[:max(0, KEPT - len(output))]
                since = time.monotonic()  # on a busy machine a program may wait long before its first line
                if not data:
                    waiting.remove(pipe)
            if ended in ready:
                process.wait()
                waiting.remove(ended)
                if end_orphans:
                    end_descendants(spared)
            now = time.monotonic()
            if until_asleep and not ready:
                before, threads = threads, threads_of(process.pid)
                if threads != before or any(states[0] not in "SZ" for states in threads.values()):
                    since = now
            timed_out = bool(waiting) and (limit is not None and now - start >= limit
                                           or until_asleep > 0 and len(output) > 0 and now - since >= until_asleep)
    finally:
        if process.returncode is None or timed_out:
            end_group(process)
        if end_orphans:
            end_descendants(spared)
        os.close(ended)
        os.set_blocking(pipe, False)
        with contextlib.suppress(BlockingIOError):  # what it printed at the end; others may have the pipe open still
            while timed_out and (data := os.read(pipe, 1 << 16)):
                output += data[:max(0, KEPT - len(output))]
        process.stdout.close()
    # AddressSanitizer does not know the stacks of fibers, and says so when one throws.
    text = re.sub(r"==\d+==WARNING: ASan is ignoring requested __asan_handle_no_return.*?/issues/189\n", "",
                  output.decode(errors="replace"), flags=re.S)
    return Outcome(process.returncode, text, timed_out)


def call(command, environment=None):
    """Runs a command in the foreground, with this process's own input and output; its exit code."""
    with subprocess.Popen(command, env={**os.environ, **(environment or {})}) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # Ctrl-C went to both; the command ends in its own way
            process.wait()
            raise
    return code if code >= 0 else 128 - code  # as a shell has it for a signal


@contextlib.contextmanager
def load():
    """Keeps every core busy, so that threads and processes lose theirs at places where they seldom do otherwise."""
    busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"], preexec_fn=die_with_parent)
            for _ in range(len(os.sched_getaffinity(0)))]
    try:
        yield [process.pid for process in busy]
    finally:
        for process in busy:
            process.kill()
            process.wait()


def skip_if_skipped(outcome):
    """Ends a test whose program has found that this machine lacks what it needs."""
    if outcome.code == cookbook.SKIPPED:
        print(outcome.text)
        raise SystemExit(cookbook.SKIPPED)
    return outcome
