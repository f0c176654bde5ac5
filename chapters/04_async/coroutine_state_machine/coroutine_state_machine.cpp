// State machine of coroutines
//
// The states of a machine are coroutines, since each waits. First one machine goes along paths of three lengths, in two
// forms: states that return the next one to a loop, and states that await the next one themselves. The program prints
// how many states exist at a time, and their memory. Then two machines run in one thread: while a state of A sleeps, B
// goes on.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/04_async chapters/04_async/coroutine_state_machine/coroutine_state_machine.cpp common/cookbook/*.cpp -lfmt -pthread -o coroutine_state_machine
// Run:     coroutine_state_machine [--bits BITS] [--second-ms N] [--laps N]

#include <boost/asio.hpp>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "machine.hpp"

namespace asio = boost::asio;

namespace {

/// Whether these bits lead from the first state to the last one, and none is left over.
bool is_path(const std::string& bits) {
  State here = start;
  for (const char bit : bits) {
    if (here == end || (bit != '0' && bit != '1')) return false;
    here = next_state[here][bit - '0'];
  }
  return here == end;
}

std::function<int()> reader_of(std::string bits) {
  return [bits = std::move(bits), next = std::size_t{0}]() mutable { return bits.at(next++) - '0'; };
}

/// Runs two machines on one loop, and prints what they do. Returns after how many seconds both were at the end.
double run_two_machines(const std::string& bits, std::chrono::milliseconds second) {
  asio::io_context loop;
  LoopTime time(loop, second);
  const auto print_as = [&](char name) {
    return [&time, name](const std::string& line) { cookbook::println("{:>3} s  {}  {}", time.now(), name, line); };
  };
  Machine a{reader_of(bits), print_as('A'), time}, b{reader_of("011"), print_as('B'), time};
  std::future<void> a_ended = asio::co_spawn(loop, run(a), asio::use_future);
  std::future<void> b_ended = asio::co_spawn(loop, run(b), asio::use_future);
  time.run();
  a_ended.get();  // throws what the machine has thrown
  b_ended.get();
  return time.now();
}

struct Use {
  int states;  ///< that existed at the same time
  double kib;  ///< of memory that the path needed
};

/// Sends a machine to and fro between States 1 and 2, `laps` times, on a clock for which nobody waits.
template <typename Form>
Use path_of(int laps, Form form) {
  std::string bits = "1";
  for (int i = 0; i < laps; ++i) bits += "10";
  asio::io_context loop;
  LoopTime time(loop, std::chrono::milliseconds(0));
  Machine machine{reader_of(bits + "01"), [](const std::string&) {}, time};
  const std::size_t before = bytes_in_use();
  Alive::most = 0;
  Alive::most_bytes = before;
  std::future<void> ended = asio::co_spawn(loop, form(machine), asio::use_future);
  time.run();
  ended.get();
  return {Alive::most, static_cast<double>(Alive::most_bytes - before) / 1024};
}

}  // namespace

int main(int argc, char** argv) {
  std::string bits = "1001101000111";
  int second_ms = 20, laps = 50'000;
  cookbook::Options options("State machines whose states are coroutines");
  options.add("bits", bits, "what machine A reads, such as 101; machine B reads 011");
  options.add("second-ms", second_ms, "milliseconds that a second takes; 0: nobody waits", 0, 10'000);
  options.add("laps", laps, "times that the longest path goes from State 1 to State 2 and back", 0, 1'000'000);
  options.parse(argc, argv);
  if (!is_path(bits)) {
    cookbook::print_error("--bits " + bits + ": no path from Start State to End State; 101 is one");
    return 2;
  }

  std::vector<int> returning, awaiting, expected;
  path_of(0, run);  // so that what the library allocates once is in none of the figures
  cookbook::println("              a state returns the next   a state awaits the next");
  cookbook::println("transitions       states       memory       states       memory");
  for (const int laps_here : {laps / 100, laps / 10, laps}) {
    const Use returned = path_of(laps_here, run);
    const Use awaited = path_of(laps_here, [](Machine& m) { return state_that_awaits_the_next(m, start); });
    const int transitions = 2 * laps_here + 3;
    cookbook::println("{:>11}{:13}{:9.0f} KiB{:13}{:9.0f} KiB", transitions, returned.states, returned.kib,
                      awaited.states, awaited.kib);
    returning.push_back(returned.states);
    awaiting.push_back(awaited.states);
    expected.push_back(transitions + 1);
  }
  cookbook::println("two machines in one thread, A reads {}, B reads 011", bits);
  const double seconds = run_two_machines(bits, std::chrono::milliseconds(second_ms));

  cookbook::Checks checks;
  checks.equal("states at the same time, if each returns the next one", returning, {1, 1, 1});
  checks.equal("states at the same time, if each awaits the next one", awaiting, expected);
  checks.equal("seconds until both machines were at their end", seconds, static_cast<double>(bits.size()));
  return checks.exit_code();
}
