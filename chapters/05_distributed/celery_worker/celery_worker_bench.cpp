// Celery worker, measured
//
// Tasks per second: the same client posts the same tasks to this worker, to celery_monitor's, to Python's (if
// python3-celery is installed), and to a bare loop that looks at no task, sends the same answer for each, and
// acknowledges as this worker does. All of them run all the time, each with a queue of its own, but one is stopped
// while its tasks are posted: what is measured is the time from then until the client has the last result. A second
// table has the time that the client waits for one task.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/05_distributed chapters/05_distributed/celery_worker/celery_worker_bench.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o celery_worker_bench
// Run:     celery_worker_bench [--tasks N] [--python N] [--prefetch N] [--rounds N]

#include <csignal>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "broker.hpp"
#include "celery/client.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/options.hpp"
#include "cookbook/process.hpp"
#include "worker.hpp"

namespace {

constexpr int processes = 2;

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }

/// Answers 10 to every message of a queue, for ever.
void bare_loop(const std::string& url, const std::string& queue, std::uint16_t prefetch) {
  amqp::Connection broker(url);
  celery::declare_task_queue(broker, queue);
  broker.prefetch(prefetch);
  broker.consume(queue);
  while (true) {
    std::uint64_t last = 0;
    for (auto task = broker.next(std::chrono::seconds(1)); task; task = broker.next(std::chrono::seconds(0))) {
      celery::Task to_answer = {.name = "", .id = task->correlation_id, .reply_to = task->reply_to};
      celery::publish_result(broker, to_answer, {"SUCCESS", 10});
      last = task->tag;
    }
    if (last == 0) continue;
    broker.confirm();
    broker.acknowledge(last, amqp::Acknowledged::up_to_this_one);
  }
}

/// Python's worker, which takes its tasks from the queue that is named like its pool.
const char* const python_worker = R"(
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

struct Measured {
  std::string name, queue;
  std::vector<pid_t> pids;  ///< of the processes that take messages from the broker

  void send(int signal_number) const {
    for (const pid_t pid : pids) kill(pid, signal_number);
  }
};

/// Waits for the results of tasks; how many are not 10.
int wrong_results(std::vector<celery::Client::Handle> tasks) {
  int wrong = 0;
  for (celery::Client::Handle& task : tasks) wrong += task.get(std::chrono::seconds(60)) != celery::json::value(10);
  return wrong;
}

/// Posts `count` tasks while the worker is stopped, lets it go on, and returns how long it took to the last result.
double seconds_for(const Measured& worker, celery::Client& client, int count, int& wrong) {
  worker.send(SIGSTOP);
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < count; ++i) tasks.push_back(client.post("addTask.add", {5, 5}, {}, {.queue = worker.queue}));
  client.confirm();
  const cookbook::Stopwatch watch;
  worker.send(SIGCONT);
  wrong += wrong_results(std::move(tasks));
  return watch.seconds();
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = 3'000, python = 2, prefetch = 1'000, rounds = 7;
  cookbook::Options options("Tasks per second, beside Python's worker and a bare loop");
  options.add("tasks", tasks, "tasks per run", 20, 1'000'000);
  options.add("python", python, "processes of Python's worker; 0: no worker in Python", 0, 64);
  options.add("prefetch", prefetch, "messages that a worker takes ahead per process", 1, 1'000);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);

  const Broker broker;
  const auto ahead = static_cast<std::uint16_t>(prefetch);
  const auto start_all = [](const std::function<void()>& work) {
    std::vector<pid_t> pids;
    for (int i = 0; i < processes; ++i) pids.push_back(cookbook::start_child(work));
    return pids;
  };
  std::vector<Measured> workers;
  workers.push_back({"bare loop", "bare", start_all([&] { bare_loop(broker.url(), "bare", ahead); })});
  workers.push_back({"this worker", "cpp", start_all([&] {
                       celery::Registry registry;
                       registry.add("addTask.add", {"x", "y"}, add);
                       celery::work(broker.url(), registry, "cpp", ahead);
                     })});
  std::list<cookbook::ChildProgram> programs;
  const auto add_program = [&](const std::string& name, const std::string& queue, std::vector<std::string> words) {
    workers.push_back(
        {name,
         queue,
         {programs.emplace_back(std::move(words), cookbook::ChildProcess::Output::piped_with_errors).pid()}});
  };
  if (const std::string monitor = cookbook::beside_this_program("celery_monitor_start");
      access(monitor.c_str(), X_OK) == 0) {
    add_program("celery_monitor's worker", "pool",
                {monitor, "--broker", broker.url(), "--queues", "pool", "--quiet", "--concurrency",
                 std::to_string(processes), "--prefetch", std::to_string(prefetch)});
  }
  if (python > 0 && std::system("/usr/bin/python3 -c 'import celery' 2>/dev/null") == 0) {
    for (const std::string pool : {"prefork", "solo"}) {
      add_program("Python's worker, " + pool, pool,
                  {"/usr/bin/python3", "-W", "ignore", "-c", python_worker, broker.url(), pool, std::to_string(python),
                   std::to_string(prefetch)});
    }
  } else if (python > 0) {
    cookbook::println("without Python's worker: install python3-celery");
  }

  amqp::Connection connection(broker.url());
  for (const Measured& worker : workers) celery::declare_task_queue(connection, worker.queue);
  celery::Client client(broker.url());
  int wrong = 0;
  std::vector<cookbook::Benchmark> rates, waits;
  for (const Measured& worker : workers) {
    const auto one_by_one = [&client, &wrong, queue = worker.queue](int count) {
      for (int i = 0; i < count; ++i) {
        wrong += wrong_results({client.apply_async("addTask.add", {5, 5}, {}, {.queue = queue})});
      }
    };
    one_by_one(1);  // waits until the worker is there
    rates.emplace_back(worker.name, tasks, [&] { return seconds_for(worker, client, tasks, wrong); });
    waits.emplace_back(worker.name, tasks / 20, [one_by_one, tasks] { one_by_one(tasks / 20); });
  }
  cookbook::Figures together(fmt::format("add(5, 5) with results, {} tasks", tasks), cookbook::rate("K/s", 1e3));
  together.measure(rates, rounds);
  together.percent_of("bare loop");
  cookbook::Figures alone("one task after another", cookbook::cost("ms", 1e-3));
  alone.measure(waits, rounds);
  if (workers.back().queue == "solo") {
    together.speedup_over("Python's worker, prefork", "prefork");
    alone.speedup_over("Python's worker, prefork", "prefork");
  }
  workers[0].send(SIGKILL);
  workers[1].send(SIGKILL);

  cookbook::Checks checks;
  checks.equal("wrong results", wrong, 0);
  together.print(checks);
  alone.print(checks);
  return checks.exit_code();
}
