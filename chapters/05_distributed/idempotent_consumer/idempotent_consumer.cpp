// Idempotent consumer
//
// A consumer takes a message, a deposit of 10.00 to an account, and acknowledges it when it has been handled. If it is
// killed before it does, the message is delivered again. The output shows the balance in the end, for four consumers
// that are killed at two places of their work. Only one of them is right each time: it stores the key of the message
// and its effect in one transaction.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/idempotent_consumer/idempotent_consumer.cpp common/cookbook/*.cpp -lsqlite3 -lfmt -pthread -o idempotent_consumer
// Run:     idempotent_consumer

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "consumers.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "cookbook/process.hpp"
#include "temporary_directory.hpp"

namespace {

using Handle = void (*)(Database&, const Deposit&, const Step&);

/// Delivers one message until it is acknowledged, and returns the balance. The first consumer is killed at the step
/// `killed_at`. Nothing is returned if it has no such step.
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

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("Let each message take effect once, although it may be delivered twice");
  options.parse(argc, argv);

  const TemporaryDirectory folder;
  int files = 0;
  cookbook::println("balance after one deposit of 10.00, whose first consumer is killed");
  cookbook::println("{:<24}{:>22}{:>26}", "", "between its writes", "before it acknowledges");
  const auto show = [&](const std::string& name, Handle consumer) {
    std::vector<long> balances;
    std::vector<std::string> shown;
    for (const int killed_at : {1, 2}) {
      const auto cents = balance_after(fmt::format("{}/{}", folder.path(), ++files), consumer, killed_at);
      balances.push_back(cents.value_or(-1));
      shown.push_back(cents ? fmt::format("{}.{:02}", *cents / 100, *cents % 100) : "only one write");
    }
    cookbook::println("{:<24}{:>22}{:>26}", name, shown[0], shown[1]);
    return balances;
  };
  show("no key", no_key);
  show("key, then deposit", key_then_effect);
  show("deposit, then key", effect_then_key);
  const std::vector<long> once = show("both in one transaction", one_transaction);

  cookbook::Checks checks;
  checks.equal("cents by one transaction, killed at each of two places", once, {1000, 1000});
  return checks.exit_code();
}
