// Celery chain
//
// A worker publishes the message that takes a task's place, and then acknowledges the task. A chain of two tasks shows
// what that is good for: it is executed once undisturbed, and once with a worker that is killed between these two
// steps. At last a task asks to be tried again: it takes its own place.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_chain/celery_chain.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_chain
// Run:     celery_chain [--fails N]

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

constexpr int max_retries = 3;

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }

/// Fails as often as its argument says, and asks each time to be tried again after 0.1 s.
celery::json::value flaky(const celery::Task& task) {
  if (task.retries < task.args.at(0).as_int64()) throw celery::Retry{0.1, max_retries, "not yet"};
  return "done";
}

}  // namespace

int main(int argc, char** argv) {
  int fails = 2;
  cookbook::Options options("Tasks of Celery that follow one another, and tasks that are tried again");
  options.add("fails", fails, "how often the last task fails", 0, 100);
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("add", {"x", "y"}, add);
  registry.add("flaky", flaky);
  const Broker broker;
  celery::Client client(broker.url());
  amqp::Connection watching(broker.url());
  // Starts a worker, another process, which takes so many messages, and waits until the broker knows that it has ended.
  const auto work = [&](int messages, bool is_killed = false) {
    cookbook::exit_code_of(cookbook::start_child([&] {
      celery::ChainWorker worker(broker.url(), registry);
      if (is_killed) worker.between = [] { std::raise(SIGKILL); };
      worker.run(messages);
    }));
    while (watching.consumers("celery") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  cookbook::Checks checks;
  cookbook::println("{:<30}published in its place", "executed");

  cookbook::println("nobody is killed:");
  celery::Client::Handle last = client.chain({{"add", {5, 5}}, {"add", {1}}});  // the chain's last task
  work(2);
  checks.equal("the client gets", outcome(last), "11");

  cookbook::println("a worker is killed when it has published, and before it acknowledges:");
  last = client.chain({{"add", {5, 5}}, {"add", {1}}});
  work(1, /*is_killed=*/true);
  checks.equal("messages left for another worker", watching.waiting("celery"), 2U);
  cookbook::println("another worker:");
  work(3);
  checks.equal("the client gets", outcome(last), "11");

  cookbook::println("a task fails, and asks to be tried again:");
  last = client.delay("flaky", fails);
  work(1 + std::min(fails, max_retries));
  checks.equal("the client gets", outcome(last),
               fails <= max_retries ? "\"done\"" : "MaxRetriesExceededError: not yet");
  return checks.exit_code();
}
