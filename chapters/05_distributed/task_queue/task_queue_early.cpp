// Pitfall: acknowledged too early
//
// This worker acknowledges a task when it takes it, not when it has done it: automatic acknowledgement asks the broker
// to forget each task as soon as it has sent it. The worker is killed before it has done it. The broker no longer has
// the task, the next worker does not get it, and nobody hears of an error.
//
// Compile: g++ -std=c++20 -O2 -Icommon -Ichapters/05_distributed chapters/05_distributed/task_queue/task_queue_early.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -pthread -o task_queue_early
// Run:     task_queue_early
// Symptom: exit 1, prints "the task is lost"

#include <csignal>
#include <cstdio>

#include "broker.hpp"
#include "client.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

int main() {
  const Broker broker;
  amqp::Connection connection(broker.url());
  declare_queues(connection);
  Client client(broker.url());
  const std::string id = client.post("add 3 4");

  const pid_t worker = cookbook::start_child([&] {
    amqp::Connection own(broker.url());
    own.consume(tasks_queue, amqp::Acknowledgement::automatic);  // wrong: the broker forgets the task here
    own.next(std::chrono::seconds(20));
    std::raise(SIGKILL);  // before the task is done
  });
  cookbook::exit_code_of(worker);

  const pid_t next = cookbook::start_child([&] { work(broker.url()); });
  int code = 0;
  try {
    std::printf("result: %s\n", client.result(id, std::chrono::seconds(1)).c_str());
  } catch (const std::runtime_error& error) {
    std::printf("%s, and %u tasks at the broker: the task is lost\n", error.what(), connection.waiting(tasks_queue));
    code = 1;
  }
  kill(next, SIGTERM);
  cookbook::exit_code_of(next);
  return code;
}
