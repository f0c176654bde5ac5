// Celery worker, measured
//
// Tasks per second, with results: the same client posts the same tasks to this worker, to Python's worker (if
// python3-celery is installed), and to a bare loop that looks at no task, sends the same answer for each, and
// acknowledges as this worker does. All of them run all the time, each with a queue of its own.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker_bench.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker_bench
// Run:     celery_worker_bench [--tasks N] [--python N] [--prefetch N] [--rounds N]

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker.hpp"
#include "child_program.hpp"
#include "client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "tasks.hpp"
#include "worker.hpp"

namespace {

/// Answers 10 to every message of a queue, for ever.
void bare_loop(const std::string& url, const std::string& queue, int messages_ahead) {
  amqp::Connection broker(url);
  broker.prefetch(static_cast<std::uint16_t>(messages_ahead));
  broker.consume(queue);
  std::map<std::uint64_t, std::uint64_t> replaced;  // number of the answer, tag of the task
  while (true) {
    if (const auto task = broker.next(std::chrono::milliseconds(replaced.empty() ? 1'000 : 0))) {
      replaced.emplace(celery::publish(broker, task->reply_to, task->correlation_id, {"SUCCESS", 10}), task->tag);
      if (broker.has_read_ahead()) continue;
    }
    std::uint64_t up_to = 0;
    for (; !replaced.empty() && broker.is_confirmed(replaced.begin()->first); replaced.erase(replaced.begin())) {
      up_to = replaced.begin()->second;
    }
    if (up_to != 0) broker.acknowledge(up_to, amqp::Acknowledged::up_to_this_one);
    pollfd ready = {broker.socket(), POLLIN, 0};
    if (!broker.has_read_ahead()) poll(&ready, 1, 1'000);
  }
}

/// Python's worker, which takes its tasks from the queue that is named like its pool.
std::unique_ptr<ChildProgram> python_worker(const std::string& url, const std::string& pool, int processes,
                                            int prefetch) {
  const std::string program = R"(
import sys, celery
url, pool, processes, prefetch = sys.argv[1:]
app = celery.Celery("addTask", broker=url, backend="rpc://")
app.conf.worker_prefetch_multiplier = int(prefetch)

@app.task(name="addTask.add", acks_late=True)
def add(x, y):
    return x + y

app.worker_main(["worker", "--pool", pool, "--concurrency", processes, "--queues", pool, "--hostname", pool + "@here",
                 "--loglevel", "CRITICAL", "--without-gossip", "--without-mingle", "--without-heartbeat"])
)";
  return std::make_unique<ChildProgram>(
      std::vector<std::string>{"/usr/bin/python3", "-W", "ignore", "-c", program, url, pool, std::to_string(processes),
                               std::to_string(prefetch)},
      true);
}

/// Posts `count` tasks and waits for their results; how many are not 10.
int wrong_results(celery::Client& client, const std::string& queue, int count) {
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(client.post("addTask.add", {5, 5}, {}, {.queue = queue}));
  client.confirm();
  int wrong = 0;
  for (celery::Client::Handle& task : tasks) wrong += task.get(std::chrono::seconds(60)) != celery::json::value(10);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 3'000, python = 2, prefetch = 50, rounds = 7;
  constexpr int concurrency = 2;
  cookbook::Options options("Tasks per second, beside Python's worker and a bare loop");
  options.add("tasks", tasks, "tasks per run", 20, 1'000'000);
  options.add("python", python, "processes of Python's worker; 0: no worker in Python", 0, 64);
  options.add("prefetch", prefetch, "messages that a worker takes ahead per process", 1, 1'000);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  const Broker broker;
  amqp::Connection connection(broker.url());
  const bool with_python = python > 0 && std::system("/usr/bin/python3 -c 'import celery' 2>/dev/null") == 0;
  std::vector<std::pair<std::string, std::string>> workers = {{"bare loop", "bare"}, {"this worker", "cpp"}};
  if (with_python) {
    workers.emplace_back("Python's worker, prefork", "prefork");
    workers.emplace_back("Python's worker, solo", "solo");
  } else if (python > 0) {
    cookbook::println("without Python's worker: install python3-celery");
  }
  for (const auto& [name, queue] : workers) celery::declare_task_queue(connection, queue);
  const pid_t bare = start_child([&] { bare_loop(broker.url(), "bare", prefetch * concurrency); });
  const pid_t cpp = start_child([&] {
    const celery::Registry registry = celery::registered_tasks("addTask");
    celery::Worker({broker.url(), "cpp@here", {"cpp"}, concurrency, prefetch, true}, registry).run();
  });
  std::vector<std::unique_ptr<ChildProgram>> python_workers;
  for (const std::string pool : {"prefork", "solo"}) {
    if (with_python) python_workers.push_back(python_worker(broker.url(), pool, python, prefetch));
  }

  celery::Client client(broker.url());
  int wrong = 0;
  std::vector<cookbook::Row> rows;
  for (const auto& [name, queue] : workers) {
    wrong += wrong_results(client, queue, 1);  // waits until it is there
    rows.emplace_back(name, static_cast<double>(tasks),
                      [&, queue = queue] { wrong += wrong_results(client, queue, tasks); });
  }
  cookbook::Figures figures(fmt::format("add(5, 5) with results, {} tasks", tasks), cookbook::rate("K/s", 1e3));
  figures.measure(rows, rounds);
  figures.percent_of("bare loop");
  if (with_python) figures.times("Python's worker, prefork", "prefork");

  for (const pid_t worker : {bare, cpp}) {
    kill(worker, SIGKILL);
    exit_code_of(worker);
  }

  cookbook::Checks checks;
  checks.equal("wrong results", wrong, 0);
  figures.print(checks);
  return checks.exit_code();
}
