// Celery worker
//
// Celery is Python's best-known task queue. Its clients and workers speak a documented protocol: JSON in the messages
// of a broker. So a worker can be a C++ program. This one shows the message of a task as it waits at the broker, then
// executes it and some others, and prints what the client gets for each: results, exceptions, refusals. With --broker
// it takes the tasks of another broker, which clients in Python post.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker
// Run:     celery_worker [--broker URL]

#include <chrono>
#include <csignal>
#include <string>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

/// A sum that does not fit is an error, since Python's integers have no limit.
std::int64_t add(std::int64_t x, std::int64_t y) {
  std::int64_t sum;
  if (__builtin_add_overflow(x, y, &sum)) throw celery::TaskError("OverflowError", "the sum does not fit into 64 bits");
  return sum;
}

double divide(double x, double y) {
  if (y == 0) throw celery::TaskError("ZeroDivisionError", "division by zero");
  return x / y;
}

/// Prints the first message that waits in the queue celery. Does not acknowledge it, so the broker puts it back.
void show_message(const std::string& url) {
  amqp::Connection connection(url);
  connection.consume("celery");
  const auto message = connection.next(std::chrono::seconds(20));
  if (!message) throw amqp::Error("there is no message");
  const celery::json::object headers = celery::headers_of(*message);
  cookbook::println("properties  content_type: {}  reply_to: {}", message->content_type, message->reply_to);
  for (const std::string name : {"task", "id", "eta"}) {
    cookbook::println("header      {}: {}", name, celery::json::serialize(headers.at(name)));
  }
  cookbook::println("body        {}", message->body);
}

}  // namespace

int main(int argc, char** argv) {
  std::string url;
  cookbook::Options options("A worker for tasks of Celery, in C++");
  options.add("broker", url, "take tasks from the broker at this address until SIGTERM comes, and show nothing");
  options.parse(argc, argv);

  celery::Registry registry;
  registry.add("addTask.add", {"x", "y"}, add);
  registry.add("addTask.divide", {"x", "y"}, divide);
  if (!url.empty()) {
    try {
      celery::work(url, registry);
      return 0;
    } catch (const std::invalid_argument& error) {  // this is no address
      cookbook::print_error(fmt::format("--broker {}", error.what()));
      return 2;
    }
  }

  const Broker broker;
  celery::Client client(broker.url());
  int unexpected = 0;
  const auto show = [&](const std::string& what, const celery::Client::Handle& task, const std::string& expected) {
    const std::string result = outcome(task);
    cookbook::println("{:<26}{}", what, result);
    if (result != expected) ++unexpected;
  };

  const celery::Client::Handle sum = client.delay("addTask.add", 5, 5);  // the worker is started afterwards
  show_message(broker.url());
  const pid_t worker = cookbook::start_child([&] { celery::work(broker.url(), registry); });

  show("add(5, 5)", sum, "10");
  show("add(x=5, y=5)", client.apply_async("addTask.add", {}, {{"x", 5}, {"y", 5}}), "10");
  show("divide(1, 0)", client.delay("addTask.divide", 1, 0), "ZeroDivisionError: division by zero");
  show("add(5)", client.delay("addTask.add", 5), "TypeError: addTask.add misses argument y");
  show("subtract(5, 5)", client.delay("addTask.subtract", 5, 5), "NotRegistered: addTask.subtract");
  show("add(5, 5) in a second", client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 1}),
       "NotImplementedError: eta and countdown");

  cookbook::Checks checks;
  checks.equal("tasks with another end than they should have", unexpected, 0);
  kill(worker, SIGTERM);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
