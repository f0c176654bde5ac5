// Task queue
//
// A client posts tasks to a broker and goes on; a worker, another process, takes them from there, executes them and
// sends the results back. Neither knows the other: the broker keeps what nobody has taken yet, and gives what a dead
// worker has left undone to the next. This program is the client, and starts and kills the workers. At the end it
// measures how many tasks a second pass through, beside a bare loop that only publishes and consumes.
//
// Compile: g++ -std=c++20 -O1 -Icommon chapters/05_distributed/task_queue/task_queue.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o task_queue
// Run:     run.sh BIN [--broker URL] [--tasks N], where BIN has the programs; or task_queue --broker URL

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "client.hpp"
#include "cookbook/options.hpp"
#include "rate.hpp"
#include "tasks.hpp"
#include "worker_process.hpp"

namespace {

using namespace task_queue;
using cookbook::println;

/// What became of a task, as text: "SUCCESS: 10", or "FAILURE: ZeroDivisionError: division by zero".
std::string outcome(Client::Handle handle) {
  try {
    const json::value value = handle.get();
    return fmt::format("{}: {}", handle.state(), shown(value));
  } catch (const TaskFailed& failed) {
    return fmt::format("{}: {}: {}", handle.state(), failed.type, failed.what());
  } catch (const NoResult& none) {
    return none.what();
  }
}

/// The source's example: add(5, 5), posted three times. The worker is started when all three have been posted.
void post_and_execute(Client& client, Connection& broker, const std::string& url, cookbook::Checks& checks) {
  checks.equal("add(5, 5), called here", shown(add(5, 5)), "10");

  std::vector<Client::Handle> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(client.delay("addTask.add", 5, 5));
  checks.equal("tasks in the queue while no worker is alive", broker.depth("celery")->messages, 3U);

  WorkerProcess worker({"--broker", url, "--concurrency", "1", "--prefetch", "1"});
  std::set<std::string> ids;
  std::vector<std::string> results;
  for (Client::Handle& handle : handles) {
    println("worker: {}", worker.wait_for("Received task: addTask.add[" + handle.id()));
    println("worker: {}", worker.wait_for("Task addTask.add[" + handle.id()));
    ids.insert(handle.id());
    results.push_back(outcome(handle));
  }
  checks.equal("results", results, {"SUCCESS: 10", "SUCCESS: 10", "SUCCESS: 10"});
  checks.equal("different ids", ids.size(), 3U);
  const auto worker_pid = client.delay("addTask.process").get().to_number<pid_t>();
  checks.that("the work was done by the worker, not here", worker_pid == worker.pid() && worker_pid != getpid());
  const auto of_tasks = [](const std::string& line) { return line.find("addTask.add[") != std::string::npos; };
  checks.equal("records of these tasks", std::count_if(worker.lines().begin(), worker.lines().end(), of_tasks), 6L);
}

/// What apply_async() can ask for, and how a task can end.
void ask_for_more(Client& client, Connection& broker, const std::string& url, cookbook::Checks& checks) {
  WorkerProcess worker({"--broker", url});
  checks.equal("arguments by name", outcome(client.apply_async("addTask.add", {}, {{"x", 5}, {"y", 5}})),
               "SUCCESS: 10");

  const cookbook::Stopwatch since_posted;
  client.apply_async("addTask.add", {5, 5}, {}, {.countdown = Seconds(0.1)}).get();
  checks.that("not executed before its countdown of 0.1 s was over", since_posted.seconds() >= 0.1);
  const Execution too_late = {.countdown = Seconds(0.1), .expires = Seconds(0.05)};
  checks.equal("expired before its countdown was over",
               outcome(client.apply_async("addTask.add", {5, 5}, {}, too_late)), "REVOKED: TaskRevokedError: expired");
  Client::Handle unseen = client.apply_async("addTask.add", {5, 5}, {}, {.queue = "elsewhere"});
  checks.equal("tasks in a queue that no worker listens to", broker.depth("elsewhere")->messages, 1U);
  checks.equal("the state of such a task", unseen.state(), "PENDING");
  broker.delete_queue("elsewhere");

  checks.equal("1 divided by 0", outcome(client.delay("addTask.divide", 1, 0)),
               "FAILURE: ZeroDivisionError: division by zero");
  checks.equal("failed twice, so tried again twice", outcome(client.delay("addTask.flaky", 2)), "SUCCESS: 2");
  checks.equal("no such task", outcome(client.delay("addTask.subtract", 5, 5)),
               "FAILURE: NotRegistered: addTask.subtract");
  checks.equal("asked for a result that nobody keeps",
               outcome(client.apply_async("addTask.add", {5, 5}, {}, {.ignore_result = true})),
               "no result is kept, since the task was posted with ignore_result");
}

/// Two tasks that each wait for the other to run at the same time: with one thread they wait in vain.
void overlap(Client& client, const std::string& url, int threads, double timeout, cookbook::Checks& checks) {
  WorkerProcess worker({"--broker", url, "--concurrency", std::to_string(threads)});
  Client::Handle first = client.delay("addTask.meet", timeout), second = client.delay("addTask.meet", timeout);
  const bool met = first.get().as_bool() && second.get().as_bool();
  checks.equal(fmt::format("two tasks of a worker with {} at once have met", threads), met, threads > 1);
}

/// A worker is killed in mid-task. It has not acknowledged the message, so the broker gives it to the next worker.
void kill_in_mid_task(Client& client, const std::string& url, cookbook::Checks& checks) {
  WorkerProcess doomed({"--broker", url});
  Client::Handle task = client.delay("addTask.meet", 30);
  println("worker: {}", doomed.wait_for("Received"));
  checks.equal("the worker was ended by signal", -doomed.stop(SIGKILL), SIGKILL);
  checks.equal("the state of its task", task.state(), "PENDING");
  WorkerProcess heir({"--broker", url});
  println("worker: {}", heir.wait_for("Received"));
  Client::Handle partner = client.delay("addTask.meet", 30);
  checks.equal("its task, with another worker", outcome(task), "SUCCESS: true");
  checks.equal("the task that it waited for", outcome(partner), "SUCCESS: true");
}

/// SIGTERM: running tasks are finished, waiting ones go back to the broker. How many are which differs from run to run.
void stop_gracefully(Client& client, Connection& broker, const std::string& url, cookbook::Checks& checks) {
  WorkerProcess worker({"--broker", url, "--concurrency", "1", "--prefetch", "20"});
  std::vector<Client::Handle> handles;
  for (int i = 0; i < 20; ++i) handles.push_back(client.delay("addTask.nap", 0.02));
  worker.wait_for("succeeded");
  checks.equal("exit code after SIGTERM", worker.stop(SIGTERM), 0);
  const auto done = std::count_if(handles.begin(), handles.end(), [](auto& task) { return task.state() == "SUCCESS"; });
  checks.equal("tasks done, and tasks back in the queue", done + broker.depth("celery")->messages, 20L);
}

/// Whoever reaches the broker can post anything. What is no task is kept aside, and the worker lives on.
void survive_garbage(Client& client, Connection& broker, const std::string& url, cookbook::Checks& checks) {
  WorkerProcess worker({"--broker", url, "--max-body", "1000"});
  const std::uint32_t before = broker.depth(dead_letters)->messages;
  Message message = encode(Request{"addTask.add", new_id()});
  for (const std::string& body : {std::string("no JSON"), std::string(R"({"no": "list"})"), std::string(1001, '1')}) {
    message.body = body;
    client.post_raw("celery", message);
    println("worker: {}", worker.wait_for("moved to"));
  }
  checks.equal("the worker, after that", outcome(client.delay("addTask.add", 5, 5)), "SUCCESS: 10");
  worker.stop(SIGTERM);
  checks.equal("messages set aside", broker.depth(dead_letters)->messages - before, 3U);
}

}  // namespace

int main(int argc, char** argv) {
  std::string url = default_broker;
  int tasks = 500, repeats = 5;
  cookbook::Options options("Post tasks to a broker, and have them executed by workers");
  options.add("broker", url, "a broker that runs already; run.sh starts one if this is left out");
  options.add("tasks", tasks, "tasks to measure with", 1, 1'000'000);
  options.add("repeats", repeats, "how often to measure", 1, 1000);
  bool check_options = false;
  options.add_flag("check-options", check_options, "only say whether the options are right");
  options.parse(argc, argv);
  const Address address = address_of_option(url);
  if (check_options) return 0;

  cookbook::Checks checks;
  Client client(address);
  Connection broker(address);
  println("Connected to {}", address.text());
  post_and_execute(client, broker, url, checks);
  ask_for_more(client, broker, url, checks);
  overlap(client, url, 1, 0.1, checks);
  overlap(client, url, 2, 10, checks);
  kill_in_mid_task(client, url, checks);
  stop_gracefully(client, broker, url, checks);
  survive_garbage(client, broker, url, checks);
  measure_rates(client, broker, address, url, tasks, repeats, checks);
  return checks.exit_code();
}
