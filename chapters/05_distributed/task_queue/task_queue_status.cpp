// Task queue: what is going on
//
// Asks the broker how many messages wait in each queue and how many consumers it has, and asks all workers, by
// publish/subscribe, which tasks they have registered and how many they have executed. It disturbs neither.
//
// Compile: g++ -std=c++20 -O1 -Icommon chapters/05_distributed/task_queue/task_queue_status.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o task_queue_status
// Run:     task_queue_status [--broker URL] [--queues A,B] [--wait-ms N]

#include "control.hpp"
#include "cookbook/options.hpp"

namespace {

using namespace task_queue;
using cookbook::println;

/// A member of an answer, or null: an answer of another program may have any shape.
json::value member(const json::value& of, std::string_view name) {
  const json::value* found = of.is_object() ? of.get_object().if_contains(name) : nullptr;
  return found ? *found : nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  std::string broker = default_broker, queues = "celery," + dead_letters;
  int wait_ms = 500;
  bool quiet = false, want_version = false;
  cookbook::Options options("Show the queues of a broker, and the workers that take tasks from them");
  options.add("broker", broker, "where the broker is");
  options.add("queues", queues, "queues to show, separated by commas");
  options.add("wait-ms", wait_ms, "how long to wait for the workers' answers", 1, 60'000);
  options.add_flag("quiet", quiet, "ask no workers");
  options.add_flag("version", want_version, "print the version and end");
  options.parse(argc, argv);
  if (want_version) {
    println("{} {}", cookbook::program_name(), version());
    return 0;
  }

  const std::vector<std::string> names = queues_of_option(queues);
  Connection connection(address_of_option(broker));
  for (const std::string& queue : names) {
    if (const auto depth = connection.depth(queue)) {
      println("queue {}: {} waiting, {} consumers", queue, depth->messages, depth->consumers);
    } else {
      println("queue {}: there is none", queue);
    }
  }
  if (quiet) return 0;

  const std::chrono::milliseconds timeout(wait_ms);
  const auto statistics = ask_workers(connection, "stats", timeout);
  for (const auto& [node, tasks] : ask_workers(connection, "registered", timeout)) {
    const json::value stats = statistics.contains(node) ? statistics.at(node) : json::value();
    println("worker {}: pid {}, {} at once, {} messages ahead", node, json::serialize(member(stats, "pid")),
            json::serialize(member(member(stats, "pool"), "max-concurrency")),
            json::serialize(member(stats, "prefetch_count")));
    if (!tasks.is_array()) continue;
    for (const json::value& task : tasks.get_array()) {
      if (!task.is_string()) continue;
      const json::value executed = member(member(stats, "total"), task.get_string());
      println("  {}, executed: {}", std::string_view(task.get_string()),
              executed.is_null() ? "0" : json::serialize(executed));
    }
  }
  return 0;
}
