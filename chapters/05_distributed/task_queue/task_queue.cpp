// Task queue
//
// A client posts tasks to a message broker and goes on; workers, other processes, take them from there, execute them
// and send the results back. The broker keeps a task until a worker has acknowledged it, so nothing is lost when no
// worker is there yet, or when a worker is killed in the middle of a task.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/task_queue/task_queue.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -pthread -o task_queue
// Run:     task_queue [--tasks N] [--workers N]

#include <csignal>
#include <string>
#include <vector>

#include "broker.hpp"
#include "client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

/// Stands for a failure of the machine: kills the worker the first time that it is given the task "add 3 4".
void fail_once(const amqp::Delivery& task) {
  if (task.body == "add 3 4" && !task.redelivered) std::raise(SIGKILL);
}

/// An answer such as "10 by process 123" without " by process 123".
std::string value_of(const std::string& answer) { return answer.substr(0, answer.find(" by process")); }

}  // namespace

int main(int argc, char** argv) {
  int tasks = 3, workers = 2;
  cookbook::Options options("Hand tasks to workers through a message broker");
  options.add("tasks", tasks, "tasks that wait for the first worker", 1, 10'000);
  options.add("workers", workers, "worker processes", 1, 16);
  options.parse(argc, argv);

  cookbook::Checks checks;
  const Broker broker;  // RabbitMQ, started here and ended with this program
  amqp::Connection connection(broker.url());
  declare_queues(connection);
  Client client(broker.url());

  std::vector<std::string> ids;
  for (int i = 0; i < tasks; ++i) ids.push_back(client.post("add 5 5"));
  checks.equal("tasks that wait at the broker, without a worker", connection.waiting("tasks"), unsigned(tasks));

  const std::string fragile = client.post("add 3 4");
  const pid_t first = cookbook::start_child([&] { work(broker.url(), fail_once); });
  checks.equal("the first worker is ended by signal", -cookbook::exit_code_of(first),
               SIGKILL);  // -N: ended by signal N

  std::vector<pid_t> others;
  for (int i = 0; i < workers; ++i) others.push_back(cookbook::start_child([&] { work(broker.url(), fail_once); }));
  checks.equal("the task that it left undone", value_of(client.result(fragile)), "7");
  int right = 0;
  for (const std::string& id : ids) right += value_of(client.result(id)) == "10";
  checks.equal("tasks with the result 10", right, tasks);

  checks.equal("a task that no worker can do", client.result(client.post("subtract 5 5")),
               "failed: no function is called subtract");
  std::string error;
  try {
    client.post("add 5 5", "no_such_queue");
  } catch (const amqp::Unroutable& unroutable) {
    error = unroutable.what();
  }
  checks.equal("a task for a queue that is not there", error,
               "the broker has no queue for a message to 'no_such_queue'");

  // A process that has not come as far as work() would be ended by SIGTERM at once.
  while (connection.consumers("tasks") < unsigned(workers)) continue;
  int ended_well = 0;
  for (const pid_t worker : others) ended_well += kill(worker, SIGTERM) == 0 && cookbook::exit_code_of(worker) == 0;
  checks.equal("workers that ended cleanly after SIGTERM", ended_well, workers);
  return checks.exit_code();
}
