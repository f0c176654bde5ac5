// Celery chain
//
// A worker deletes the message of a task only when another one has taken its place: the task's result, the next task of
// its chain, or, after a failure that may pass, the same task for later. This program shows for each message what takes
// its place: for a chain, for a task that is tried again, for a chain with a failure, and for one whose worker is
// killed just before it deletes a message.
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

  cookbook::println("{:<30}what takes its place", "message");
  const pid_t worker = cookbook::start_child([&] { celery::ChainWorker(broker.url(), registry).run(7); });
  expect(client.chain({{"add", {1, 2}}, {"add", {3}}, {"add", {4}}}), "10");
  expect(client.delay("flaky", 2), "\"done\"");
  expect(client.chain({{"divide", {1, 0}}, {"add", {3}}, {"add", {4}}}), "ZeroDivisionError: division by zero");
  cookbook::exit_code_of(worker);

  // A worker that is killed before the acknowledgement of the first task, and one that takes what is left.
  const celery::Client::Handle last = client.chain({{"add", {5, 5}}, {"add", {1}}});
  const pid_t victim = cookbook::start_child([&] {
    celery::ChainWorker own(broker.url(), registry);
    own.before_acknowledgement = [] { std::raise(SIGKILL); };
    own.run(1);
  });
  cookbook::exit_code_of(victim);
  cookbook::println("the worker is killed before it acknowledges the task");
  const pid_t heir = cookbook::start_child([&] { celery::ChainWorker(broker.url(), registry).run(3); });
  const int code = cookbook::exit_code_of(heir);
  expect(last, "11");
  checks.equal("exit code of the worker that takes what is left", code, 0);
  return checks.exit_code();
}
