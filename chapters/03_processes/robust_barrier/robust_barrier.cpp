// Robust barrier
//
// Three processes, A, B and C, meet at a barrier, and B dies: while it holds the barrier's lock, on its way to the
// barrier, or while it waits there. With an ordinary barrier the two others may wait for ever. The program prints what
// this one tells each of them, and how long after its arrival.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_barrier/robust_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_barrier
// Run:     robust_barrier

#include <algorithm>
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

/// A process that comes to the barrier.
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
  const Shared<double> ms_{0.0};
  pid_t process_;
};

using Fates = std::vector<std::string>;  // of A, B and C

Fates print_row(const char* what, const char* limit, const Fates& fates) {
  cookbook::println("{:<24}{:<8}{:<23}{:<8}{}", what, limit, fates[0], fates[1], fates[2]);
  return fates;
}

/// How many of the fates begin with this word, row by row.
std::vector<long> count(const std::vector<Fates>& rows, const std::string& word) {
  std::vector<long> counts;
  for (const Fates& fates : rows) {
    counts.push_back(
        std::count_if(fates.begin(), fates.end(), [&](const auto& fate) { return fate.starts_with(word); }));
  }
  return counts;
}

void wait_until_waiting(RobustBarrier& barrier, int processes) {
  while (barrier.waiting() < processes) std::this_thread::yield();
}

/// A waits, B dies in this way before it has come, and C comes when A has given up.
template <typename Die>
Fates fates_when_b(RobustBarrier& barrier, std::chrono::nanoseconds limit, Die die) {
  const Visitor a(barrier, limit);
  wait_until_waiting(barrier, 1);
  const int b = cookbook::exit_code_of(cookbook::start_child(die));
  const std::string fate_of_a = a.fate();
  return {fate_of_a, b == -SIGKILL ? "killed" : "lives", Visitor(barrier, limit).fate()};
}

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Meet at a barrier though a process may die");
  options.parse(argc, argv);

  cookbook::println("                        limit   A, which waits         B       C, which comes last");
  std::vector<Fates> rows;

  const Shared<RobustBarrier> good(3);
  {
    const Visitor a(*good, an_hour), b(*good, an_hour), c(*good, an_hour);
    rows.push_back(print_row("nobody dies", "1 h", {a.fate(), b.fate(), c.fate()}));
  }

  const Shared<RobustBarrier> locked(3);
  rows.push_back(print_row("B dies with the lock", "1 h", fates_when_b(*locked, an_hour, [&] {
                             locked->lock();
                             raise(SIGKILL);
                           })));

  const Shared<RobustBarrier> missed(3);
  rows.push_back(print_row("B dies on its way", "50 ms", fates_when_b(*missed, a_moment, [] { raise(SIGKILL); })));

  const Shared<RobustBarrier> left(3);
  {
    const Visitor a(*left, an_hour), b(*left, an_hour);
    wait_until_waiting(*left, 2);
    b.kill();
    const std::string fate_of_b = b.fate();
    const Visitor c(*left, an_hour);
    rows.push_back(print_row("B dies while it waits", "1 h", {a.fate(), fate_of_b, c.fate()}));
  }
  const std::string fate_of_a = Visitor(*left, a_moment).fate();  // the same barrier, to which B comes no more
  rows.push_back(print_row("  the phase after that", "50 ms", {fate_of_a, "dead", Visitor(*left, a_moment).fate()}));

  cookbook::Checks checks;
  checks.equal("how many pass, by row", count(rows, "passes"), {3, 0, 0, 2, 0});
  checks.equal("how many are told that it is broken", count(rows, "broken"), {0, 2, 2, 0, 2});
  return checks.exit_code();
}
