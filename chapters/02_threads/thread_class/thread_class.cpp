// Thread by class
//
// A timer is an object whose call operator runs in a thread. It carries its data in and its results out. Two of them
// tick five times, one at half the pace of the other. Then come the other ways in which such a thread ends: its owner
// asks it to stop, in the middle of a wait of an hour, and it ends at once; or an exception leaves its work, and its
// owner gets it after the join while the other timer ticks on.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/02_threads/thread_class/thread_class.cpp common/cookbook/*.cpp -lfmt -pthread -o thread_class
// Run:     thread_class [--period-ms N]

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/verdict.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What all threads said, in order.
class Journal {
 public:
  void say(const std::string& line) {
    std::scoped_lock hold(guard_);
    cookbook::println("{}", line);
    lines_.push_back(line);
  }

  /// The place of a line, counted from 0. To be asked when all threads have ended.
  long place_of(const std::string& line) const { return std::ranges::find(lines_, line) - lines_.begin(); }
  long lines() const { return static_cast<long>(lines_.size()); }

 private:
  std::mutex guard_;
  std::vector<std::string> lines_;
};

/// Ticks five times: `first` after its start, and then every `period`. Results may be read after the join.
class Timer {
 public:
  Timer(
      Journal& journal, std::string name, milliseconds first, milliseconds period,
      std::function<void(int)> on_tick = [](int) {})
      : journal_(journal), name_(std::move(name)), first_(first), period_(period), on_tick_(std::move(on_tick)) {}

  /// What the thread runs. An exception that left this function would end the program, so it is kept for the owner.
  void operator()(std::stop_token stop) {
    journal_.say("Starting " + name_);
    try {
      tick(stop);
    } catch (...) {
      error_ = std::current_exception();
    }
    journal_.say("Exiting " + name_);
  }

  int ticks() const { return static_cast<int>(ticked_at_.size()); }

  /// Whether there was at least a period from each tick to the next.
  bool kept_its_period() const {
    const auto too_early = [this](auto one, auto next) { return next - one < period_; };
    return std::ranges::adjacent_find(ticked_at_, too_early) == ticked_at_.end();
  }

  /// Throws what left the work of the thread, if anything did.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void tick(const std::stop_token& stop) {
    const Clock::time_point start = Clock::now();
    for (int number = 1; number <= 5; ++number) {
      if (!wait(stop, number == 1 ? first_ : period_)) return;
      ticked_at_.push_back(Clock::now());
      const auto passed = std::chrono::duration_cast<milliseconds>(ticked_at_.back() - start);
      journal_.say(fmt::format("{}: tick {} after {} ms", name_, number, passed.count()));
      on_tick_(number);
    }
  }

  /// Sleeps for a time, and then gives true; or until a stop is asked for, and then gives false.
  static bool wait(const std::stop_token& stop, milliseconds time) {
    std::mutex guard;
    std::condition_variable_any alarm;
    std::unique_lock hold(guard);
    alarm.wait_for(hold, stop, time, [] { return false; });  // nobody but a stop wakes it
    return !stop.stop_requested();
  }

  Journal& journal_;
  std::string name_;
  milliseconds first_, period_;
  std::function<void(int)> on_tick_;
  std::vector<Clock::time_point> ticked_at_;
  std::exception_ptr error_;
};

/// Two timers tick to their end, and main waits for both.
void tick_to_the_end(cookbook::Verdict& verdict, milliseconds period) {
  Journal journal;
  Timer one(journal, "Thread-1", period, period);
  Timer two(journal, "Thread-2", 2 * period, 2 * period);
  std::jthread thread_one(std::ref(one));
  std::jthread thread_two(std::ref(two));
  thread_one.join();
  thread_two.join();
  journal.say("Exiting main thread");

  verdict.equal("ticks of Thread-1", one.ticks(), 5);
  verdict.equal("ticks of Thread-2", two.ticks(), 5);
  verdict.that("at least a period between two ticks", one.kept_its_period() && two.kept_its_period());
  verdict.equal("lines after main's", journal.lines() - 1 - journal.place_of("Exiting main thread"), 0L);
}

/// Both are stopped after their first tick. Main does not join: the destructor of a jthread asks for a stop, then
/// joins.
void stop_after_the_first_tick(cookbook::Verdict& verdict, milliseconds period) {
  Journal journal;
  std::latch both_ticked(2);
  const auto count = [&both_ticked](int) { both_ticked.count_down(); };
  Timer one(journal, "Thread-1", period, std::chrono::hours(1), count);
  Timer two(journal, "Thread-2", 2 * period, std::chrono::hours(1), count);
  {
    std::jthread thread_one(std::ref(one));
    std::jthread thread_two(std::ref(two));
    both_ticked.wait();
    journal.say("Exiting main thread");
  }

  verdict.equal("ticks of Thread-1, stopped", one.ticks(), 1);
  verdict.equal("ticks of Thread-2, stopped", two.ticks(), 1);
  const long first_exit = std::min(journal.place_of("Exiting Thread-1"), journal.place_of("Exiting Thread-2"));
  verdict.equal("main's line came before their exits", journal.place_of("Exiting main thread") < first_exit, true);
}

/// The work of one timer throws. The other ticks on, and the owner gets the exception after the join.
void fail_at_the_second_tick(cookbook::Verdict& verdict, milliseconds period) {
  Journal journal;
  const auto fail = [](int tick) {
    if (tick == 2) throw std::runtime_error("no second tick today");
  };
  Timer one(journal, "Thread-1", period, period, fail);
  Timer two(journal, "Thread-2", period, period);
  std::jthread thread_one(std::ref(one));
  std::jthread thread_two(std::ref(two));
  thread_one.join();
  thread_two.join();

  std::string caught = "nothing";
  try {
    one.rethrow();
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  verdict.equal("what the owner of Thread-1 caught", caught, "no second tick today");
  verdict.equal("ticks of Thread-1, failed", one.ticks(), 2);
  verdict.equal("ticks of Thread-2, undisturbed", two.ticks(), 5);
}

}  // namespace

int main(int argc, char** argv) {
  int period_ms = 10;
  cookbook::Options options("Objects that run in threads: two timers, stopped and failing");
  options.add("period-ms", period_ms, "time from one tick of Thread-1 to the next, in ms", 1, 10'000);
  options.parse(argc, argv);

  cookbook::Verdict verdict;
  cookbook::println("Both timers tick to their end:");
  tick_to_the_end(verdict, milliseconds(period_ms));
  cookbook::println("Both are stopped after their first tick:");
  stop_after_the_first_tick(verdict, milliseconds(period_ms));
  cookbook::println("Thread-1 fails at its second tick:");
  fail_at_the_second_tick(verdict, milliseconds(period_ms));
  return verdict.exit_code();
}
