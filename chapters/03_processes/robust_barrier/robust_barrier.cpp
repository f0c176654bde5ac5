// Robust barrier
//
// Three processes meet at a barrier, again and again. Then one of three dies while it holds the barrier's lock, and in
// another round one dies on its way. With an ordinary barrier the two others would wait for ever. This one breaks, and
// they are told: by the robust lock in the first case, and by the time limit in the second.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_barrier/robust_barrier.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_barrier
// Run:     robust_barrier [--phases N]

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "robust_barrier.hpp"
#include "shared_memory.hpp"

namespace {

using Fates = std::vector<std::string>;

/// Starts three processes, which do this, and waits for them. Each returns whether it got past the barrier.
Fates fates_of(const std::vector<std::function<bool()>>& three) {
  std::vector<pid_t> children;
  for (const auto& work : three) children.push_back(cookbook::start_child([&] { return work() ? 0 : 1; }));
  Fates fates;
  for (const pid_t child : children) {
    const int code = cookbook::exit_code_of(child);
    fates.push_back(code == -SIGKILL ? "killed" : code == 0 ? "passed" : code == 1 ? "broken" : "failed");
  }
  return fates;
}

}  // namespace

int main(int argc, char** argv) {
  int phases = 100;
  cookbook::Options options("Meet at a barrier though a process may die");
  options.add("phases", phases, "how often three processes meet", 1, 10'000);
  options.parse(argc, argv);
  constexpr std::chrono::hours long_time(1);
  cookbook::Checks checks;

  const Shared<RobustBarrier> good(3);
  const auto meet = [&] {
    for (int i = 0; i < phases; ++i) {
      if (!good->wait_for(long_time)) return false;
    }
    return true;
  };
  checks.equal("three that meet again and again", fates_of({meet, meet, meet}), Fates{"passed", "passed", "passed"});

  const Shared<RobustBarrier> locked(3);
  const auto wait_long = [&] { return locked->wait_for(long_time); };
  const auto die_with_lock = [&] {
    locked->lock();
    return raise(SIGKILL) == 0;  // does not return
  };
  checks.equal("the second is killed with the lock", fates_of({wait_long, die_with_lock, wait_long}),
               Fates{"broken", "killed", "broken"});

  const Shared<RobustBarrier> missed(3);
  const auto wait_shortly = [&] { return missed->wait_for(std::chrono::milliseconds(50)); };
  const auto die_on_the_way = [] { return raise(SIGKILL) == 0; };
  checks.equal("the second is killed on its way", fates_of({wait_shortly, die_on_the_way, wait_shortly}),
               Fates{"broken", "killed", "broken"});
  return checks.exit_code();
}
