// Celery chain
//
// A worker publishes the message that takes a task's place, and then acknowledges the task. A chain of two tasks shows
// what that is good for: it is executed once in peace, and twice by a worker that is killed between these two steps, in
// the wrong and in the right order. At last a task asks to be tried again: it takes its own place.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_chain/celery_chain.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_chain
// Run:     celery_chain [--pause-ms N]

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

using namespace std::chrono_literals;

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }

}  // namespace

int main(int argc, char** argv) {
  int pause_ms = 100;
  cookbook::Options options("Tasks of Celery that follow one another, and tasks that are tried again");
  options.add("pause-ms", pause_ms, "pause before a task is tried again", 0, 10'000);
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("add", {"x", "y"}, add);
  registry.add("flaky", [&](const celery::Task& task) -> celery::json::value {  // fails as often as its argument says
    if (task.retries != task.args.at(0).as_int64()) throw celery::Retry{1e-3 * pause_ms, 3, "not yet"};
    return "done";
  });
  const Broker broker;
  celery::Client client(broker.url());
  const auto post_chain = [&] { return client.chain({{"add", {5, 5}}, {"add", {1}}}); };  // returns its last task
  // Lets a worker, another process, take so many messages.
  const auto work = [&](int messages) {
    cookbook::exit_code_of(cookbook::start_child([&] { celery::ChainWorker(broker.url(), registry).run(messages); }));
  };
  cookbook::Checks checks;
  const auto expect = [&](const celery::Client::Handle& task, const std::string& expected) {
    checks.equal("the client gets", outcome(task), expected);
  };
  amqp::Connection watching(broker.url());
  const auto kill_between_the_steps = [&](bool acknowledge_first, unsigned expected) {
    cookbook::exit_code_of(cookbook::start_child([&] {
      celery::ChainWorker own(broker.url(), registry);
      own.acknowledge_first = acknowledge_first;
      own.between = [] { std::raise(SIGKILL); };
      own.run(1);
    }));
    while (watching.consumers("celery") > 0) std::this_thread::sleep_for(1ms);  // until the broker has noticed it
    checks.equal("messages left for another worker", watching.waiting("celery"), expected);
  };

  cookbook::println("{:<30}what takes its place", "message");
  cookbook::println("nobody is killed:");
  celery::Client::Handle last = post_chain();
  work(2);
  expect(last, "11");

  cookbook::println("a worker acknowledges first, and is killed before it publishes:");
  post_chain();
  kill_between_the_steps(true, 0);

  cookbook::println("a worker publishes first, and is killed before it acknowledges:");
  last = post_chain();
  kill_between_the_steps(false, 2);
  work(3);
  expect(last, "11");

  cookbook::println("a task fails twice, and asks to be tried again:");
  const celery::Client::Handle flaky = client.delay("flaky", 2);
  work(3);
  expect(flaky, "\"done\"");
  return checks.exit_code();
}
