/// A model checker for small programs of several threads: it runs a program again and again, in every order that the
/// steps of its threads can have. The threads are fibers of Boost.Context, functions with a stack of their own that
/// stop and go on when they are told to. So all of it happens in one thread of the system.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <climits>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // a sanitizer does not know that fibers change the stack, and hangs or reports errors
#else
constexpr bool sanitized = false;
#endif

/// A thread of the program that is explored. What threads share may be touched in a step alone, or after it and before
/// the next one, which counts as a part of it.
class SteppedThread {
 public:
  char name() const { return name_; }

  /// Makes one step: no other thread runs during `action`. `what`, and the value that `action` returns, are kept as a
  /// text.
  template <typename Action>
  void step(const char* what, Action action) {
    step_when([] { return true; }, what, std::move(action));
  }

  /// The same for a step that is possible only while `ready()`, as to lock a mutex. Until then the thread waits.
  template <typename Action>
  void step_when(std::function<bool()> ready, const char* what, Action action) {
    ready_ = std::move(ready);
    what_ = what;
    scheduler_ = std::move(scheduler_).resume();  // stops here, until the scheduler chooses this thread
    if constexpr (std::is_void_v<std::invoke_result_t<Action>>) {
      action();
      done_ = what;
    } else {
      done_ = fmt::format("{} {}", what, action());
    }
  }

  /// If this does not hold, the run ends, and `fault` is what is wrong with it.
  void require(bool holds, const std::string& fault) const {
    if (!holds) throw std::logic_error(fault);
  }

 private:
  template <typename Program>
  friend struct Run;

  boost::context::fiber self_, scheduler_;  // where this thread goes on, and where the scheduler does
  std::function<bool()> ready_;             // of the next step
  const char* what_ = "";                   // the next step
  char name_ = ' ';                         // 'A', 'B' and so on
  std::string done_, fault_;                // the last step
};

constexpr int no_limit = INT_MAX;

/// Returns one of several threads, whose numbers are given in rising order: the one that makes the next step.
using Choose = std::function<int(const std::vector<int>& threads)>;

/// A new Program, run once. A Program has a number of `threads`, a function `run(number, SteppedThread&)` that each of
/// them calls, and `fault()`, which is asked when all have ended and returns an empty text if all is well.
template <typename Program>
struct Run {
  std::string schedule;            // the thread of each step: "ABBA"
  std::vector<std::string> texts;  // what each step did
  std::string fault;               // empty if all is well

  /// At each step `choose` says who makes it. To preempt a thread is to stop it although its next step is possible; it
  /// is done at most `max_preemptions` times, and then `choose` is given only the thread that is to go on.
  explicit Run(const Choose& choose, int max_preemptions = no_limit) {
    Program program;
    std::vector<SteppedThread> threads(Program::threads);
    for (int i = 0; i < Program::threads; ++i) start(program, i, threads[i]);
    int current = -1, preemptions = 0;
    while (fault.empty()) {
      std::vector<int> possible;
      for (int i = 0; i < Program::threads; ++i) {
        if (threads[i].self_ && threads[i].ready_()) possible.push_back(i);
      }
      if (possible.empty()) break;
      const bool can_go_on = std::find(possible.begin(), possible.end(), current) != possible.end();
      if (can_go_on && preemptions == max_preemptions) possible = {current};
      const int next = choose(possible);
      if (can_go_on && next != current) ++preemptions;
      current = next;

      SteppedThread& thread = threads[current];
      thread.self_ = std::move(thread.self_).resume();  // makes its step, and stops before the one after it
      schedule += name(current);
      texts.push_back(thread.done_);
      fault = thread.fault_;
      if (schedule.size() == 1'000) fault = "no end after 1000 steps";
    }
    if (fault.empty()) {
      for (int i = 0; i < Program::threads; ++i) {
        if (!threads[i].self_) continue;  // it has ended
        fault += fmt::format("{}{} never {}", fault.empty() ? "" : ", ", name(i), threads[i].what_);
      }
    }
    if (fault.empty()) fault = program.fault();
  }

  static char name(int thread) { return static_cast<char>('A' + thread); }

 private:
  /// Makes a fiber that calls program.run(number, thread), and runs it up to its first step.
  static void start(Program& program, int number, SteppedThread& thread) {
    thread.name_ = name(number);
    thread.self_ = boost::context::fiber([&program, number, &thread](boost::context::fiber&& scheduler) {
      thread.scheduler_ = std::move(scheduler);
      try {
        program.run(number, thread);
      } catch (const std::logic_error& error) {
        thread.fault_ = error.what();
      }
      return std::move(thread.scheduler_);
    });
    thread.self_ = std::move(thread.self_).resume();  // up to its first step
  }
};

template <typename Program>
struct Exploration {
  long schedules = 0, failing = 0;
  std::optional<Run<Program>> first_failing;
};

/// Runs the Program in every order of its threads' steps, or in every one with at most so many preemptions.
template <typename Program>
Exploration<Program> explore(int max_preemptions = no_limit) {
  struct Decision {
    std::vector<int> options;
    std::size_t chosen;
  };
  std::vector<Decision> path;  // the decisions of one run
  Exploration<Program> found;
  do {
    std::size_t depth = 0;
    const Choose choose = [&](const std::vector<int>& threads) {
      if (depth == path.size()) path.push_back({threads, 0});  // beyond what is fixed: the first one
      const Decision& decision = path[depth++];
      return decision.options[decision.chosen];
    };
    Run<Program> run(choose, max_preemptions);
    ++found.schedules;
    if (!run.fault.empty() && ++found.failing == 1) found.first_failing = std::move(run);
    // The next run: the last decision that has another option takes it, and those after it are forgotten.
    while (!path.empty() && path.back().chosen + 1 == path.back().options.size()) path.pop_back();
    if (!path.empty()) ++path.back().chosen;
  } while (!path.empty());
  return found;
}

/// Runs the Program in the order that `schedule` names, such as "ABBA". Throws std::invalid_argument if it has no such
/// schedule.
template <typename Program>
Run<Program> replay(const std::string& schedule) {
  std::size_t step = 0;
  const Choose choose = [&](const std::vector<int>& threads) {
    for (const int thread : threads) {
      if (step < schedule.size() && schedule[step] == Run<Program>::name(thread)) return ++step, thread;
    }
    throw std::invalid_argument(step < schedule.size()
                                    ? fmt::format("step {} cannot be that of thread {}", step + 1, schedule[step])
                                    : fmt::format("after {} steps the program has not ended", step));
  };
  Run<Program> run(choose);
  if (step < schedule.size()) throw std::invalid_argument(fmt::format("the program ends after {} steps", step));
  return run;
}
