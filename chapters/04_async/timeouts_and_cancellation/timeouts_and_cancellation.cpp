// Timeouts and cancellation
//
// Three operations at the same time, under one deadline. The first time they have enough time. The second time one of
// them is too slow. Then all that have not finished are cancelled, down to the innermost coroutine, and everything that
// they hold is given back before the caller goes on. At the end, an operation is cancelled by hand. The deadline is in
// deadline.hpp.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/04_async/timeouts_and_cancellation/timeouts_and_cancellation.cpp common/cookbook/*.cpp -lfmt -pthread -o timeouts_and_cancellation
// Run:     timeouts_and_cancellation [--unit-ms N]

#include <future>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "deadline.hpp"

namespace {

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

asio::awaitable<std::string> read_answer(std::string name, Duration duration) {
  const Holding buffer("buffer " + name);
  co_await pause(duration);  // stands for a server that takes so long
  journal.push_back(name + " is done");
  co_return name;
}

asio::awaitable<std::string> fetch(std::string name, Duration duration) {
  const Holding connection("connection " + name);
  co_return co_await read_answer(name, duration);
}

/// All three at the same time; all must succeed.
asio::awaitable<std::string> fetch_all(Duration a, Duration b, Duration c) {
  using namespace asio::experimental::awaitable_operators;
  const auto [first, second, third] = co_await (fetch("A", a) && fetch("B", b) && fetch("C", c));
  co_return first + second + third;
}

/// Runs a coroutine on a loop of its own until it has ended.
template <typename Result>
Result run(asio::awaitable<Result> work) {
  asio::io_context loop(1);  // 1: only one thread runs it
  std::future<Result> result = asio::co_spawn(loop, std::move(work), asio::use_future);
  loop.run();
  return result.get();
}

}  // namespace

int main(int argc, char** argv) {
  int unit_ms = 1;
  cookbook::Options options("A deadline that ends operations and leaves nothing behind");
  options.add("unit-ms", unit_ms, "milliseconds of the unit that all durations are given in", 1, 10'000);
  options.parse(argc, argv);
  const std::chrono::milliseconds unit(unit_ms);

  cookbook::Checks checks;
  std::optional<std::string> fetched = run(within(1'000 * unit, fetch_all(3 * unit, 2 * unit, 1 * unit)));
  checks.equal("with enough time", fetched.value_or("nothing"), "ABC");

  journal.clear();
  fetched = run(within(30 * unit, fetch_all(100'000 * unit, 2 * unit, 1 * unit)));
  checks.equal("with too little time for A", fetched.value_or("nothing"), "nothing");
  for (const std::string& line : journal) cookbook::println("      {}", line);

  asio::io_context loop(1);
  asio::cancellation_signal stop;
  std::future<std::string> d =
      asio::co_spawn(loop, fetch("D", 100'000 * unit), asio::bind_cancellation_slot(stop.slot(), asio::use_future));
  asio::post(loop, [&] { stop.emit(asio::cancellation_type::terminal); });  // runs in the loop, when D waits
  loop.run();
  bool cancelled = false;
  try {
    d.get();
  } catch (const boost::system::system_error& error) {
    cancelled = error.code() == asio::error::operation_aborted;
  }
  checks.that("D was cancelled by hand", cancelled);
  checks.equal("things still held", held, 0);
  return checks.exit_code();
}
