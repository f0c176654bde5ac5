// Explore schedules
//
// Runs small programs of two or three threads in every order that the steps of their threads can have, and prints for
// each how many orders there are, in how many of them it fails, and the first of these, a letter per step. Such an
// order is called a schedule. With the options it replays one schedule, and draws what each thread does in it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/09_diagnosis/explore_schedules/explore_schedules.cpp common/cookbook/*.cpp -lfmt -lboost_context -pthread -o explore_schedules
// Run:     explore_schedules [--program NAME --schedule LETTERS]

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "explorer.hpp"
#include "programs.hpp"

namespace {

/// Explores the program, and prints what is found. The failing schedule is one with the fewest preemptions.
template <typename Program>
std::vector<long> print_row(const std::string& what, int max_preemptions = any_number) {
  const Exploration<Program> found = explore<Program>(max_preemptions);
  std::string example = "none";
  if (found.failing > 0) {
    int bound = 0;
    Exploration<Program> bounded = explore<Program>(bound);
    while (bounded.failing == 0) bounded = explore<Program>(++bound);
    example = fmt::format("{} ({})", bounded.first_failing->schedule, bounded.first_failing->fault);
  }
  cookbook::println("{:<27}{:>10}{:>10}  {}", what, found.schedules, found.failing, example);
  return {found.schedules, found.failing};
}

/// Replays a schedule, and draws it: a line per step, a column per thread.
template <typename Program>
bool draw(const std::string& schedule) {
  const Run<Program> run = replay<Program>(schedule);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    cookbook::println("{:{}}{} {}", "", 24 * (schedule[i] - 'A'), schedule[i], run.drawing[i]);
  }
  cookbook::println("{}", run.fault.empty() ? "all is well" : run.fault);
  return run.fault.empty();
}

bool draw(const std::string& program, const std::string& schedule) {
  if (program == "update") return draw<Update<2>>(schedule);
  if (program == "locked_update") return draw<LockedUpdate>(schedule);
  if (program == "peterson") return draw<Peterson<false>>(schedule);
  if (program == "peterson_turn_first") return draw<Peterson<true>>(schedule);
  if (program == "queue") return draw<Queue<false>>(schedule);
  return draw<Queue<true>>(schedule);
}

/// In how many orders `threads` threads can make `steps` steps each: (threads * steps)! / steps!^threads.
long orders(int threads, int steps) {
  long result = 1;
  for (int thread = 1; thread <= threads; ++thread) {
    for (int i = 1; i <= steps; ++i) result = result * ((thread - 1) * steps + i) / i;  // "n choose i", for rising i
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::string program = "update", schedule;
  cookbook::Options options("Run small programs in every order of their threads' steps");
  options.add_choice("program", program, "the program to replay",
                     {"update", "locked_update", "peterson", "peterson_turn_first", "queue", "queue_notify_all"});
  options.add("schedule", schedule, "its schedule, such as ABAB; without this, all programs are explored");
  options.parse(argc, argv);
  if (sanitized) {
    cookbook::print_error("skipped, sanitizers do not follow the fibers");
    return 77;
  }
  if (!schedule.empty()) {
    try {
      return draw(program, schedule) ? 0 : 1;
    } catch (const std::invalid_argument& error) {
      cookbook::print_error(fmt::format("--schedule {}: {}", schedule, error.what()));
      return 2;
    }
  }

  cookbook::println("program                     schedules   failing  one that fails");
  const std::vector<long> update = print_row<Update<2>>("update, 2 threads");
  const std::vector<long> three = print_row<Update<3>>("update, 3 threads");
  std::vector<std::vector<long>> right = {print_row<LockedUpdate>("update under a mutex")};
  right.push_back(print_row<Peterson<false>>("Peterson's lock"));
  const std::vector<long> turn_first = print_row<Peterson<true>>("Peterson's lock, turn first");
  const std::vector<long> notify_one = print_row<Queue<false>>("queue, notify_one");
  right.push_back(print_row<Queue<true>>("queue, notify_all"));
  std::vector<std::vector<long>> bounded;
  for (const int bound : {0, 1}) {
    bounded.push_back(print_row<Update<3, 3>>(fmt::format("9 updates, preemptions: {}", bound), bound));
  }
  cookbook::println("{:<27}{:>10}  not explored", "9 updates, by the formula", orders(3, 6));

  cookbook::Checks checks;
  checks.equal("schedules of the updates", std::vector{update[0], three[0]}, {orders(2, 2), orders(3, 2)});
  checks.equal("[schedules, failing] of the right programs", right, {{2, 0}, {26, 0}, {40, 0}});
  checks.that("each wrong program fails in some schedule", std::min({update[1], turn_first[1], notify_one[1]}) > 0);
  checks.equal("[schedules, failing] of 9 updates", bounded, {{6, 0}, {6 + 90, 54}});
  return checks.exit_code();
}
