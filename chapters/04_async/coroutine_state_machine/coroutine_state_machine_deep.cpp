// Pitfall: each state awaits the next one
//
// A state that awaits the next one ends only when all states after it have ended. So each transition leaves a suspended
// coroutine behind, and memory grows with the path. When the path is given up half-way, the first coroutine is
// destroyed, which destroys the one that it awaits, and so on: half a million calls, one inside the other, for which
// the stack is too small. (This happens in a second process, so that the first one can report it.)
//
// Compile: g++ -std=c++20 -O2 chapters/04_async/coroutine_state_machine/coroutine_state_machine_deep.cpp -pthread -o coroutine_state_machine_deep
// Run:     coroutine_state_machine_deep
// Symptom: exit 1, prints "the stack has overflowed"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <cstdio>

namespace asio = boost::asio;

/// Stands for any state: awaits the next one, so many times. The last of all waits for ever.
asio::awaitable<void> state(long transitions_left) {
  if (transitions_left == 0) {
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(asio::use_awaitable);
  } else {
    co_await state(transitions_left - 1);  // wrong: this coroutine waits until all others have ended
  }
}

int main() {
  const pid_t child = fork();
  if (child < 0) return 3;
  if (child == 0) {
    const rlimit usual = {8 << 20, 8 << 20}, no_core = {0, 0};  // a stack of 8 MiB; no file of what was in memory
    setrlimit(RLIMIT_STACK, &usual);
    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler of its own
    {
      asio::io_context loop;
      asio::co_spawn(loop, state(500'000), asio::detached);
      loop.poll();
      rusage usage = {};
      getrusage(RUSAGE_SELF, &usage);
      std::printf("%ld bytes of memory per transition\n", usage.ru_maxrss * 1024 / 500'000);
      std::fflush(stdout);
    }  // the loop destroys the coroutines that have not ended
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool overflow = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
  std::puts(overflow ? "the stack has overflowed" : "the stack was large enough");
  return overflow ? 1 : 0;
}
