// Robust mutex
//
// Process A is killed in the middle of a transfer between two accounts, while it holds their lock. Then B and C want to
// make a transfer, one after the other. With an ordinary mutex both wait for ever. A robust mutex goes to B and tells
// it that its owner has died: B repairs the accounts first, and C finds all as usual. If the repair throws an
// exception, C is refused.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/03_processes chapters/03_processes/robust_mutex/robust_mutex.cpp common/cookbook/*.cpp -lfmt -pthread -o robust_mutex
// Run:     robust_mutex [--amount N]

#include <pthread.h>

#include <chrono>
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

struct CannotRepair : std::exception {};

struct Accounts {
  int first = 70, second = 30;  // 100 together, except in the middle of a transfer
  bool repairable = true;
  int repairs = 0;

  void repair() {
    if (!repairable) throw CannotRepair();
    second = 100 - first;  // right wherever the owner has died, since the sum is known
    ++repairs;
  }
};

using Monitored = Monitor<Accounts>;

void transfer(Monitored& monitor, int amount, bool die_half_way) {
  const Monitored::Access accounts(monitor);
  accounts->first -= amount;
  if (die_half_way) raise(SIGKILL);
  accounts->second += amount;
}

// Exit codes of a child. Not 3: with 3 a program of this book ends that throws.
constexpr int cannot_repair = 5, refused = 6;

/// What becomes of a process that wants to make a transfer.
std::string fate(Monitored& monitor, int amount, bool die_half_way, std::chrono::milliseconds limit) {
  const int repairs = monitor.unlocked().repairs;
  const pid_t child = cookbook::start_child([&] {
    try {
      transfer(monitor, amount, die_half_way);
      return 0;
    } catch (const CannotRepair&) {
      return cannot_repair;
    } catch (const std::runtime_error&) {
      return refused;
    }
  });
  const auto code = cookbook::exit_code_of(child, limit);
  if (!code) {
    check(kill(child, SIGKILL), "kill");
    cookbook::exit_code_of(child);
    return "waits";
  }
  if (*code == 0) return monitor.unlocked().repairs > repairs ? "repairs" : "locks";
  if (*code == cannot_repair) return "cannot repair";
  if (*code == refused) return "refused";
  return *code == -SIGKILL ? "killed" : fmt::format("exit code {}", *code);
}

struct Column {
  std::vector<std::string> fates;  // of A, B and C
  std::vector<std::string> after;  // the accounts after each of them
  int first, second;               // at the end
};

/// A is killed half-way through a transfer of `amount`, then B and C want to transfer 1 each.
Column run_three(int robustness, bool repairable, int amount, std::chrono::milliseconds limit) {
  const Shared<Monitored> monitor(robustness);
  Monitored::Access(*monitor)->repairable = repairable;
  const Accounts& accounts = monitor->unlocked();  // looked at when no process runs that could change them
  Column column{};
  for (const bool is_a : {true, false, false}) {
    column.fates.push_back(fate(*monitor, is_a ? amount : 1, is_a, limit));
    column.after.push_back(fmt::format("{:2} + {:2}", accounts.first, accounts.second));
  }
  column.first = accounts.first, column.second = accounts.second;
  return column;
}

}  // namespace

int main(int argc, char** argv) {
  int amount = 10;
  cookbook::Options options("Survive the death of a process that holds a lock");
  options.add("amount", amount, "how much A transfers, which is killed half-way", 1, 60);
  options.parse(argc, argv);

  using namespace std::chrono_literals;
  const Column columns[] = {run_three(PTHREAD_MUTEX_STALLED, true, amount, 200ms),
                            run_three(PTHREAD_MUTEX_ROBUST, true, amount, 10s),
                            run_three(PTHREAD_MUTEX_ROBUST, false, amount, 10s)};
  cookbook::println("process          ordinary mutex         robust mutex           robust, repair() throws");
  const char* const processes[] = {"A dies half-way", "B comes next", "C comes last"};
  for (std::size_t i = 0; i < 3; ++i) {
    std::string line = fmt::format("{:<15}", processes[i]);
    for (const Column& column : columns) line += fmt::format("  {:<14}{}", column.fates[i], column.after[i]);
    cookbook::println("{}", line);
  }

  cookbook::Checks checks;
  checks.equal("what becomes of C", std::vector{columns[0].fates[2], columns[1].fates[2], columns[2].fates[2]},
               {"waits", "locks", "refused"});
  checks.equal("the accounts after a repair and two transfers", std::vector{columns[1].first, columns[1].second},
               {68 - amount, 32 + amount});
  return checks.exit_code();
}
