// Celery monitor: the worker alone
//
// Takes tasks from a broker that runs already, as `celery -A addTask worker` does, until SIGTERM comes. Python's
// clients, `celery inspect`, `celery control` and monitors such as Flower can use it.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_monitor/celery_monitor_start.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_monitor_start
// Run:     celery_monitor_start [--app NAME] [--broker URL] [--queues A,B] [--concurrency N] [--quiet]

#include <algorithm>
#include <sstream>

#include "celery/tasks.hpp"
#include "celery/worker.hpp"
#include "cookbook/options.hpp"

namespace {

/// A wrong option: one line, and exit code 2.
[[noreturn]] void refuse(const std::string& what) {
  cookbook::print_error(what);
  std::exit(2);
}

std::vector<std::string> split(const std::string& names) {
  std::vector<std::string> list;
  std::istringstream stream(names + ',');
  for (std::string name; std::getline(stream, name, ',');) {
    if (name.empty() || name.size() > 255) refuse("--queues " + names + ": a queue's name has 1 to 255 bytes");
    if (std::count(list.begin(), list.end(), name) > 0) refuse("--queues " + names + ": a queue is named twice");
    list.push_back(name);
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  celery::Settings settings{.url = "amqp://guest@localhost//", .node = fmt::format("cpp{}@here", getpid())};
  std::string app = "addTask", queues = "celery";
  bool version = false;
  cookbook::Options options("Take tasks from a broker's queues and execute them");
  options.add("app", app, "name of the application, which stands before the names of the tasks");
  options.add("broker", settings.url, "where the broker is (amqp://guest@localhost// if left out)");
  options.add("queues", queues, "queues to take tasks from, separated by commas");
  options.add("name", settings.node, "name of this worker, which no other worker of the broker may have");
  options.add("concurrency", settings.concurrency, "processes that execute tasks", 1, 64);
  options.add("prefetch", settings.prefetch, "messages taken ahead per process", 1, 1'000);
  options.add_flag("quiet", settings.quiet, "print no line per task");
  options.add_flag("version", version, "print the version and end");
  options.parse(argc, argv);
  if (version) {
    cookbook::println("{} 1.0.0, Celery message protocol 2, librabbitmq {}", cookbook::program_name(), amqp_version());
    return 0;
  }
  settings.queues = split(queues);
  if (settings.node.empty() || settings.node.size() > 200) refuse("--name: a worker's name has 1 to 200 bytes");

  const celery::Registry registry = celery::registered_tasks(app);
  try {
    celery::Worker(settings, registry).run();
  } catch (const std::invalid_argument& error) {
    refuse(fmt::format("--broker {}", error.what()));
  }
  return 0;
}
