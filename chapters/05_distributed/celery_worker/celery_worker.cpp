// Celery worker
//
// Celery is Python's best-known task queue. Its clients and workers share nothing but JSON in the messages of a broker.
// So a worker can be a C++ program. Here a client in Python posts six tasks, and this program takes them. It shows the
// message of the first one as it waits at the broker, what the client gets for each (results, exceptions, refusals),
// and the message of an answer. With --broker it takes the tasks of another broker.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker
// Run:     celery_worker [--broker URL]

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>

#include "broker.hpp"
#include "celery/message.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

const char* const client_in_python = R"python(
import celery, json, sys

app = celery.Celery(broker=sys.argv[1], backend="rpc://")
answers = []  # the bodies of the worker's messages
results = app.backend.result_consumer
read = results.on_state_change
results.on_state_change = lambda meta, message: (answers.append(message.body), read(meta, message))

def show(call, task, *args, **options):
    try:
        result = app.send_task(task, args, **options).get(timeout=30)
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    print(f"{call:<26}{result}", flush=True)

show("add(5, 5)", "addTask.add", 5, 5)
show("add(x=5, y=5)", "addTask.add", kwargs={"x": 5, "y": 5})
show("divide(1, 0)", "addTask.divide", 1, 0)
show("add(5)", "addTask.add", 5)
show("subtract(5, 5)", "addTask.subtract", 5, 5)
show("add(5, 5) in a second", "addTask.add", 5, 5, countdown=1)
print(answers[0], json.dumps(json.loads(answers[2])["result"]), sep="\n")
)python";

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
  celery::declare_task_queue(connection, "celery");
  connection.consume("celery");
  const auto message = connection.next(std::chrono::seconds(20));
  if (!message) throw amqp::Error("there is no message");
  const celery::json::object headers = celery::headers_of(*message);
  cookbook::println("{:<26}{}", "reply_to", message->reply_to);
  for (const std::string name : {"lang", "task", "id"}) {
    cookbook::println("{:<26}{}", name, celery::json::serialize(headers.at(name)));
  }
  cookbook::println("{:<26}{}", "body", message->body);
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
  if (std::system("/usr/bin/python3 -c 'import celery' 2>/dev/null") != 0) {
    cookbook::print_error("skipped: Python's Celery is not installed (package python3-celery)");
    return 77;
  }

  const Broker broker;
  cookbook::ChildProgram client({"/usr/bin/python3", "-W", "ignore", "-c", client_in_python, broker.url()},
                                cookbook::ChildProcess::Output::piped);
  cookbook::println("the message that Python has posted");
  show_message(broker.url());
  const pid_t worker = cookbook::start_child([&] {
    check(std::freopen("/dev/null", "w", stderr) == nullptr ? -1 : 0, "freopen");  // the client shows what it refuses
    celery::work(broker.url(), registry);
  });

  cookbook::println("what Python gets from the worker in C++");
  int unexpected = 0;
  for (const std::string expected :
       {"10", "10", "ZeroDivisionError: division by zero", "TypeError: addTask.add misses argument y",
        "NotRegistered: 'addTask.subtract'", "NotImplementedError: eta and countdown"}) {
    const std::string line = client.read_line();
    cookbook::println("{}", line);
    if (!line.ends_with("  " + expected)) ++unexpected;
  }
  cookbook::println("the message that the worker in C++ has posted for add(5, 5)\n{}", client.read_line());
  cookbook::println("what its message for divide(1, 0) has as the result\n{}", client.read_line());
  kill(worker, SIGTERM);

  cookbook::Checks checks;
  checks.equal("tasks with another end than they should have", unexpected, 0);
  checks.equal("the worker's exit code after SIGTERM", cookbook::exit_code_of(worker), 0);
  return checks.exit_code();
}
