// Coroutine state machine, awaiting itself deeper and deeper
//
// The form of the source: each state awaits the next one, and ends only when that has. So each transition leaves a
// suspended coroutine behind, and memory grows with the path. Then the path is abandoned half-way, as it is when a
// program ends or an operation is cancelled: each frame destroys the one that it awaits, call inside call, and the
// stack overflows.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/coroutine_state_machine/coroutine_state_machine_deep.cpp common/cookbook/*.cpp -lfmt -pthread -o coroutine_state_machine_deep
// Run:     coroutine_state_machine_deep
// Symptom: exit 1, prints "the stack has overflowed"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio.hpp>
#include <optional>
#include <string_view>

#include "cookbook/print.hpp"
#include "cookbook/system_check.hpp"

namespace asio = boost::asio;

namespace {

constexpr long transitions = 500'000;  // even: the last state is State 1
long left = transitions;

asio::awaitable<long> state_2();

/// Returns how many states came after this one, as the states of the source return the path. The last of all only
/// sleeps.
asio::awaitable<long> state_1() {
  if (left == 0) {
    asio::steady_timer for_good(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await for_good.async_wait(asio::use_awaitable);
    co_return 0;
  }
  --left;
  co_return 1 + co_await state_2();
}

asio::awaitable<long> state_2() {
  --left;
  co_return 1 + co_await state_1();
}

long peak_memory() {
  rusage usage = {};
  check(getrusage(RUSAGE_SELF, &usage), "getrusage");
  return usage.ru_maxrss * 1024;
}

/// What the system calls when the stack is full; with a stack of its own. It may call little more than write.
void report_overflow(int) {
  constexpr std::string_view line = "the stack has overflowed\n";
  (void)!write(STDOUT_FILENO, line.data(), line.size());
  _exit(1);
}

void expect_overflow() {
  // The usual size, also where the shell allows more.
  rlimit stack = {};
  check(getrlimit(RLIMIT_STACK, &stack), "getrlimit");
  stack.rlim_cur = std::min<rlim_t>(8 << 20, stack.rlim_max);
  check(setrlimit(RLIMIT_STACK, &stack), "setrlimit");

  static char other_stack[1 << 16];
  const stack_t there = {other_stack, 0, sizeof other_stack};
  check(sigaltstack(&there, nullptr), "sigaltstack");
  struct sigaction action = {};
  action.sa_handler = report_overflow;
  action.sa_flags = SA_ONSTACK;
  check(sigaction(SIGSEGV, &action, nullptr), "sigaction");
}

}  // namespace

int main() {
  expect_overflow();

  std::optional<asio::io_context> loop(1);
  const long before = peak_memory();
  asio::co_spawn(*loop, state_1(), asio::detached);
  loop->poll();
  cookbook::println("{} bytes a transition, kept until the end", (peak_memory() - before) / transitions);
  loop.reset();  // destroys the coroutines
  cookbook::println("this stack is large enough");
}
