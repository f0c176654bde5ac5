// Pitfall: a task that is acknowledged before the next one is published
//
// A chain has two tasks. The worker acknowledges the first one and is killed before it publishes the second one. Then
// the broker has neither of them, so no other worker can go on with the chain, and its client waits for ever.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_chain/celery_chain_ack_first.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_chain_ack_first
// Run:     celery_chain_ack_first
// Symptom: exit 1, prints "FAIL  messages left for another worker: 0, expected 2"

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

struct Worker : celery::ChainWorker {
  using ChainWorker::ChainWorker;

  void handle(const amqp::Delivery& message) override {
    broker_.acknowledge(message);  // wrong: now the broker has nothing of the chain
    broker_.waiting("celery");     // (an answer from the same channel: the broker has read the acknowledgement)
    between();
    publish_what_takes_its_place(message);
    broker_.confirm();
  }
};

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }

}  // namespace

int main(int argc, char** argv) {
  cookbook::Options options("A worker that acknowledges a task too early: the rest of its chain is lost");
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("add", {"x", "y"}, add);
  const Broker broker;
  celery::Client client(broker.url());
  client.chain({{"add", {5, 5}}, {"add", {1}}});
  cookbook::exit_code_of(cookbook::start_child([&] {
    Worker own(broker.url(), registry);
    own.between = [] { std::raise(SIGKILL); };
    own.run(1);
  }));
  amqp::Connection watching(broker.url());
  while (watching.consumers("celery") > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));

  cookbook::Checks checks;
  checks.equal("messages left for another worker", watching.waiting("celery"), 2U);
  return checks.exit_code();
}
