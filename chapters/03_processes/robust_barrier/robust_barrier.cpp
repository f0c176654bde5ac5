// Robust barrier
//
// Three processes, A, B and C, meet at a barrier, and B dies: on its way to the barrier, while it holds the barrier's
// lock, or while it waits there. At an ordinary barrier the two others wait on. The program prints what this one tells
// each of them, and how long after its arrival.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_barrier/robust_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_barrier
// Run:     robust_barrier

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "robust_barrier.hpp"
#include "shared_memory.hpp"

namespace {

constexpr std::chrono::hours an_hour(1);
constexpr std::chrono::milliseconds a_moment(50);

constexpr int told_of_break = 4;  // an exit code that start_child() has no other meaning for

/// A process that comes to the barrier, and what it is told there.
class Visitor {
 public:
  Visitor(RobustBarrier& barrier, std::chrono::nanoseconds limit)
      : process_(cookbook::start_child([&, limit] {
          const cookbook::Stopwatch watch;
          const bool all_have_come = barrier.wait_for(limit);
          *ms_ = watch.seconds() * 1e3;
          return all_have_come ? 0 : told_of_break;
        })) {}

  void kill() const { check(::kill(process_, SIGKILL), "kill"); }

  /// Waits for its end. Returns what has become of it.
  std::string fate() const {
    const int code = cookbook::exit_code_of(process_);
    if (code == -SIGKILL) return "killed";
    if (code == told_of_break) return fmt::format("broken after {:.1f} ms", *ms_);
    return code == 0 ? "passes" : fmt::format("exit code {}", code);
  }

 private:
  const Shared<double> ms_{0.0};  // the child writes it, and the parent prints it
  pid_t process_;
};

using Fates = std::vector<std::string>;  // of A, B and C

/// Prints a row. Returns whether A and C were told what is expected.
bool row(const char* what, const char* limit, const Fates& fates, const std::string& expected) {
  cookbook::println("{:<24}{:<8}{:<23}{:<8}{}", what, limit, fates[0], fates[1], fates[2]);
  return fates[0].starts_with(expected) && fates[2].starts_with(expected);
}

/// A and C at a barrier of the system for three, which has no time limit. B dies on its way to it.
Fates fates_at_an_ordinary_barrier() {
  const Shared<pthread_barrier_t> barrier;
  pthread_barrierattr_t how;
  check_error(pthread_barrierattr_init(&how), "pthread_barrierattr_init");
  check_error(pthread_barrierattr_setpshared(&how, PTHREAD_PROCESS_SHARED), "pthread_barrierattr_setpshared");
  check_error(pthread_barrier_init(&*barrier, &how, 3), "pthread_barrier_init");

  const auto visit = [&] { return pthread_barrier_wait(&*barrier) > 0 ? 1 : 0; };
  const pid_t a = cookbook::start_child(visit), b = cookbook::start_child([] { raise(SIGKILL); });
  const pid_t c = cookbook::start_child(visit);
  const auto fate_of = [](pid_t process) -> std::string {
    if (cookbook::exit_code_of(process, 2 * a_moment)) return "passes";
    check(kill(process, SIGKILL), "kill");
    cookbook::exit_code_of(process);
    return "waits after 100 ms";
  };
  return {fate_of(a), cookbook::exit_code_of(b) == -SIGKILL ? "killed" : "lives", fate_of(c)};
}

void wait_until_waiting(RobustBarrier& barrier, int processes) {
  while (barrier.waiting() < processes) std::this_thread::yield();
}

/// A waits, B dies in this way before it has come, and C comes at once, or when A has been told.
template <typename Die>
Fates fates_when_b(RobustBarrier& barrier, std::chrono::nanoseconds limit, bool c_comes_at_once, Die die) {
  const Visitor a(barrier, limit);
  wait_until_waiting(barrier, 1);
  const int b = cookbook::exit_code_of(cookbook::start_child(die));
  Fates fates = {"", b == -SIGKILL ? "killed" : "lives", ""};
  if (!c_comes_at_once) fates[0] = a.fate();
  fates[2] = Visitor(barrier, limit).fate();
  if (c_comes_at_once) fates[0] = a.fate();
  return fates;
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Meet at a barrier though a process may die");
  options.parse(argc, argv);

  cookbook::println("                        limit   A, which comes first   B       C, which comes last");

  const Shared<RobustBarrier> good(3);
  bool right = true;
  {
    const Visitor a(*good, an_hour), b(*good, an_hour), c(*good, an_hour);
    right &= row("nobody dies", "1 h", {a.fate(), b.fate(), c.fate()}, "passes");
  }

  const Shared<RobustBarrier> missed(3);
  const auto die = [] { raise(SIGKILL); };
  right &= row("B dies on its way", "50 ms", fates_when_b(*missed, a_moment, false, die), "broken");
  right &= row("  at pthread_barrier_t", "none", fates_at_an_ordinary_barrier(), "waits");

  for (const bool c_comes_at_once : {false, true}) {
    const Shared<RobustBarrier> locked(3);
    const Fates fates = fates_when_b(*locked, an_hour, c_comes_at_once, [&] {
      locked->lock();
      raise(SIGKILL);
    });
    right &= row(c_comes_at_once ? "  and C comes at once" : "B dies with the lock", "1 h", fates, "broken");
  }

  const Shared<RobustBarrier> left(3);
  {
    const Visitor a(*left, an_hour), b(*left, an_hour);
    wait_until_waiting(*left, 2);
    b.kill();
    const std::string fate_of_b = b.fate();
    const Visitor c(*left, an_hour);
    right &= row("B dies while it waits", "1 h", {a.fate(), fate_of_b, c.fate()}, "passes");
  }
  const std::string fate_of_a = Visitor(*left, a_moment).fate();  // the same barrier, to which B comes no more
  right &= row("  and the next phase", "50 ms", {fate_of_a, "dead", Visitor(*left, a_moment).fate()}, "broken");

  cookbook::Checks checks;
  checks.that("A and C are told what is expected, in each row", right);
  return checks.exit_code();
}
