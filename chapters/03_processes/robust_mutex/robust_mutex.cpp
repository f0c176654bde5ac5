// Robust mutex
//
// A process is killed in the middle of a transfer between two accounts, while it holds the lock of both. With an
// ordinary mutex all others would wait for ever. A robust mutex gives the lock to the next process and tells it that
// its owner has died. That process repairs the accounts and goes on. The program prints the accounts before and after
// the repair. Data that cannot be repaired are refused to everybody.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_mutex/robust_mutex.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_mutex
// Run:     robust_mutex [--processes N]

#include <algorithm>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "monitor.hpp"
#include "shared_memory.hpp"

namespace {

struct Accounts {
  int first = 70, second = 30;  // 100 together, except in the middle of a transfer
  int repairs = 0;

  void repair() {
    print("as the next owner finds them");
    second = 100 - first;  // right wherever the owner has died, since the sum is known
    ++repairs;
    print("repaired");
  }

  void print(const std::string& when) const {
    cookbook::println("{:<30}{:7}{:8}{:10}", when, first, second, first + second);
  }
};

void transfer(Monitor<Accounts>& monitor, int amount, bool die_half_way) {
  const Monitor<Accounts>::Access accounts(monitor);
  accounts->first -= amount;
  if (die_half_way) raise(SIGKILL);
  accounts->second += amount;
}

struct CannotRepair : std::exception {};  // not a std::runtime_error: that is what the refused ones get

struct Ruins {
  void repair() { throw CannotRepair(); }
};

// Exit codes other than 3: with 3 start_child() ends a process that throws.
constexpr int admitted = 4, cannot_repair = 5, refused = 6;

/// What becomes of a process that asks for access.
std::string fate(Monitor<Ruins>& monitor, bool die) {
  const int code = cookbook::exit_code_of(cookbook::start_child([&] {
    try {
      const Monitor<Ruins>::Access ruins(monitor);
      if (die) raise(SIGKILL);
      return admitted;
    } catch (const CannotRepair&) {
      return cannot_repair;
    } catch (const std::runtime_error&) {
      return refused;
    }
  }));
  switch (code) {
    case -SIGKILL:
      return "killed";
    case admitted:
      return "admitted";
    case cannot_repair:
      return "cannot repair";
    case refused:
      return "refused";
    default:
      return fmt::format("exit code {}", code);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int processes = 4;
  cookbook::Options options("Survive the death of a process that holds a lock");
  options.add("processes", processes, "processes that use the lock after the death of its owner", 1, 50);
  options.parse(argc, argv);

  cookbook::println("the accounts                    first  second  together");
  const Shared<Monitor<Accounts>> accounts;
  Monitor<Accounts>::Access(*accounts)->print("at first");
  const int killed = cookbook::exit_code_of(cookbook::start_child([&] { transfer(*accounts, 10, true); }));
  cookbook::println("a process is killed half-way through a transfer of 10");
  std::vector<pid_t> others;
  for (int i = 0; i < processes; ++i) others.push_back(cookbook::start_child([&] { transfer(*accounts, 1, false); }));
  const auto succeeded =
      std::count_if(others.begin(), others.end(), [](pid_t child) { return cookbook::exit_code_of(child) == 0; });
  const Monitor<Accounts>::Access result(*accounts);
  result->print(fmt::format("after {} transfers of 1", succeeded));

  cookbook::Checks checks;
  checks.equal("exit code of the process that is killed", killed, -SIGKILL);
  checks.equal("processes that then transfer 1", succeeded, processes);
  checks.equal("repairs", result->repairs, 1);
  checks.equal("both accounts", std::vector{result->first, result->second}, {60 - processes, 40 + processes});

  const Shared<Monitor<Ruins>> ruins;
  std::vector<std::string> fates = {fate(*ruins, true), fate(*ruins, false), fate(*ruins, false)};
  checks.equal("three processes at data that cannot be repaired", fates, {"killed", "cannot repair", "refused"});
  return checks.exit_code();
}
