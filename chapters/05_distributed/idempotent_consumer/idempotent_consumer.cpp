// Idempotent consumer
//
// A consumer takes messages, deposits to an account, and acknowledges each when it has been handled. If it is killed
// before it does, the message is delivered again. Four consumers are killed at three places of their work. The output
// shows the balance after one deposit of 10.00 that was delivered until it was acknowledged. Only one of them is right
// each time: it stores the key of the message and its effect in one transaction.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/idempotent_consumer/idempotent_consumer.cpp common/cookbook/*.cpp -lsqlite3 -lfmt -pthread -o idempotent_consumer
// Run:     idempotent_consumer [--messages N]

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "consumers.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "temporary_directory.hpp"

namespace {

using Handle = void (*)(Database&, const Deposit&, const Step&);

/// Delivers one message until it is acknowledged, and returns the balance. The first consumer is killed at `killed_at`
/// (0: before it handles the message). Nothing is returned if it has no such step.
std::optional<long> balance_after(const std::string& file, Handle handle, int killed_at) {
  {
    Database database(file);
    make_tables(database);
  }
  int deliveries = 0;
  for (bool acknowledged = false; !acknowledged;) {  // the broker
    ++deliveries;
    cookbook::ChildProcess consumer([&] {
      const Step step = [&](int number) {
        if (deliveries == 1 && number == killed_at) raise(SIGKILL);
      };
      step(0);
      Database database(file);
      handle(database, {.key = 1, .cents = 1000}, step);
    });
    const int code = consumer.wait();
    if (code != 0 && code != -SIGKILL) throw std::runtime_error("the consumer has failed");
    acknowledged = code == 0;  // it has come to its end
  }
  Database database(file);
  return deliveries > 1 ? std::optional(balance(database)) : std::nullopt;
}

/// The milliseconds per message, if nobody is killed.
double cost(const std::string& file, Handle handle, int messages) {
  Database database(file);
  make_tables(database);
  const cookbook::Stopwatch watch;
  for (int key = 1; key <= messages; ++key) handle(database, {key, 1}, [](int) {});
  return 1e3 * watch.seconds() / messages;
}

}  // namespace

int main(int argc, char** argv) {
  int messages = 10;
  cookbook::Options options("Let each message take effect once, although it may be delivered twice");
  options.add("messages", messages, "messages for the last row", 1, 100'000);
  options.parse(argc, argv);

  const TemporaryDirectory folder;
  const std::vector<Handle> consumers = {no_key, key_then_effect, effect_then_key, one_transaction};
  const std::vector<std::string> places = {"before its first write", "between its writes", "before it acknowledges"};
  int files = 0;
  const auto new_file = [&] { return fmt::format("{}/{}", folder.path(), ++files); };
  cookbook::println("killed (10.00 is right)         no key   key, effect   effect, key   one transaction");
  std::vector<long> once;
  for (int killed_at = 0; killed_at < 3; ++killed_at) {
    std::string row;
    for (const Handle consumer : consumers) {
      const std::optional<long> cents = balance_after(new_file(), consumer, killed_at);
      row += fmt::format("{:>14}", cents ? fmt::format("{}.{:02}", *cents / 100, *cents % 100) : "-");
      if (consumer == one_transaction) once.push_back(cents.value_or(-1));
    }
    cookbook::println("{:24}{}", places[static_cast<std::size_t>(killed_at)], row);
  }
  std::string row;
  for (const Handle consumer : consumers) row += fmt::format("{:>11.2f} ms", cost(new_file(), consumer, messages));
  cookbook::println("{:24}{}", "time per message", row);
  cookbook::Checks checks;
  checks.equal("cents by one transaction, killed at each of three places", once, {1000, 1000, 1000});
  return checks.exit_code();
}
