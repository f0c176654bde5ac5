// Task queue: the worker
//
// Takes tasks from the broker's queues, runs the functions that are registered under their names, and sends back what
// they return. A message is acknowledged when its task is done, not before: if a worker dies in mid-task, the broker
// gives the message to another, and nothing is lost. SIGTERM lets running tasks finish, Ctrl-C ends the worker at once.
//
// Compile: g++ -std=c++20 -O1 -Icommon chapters/05_distributed/task_queue/task_queue_worker.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o task_queue_worker
// Run:     task_queue_worker [--broker URL] [--app NAME] [--queues A,B] [--concurrency N] [--prefetch N]

#include "worker.hpp"

#include <sys/signalfd.h>

#include <csignal>

#include "cookbook/options.hpp"
#include "cookbook/system_check.hpp"
#include "retry.hpp"

namespace {

using namespace task_queue;
using cookbook::println;

/// SIGTERM is read from a descriptor, so that poll() can wait for it beside the broker and the tasks. It is blocked
/// first, and in all threads to come, since else it would end the process.
int descriptor_of_sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  check(sigprocmask(SIG_BLOCK, &set, nullptr), "sigprocmask");
  return check(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
}

/// The banner of Celery's worker, in plain lines.
void introduce(const Settings& settings, const std::string& app, const Address& broker, const Registry& registry) {
  println("{} ({})", settings.node, version());
  println("[config] app {}, transport {}, results by reply queue, concurrency {} (threads), {} messages ahead for each",
          app, broker.text(), settings.concurrency, settings.prefetch);
  for (const std::string& queue : settings.queues) println("[queues] {0}: exchange {0} (direct), key {0}", queue);
  for (const auto& [name, task] : registry.tasks()) println("[tasks]  {}", name);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string broker = default_broker, app = "addTask", queues = "celery";
  settings.node = fmt::format("cpp{}@{}", getpid(), host_name());
  bool want_version = false;
  RetryPolicy retry{.max_retries = 100};
  cookbook::Options options("Take tasks from a broker's queues and run them");
  options.add("broker", broker, "where the broker is");
  options.add("app", app, "name of the application, which stands before the tasks' names");
  options.add("queues", queues, "queues to take tasks from, separated by commas");
  options.add("name", settings.node, "name of this worker, unique among those of the broker");
  options.add("concurrency", settings.concurrency, "tasks that run at once, each in a thread", 1, 1000);
  options.add("prefetch", settings.prefetch, "messages taken ahead for each thread", 1, 1000);
  options.add("max-body", settings.max_body, "bytes that the body of a message may have", 1, 100'000'000);
  options.add("max-retries", retry.max_retries, "tries in a row to get the broker back", 0, 1'000'000);
  options.add_flag("quiet", settings.quiet, "print no line for each task");
  options.add_flag("version", want_version, "print the version and end");
  options.parse(argc, argv);
  if (want_version) {
    println("{} {}", cookbook::program_name(), version());
    return 0;
  }

  if (settings.node.empty() || settings.node.size() > 200) {
    cookbook::complain("--name: a worker's name has 1 to 200 bytes");
    return 2;
  }
  settings.queues = queues_of_option(queues);
  const Address address = address_of_option(broker);

  const int stop_signal = descriptor_of_sigterm();
  const Registry registry = registered_tasks(app);
  introduce(settings, app, address, registry);
  Worker worker(settings, registry, stop_signal);
  for (int failures = 0; !worker.stopping(); ++failures) {
    const cookbook::Stopwatch watch;
    try {
      Connection connection(address, 10);
      worker.serve(connection);
    } catch (const Lost& lost) {
      if (worker.stopping()) break;
      if (watch.seconds() > 10) failures = 0;  // it was a good connection, so this is a new misfortune
      worker.pause(retry.next_pause(failures, lost));
    }
  }
  println("Stopped.");
  return 0;
}
