// Celery chain
//
// A worker publishes the message that takes a task's place, and then acknowledges the task. This program kills a worker
// between these two steps, in the wrong and in the right order, and counts what the broker still has. Then it shows
// for each message of a chain, of a task that is tried again and of a chain with a failure what takes its place.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_chain/celery_chain.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_chain
// Run:     celery_chain [--pause-ms N]

#include <csignal>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }

double divide(double x, double y) {
  if (y == 0) throw celery::TaskError("ZeroDivisionError", "division by zero");
  return x / y;
}

}  // namespace

int main(int argc, char** argv) {
  int pause_ms = 100;
  cookbook::Options options("Tasks of Celery that follow one another, and tasks that are tried again");
  options.add("pause-ms", pause_ms, "pause before a task is tried again", 0, 10'000);
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("add", {"x", "y"}, add);
  registry.add("divide", {"x", "y"}, divide);
  registry.add("flaky", [&](const celery::Task& task) -> celery::json::value {  // fails as often as its argument says
    if (celery::json::value(task.retries) != task.args.at(0)) throw celery::Retry{1e-3 * pause_ms, 3, "not yet"};
    return "done";
  });
  const Broker broker;
  celery::Client client(broker.url());
  cookbook::Checks checks;
  const auto expect = [&](const celery::Client::Handle& task, const std::string& expected) {
    checks.equal("the client gets", outcome(task), expected);
  };

  // Posts a chain whose first worker is killed. Returns its last task.
  amqp::Connection watching(broker.url());
  const auto kill_in_between = [&](bool acknowledge_first, unsigned expected) {
    const celery::Client::Handle last = client.chain({{"add", {5, 5}}, {"add", {1}}});
    const pid_t victim = cookbook::start_child([&] {
      celery::ChainWorker own(broker.url(), registry);
      own.acknowledge_first = acknowledge_first;
      own.between = [] { std::raise(SIGKILL); };
      own.run(1);
    });
    cookbook::exit_code_of(victim);
    while (watching.consumers("celery") > 0) continue;  // until the broker has noticed it
    checks.equal("messages left for another worker", watching.waiting("celery"), expected);
    return last;
  };

  cookbook::println("{:<30}what takes its place", "message");
  cookbook::println("a worker acknowledges first, and is killed before it publishes:");
  kill_in_between(true, 0);
  cookbook::println("a worker publishes first, and is killed before it acknowledges:");
  const celery::Client::Handle last = kill_in_between(false, 2);
  const pid_t heir = cookbook::start_child([&] { celery::ChainWorker(broker.url(), registry).run(3); });
  cookbook::exit_code_of(heir);
  expect(last, "11");

  const pid_t worker = cookbook::start_child([&] { celery::ChainWorker(broker.url(), registry).run(7); });
  expect(client.chain({{"add", {1, 2}}, {"add", {3}}, {"add", {4}}}), "10");
  expect(client.delay("flaky", 2), "\"done\"");
  expect(client.chain({{"divide", {1, 0}}, {"add", {3}}, {"add", {4}}}), "ZeroDivisionError: division by zero");
  cookbook::exit_code_of(worker);
  return checks.exit_code();
}
