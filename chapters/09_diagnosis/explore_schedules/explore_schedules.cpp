// Explore schedules
//
// Runs a queue of three threads in every order that their steps can have, with notify_one, with notify_all, and with
// notify_one and two condition variables. It prints how many orders there are, and in how many of them the queue fails.
// Such an order is called a schedule. Then it shows what the threads do in one that fails. With the options it replays
// a schedule of this or another small program, a letter per step.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/explore_schedules/explore_schedules.cpp common/cookbook/*.cpp -lfmt -lboost_context -pthread -o explore_schedules
// Run:     explore_schedules [--program NAME --schedule LETTERS]

#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "explorer.hpp"
#include "programs.hpp"

namespace {

/// Explores the program, and prints what is found.
template <typename Program>
Exploration<Program> print_row(const std::string& what, int max_preemptions = no_limit) {
  Exploration<Program> found = explore<Program>(max_preemptions);
  cookbook::println("{:<27}{:>10}{:>10}", what, found.schedules, found.failing);
  return found;
}

/// Prints a line for each turn of a thread: what it does until another one goes on. Then how the run has ended.
template <typename Program>
void print_run(const Run<Program>& run) {
  std::string line;
  for (std::size_t i = 0; i < run.schedule.size(); ++i) {
    const char thread = run.schedule[i];
    line += i > 0 && thread == run.schedule[i - 1] ? ", " : fmt::format("{}{} ", i > 0 ? "\n" : "", thread);
    line += run.texts[i];
  }
  cookbook::println("{}\n{}", line, run.fault.empty() ? "all is well" : run.fault);
}

template <typename Program>
bool print_replay(const std::string& schedule) {
  const Run<Program> run = replay<Program>(schedule);
  print_run(run);
  return run.fault.empty();
}

bool print_replay_of(const std::string& program, const std::string& schedule) {
  if (program == "update") return print_replay<Update<2>>(schedule);
  if (program == "locked_update") return print_replay<LockedUpdate>(schedule);
  if (program == "peterson") return print_replay<Peterson<false>>(schedule);
  if (program == "peterson_turn_first") return print_replay<Peterson<true>>(schedule);
  if (program == "queue") return print_replay<Queue<false>>(schedule);
  return print_replay<Queue<true>>(schedule);
}

}  // namespace

int main(int argc, char** argv) {
  std::string program = "update", schedule;
  cookbook::Options options("Run small programs in every order of their threads' steps");
  options.add_choice("program", program, "the program to replay",
                     {"update", "locked_update", "peterson", "peterson_turn_first", "queue", "queue_notify_all"});
  options.add("schedule", schedule, "its schedule, such as ABAB; without this, all schedules are explored");
  options.parse(argc, argv);
  if (sanitized) {
    cookbook::print_error("skipped, sanitizers do not follow the fibers");
    return 77;
  }
  if (!schedule.empty()) {
    try {
      return print_replay_of(program, schedule) ? 0 : 1;
    } catch (const std::invalid_argument& error) {
      cookbook::print_error(fmt::format("--schedule {}: {}", schedule, error.what()));
      return 2;
    }
  }

  cookbook::println("program                     schedules   failing");
  const auto notify_one = print_row<Queue<false>>("queue, notify_one");
  const auto notify_all = print_row<Queue<true>>("queue, notify_all");
  const auto two = print_row<TwoConditionQueue>("queue, two conditions");
  if (notify_one.first_failing) {
    cookbook::println("\nThe queue with notify_one fails in the schedule {}:", notify_one.first_failing->schedule);
    print_run(*notify_one.first_failing);
  }

  cookbook::Checks checks;
  checks.equal("schedules that fail with notify_one", notify_one.failing, 2L);
  checks.equal("schedules that fail with notify_all", notify_all.failing, 0L);
  checks.equal("schedules that fail with two conditions", two.failing, 0L);
  return checks.exit_code();
}
