// Robust barrier
//
// Three processes, A, B and C, meet at a barrier, and B dies: while it holds the barrier's lock, on its way to the
// barrier, or while it waits there. With an ordinary barrier the two others may wait for ever. This one breaks instead,
// and the program prints what it tells each of them, and after how long.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_barrier/robust_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_barrier
// Run:     robust_barrier [--phases N]

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

/// A process that comes to the barrier.
class Visitor {
 public:
  Visitor(RobustBarrier& barrier, std::chrono::nanoseconds limit)
      : process_(cookbook::start_child([&, limit] {
          const cookbook::Stopwatch watch;
          const bool all_have_come = barrier.wait_for(limit);
          *ms_ = watch.seconds() * 1e3;
          return all_have_come ? 0 : 1;
        })) {}

  void kill() const { check(::kill(process_, SIGKILL), "kill"); }

  /// Waits for its end. Returns what has become of it.
  std::string fate() const {
    const int code = cookbook::exit_code_of(process_);
    if (code == -SIGKILL) return "killed";
    return code == 0 ? "passes" : fmt::format("broken after {:.1f} ms", *ms_);
  }

 private:
  const Shared<double> ms_{0.0};
  pid_t process_;
};

struct Fates {
  std::string a, b, c;
};

int print_row(const char* what, const Fates& fates) {
  cookbook::println("{:<26}{:<23}{:<10}{}", what, fates.a, fates.b, fates.c);
  return (fates.a == "passes") + (fates.b == "passes") + (fates.c == "passes");
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
  int phases = 100;
  cookbook::Options options("Meet at a barrier though a process may die");
  options.add("phases", phases, "how often three processes meet when nobody dies", 1, 10'000);
  options.parse(argc, argv);

  cookbook::println("                          A, which waits         B         C, which comes last");
  std::vector<int> passed;  // how many of the three, in each row

  const Shared<RobustBarrier> good(3);
  {
    const Visitor a(*good, an_hour), b(*good, an_hour), c(*good, an_hour);
    passed.push_back(print_row("nobody dies", {a.fate(), b.fate(), c.fate()}));
  }

  const Shared<RobustBarrier> locked(3);
  passed.push_back(print_row("B dies with the lock", fates_when_b(*locked, an_hour, [&] {
                               locked->lock();
                               raise(SIGKILL);
                             })));

  const Shared<RobustBarrier> missed(3);
  passed.push_back(print_row("B dies on its way", fates_when_b(*missed, a_moment, [] { raise(SIGKILL); })));

  const Shared<RobustBarrier> left(3);
  {
    const Visitor a(*left, an_hour), b(*left, an_hour);
    wait_until_waiting(*left, 2);
    b.kill();
    const std::string fate_of_b = b.fate();
    const Visitor c(*left, an_hour);
    passed.push_back(print_row("B dies while it waits", {a.fate(), fate_of_b, c.fate()}));
  }
  passed.push_back(print_row("  and in the next phase", fates_when_b(*left, a_moment, [] { raise(SIGKILL); })));

  const auto meet = [&] {
    for (int i = 0; i < phases; ++i) {
      if (!good->wait_for(an_hour)) return 1;
    }
    return 0;
  };
  std::vector<pid_t> three;
  for (int i = 0; i < 3; ++i) three.push_back(cookbook::start_child(meet));
  int failed = 0;
  for (const pid_t child : three) failed += cookbook::exit_code_of(child) != 0;

  cookbook::Checks checks;
  checks.equal("how many passed, by row", passed, {3, 0, 0, 2, 0});
  checks.equal(fmt::format("processes that failed in {} phases without a death", phases), failed, 0);
  return checks.exit_code();
}
