/// Keeping a thread or a process on one processor, so that a measurement is not disturbed by moves.
#pragma once

#include <sys/types.h>

namespace cookbook {

/// How many processors the calling thread may use. A container or `taskset` may allow fewer than the machine has.
int allowed_processors();

/// Keeps a thread on one processor: the `which`-th of those that the calling thread was allowed to use when the program
/// started, counted from 0 and modulo their number. `thread` is a thread's or a process's id; 0 means the calling
/// thread. Threads and processes that it starts from then on stay there as well. Ends the program with exit code 3 if
/// the system refuses.
void pin(int which, pid_t thread = 0);

/// Allows a thread all processors again that pin() chooses from.
void unpin(pid_t thread = 0);

}  // namespace cookbook
