#include "cookbook/affinity.hpp"

#include <sched.h>

#include "cookbook/posix.hpp"

namespace cookbook {
namespace {

/// What this program was allowed at its start: pin() itself changes what the system says later.
const cpu_set_t& allowed_at_start() {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    check(sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
    return set;
  }();
  return allowed;
}

// Read before main(), since the first call of pin() may come from a thread that is pinned already.
[[maybe_unused]] const cpu_set_t& read_at_start = allowed_at_start();

}  // namespace

int allowed_processors() { return CPU_COUNT(&allowed_at_start()); }

void pin(int which, pid_t thread) {
  const cpu_set_t& allowed = allowed_at_start();
  int left = which % CPU_COUNT(&allowed);
  int processor = 0;
  while (!CPU_ISSET(processor, &allowed) || left-- > 0) ++processor;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  check(sched_setaffinity(thread, sizeof one, &one), "sched_setaffinity");
}

void unpin(pid_t thread) {
  check(sched_setaffinity(thread, sizeof(cpu_set_t), &allowed_at_start()), "sched_setaffinity");
}

}  // namespace cookbook
