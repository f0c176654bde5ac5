// State machine of coroutines
//
// A machine has five states, and each state is a coroutine: a function that can stop in the middle, here to sleep for a
// second, and go on later where it was. A state reads a bit, and returns the state that comes next. A short loop awaits
// one state after another, so only one of them exists at a time, however long the path is. (A state that awaits the
// next one itself would have to wait until the whole rest of the path has ended.)
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

/// The machine as a table, without coroutines: from a state, by bit 0 and by bit 1, to the next state.
constexpr State next_state[][2] = {{two, one}, {three, two}, {one, three}, {one, end}};

/// Whether these bits lead from the first state to the last one, and none is left over.
bool is_path(const std::string& bits) {
  State here = start;
  for (const char bit : bits) {
    if (here == end || (bit != '0' && bit != '1')) return false;
    here = next_state[here][bit - '0'];
  }
  return here == end;
}

void print(const std::string& line) { cookbook::println("{}", line); }
void print_nothing(const std::string&) {}

struct Outcome {
  double seconds;
  int max_alive;  // states that existed at the same time
};

/// Runs a machine on a loop of its own. Throws what the machine has thrown.
Outcome run_machine(const std::string& bits, void (*print_line)(const std::string&), std::chrono::milliseconds second) {
  asio::io_context loop;
  LoopTime time(loop, second);
  Machine machine{[&, next = 0]() mutable { return bits.at(next++) - '0'; }, print_line, time};
  std::future<void> ended = asio::co_spawn(loop, run(machine), asio::use_future);
  time.run();
  ended.get();
  return {time.now(), machine.max_alive};
}

}  // namespace

int main(int argc, char** argv) {
  std::string bits = "1001101000111";
  int second_ms = 20, laps = 50'000;
  cookbook::Options options("A state machine whose states are coroutines");
  options.add("bits", bits, "what the machine reads, such as 101");
  options.add("second-ms", second_ms, "milliseconds that a second takes; 0: nobody waits", 0, 10'000);
  options.add("laps", laps, "times that the long path goes from State 1 to State 2 and back", 0, 1'000'000);
  options.parse(argc, argv);
  if (!is_path(bits)) {
    cookbook::print_error("--bits " + bits + ": no path from Start State to End State; 101 is one");
    return 2;
  }
  std::string long_path = "1";
  for (int i = 0; i < laps; ++i) long_path += "10";
  long_path += "01";

  cookbook::Checks checks;
  const Outcome first = run_machine(bits, print, std::chrono::milliseconds(second_ms));
  checks.equal("seconds, one for each bit", first.seconds, static_cast<double>(bits.size()));
  checks.equal("states that existed at the same time", first.max_alive, 1);
  const Outcome second = run_machine(long_path, print_nothing, std::chrono::milliseconds(0));
  checks.equal("seconds of a long path, on a clock for which nobody waits", second.seconds, 2.0 * laps + 3);
  checks.equal("states that existed at the same time on the long path", second.max_alive, 1);
  return checks.exit_code();
}
