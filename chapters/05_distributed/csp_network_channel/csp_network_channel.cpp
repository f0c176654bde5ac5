// Channel to another process
//
// Another process hosts a channel. This one connects to it by host, port and the channel's name, and writes numbers; a
// write returns when the host has read the number, however busy that is. One client disconnects, and the host lives on;
// the next one poisons the channel, and the host ends. A wrong name, a wrong port and a host that is killed are errors.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/csp_network_channel/csp_network_channel.cpp common/cookbook/*.cpp -lfmt -pthread -o csp_network_channel
// Run:     csp_network_channel [--numbers N], with csp_network_channel_host in the same folder

#include <string>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "network_channel.hpp"

namespace {

int port_of(cookbook::ChildProgram& host) { return std::stoi(host.read_until("port ").substr(5)); }

/// The message of the exception that `action` ends with.
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
    return "none";
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <typename Action>
double ms_of(Action action) {
  const cookbook::Stopwatch watch;
  action();
  return 1000 * watch.seconds();
}

/// Sends a number to a host that is busy, by a write, which waits for the answer, and by a mere send; then it writes to
/// a host that waits.
void compare_with_a_send(const std::string& host_program) {
  cookbook::ChildProgram busy({host_program, "--busy-ms", "50"});
  const int port = port_of(busy);
  NetworkChannel b("B", "127.0.0.1", port);
  cookbook::println("write() to a host that is busy for 50 ms {:9.2f} ms", ms_of([&] { b.write(1); }));
  b.disconnect();

  NetworkChannel::Stream stream("127.0.0.1", std::to_string(port));
  stream.exceptions(std::ios::failbit | std::ios::badbit);
  stream << "open B\n" << std::flush;
  std::string opened;
  std::getline(stream, opened);
  const double send = ms_of([&] {
    stream << "value 1\n";
    stream.flush();
  });
  cookbook::println("the same line, and no wait for an answer {:9.2f} ms", send);

  cookbook::ChildProgram waiting({host_program});
  NetworkChannel to_waiting("B", "127.0.0.1", port_of(waiting));
  cookbook::println("write() to a host that waits already     {:9.2f} ms", ms_of([&] { to_waiting.write(1); }));
}

}  // namespace

int main(int argc, char** argv) {
  int numbers = 2;
  cookbook::Options options("Write to a channel that another process hosts");
  options.add("numbers", numbers, "numbers that each of two clients writes", 0, 1000);
  options.parse(argc, argv);

  const std::string host_program = cookbook::beside_this_program("csp_network_channel_host");
  compare_with_a_send(host_program);

  cookbook::ChildProgram host({host_program});
  const int port = port_of(host);

  NetworkChannel first("B", "127.0.0.1", port);
  for (int i = 0; i < numbers; ++i) first.write(i);
  first.disconnect();

  const std::string wrong_name = error_of([&] { NetworkChannel("C", "127.0.0.1", port); });

  NetworkChannel second("B", "127.0.0.1", port);
  for (int i = 0; i < numbers; ++i) second.write(numbers + i);
  second.poison();

  std::string expected;
  for (int i = 0; i < numbers; ++i) expected += "host: " + std::to_string(i) + "\n";
  expected += "host: the far end has disconnected\n";
  for (int i = 0; i < numbers; ++i) expected += "host: " + std::to_string(numbers + i) + "\n";
  expected += "host: the channel is poisoned\n";
  const std::string said = host.read_all();
  if (numbers <= 5) cookbook::println("{}", said.substr(0, said.size() - 1));

  cookbook::ChildProgram victim({host_program});
  NetworkChannel doomed("B", "127.0.0.1", port_of(victim));
  doomed.write(1);
  victim.stop(SIGKILL);
  const std::string after_kill = error_of([&] { doomed.write(2); });

  cookbook::Checks checks;
  checks.that("the host has read all numbers in order", said == expected);
  checks.equal("exit code of the host after poison", host.wait(), 0);
  checks.equal("a wrong name", wrong_name, "the host says: no such channel");
  checks.equal("a port where nobody listens", error_of([&] { NetworkChannel("B", "127.0.0.1", port); }),
               "no connection: Connection refused");
  checks.equal("a write to a host that was killed", after_kill, "no answer: End of file");
  return checks.exit_code();
}
