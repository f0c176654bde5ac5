// Timeouts and cancellation
//
// A deadline over a group of operations: whichever comes first ends the other. Cancelling runs down through all the
// coroutines that wait for one another, to the deepest one; there the operation ends with an error, which comes back up
// as an exception, and each coroutine on its way gives back what it holds. Shown by counts: what was taken is given
// back, and nothing runs afterwards. Then: cancelling by hand, and a part that must not be cancelled in its middle.
// The pitfall, timeouts_and_cancellation_abandon.cpp, only stops waiting.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/timeouts_and_cancellation/timeouts_and_cancellation.cpp common/cookbook/*.cpp -lfmt -pthread -o timeouts_and_cancellation
// Run:     timeouts_and_cancellation [--unit-ms N] [--depth N] [--operations N]

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "journal.hpp"

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;
using Duration = std::chrono::steady_clock::duration;
using std::chrono::milliseconds;

namespace {

asio::awaitable<void> pause(Duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  co_await timer.async_wait(asio::use_awaitable);
}

/// What `work` gives, or nothing if `limit` is over first; then the work has been cancelled, and has ended.
template <typename Result>
asio::awaitable<std::optional<Result>> within(Duration limit, asio::awaitable<Result> work) {
  auto first = co_await (std::move(work) || pause(limit));
  if (first.index() == 0) co_return std::get<0>(std::move(first));
  co_return std::nullopt;
}

/// An operation that holds something for so long.
asio::awaitable<std::string> fetch(Journal& journal, std::string name, Duration duration) {
  const Holding connection(journal, name);
  co_await pause(duration);
  journal.lines.push_back(name + " is done");
  co_return name;
}

/// Three operations at once; all must succeed.
asio::awaitable<std::string> fetch_all(Journal& journal, Duration a, Duration b, Duration c) {
  const auto [first, second, third] =
      co_await (fetch(journal, "A", a) && fetch(journal, "B", b) && fetch(journal, "C", c));
  co_return first + second + third;
}

/// Each level holds something and waits for the next; the deepest one waits for long.
asio::awaitable<int> descend(Journal& journal, int level, int depth, Duration duration) {
  const Holding lock(journal, fmt::format("level {}", level));
  if (level < depth) co_return co_await descend(journal, level + 1, depth, duration);
  co_await pause(duration);
  co_return level;
}

/// Keeps cancelling from `work`: it runs as a coroutine with a slot of its own, to which no signal is connected. The
/// caller notes the request meanwhile, and its next co_await throws.
template <typename Result>
asio::awaitable<Result> shielded(asio::awaitable<Result> work) {
  const asio::cancellation_slot unconnected;
  co_return co_await asio::co_spawn(co_await asio::this_coro::executor, std::move(work),
                                    asio::bind_cancellation_slot(unconnected, asio::use_awaitable));
}

/// Two steps that belong together, such as taking money and giving goods.
asio::awaitable<void> transfer(Journal& journal, Duration step) {
  journal.lines.push_back("taken");
  co_await pause(step);
  journal.lines.push_back("given");
}

/// Runs a coroutine on a loop of its own until nothing is left to do. Gives its result, or throws what it threw.
template <typename Result>
Result run(asio::awaitable<Result> work) {
  asio::io_context loop(1);
  std::future<Result> result = asio::co_spawn(loop, std::move(work), asio::use_future);
  loop.run();
  return result.get();
}

std::string text(const std::optional<std::string>& result) { return result ? *result : "nothing in time"; }

void deadline_over_a_group(cookbook::Checks& checks, Duration unit) {
  Journal journal;
  checks.equal("three operations, and time enough",
               text(run(within(1000 * unit, fetch_all(journal, unit, 2 * unit, 3 * unit)))), "ABC");
  journal.lines.clear();
  checks.equal("three operations, one of them too slow",
               text(run(within(30 * unit, fetch_all(journal, unit, 2 * unit, 100'000 * unit)))), "nothing in time");
  checks.equal("what happened", journal.lines, {"A is done", "gave back A", "B is done", "gave back B", "gave back C"});
  checks.equal("taken and not given back", journal.held, 0);
}

void down_to_the_deepest(cookbook::Checks& checks, Duration unit, int depth) {
  Journal journal;
  const bool in_time = run(within(unit, descend(journal, 1, depth, 100'000 * unit))).has_value();
  checks.that(fmt::format("a deadline reaches coroutine {}", depth), !in_time);
  std::vector<std::string> innermost_first;
  for (int level = depth; level >= 1; --level) innermost_first.push_back(fmt::format("gave back level {}", level));
  checks.that("all gave back what they held, the innermost first", journal.lines == innermost_first);
  checks.equal("taken in all", journal.taken, depth);
}

/// By hand: a signal, connected to a coroutine when it is started. Its handler is called once, with the reason.
void cancel_by_hand(cookbook::Checks& checks, Duration unit) {
  asio::io_context loop(1);
  asio::cancellation_signal stop;
  Journal journal;
  std::vector<std::string> ends;
  const auto ended = [&](std::exception_ptr reason, const std::string& result) {
    try {
      if (reason) std::rethrow_exception(reason);
      ends.push_back(result);
    } catch (const boost::system::system_error& error) {
      ends.push_back(error.code() == asio::error::operation_aborted ? "cancelled" : error.what());
    }
  };
  asio::co_spawn(loop, fetch(journal, "D", 100'000 * unit), asio::bind_cancellation_slot(stop.slot(), ended));
  asio::post(loop, [&] { stop.emit(asio::cancellation_type::terminal); });
  loop.run();
  stop.emit(asio::cancellation_type::terminal);  // too late, and of no effect
  loop.restart();
  loop.run();
  checks.equal("how the operation ended, told once", ends, {"cancelled"});
  checks.equal("still held", journal.held, 0);
}

/// A deadline that comes in the middle of a transfer takes effect behind it.
void not_in_its_middle(cookbook::Checks& checks, Duration unit) {
  Journal journal;
  const auto shop = [&]() -> asio::awaitable<int> {
    co_await shielded(transfer(journal, 20 * unit));
    co_await pause(100'000 * unit);
    co_return 1;
  };
  checks.that("a deadline in the middle of a transfer ends the shop", !run(within(unit, shop())));
  checks.equal("the transfer", journal.lines, {"taken", "given"});
}

/// `||` waits for the first success. An operation that fails does not end the wait: its error comes with the deadline.
void failure_is_no_success(cookbook::Checks& checks, Duration unit) {
  const auto failing = []() -> asio::awaitable<std::string> {
    throw std::runtime_error("refused");
    co_return "";
  };
  checks.equal("an operation that fails at once, under a deadline", text(run(within(unit, failing()))),
               "nothing in time");
  const auto telling = [&]() -> asio::awaitable<std::string> {
    try {
      co_return co_await failing();
    } catch (const std::exception& error) {
      co_return error.what();
    }
  };
  checks.equal("the same, with the error as its result", text(run(within(100'000 * unit, telling()))), "refused");
}

/// What a deadline costs, if it never comes.
void measure(cookbook::Checks& checks, int operations) {
  const auto operation = []() -> asio::awaitable<int> {
    co_await asio::post(asio::use_awaitable);
    co_return 1;
  };
  const auto bare = [&]() -> asio::awaitable<long> {
    long done = 0;
    for (int i = 0; i < operations; ++i) done += co_await operation();
    co_return done;
  };
  const auto timed = [&]() -> asio::awaitable<long> {
    long done = 0;
    for (int i = 0; i < operations; ++i) done += (co_await within(std::chrono::hours(1), operation())).value_or(0);
    co_return done;
  };
  const auto one_timer = [&]() -> asio::awaitable<long> {
    co_return (co_await within(std::chrono::hours(1), bare())).value_or(0);
  };
  long missed = 0;
  const auto row = [&](const char* name, auto& way) {
    return cookbook::Row(name, operations, [&] { missed += operations - run(way()); });
  };
  cookbook::Figures figures("one operation", cookbook::cost("ns", 1e-9));
  figures.percent_of("without a deadline", "without");
  figures.measure(
      {row("without a deadline", bare), row("a deadline for each", timed), row("one for all of them", one_timer)}, 9);
  checks.equal("operations that missed their deadline", missed, 0);
  figures.print(checks);
}

}  // namespace

int main(int argc, char** argv) {
  int unit_ms = 1, depth = 10, operations = 2000;
  cookbook::Options options("Deadlines and cancelling that leave nothing behind");
  options.add("unit-ms", unit_ms, "milliseconds of the unit that all waits are given in", 1, 10'000);
  options.add("depth", depth, "coroutines that wait for one another", 1, 10'000);
  options.add("operations", operations, "operations to measure with", 1, 10'000'000);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const milliseconds unit(unit_ms);
  deadline_over_a_group(checks, unit);
  down_to_the_deepest(checks, unit, depth);
  cancel_by_hand(checks, unit);
  not_in_its_middle(checks, unit);
  failure_is_no_success(checks, unit);
  measure(checks, operations);
  return checks.exit_code();
}
