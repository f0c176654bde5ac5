// The pool of processes in this process: what becomes of a task, of the process that executes it, and of all that it
// has started; and the program's output. Catalogue: 5.1, 5.2.

#include "celery/pool.hpp"

#include <sys/syscall.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <fstream>

#include "05_distributed/celery_pool/worker.hpp"
#include "broker.hpp"
#include "celery/random_tasks.hpp"
#include "celery/tasks.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

/// Seconds by which somebody has set the clock of the day forward, for this process.
std::atomic<long> clock_set_by = 0;

/// Instead of the C library's, which std::chrono uses.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += clock_set_by;
  return result;
}

namespace {

using namespace std::chrono_literals;
using celery::json::object;
using test_support::eventually;
using test_support::run;

TEST(celery_pool, signals_do_not_lose_an_answer) {
  celery::Registry registry;
  constexpr std::size_t length = 16'000'000;  // more than fits into a socket, so that the answer comes in parts
  registry.add("long", [](const celery::Task&) { return celery::json::string(length, 'x'); });
  celery::Pool pool(1, registry);
  const auto expect_answer = [&] {
    pool.execute(*pool.idle(), {{}, {.name = "long", .id = "1"}});
    std::vector<celery::Done> done;
    while (done.empty()) done = pool.wait(-1, 1s);
    const auto& result = std::get<celery::Result>(done[0].outcome);
    ASSERT_EQ(result.status, "SUCCESS") << result.traceback;
    EXPECT_EQ(result.value.as_string().size(), length);
  };
  std::signal(SIGALRM, [](int) {});
  const itimerval often = {{0, 200}, {0, 200}}, never = {};
  setitimer(ITIMER_REAL, &often, nullptr);  // a signal every 200 us, to this process only
  expect_answer();
  setitimer(ITIMER_REAL, &never, nullptr);

  // SIGTERM to all processes stops the worker, but not the task of a process.
  ASSERT_EQ(kill(pool.processes()[0].pid, SIGTERM), 0);
  expect_answer();
}

/// What the pool says of a task, as text.
std::string outcome_in(celery::Pool& pool, const std::string& name, celery::json::array args = {}) {
  pool.execute(*pool.idle(), {{}, {.name = name, .id = "1", .args = std::move(args)}});
  std::vector<celery::Done> done;
  while (done.empty()) done = pool.wait(-1, 1s);
  if (const auto* retry = std::get_if<celery::Retry>(&done[0].outcome)) return "RETRY: " + retry->why;
  const auto& result = std::get<celery::Result>(done[0].outcome);
  return result.status + ": " + (result.status == "SUCCESS" ? celery::shown(result.value) : result.traceback);
}

/// Whether a process is there, and is more than an entry that waits for its parent.
bool lives(pid_t pid) {
  const char state = test_support::state_of(pid);
  return state != 0 && state != 'Z';
}

TEST(celery_pool, no_child_of_a_killed_task_is_left) {
  const test_support::TemporaryDirectory folder;
  const auto read_pids = [&] {
    std::ifstream file(folder.path / "pids");
    std::vector<pid_t> pids;
    for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
    return pids;
  };
  celery::Registry registry;
  // A child, one that has left the group, and one whose own parent has ended.
  registry.add("family", [&](const auto&) {
    const std::string script =
        "sleep 1000 & echo $! >>F; setsid sleep 1000 & echo $! >>F; (sleep 1000 & echo $! >>F); wait";
    std::string command = script;
    for (std::size_t at; (at = command.find(">F")) != std::string::npos;) {
      command.replace(at, 2, "> " + (folder.path / "pids").string());
    }
    return std::system(command.c_str());
  });
  registry.add("term", [](const auto&) {
    return std::system("kill -TERM $$; echo still there") == SIGTERM;  // a program that a task starts can be ended
  });
  celery::Pool pool(1, registry);
  pool.execute(*pool.idle(), {{}, {.name = "family", .id = "1"}});
  ASSERT_TRUE(eventually([&] { return read_pids().size() == 3; }));
  const std::vector<pid_t> pids = read_pids();
  for (const pid_t pid : pids) EXPECT_TRUE(lives(pid));
  pool.kill_task("1", celery::failure({"TaskRevokedError", "terminated"}));
  while (pool.wait(-1, 1s).empty()) continue;
  for (const pid_t pid : pids) EXPECT_TRUE(eventually([&] { return !lives(pid); })) << pid;
  EXPECT_EQ(outcome_in(pool, "term"), "SUCCESS: true");
}

TEST(celery_pool, a_task_that_no_process_has_read_is_not_lost) {
  celery::Registry registry;
  registry.add("add", {"x", "y"}, celery::add);
  registry.add("crash", {}, celery::crash);
  celery::Pool pool(1, registry);
  const auto process = [&] { return pool.processes()[0].pid; };
  // It had ended before the task was sent,
  ASSERT_EQ(kill(process(), SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !lives(process()); }));
  EXPECT_EQ(outcome_in(pool, "add", {5, 5}), "SUCCESS: 10");
  // or afterwards, with the task unread.
  ASSERT_EQ(kill(process(), SIGSTOP), 0);
  pool.execute(*pool.idle(), {{}, {.name = "add", .id = "1", .args = {6, 6}}});
  ASSERT_EQ(kill(process(), SIGKILL), 0);
  std::vector<celery::Done> done;
  while (done.empty()) done = pool.wait(-1, 1s);
  EXPECT_EQ(std::get<celery::Result>(done[0].outcome).value, 12);
  // A task that was read is lost, and is not executed a second time.
  EXPECT_EQ(outcome_in(pool, "crash"), "FAILURE: WorkerLostError: its process has ended");
  EXPECT_EQ(outcome_in(pool, "add", {5, 5}), "SUCCESS: 10");
}

TEST(celery_pool, a_task_that_crashes_is_noticed_although_a_program_that_it_has_started_goes_on) {
  celery::Registry registry;
  registry.add("crash", [](const auto&) -> celery::json::value {
    check(std::system("sleep 1000 &"), "system");
    std::abort();
  });
  celery::Pool pool(1, registry);
  pool.execute(*pool.idle(), {{}, {.name = "crash", .id = "1", .time_limit = 10}});
  std::vector<celery::Done> done;
  while (done.empty()) done = pool.wait(-1, 1s);
  EXPECT_EQ(std::get<celery::Result>(done[0].outcome).traceback, "WorkerLostError: its process has ended");
}

TEST(celery_pool, a_process_that_sends_or_reads_only_a_part_does_not_hold_up_the_worker) {
  celery::Registry registry;
  registry.add("add", {"x", "y"}, celery::add);
  registry.add("length", [](const celery::Task& task) { return task.args[0].as_string().size(); });
  registry.add("part", [](const auto&) -> celery::json::value {
    check(::write(3, "\xe8\x03\0\0abc", 7), "write");  // three of a thousand bytes
    std::this_thread::sleep_for(20s);  // so that a worker that waits for the rest does not wait for ever
    _exit(0);
  });
  celery::Pool pool(2, registry);
  const std::string limit = "TimeLimitExceeded: 0.2";
  std::vector<celery::Done> done;
  pool.execute(*pool.idle(), {{}, {.name = "part", .id = "1", .time_limit = 0.2}});
  EXPECT_EQ(outcome_in(pool, "add", {5, 5}), "SUCCESS: 10");
  while (done.empty()) done = pool.wait(-1, 1s);
  EXPECT_EQ(std::get<celery::Result>(done[0].outcome).traceback, limit);

  // A text that the socket has no room for, and a process that is stopped.
  const celery::json::string text(4'000'000, 'x');
  const pid_t stopped = pool.idle()->pid;
  ASSERT_EQ(kill(stopped, SIGSTOP), 0);
  const cookbook::ChildProcess rescue([&] {
    std::this_thread::sleep_for(20s);
    kill(stopped, SIGCONT);
  });
  pool.execute(*pool.idle(), {{}, {.name = "length", .id = "1", .args = {text}, .time_limit = 0.2}});
  EXPECT_EQ(outcome_in(pool, "length", {text}), "SUCCESS: 4000000");
  for (done.clear(); done.empty();) done = pool.wait(-1, 1s);
  EXPECT_EQ(std::get<celery::Result>(done[0].outcome).traceback, limit);
}

TEST(celery_pool, a_process_has_nothing_open_but_its_own_socket) {
  celery::Registry registry;
  registry.add("descriptors", [](const auto&) {
    int open = 0;
    for (int descriptor = 4; descriptor < 1000; ++descriptor) open += fcntl(descriptor, F_GETFD) != -1;
    return open;
  });
  celery::Pool pool(1, registry);
  EXPECT_EQ(outcome_in(pool, "descriptors"), "SUCCESS: 0");
}

TEST(celery_pool, a_time_limit_is_kept_to_the_millisecond_and_not_by_the_time_of_day) {
  celery::Registry registry;
  registry.add("nap", {"seconds"}, celery::nap);
  celery::Pool pool(1, registry);
  pool.execute(*pool.idle(), {{}, {.name = "nap", .id = "1", .args = {60}, .time_limit = 0.25}});
  std::vector<celery::Done> done;
  int waits = 0;
  for (; done.empty(); ++waits) done = pool.wait(-1, 60s);  // the pool wakes up by itself when the limit is over
  EXPECT_LE(waits, 5);
  EXPECT_EQ(std::get<celery::Result>(done[0].outcome).traceback, "TimeLimitExceeded: 0.25");
  EXPECT_GE(done[0].seconds, 0.25);

  // Somebody sets the clock back by an hour, and then forward by a day.
  for (const long seconds : {-3600, 86'400}) {
    pool.execute(*pool.idle(), {{}, {.name = "nap", .id = "2", .args = {seconds < 0 ? 60 : 0.05}, .time_limit = 1}});
    const celery::Time before = celery::now();
    clock_set_by = seconds;
    EXPECT_GT(std::chrono::abs(celery::now() - before), 1000s) << "the clock of the day has another time";
    for (done.clear(); done.empty();) done = pool.wait(-1, 60s);
    clock_set_by = 0;
    const auto& result = std::get<celery::Result>(done[0].outcome);
    EXPECT_EQ(result.status + result.traceback, seconds < 0 ? "FAILURETimeLimitExceeded: 1" : "SUCCESS");
    EXPECT_LT(done[0].seconds, 30);
  }
}

TEST(celery_pool, a_process_that_is_killed_after_its_answer_takes_no_more_tasks) {
  celery::Registry registry;
  registry.add("add", {"x", "y"}, celery::add);
  celery::Pool pool(1, registry);
  const auto execute = [&](const std::string& id) {
    pool.execute(*pool.idle(), {{}, {.name = "add", .id = id, .args = {5, 5}}});
    pollfd answer = {pool.processes()[0].socket, POLLIN, 0};
    ASSERT_EQ(poll(&answer, 1, 20'000), 1);
  };
  const auto expect_10 = [&] {
    const std::vector<celery::Done> done = pool.wait(-1, 0ms);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(std::get<celery::Result>(done[0].outcome).value, 10);
  };
  execute("1");
  pool.kill_task("1", celery::failure({"TaskRevokedError", "terminated"}));
  expect_10();  // the answer was there before
  execute("2");
  expect_10();
}

celery::json::value nested(int levels) {
  celery::json::value value = celery::json::array();
  while (--levels > 0) value = celery::json::array{std::move(value)};
  return value;
}

TEST(celery_pool, what_is_no_json_harms_neither_the_worker_nor_the_process) {
  celery::Registry registry;
  registry.add("add", {"x", "y"}, celery::add);
  registry.add("text", [](const auto&) { return celery::json::string("\xff\n"); });
  registry.add("key", [](const auto&) { return object{{"\xc0\xaf", 1}}; });
  registry.add("throw text", [](const auto&) -> celery::json::value { throw std::runtime_error("a\xe2\x82"); });
  registry.add("throw type", [](const auto&) -> celery::json::value { throw celery::TaskError("\xff", "", "\xff"); });
  registry.add("throw number", [](const auto&) -> celery::json::value { throw 5; });
  registry.add("retry text", [](const auto&) -> celery::json::value { throw celery::Retry{1, 3, "\xff"}; });
  registry.add("retry never", [](const auto&) -> celery::json::value { throw celery::Retry{INFINITY, 3, "why"}; });
  registry.add("levels", [](const celery::Task& task) { return nested(static_cast<int>(task.args[0].as_int64())); });
  registry.add("long", [](const auto&) { return celery::json::string((1 << 24) - 1, 'x'); });
  registry.add("rubbish", [](const auto&) { return ::write(3, "\x03\0\0\0abc", 7); });
  registry.add("endless rubbish", [](const auto&) { return ::write(3, "\xff\xff\xff\xffxxx", 7); });
  celery::Pool pool(1, registry);
  const pid_t process = pool.processes()[0].pid;
  EXPECT_EQ(outcome_in(pool, "add", {1e308, 1e308}),
            "FAILURE: EncodeError: the result has a number that is infinite or undefined");
  EXPECT_EQ(outcome_in(pool, "text"), "FAILURE: EncodeError: the result has a text that is no UTF-8");
  EXPECT_EQ(outcome_in(pool, "key"), "FAILURE: EncodeError: the result has a text that is no UTF-8");
  EXPECT_EQ(outcome_in(pool, "throw text"), "FAILURE: RuntimeError: a??");
  EXPECT_EQ(outcome_in(pool, "throw type"), "FAILURE: ?: ");
  EXPECT_EQ(outcome_in(pool, "throw number"), "FAILURE: RuntimeError: an exception of unknown type");
  EXPECT_EQ(outcome_in(pool, "retry text"), "RETRY: ?");
  EXPECT_EQ(outcome_in(pool, "retry never"), "FAILURE: ValueError: to be tried again after inf s");
  EXPECT_EQ(outcome_in(pool, "levels", {30}), "SUCCESS: " + std::string(30, '[') + std::string(30, ']'));
  EXPECT_EQ(outcome_in(pool, "levels", {31}), "FAILURE: EncodeError: the result has more than 30 levels");
  EXPECT_EQ(outcome_in(pool, "levels", {10'000}), "FAILURE: EncodeError: the result has more than 30 levels");
  EXPECT_EQ(outcome_in(pool, "long"), "FAILURE: EncodeError: the result has more than 16 MiB");
  EXPECT_EQ(pool.processes()[0].pid, process);
  EXPECT_EQ(outcome_in(pool, "rubbish"), "FAILURE: WorkerLostError: its process has ended");
  EXPECT_EQ(outcome_in(pool, "endless rubbish"), "FAILURE: WorkerLostError: its process has ended");
  EXPECT_EQ(outcome_in(pool, "add", {5, 5}), "SUCCESS: 10");
}

TEST(celery_pool, each_end_of_a_task_reaches_the_client_and_costs_at_most_its_process) {
  const test_support::Result result = run("celery_pool", {"--limit-ms", "50"}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const auto expect_at_least = [&](const std::string& task, double least) {
    const auto ms = result.captures("^" + task + " .* ([\\d.]+) ms");
    ASSERT_EQ(ms.size(), 1U) << result.text();
    EXPECT_GE(std::stod(ms[0]), least) << task << '\n' << result.text();
  };
  expect_at_least("nap\\(60\\), limit 0.05 s", 50);
  expect_at_least("nap\\(0.3\\), then worker lost", 300);  // the next worker begins it again
  const auto expect_line = [&](const std::string& task, const std::string& answer, const std::string& worker,
                               const std::string& process) {
    EXPECT_EQ(result.lines_with("^" + task + " +" + answer + " +[\\d.]+ ms  " + worker + " +" + process + "$").size(),
              1U)
        << task << '\n'
        << result.text();
  };
  expect_line("add\\(5, 5\\)", "10", "the same", "the same");
  expect_line("crash\\(\\)", "WorkerLostError: .*", "the same", "another");
  expect_line("nap\\(60\\), limit 0.05 s", "TimeLimitExceeded: 0.05", "the same", "another");
  expect_line("nap\\(60\\), then revoked", "TaskRevokedError: terminated", "the same", "another");
  expect_line("nap\\(0.3\\), then worker lost", "awake", "another", "another");
  EXPECT_EQ(result.leaked_processes, 0);
}

/// What the process of a worker does, with so many processes for its tasks.
void work(const Broker& broker, int processes) {
  const celery::Registry registry = celery::registered_tasks("app");
  celery::PoolWorker(broker.url(), registry, processes).run();
}

/// A broker, and a worker whose only process has a task that takes an hour.
struct BusyWorker {
  const Broker broker;
  cookbook::ChildProcess worker{[this] { work(broker, 1); }};
  celery::Client client{broker.url()};
  celery::Client::Handle runs = client.delay("app.nap", 3600);
  amqp::Connection watching{broker.url()};

  bool has_started() {
    return eventually([&] { return runs.state() == "STARTED"; });
  }
};

TEST(celery_pool, a_task_that_waits_can_be_revoked_too) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  BusyWorker busy;
  ASSERT_TRUE(busy.has_started());
  const celery::Client::Handle waits = busy.client.delay("app.add", 5, 5), other = busy.client.delay("app.add", 1, 2);
  ASSERT_TRUE(eventually([&] { return busy.watching.waiting("celery") == 0; }));
  busy.client.revoke(waits);
  EXPECT_EQ(outcome(waits), "TaskRevokedError: revoked");
  EXPECT_EQ(busy.runs.state(), "STARTED");
  busy.client.revoke(busy.runs);
  EXPECT_EQ(outcome(busy.runs), "TaskRevokedError: terminated");
  EXPECT_EQ(outcome(other), "3");
}

TEST(celery_pool, three_tasks_wait_in_a_worker_behind_a_long_one_and_other_workers_get_the_rest) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  BusyWorker busy;
  ASSERT_TRUE(busy.has_started());
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(busy.client.delay("app.add", i, 0));
  ASSERT_TRUE(eventually([&] { return busy.watching.waiting("celery") == 2; }));
  cookbook::ChildProcess other([&] { work(busy.broker, 1); });
  EXPECT_EQ(outcome(tasks[3]), "3");
  EXPECT_EQ(outcome(tasks[4]), "4");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(tasks[i].state(), "PENDING");
}

TEST(celery_pool, a_worker_that_is_to_stop_gives_back_what_it_has_not_started) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  BusyWorker busy;
  ASSERT_TRUE(busy.has_started());
  const celery::Client::Handle ahead = busy.client.delay("app.add", 5, 5);
  ASSERT_TRUE(eventually([&] { return busy.watching.waiting("celery") == 0; }));
  busy.worker.send_signal(SIGTERM);
  cookbook::ChildProcess other([&] { work(busy.broker, 1); });
  EXPECT_EQ(outcome(ahead), "10");
  EXPECT_EQ(busy.runs.state(), "STARTED") << "and the first one still waits for its task";
  EXPECT_EQ(busy.worker.wait(0ms), std::nullopt);
}

TEST(celery_pool, a_worker_that_is_to_stop_finishes_its_task_and_nobody_gets_that_again) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  cookbook::ChildProcess leaving([&] { work(broker, 1); });
  celery::Client client(broker.url());
  celery::Client::Handle runs = client.delay("app.nap", 0.5);
  ASSERT_TRUE(eventually([&] { return runs.state() != "PENDING"; }));
  leaving.send_signal(SIGTERM);
  EXPECT_EQ(leaving.wait(), 0);
  EXPECT_EQ(runs.state(), "SUCCESS");
  // What comes back from a worker that has gone comes before what is posted later.
  amqp::Connection watching(broker.url());
  ASSERT_TRUE(eventually([&] { return watching.consumers("celery") == 0; }));
  watching.consume("celery");
  const celery::Client::Handle later = client.delay("app.add", 5, 5);
  const auto next = watching.next(20s);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->correlation_id, later.id());
}

TEST(celery_pool, a_time_limit_is_kept_while_the_broker_confirms_nothing) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  cookbook::ChildProcess worker([&] { work(broker, 2); });
  const auto processes = [&] {
    const std::string pid = std::to_string(worker.pid());
    return test_support::text_of("/proc/" + pid + "/task/" + pid + "/children");
  };
  celery::Client client(broker.url());
  EXPECT_EQ(outcome(client.delay("app.add", 5, 5)), "10");  // it is there, with both of its processes
  const std::string before = processes();
  client.delay("app.nap", 2);  // its result comes when the broker does not answer
  celery::Client::Handle limited = client.apply_async("app.nap", {3600}, {}, {.time_limit = 4});
  ASSERT_TRUE(eventually([&] { return limited.state() != "PENDING"; }));
  test_support::stop_every_thread(broker.pid());
  EXPECT_TRUE(eventually([&] { return processes() != before; })) << "nobody has killed the process of the long task";
  EXPECT_EQ(worker.wait(0ms), std::nullopt);
  kill(broker.pid(), SIGCONT);
  EXPECT_EQ(outcome(limited), "TimeLimitExceeded: 4");
}

TEST(celery_pool, survives_random_messages) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const celery::Registry registry = registry_for_random_tasks();
  expect_to_survive(
      broker.url(), [&] { celery::PoolWorker(broker.url(), registry, 2).run(); }, true);
}

}  // namespace
