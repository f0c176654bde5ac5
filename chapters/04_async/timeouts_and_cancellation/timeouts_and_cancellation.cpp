// Timeouts and cancellation
//
// Three operations run at the same time, and each holds a connection and a buffer. One of them is too slow for a limit
// of 30 ms. If it is only abandoned, it goes on and keeps what it holds; if it is cancelled, everything is given back
// before the caller goes on. Then the same limit meets an operation that is refused, and one that computes. The
// deadline, within(), is in deadline.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/timeouts_and_cancellation/timeouts_and_cancellation.cpp common/cookbook/*.cpp -lfmt -pthread -o timeouts_and_cancellation
// Run:     timeouts_and_cancellation [--unit-ms N]

#include "deadline.hpp"

#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"

namespace {

using namespace asio::experimental::awaitable_operators;
using Work = asio::awaitable<std::string>;
using Answer = std::optional<std::string>;

/// Naive: gives up waiting, and the work goes on.
asio::awaitable<Answer> abandon_after(Duration limit, Work work) {
  const auto answer = std::make_shared<Answer>();
  const auto executor = co_await asio::this_coro::executor;
  asio::co_spawn(executor, std::move(work), [answer](const std::exception_ptr& error, std::string result) {
    if (!error) *answer = std::move(result);
  });
  co_await pause(limit);
  co_return *answer;
}

/// Naive: of two coroutines, `||` takes the first that succeeds. So an error of the work is not heard.
asio::awaitable<Answer> first_success(Duration limit, Work work) {
  auto first = co_await (std::move(work) || pause(limit));
  if (first.index() == 1) co_return std::nullopt;
  co_return std::get<0>(std::move(first));
}

std::vector<std::string> journal;  // what happened, in order
int held = 0;                      // how many things are held now

/// Stands for something that has to be given back: a connection, a lock, a buffer.
struct Holding {
  explicit Holding(std::string its_name) : name(std::move(its_name)) { ++held; }
  ~Holding() {
    --held;
    journal.push_back("gave back " + name);
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  std::string name;
};

Work read_answer(std::string name, Duration duration, bool refused) {
  const Holding buffer("buffer " + name);
  co_await pause(duration);  // stands for a server that takes so long
  if (refused) throw std::runtime_error("refused");
  journal.push_back(name + " is done");
  co_return name;
}

Work fetch(std::string name, Duration duration, bool refused = false) {
  const Holding connection("connection " + name);
  co_return co_await read_answer(name, duration, refused);
}

/// Computes all the time: it awaits nothing, so there is nothing to cancel.
Work compute(std::string name, Duration duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) continue;
  co_return name;
}

/// All three at the same time; all must succeed.
Work fetch_all(Duration a, Duration b, Duration c) {
  const auto [first, second, third] = co_await (fetch("A", a) && fetch("B", b) && fetch("C", c));
  co_return first + second + third;
}

void rethrow(std::exception_ptr error) {
  if (error) std::rethrow_exception(error);
}

struct Line {
  std::string got;
  int still_held = -1;
};

/// The journal in one line; of what was given back, only what A held.
std::string course_of_events() {
  std::string result;
  for (const std::string& event : journal) {
    if (event.starts_with("gave back") && !event.ends_with("A")) continue;
    result += (result.empty() ? "" : ", ") + event;
  }
  return result;
}

/// Awaits `work` on a loop of its own. Prints what its caller gets, when, and how many things are held at that time.
Line report(const std::string& name, asio::awaitable<Answer> work) {
  journal.clear();
  asio::io_context loop(1);  // 1: only one thread runs it
  Line line;
  const cookbook::Stopwatch watch;
  const auto caller = [&]() -> asio::awaitable<void> {
    try {
      line.got = (co_await std::move(work)).value_or("nothing");
    } catch (const std::runtime_error& error) {
      line.got = error.what();
    }
    line.still_held = held;
    journal.push_back("the caller goes on");
    cookbook::println("{:<26}{:>12}{:10.1f} ms{:13}", name, line.got, watch.seconds() * 1e3, held);
  };
  asio::co_spawn(loop, caller(), rethrow);
  loop.run();  // also to the end of what was abandoned
  return line;
}

/// Cancels an operation from outside, when it waits. Returns whether it ended by operation_aborted.
bool cancelled_by_hand(Duration long_time) {
  asio::io_context loop(1);
  asio::cancellation_signal stop;
  std::future<std::string> d =
      asio::co_spawn(loop, fetch("D", long_time), asio::bind_cancellation_slot(stop.slot(), asio::use_future));
  asio::post(loop, [&] { stop.emit(asio::cancellation_type::terminal); });  // runs in the loop, when D waits
  loop.run();
  try {
    d.get();
    return false;
  } catch (const boost::system::system_error& error) {
    return error.code() == asio::error::operation_aborted;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int unit_ms = 1;
  cookbook::Options options("A deadline that ends operations and leaves nothing behind");
  options.add("unit-ms", unit_ms, "milliseconds of the unit that all durations are given in", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds unit(unit_ms);
  const Duration limit = 30 * unit, too_slow = 60 * unit;

  cookbook::println("{:<26}{:>12}{:>13}{:>13}", fmt::format("limit: {} ms", 30 * unit_ms), "caller gets", "goes on at",
                    "still held");
  std::vector<Line> lines;
  lines.push_back(report("A is too slow, abandoned", abandon_after(limit, fetch_all(too_slow, 2 * unit, unit))));
  const std::string abandoned = course_of_events();
  lines.push_back(report("A is too slow, cancelled", within(limit, fetch_all(too_slow, 2 * unit, unit))));
  const std::string cancelled = course_of_events();
  lines.push_back(report("A is refused, by ||", first_success(limit, fetch("A", 2 * unit, true))));
  lines.push_back(report("A is refused, within", within(limit, fetch("A", 2 * unit, true))));
  lines.push_back(report("A computes, within", within(limit, compute("A", too_slow))));
  // With a limit that a busy machine keeps, too.
  lines.push_back(report(fmt::format("all in time, limit {} ms", 1'000 * unit_ms),
                         within(1'000 * unit, fetch_all(3 * unit, 2 * unit, unit))));

  cookbook::println("abandoned: {}", abandoned);
  cookbook::println("cancelled: {}", cancelled);

  std::vector<std::string> got;
  std::vector<int> still_held;
  for (const Line& line : lines) {
    got.push_back(line.got);
    still_held.push_back(line.still_held);
  }
  cookbook::Checks checks;
  checks.equal("answers", got, {"nothing", "nothing", "nothing", "refused", "A", "ABC"});
  checks.equal("things held when the caller went on", still_held, {2, 0, 0, 0, 0, 0});
  checks.that("D was cancelled by hand", cancelled_by_hand(100'000 * unit));
  checks.equal("things held at the end", held, 0);
  return checks.exit_code();
}
