// The worker with its processes, and the client in C++, beside Python's Celery in both directions, and what the worker
// does with messages that are no tasks. Catalogue: 5.C3, 5.1, 5.2.
//
// A broker takes seconds to start, so all that needs one is looked at beside the same broker.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <regex>

#include "05_distributed/celery_monitor/inspector.hpp"
#include "05_distributed/celery_monitor/solo_worker.hpp"
#include "broker.hpp"
#include "celery/client.hpp"
#include "celery/random_tasks.hpp"
#include "celery/tasks.hpp"
#include "celery/worker.hpp"
#include "cookbook/process.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

bool skip_waits = false;                     // whoever waits for the broker gets nothing, at once,
std::chrono::microseconds skipped = {};      // and the clock of this process goes on by so much
std::chrono::seconds before_each_wait = {};  // and by so much before each wait that is not skipped

}  // namespace

// These stand before the libraries' own.
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_MONOTONIC) {
    const long ns = time->tv_nsec + skipped.count() % 1'000'000 * 1'000;
    time->tv_sec += skipped.count() / 1'000'000 + ns / 1'000'000'000;
    time->tv_nsec = ns % 1'000'000'000;
  }
  return result;
}

int amqp_simple_wait_frame_noblock(amqp_connection_state_t state, amqp_frame_t* frame, const timeval* timeout) {
  if (skip_waits) {
    skipped += std::chrono::seconds(timeout->tv_sec) + std::chrono::microseconds(timeout->tv_usec);
    return AMQP_STATUS_TIMEOUT;
  }
  skipped += before_each_wait;
  static const auto own =
      reinterpret_cast<decltype(amqp_simple_wait_frame_noblock)*>(dlsym(RTLD_NEXT, "amqp_simple_wait_frame_noblock"));
  return own(state, frame, timeout);
}

}  // extern "C"

namespace {

using namespace std::chrono_literals;
using celery::json::object;
using test_support::eventually;
using test_support::Process;
using test_support::run;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string scripts = std::filesystem::path(__FILE__).parent_path() / "celery";

/// A worker in C++ as a process, which has said that it is ready.
class CppWorker : public Process {
 public:
  explicit CppWorker(const std::string& url, std::vector<std::string> options = {})
      : Process("celery_monitor_start", with_broker(url, std::move(options)), {.errors_among_output = true}) {
    read_until(" ready.");
  }

 private:
  static std::vector<std::string> with_broker(const std::string& url, std::vector<std::string> options) {
    options.insert(options.begin(), {"--broker", url});
    return options;
  }
};

std::string state_and_outcome(celery::Client::Handle task) {
  try {
    return "SUCCESS: " + celery::shown(task.get());
  } catch (const celery::TaskFailed& failed) {
    return task.state() + ": " + failed.type + ": " + failed.what();
  } catch (const celery::NoResult& none) {
    return none.what();
  }
}

/// Runs a program to its end: its lines, and last its exit code.
std::vector<std::string> lines_of(const std::string& program, const std::vector<std::string>& arguments) {
  const auto result = run(program, arguments, {.limit = 100s, .errors_among_output = true});
  std::vector<std::string> lines = result.out;
  lines.push_back(fmt::format("exit code {}", result.exit_code));
  return lines;
}

/// The scripts in Python find the broker, and the module of the application.
void prepare_python(const Broker& broker) {
  setenv("BROKER", broker.url().c_str(), 1);
  const char* const path = std::getenv("PYTHONPATH");  // may lead to another Celery than the system's
  setenv("PYTHONPATH", (scripts + (path ? std::string(":") + path : "")).c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
}

void tasks_wait_overlap_and_survive_their_worker(const Broker& broker) {
  amqp::Connection watching(broker.url());
  celery::Client client(broker.url());

  // Posted with nobody there; three ids, each with a record when it is received and one when it has succeeded.
  std::vector<celery::Client::Handle> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(client.delay("addTask.add", 5, 5));
  EXPECT_EQ(watching.waiting("celery"), 3U);
  EXPECT_EQ(tasks[0].state(), "PENDING");
  EXPECT_THROW(tasks[0].get(50ms), celery::NoResult);
  CppWorker worker(broker.url(), {"--concurrency", "1"});
  for (const celery::Client::Handle& task : tasks) {
    EXPECT_EQ(state_and_outcome(task), "SUCCESS: 10");
    const celery::Client::Handle copy = task;
    EXPECT_EQ(state_and_outcome(copy), "SUCCESS: 10");
  }
  worker.read_until("Task addTask.add[" + tasks[2].id() + "] succeeded");
  for (const celery::Client::Handle& task : tasks) {
    std::vector<std::string> about;
    for (const std::string& line : worker.lines()) {
      if (line.find(task.id()) != std::string::npos) about.push_back(line);
    }
    EXPECT_THAT(about, ElementsAre("Received task: addTask.add[" + task.id() + "]",
                                   testing::ContainsRegex("^Task addTask.add.* succeeded in .* s: 10$")));
  }

  // One process executes two tasks one after the other, two at the same time.
  const auto overlap = [&] {
    celery::Client::Handle one = client.delay("addTask.nap", 0.3), two = client.delay("addTask.nap", 0.3);
    const celery::json::value first = one.get(), second = two.get();
    return second.at(0).to_number<double>() < first.at(1).to_number<double>();
  };
  EXPECT_FALSE(overlap());
  {
    CppWorker another(broker.url(), {"--concurrency", "1"});
    EXPECT_TRUE(overlap());
    EXPECT_EQ(another.stop(SIGTERM).exit_code, 0);
  }

  // A task is what it is also for the next worker, if the first one is killed while it executes it.
  celery::Client::Handle nap = client.delay("addTask.nap", 0.5);
  worker.read_until("Received task: addTask.nap[" + nap.id());
  EXPECT_EQ(worker.stop(SIGKILL).exit_code, -SIGKILL);
  EXPECT_EQ(nap.state(), "PENDING");
  CppWorker heir(broker.url());
  heir.read_until("Received task: addTask.nap[" + nap.id() + "], which was delivered before");
  EXPECT_EQ(heir.stop(SIGTERM).exit_code, 0);  // and SIGTERM lets it finish
  EXPECT_EQ(state_and_outcome(nap).substr(0, 9), "SUCCESS: ");

  // While a worker that is to stop lets its task end, others can have the tasks that it has taken ahead.
  {
    CppWorker leaving(broker.url(), {"--concurrency", "1"});
    celery::Client::Handle last_nap = client.delay("addTask.nap", 600);
    celery::Client::Handle ahead = client.delay("addTask.add", 1, 1);
    celery::Client::Handle later = client.apply_async("addTask.add", {2, 2}, {}, {.countdown = 0.5});
    leaving.read_until("Received task: addTask.add[" + ahead.id());
    leaving.read_until("Received task: addTask.add[" + later.id());
    leaving.send_signal(SIGTERM);
    CppWorker other(broker.url());
    EXPECT_EQ(state_and_outcome(ahead), "SUCCESS: 2");
    EXPECT_EQ(state_and_outcome(later), "SUCCESS: 4");
    EXPECT_EQ(last_nap.state(), "PENDING");
    EXPECT_EQ(leaving.stop(SIGKILL).exit_code, -SIGKILL);
    EXPECT_EQ(other.stop(SIGKILL).exit_code, -SIGKILL);
  }

  // A queue that is gone is an error at the client, at once; and the client can go on.
  EXPECT_THROW(client.apply_async("addTask.add", {5, 5}, {}, {.queue = "nowhere"}), amqp::Unroutable);
  watching.delete_queue("celery");
  EXPECT_THROW(client.delay("addTask.add", 5, 5), amqp::Unroutable);
  CppWorker last(broker.url());
  EXPECT_EQ(state_and_outcome(client.delay("addTask.add", 5, 5)), "SUCCESS: 10");
  EXPECT_EQ(last.stop(SIGTERM).exit_code, 0);
}

void what_is_no_task_is_kept_aside_and_no_worker_loops(const Broker& broker) {
  amqp::Connection posting(broker.url());
  celery::Client client(broker.url());
  CppWorker worker(broker.url(), {"--name", "cpp@aside"});
  const std::string answers = posting.declare_queue("", {.exclusive = true});
  posting.consume(answers, amqp::Acknowledgement::automatic);
  const auto post = [&](object headers, const std::string& body, const std::string& type = "application/json") {
    amqp::Message message = {.body = body, .reply_to = answers, .correlation_id = "x", .content_type = type};
    celery::publish(posting, "", "celery", message, headers);
    posting.confirm();
    const auto answer = posting.next(20s);
    return answer ? celery::error_of(celery::read_result(*answer)).type : std::string("no answer");
  };
  const object right = {{"task", "addTask.add"}, {"id", "x"}};
  const auto with = [&](const char* name, celery::json::value value) {
    object headers = right;
    headers[name] = std::move(value);
    return headers;
  };
  const std::string args = "[[5, 5], {}, {}]";
  const std::string filler(130'900, 'h');  // so that the frame is full: one word more would not fit into it
  std::uint32_t refused = 0;
  for (const auto& [headers, body] : std::vector<std::pair<object, std::string>>{
           {{}, args},
           {{{"task", "addTask.add"}}, args},
           {with("id", 7), args},
           {with("task", ""), args},
           {with("eta", "noon"), args},
           {with("expires", {1, 2}), args},
           {with("retries", "two"), args},
           {with("timelimit", {-1, nullptr}), args},
           {with("timelimit", {1e300, nullptr}), args},
           {right, "[[5, 5"},
           {right, ""},
           {right, "5"},
           {right, "[5, 5]"},
           {right, "[{}, [], {}]"},
           {right, std::string(1 << 21, '1')},
           {right, std::string(100, '[') + std::string(100, ']')},
           {right, "[[5, 5], {}, {\"chain\": [5]}]"},
           {right, "[[5, 5], {}, {\"chain\": [{\"task\": \"a\", \"options\": {\"task_id\": 5}}]}]"},
           {{{"task", "a"}, {"id", "b"}, {"filler", filler}}, args}}) {
    const std::string type = post(headers, body);
    EXPECT_TRUE(type == "DecodeError" || type == "NotRegistered") << type << ": " << body.substr(0, 100);
    ++refused;
  }
  EXPECT_EQ(post(right, args, "application/x-python-serialize"), "DecodeError");
  EXPECT_TRUE(eventually([&] { return posting.waiting("celery.dead") == refused + 1; }))
      << posting.waiting("celery.dead");

  // A task whose result JSON does not have is answered, and so is one whose own headers are no UTF-8.
  EXPECT_EQ(state_and_outcome(client.delay("addTask.add", 1e308, 1e308)),
            "FAILURE: EncodeError: the result has a number that is infinite or undefined");
  EXPECT_EQ(post({{"task", "addTask.add\xff"}, {"id", "\xff"}, {"root_id", "\xff"}}, args), "NotRegistered");
  EXPECT_EQ(post({{"task", "addTask.add"}, {"id", "\xff"}, {"eta", "\xff"}}, args), "DecodeError");
  EXPECT_EQ(post(right, args, "text/\xff"), "DecodeError");
  EXPECT_EQ(post({{"task", "a"}, {"id", "x"}, {"", object{{"", 1}}}}, args),
            "NotRegistered");  // a header without a name
  EXPECT_EQ(post(right, "[[\"\xff\", 5], {}, {}]"), "DecodeError");
  // A chain that is too long, one whose next message the broker or its queue would refuse: errors, at once.
  const std::string signature = R"({"task": "addTask.add", "args": [1], "options": {"task_id": "y"ADD}})";
  const auto chain_of = [&](std::size_t length, const std::string& added) {
    std::string all = signature, chain;
    all.replace(all.find("ADD"), 3, added);
    for (std::size_t i = 0; i < length; ++i) chain += (i ? ", " : "") + all;
    return "[[5, 5], {}, {\"chain\": [" + chain + "]}]";
  };
  const auto answers_to = [&](std::size_t length, const std::string& added, std::size_t count) {
    std::set<std::string> types = {post(right, chain_of(length, added))};
    for (std::size_t i = 1; i < count; ++i) {
      const auto answer = posting.next(20s);
      if (!answer) return std::set<std::string>{"no answer"};
      types.insert(celery::error_of(celery::read_result(*answer)).type);
    }
    return types;
  };
  const std::string success = "null";  // no type of an error
  EXPECT_THAT(answers_to(celery::max_chain + 1, "", celery::max_chain + 2), ElementsAre("ValueError"));
  const std::string key(300, 'k'), no_key = R"(, "group_id": {")" + key + R"(": 1})";
  const std::string no_header = R"(, "group_id": {"a": ")" + filler + R"("})";
  EXPECT_THAT(answers_to(1, no_key, 2), ElementsAre("ValueError", success));
  EXPECT_THAT(answers_to(1, no_header, 2), ElementsAre("ValueError", success));
  EXPECT_THAT(answers_to(1, R"(, "reply_to": "amq.rabbitmq.reply-to")", 1), ElementsAre(success));
  EXPECT_THAT(answers_to(1, R"(, "reply_to": "amq.rabbitmq.reply-to.x")", 1), ElementsAre(success));

  // A message that asked the broker for a copy in the worker's queue does not come there again when it is put aside.
  EXPECT_EQ(post({{"task", "a"}, {"id", "x"}, {"CC", celery::json::array{"celery"}}}, args), "NotRegistered");
  EXPECT_FALSE(posting.next(200ms));

  // A task that asks to be tried again when its headers fill the frame ends with an error, too.
  object headers = {{"task", "addTask.flaky"}, {"id", "x"}, {"filler", filler}};
  EXPECT_EQ(post(headers, "[[1], {}, {}]"), "ValueError");
  // Questions that are none are ignored.
  for (const std::string& question : std::vector<std::string>{
           "", "5", "{}", R"({"method": 5})", R"({"method": "revoke", "arguments": {}})",
           R"({"method": "revoke", "arguments": {"task_id": ["half", 5]}})",
           R"({"method": "revoke", "arguments": {"task_id": "y"}, "reply_to": {"exchange": ""}})",
           R"({"method": "a\nReceived task: forged"})",
           R"({"method": "ping", "reply_to": {"exchange": "reply.celery.pidbox", "routing_key": "x"}, "ticket": {")" +
               std::string(300, 'k') + R"(": 1}})"}) {
    posting.publish("celery.pidbox", "", {.body = question, .content_type = "application/json"});
  }
  posting.confirm();
  const std::vector<std::string> us = {"cpp@aside"};
  EXPECT_EQ(celery::Inspector(broker.url(), 1s).ask("revoked", us).at(us[0]).value, celery::json::array());
  EXPECT_EQ(state_and_outcome(client.delay("addTask.add", 5, 5)), "SUCCESS: 10");

  // A forged line does not become one of the log's.
  EXPECT_EQ(state_and_outcome(client.delay("a\nReceived task: forged")),
            "FAILURE: NotRegistered: a\nReceived task: forged");
  EXPECT_EQ(worker.stop(SIGTERM).exit_code, 0);
  for (const std::string& line : worker.lines()) EXPECT_FALSE(line.starts_with("Received task: forged"));
  EXPECT_EQ(posting.waiting("celery"), 0U);
}

void clients_in_python_use_it_like_one_of_pythons(const Broker& broker) {
  CppWorker worker(broker.url(), {"--queues", "celery,other", "--name", "cpp@test"});
  EXPECT_THAT(
      lines_of("/usr/bin/python3", {"-W", "ignore", scripts + "/client.py"}),
      ElementsAre(
          "add SUCCESS: 10", "by name SUCCESS: 10", "fractions SUCCESS: 3.25", "largest SUCCESS: 9223372036854775807",
          "large FAILURE: builtins.OverflowError: the sum does not fit into 64 bits",
          HasSubstr("huge FAILURE: kombu.exceptions.DecodeError: a whole number does not fit"),
          HasSubstr("nan FAILURE: kombu.exceptions.DecodeError: the body is no JSON"),
          "texts FAILURE: builtins.TypeError: add takes two numbers",
          "missing FAILURE: builtins.TypeError: addTask.add misses argument y",
          "divide FAILURE: builtins.ZeroDivisionError: division by zero",
          "unknown FAILURE: celery.exceptions.NotRegistered: 'addTask.subtract'",
          HasSubstr("crash FAILURE: billiard.exceptions.WorkerLostError"), "flaky SUCCESS: 2",
          "too flaky FAILURE: celery.exceptions.MaxRetriesExceededError: not yet", "countdown SUCCESS: 10",
          "expired REVOKED: celery.exceptions.TaskRevokedError: expired", "other queue SUCCESS: 10",
          HasSubstr("time limit FAILURE: billiard.exceptions.TimeLimitExceeded"),
          HasSubstr("soft limit FAILURE: billiard.exceptions.SoftTimeLimitExceeded"), "group [0, 2, 4, 6, 8]",
          HasSubstr("pickled FAILURE: kombu.exceptions.DecodeError: content type"),
          HasSubstr("compressed FAILURE: kombu.exceptions.DecodeError: a compressed body"),
          "linked FAILURE: builtins.NotImplementedError: callbacks",
          "starmap FAILURE: celery.exceptions.NotRegistered: 'celery.starmap'",
          HasSubstr("option in a chain FAILURE: builtins.NotImplementedError: in a chain: option"),
          "its first SUCCESS: 3", "its second SUCCESS: 6", "chain SUCCESS: 10", "immutable SUCCESS: 14",
          "first fails FAILURE: builtins.ZeroDivisionError: division by zero",
          "second fails FAILURE: builtins.ZeroDivisionError: division by zero",
          HasSubstr("no such queue FAILURE: celery.exceptions.QueueNotFound"), "ping {'ok': 'pong'}",
          "registered ['addTask.add', 'addTask.crash', 'addTask.divide', 'addTask.flaky', 'addTask.nap']",
          "queues ['celery', 'other']", "scheduled [True]", "active ['addTask.nap', 'addTask.nap']", "reserved True",
          "terminated REVOKED: celery.exceptions.TaskRevokedError: terminated", "third SUCCESS: 2",
          "terminated REVOKED: celery.exceptions.TaskRevokedError: terminated",
          "revoked REVOKED: celery.exceptions.TaskRevokedError: revoked", "revoked True", "stats True 2 amqp",
          "refused {'error': 'rate_limit is not implemented by this worker'}", "delivered again [True]",
          "terminated REVOKED: celery.exceptions.TaskRevokedError: terminated",
          "monitor [True] [('addTask.add', 'SUCCESS', '5'), ('addTask.subtract', 'FAILURE', None)]", "exit code 0"));
  const auto celery = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"-W", "ignore", "-m", "celery", "-A", "celery_app"});
    return lines_of("/usr/bin/python3", words);
  };
  EXPECT_THAT(celery({"status"}), Contains("1 node online."));
  EXPECT_THAT(celery({"control", "shutdown"}), Contains(HasSubstr("shutting down")));
  worker.read_until("Stopped.");
  EXPECT_EQ(worker.wait().exit_code, 0);
}

void its_client_uses_pythons_worker(const Broker& broker) {
  Process worker("/usr/bin/python3",
                 {"-W", "ignore", "-m", "celery", "-A", "celery_app", "worker", "--pool", "threads", "--concurrency",
                  "2", "--loglevel", "INFO", "--without-mingle", "--without-gossip"},
                 {.errors_among_output = true});
  worker.read_until("ready.");
  celery::Client client(broker.url());
  EXPECT_EQ(state_and_outcome(client.delay("addTask.add", 5, 5)), "SUCCESS: 10");
  EXPECT_EQ(state_and_outcome(client.apply_async("addTask.add", {}, {{"x", 5}, {"y", 5}})), "SUCCESS: 10");
  EXPECT_EQ(state_and_outcome(client.delay("addTask.add", "a", "b")), "SUCCESS: \"ab\"");
  EXPECT_EQ(state_and_outcome(client.delay("addTask.divide", 1, 0)), "FAILURE: ZeroDivisionError: division by zero");
  EXPECT_EQ(state_and_outcome(client.delay("addTask.subtract", 1, 0)), "FAILURE: NotRegistered: addTask.subtract");
  EXPECT_EQ(state_and_outcome(client.delay("addTask.flaky", 2)), "SUCCESS: 2");
  EXPECT_EQ(state_and_outcome(client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 0.1})), "SUCCESS: 10");
  EXPECT_EQ(state_and_outcome(client.apply_async("addTask.add", {5, 5}, {}, {.countdown = 0.2, .expires = 0.1})),
            "REVOKED: TaskRevokedError: expired");
  EXPECT_EQ(state_and_outcome(client.chain({{"addTask.add", {1, 2}}, {"addTask.add", {3}}, {"addTask.add", {4}}})),
            "SUCCESS: 10");
  EXPECT_EQ(worker.stop(SIGTERM).exit_code, 0);
}

void a_task_that_waits_is_reserved_and_starts_when_the_one_before_it_is_terminated(const Broker& broker) {
  CppWorker worker(broker.url(), {"--concurrency", "1", "--name", "cpp@asked"});
  celery::Client client(broker.url());
  celery::Inspector inspector(broker.url(), 1s);
  celery::Listener listener(broker.url());
  const std::vector<std::string> us = {"cpp@asked"};
  const auto answer = [&](const std::string& question, const object& arguments = {}) {
    return inspector.ask(question, us, arguments).at(us[0]).value;
  };
  answer("enable_events");
  const celery::Client::Handle nap = client.delay("addTask.nap", 60), sum = client.delay("addTask.add", 5, 5);
  listener.wait_for("task-started", nap.id());
  listener.wait_for("task-received", sum.id());
  EXPECT_EQ(answer("reserved").at(0).at("id"), celery::json::value(sum.id()));
  EXPECT_EQ(answer("revoke", {{"task_id", nap.id()}, {"terminate", true}}), celery::ok("revoked"));
  listener.wait_for("task-succeeded", sum.id());
  EXPECT_EQ(state_and_outcome(nap), "REVOKED: TaskRevokedError: terminated");
  EXPECT_EQ(state_and_outcome(sum), "SUCCESS: 10");
  EXPECT_EQ(worker.stop(SIGTERM).exit_code, 0);
}

void a_worker_is_connected_as_long_as_its_queue_for_questions_is_there(const Broker& broker) {
  const celery::Inspector inspector(broker.url(), 1s);
  EXPECT_FALSE(inspector.is_connected("cpp@there"));
  CppWorker worker(broker.url(), {"--name", "cpp@there"});
  EXPECT_TRUE(inspector.is_connected("cpp@there"));
  EXPECT_FALSE(inspector.is_connected("cpp@elsewhere"));
  EXPECT_EQ(worker.stop(SIGKILL).exit_code, -SIGKILL);
  EXPECT_TRUE(eventually([&] { return !inspector.is_connected("cpp@there"); }));
  {
    const std::string queue = "py@there.celery.pidbox";  // as Python's workers have it, not exclusive
    amqp::Connection python(broker.url());
    python.declare_queue(queue, {.durable = false, .auto_delete = true});
    python.consume(queue);
    EXPECT_TRUE(inspector.is_connected("py@there"));
  }
  EXPECT_TRUE(eventually([&] { return !inspector.is_connected("py@there"); }));
}

void a_broker_that_restarts_gets_its_worker_back(Broker& broker) {
  const auto waiting = [&] { return amqp::Connection(broker.url()).waiting("celery"); };
  const unsigned before = waiting();  // a task with a countdown of ten minutes
  CppWorker worker(broker.url(), {"--concurrency", "1"});
  std::vector<std::string> ids;
  {
    celery::Client client(broker.url());
    ids.push_back(client.delay("addTask.nap", 1).id());
    worker.read_until("Received task: addTask.nap");
    for (int i = 0; i < 10; ++i) ids.push_back(client.delay("addTask.add", 5, i).id());
  }
  broker.restart(SIGTERM);  // the nap is executed, the first sums have been received, the others wait at the broker
  worker.read_until(" ready.");
  std::map<std::string, int> times;
  while (times.size() < ids.size()) {
    const std::string line = worker.read_until(" succeeded in ");
    ASSERT_FALSE(line.empty());
    const std::size_t id = line.find('[') + 1;
    ++times[line.substr(id, line.find(']') - id)];
  }
  EXPECT_EQ(worker.stop(SIGTERM).exit_code, 0);
  for (const std::string& id : ids) EXPECT_EQ(times[id], 1) << id;
  EXPECT_EQ(waiting(), before);
}

void a_queue_of_another_kind_is_an_error(const Broker& broker) {
  amqp::Connection connection(broker.url());
  connection.declare_queue("transient", {.durable = false});
  EXPECT_THAT(
      lines_of("celery_monitor_start", {"--broker", broker.url(), "--queues", "transient"}),
      ElementsAre(HasSubstr("celery_monitor_start: declare queue transient: PRECONDITION_FAILED"), "exit code 3"));
}

void a_broker_that_is_gone_is_an_error(const Broker& broker) {
  celery::Client client(broker.url());
  kill(broker.pid(), SIGKILL);
  EXPECT_THROW(client.delay("addTask.add", 5, 5), amqp::Error);
  EXPECT_THAT(lines_of("celery_monitor_start", {"--broker", broker.url()}),
              ElementsAre(HasSubstr("celery_monitor_start: "), "exit code 3"));
}

/// The functions above, in their order, beside one broker. The first two expect its queues to be empty.
TEST(celery_monitor, beside_one_broker) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const bool have_celery = run("/usr/bin/python3", {"-c", "import celery"}).exit_code == 0;
  Broker broker;
  prepare_python(broker);
  tasks_wait_overlap_and_survive_their_worker(broker);
  what_is_no_task_is_kept_aside_and_no_worker_loops(broker);
  a_task_that_waits_is_reserved_and_starts_when_the_one_before_it_is_terminated(broker);
  a_worker_is_connected_as_long_as_its_queue_for_questions_is_there(broker);
  if (have_celery) {
    clients_in_python_use_it_like_one_of_pythons(broker);
    its_client_uses_pythons_worker(broker);
  }
  a_broker_that_restarts_gets_its_worker_back(broker);
  a_queue_of_another_kind_is_an_error(broker);
  a_broker_that_is_gone_is_an_error(broker);
  if (!have_celery) GTEST_SKIP() << "install python3-celery";
}

TEST(celery_monitor, only_the_worker_with_a_pool_answers_while_it_is_busy_and_late_answers_are_told_by_their_tickets) {
  const auto result = run("celery_monitor", {}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  const std::string pong = R"(\{"ok":"pong"\})";
  const std::string after = " +[\\d.]+ ms  ", after_seconds = " +\\d{4,}\\.\\d ms  ";
  for (const std::string& row :
       {"ping, idle" + after + pong + after + pong, "ping, busy" + after + pong + " +no answer in 1000 ms",
        "active" + after + "addTask\\.nap" + after + "no task", "ping, too late" + after_seconds + pong,
        "ping" + after + pong + " +no answer in 1000 ms"}) {
    EXPECT_EQ(result.lines_with("^" + row + "$").size(), 1U) << row << '\n' << result.text();
  }
  // The silent worker is still connected, the killed one is not.
  const auto order = result.lines_with("^(ping, busy|alone@here is killed|at the broker) ?");
  ASSERT_EQ(order.size(), 4U) << result.text();
  EXPECT_TRUE(std::regex_match(order[1], std::regex("at the broker +connected +connected"))) << result.text();
  EXPECT_EQ(order[2], "alone@here is killed") << result.text();
  EXPECT_TRUE(std::regex_match(order[3], std::regex("at the broker +connected +not connected"))) << result.text();
}

TEST(celery_monitor, celerys_own_command_finds_one_of_the_two_busy_workers) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  if (run("/usr/bin/python3", {"-c", "import celery"}).exit_code != 0) GTEST_SKIP() << "install python3-celery";
  const Broker broker;
  const celery::Registry registry = celery::registered_tasks("addTask");
  celery::Listener listener(broker.url());
  const pid_t alone = cookbook::start_child([&] { work_alone(broker.url(), registry); });
  listener.wait_for("worker-online", "alone@here");
  CppWorker pool(broker.url(), {"--name", "pool@here", "--concurrency", "1"});
  celery::Inspector(broker.url(), 1s).ask("enable_events", {"pool@here"});
  celery::Client client(broker.url());
  listener.wait_for("task-started", client.delay("addTask.nap", 600).id());
  listener.wait_for("task-started", client.apply_async("addTask.nap", {600}, {}, {.queue = "alone"}).id());

  const auto result =
      run("/usr/bin/python3", {"-W", "ignore", "-m", "celery", "--broker", broker.url(), "inspect", "ping"},
          {.limit = 100s});
  EXPECT_EQ(result.exit_code, 0) << result.text();
  std::vector<std::string> shown;
  std::copy_if(result.out.begin(), result.out.end(), std::back_inserter(shown),
               [](const std::string& line) { return !line.empty(); });
  EXPECT_THAT(shown, ElementsAre("->  pool@here: OK", "        pong", "1 node online.")) << result.text();
  kill(alone, SIGKILL);
  EXPECT_EQ(cookbook::exit_code_of(alone), -SIGKILL);
  EXPECT_EQ(pool.stop(SIGKILL).exit_code, -SIGKILL);
}

TEST(celery_monitor, the_answers_have_what_flowers_page_of_a_worker_shows) {
  const celery::json::array queues = celery::active_queues({"celery"});
  ASSERT_EQ(queues.size(), 1U);
  for (const std::string name : {"name", "exclusive", "durable", "routing_key", "no_ack", "alias", "queue_arguments",
                                 "binding_arguments", "auto_delete"}) {
    EXPECT_TRUE(queues[0].as_object().contains(name)) << name;
  }
  const object broker = celery::broker_info("amqp://guest:secret@127.0.0.1:1//");
  EXPECT_EQ(celery::json::serialize(broker),
            R"({"transport":"amqp","hostname":"127.0.0.1","port":1,"userid":"guest","virtual_host":"/","ssl":false})");
}

TEST(celery_monitor_inspector, waits_20_s_for_workers_that_are_silent_and_else_as_long_as_it_was_told) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  celery::Inspector inspector(broker.url(), 3s);
  celery::Listener listener(broker.url());
  const auto time_of = [](const std::function<void()>& question) {
    const auto start = std::chrono::steady_clock::now();
    skip_waits = true;
    question();
    skip_waits = false;
    return std::chrono::steady_clock::now() - start;
  };
  const auto named = time_of([&] { EXPECT_THROW(inspector.ask("ping", {"nobody@here"}), amqp::Error); });
  EXPECT_GE(named, 20s);
  EXPECT_LT(named, 40s);
  const auto event = time_of([&] { EXPECT_THROW(listener.wait_for("worker-online", "nobody@here"), amqp::Error); });
  EXPECT_GE(event, 20s);
  EXPECT_LT(event, 40s);
  const auto all = time_of([&] { EXPECT_TRUE(inspector.ask("ping").empty()); });
  EXPECT_GE(all, 3s);
  EXPECT_LT(all, 19s);
}

TEST(celery_monitor_inspector, an_event_that_comes_too_late_is_not_waited_for_because_others_came_before) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  celery::Listener listener(broker.url());
  amqp::Connection connection(broker.url());
  celery::RemoteControl control("late@here");
  control.listen(connection);
  for (int i = 0; i < 3; ++i) control.tell("worker-heartbeat", {});
  control.tell("worker-online", {});
  connection.confirm();
  before_each_wait = 15s;  // so the fourth event comes more than 20 s after the first
  EXPECT_THROW(listener.wait_for("worker-online", "late@here"), amqp::Error);
  before_each_wait = 0s;
  listener.wait_for("worker-online", "late@here");  // now it is in time
}

/// Needs no broker: an answer that was sent would be a fault.
TEST(celery_monitor_remote_control, a_command_with_a_wrong_address_for_its_answer_is_not_obeyed) {
  celery::RemoteControl control("w@here");
  int obeyed = 0;
  control.on("shutdown", [&](const celery::json::value&) {
    ++obeyed;
    return celery::ok("shutting down");
  });
  const auto tell = [&](const std::string& address) {
    control.answer({.body = R"({"method": "shutdown")" + address + "}", .content_type = "application/json"});
  };
  const std::string right = R"("exchange": "reply.celery.pidbox")";
  for (const std::string& wrong :
       std::vector<std::string>{R"(, "reply_to": 5)", R"(, "reply_to": {"exchange": "", "routing_key": "celery"})",
                                R"(, "reply_to": {"routing_key": "x"})", R"(, "reply_to": {)" + right + "}",
                                R"(, "reply_to": {)" + right + R"(, "routing_key": ")" + std::string(256, 'k') + "\"}",
                                R"(, "reply_to": {)" + right + R"(, "routing_key": "x"}, "ticket": {")" +
                                    std::string(300, 'k') + R"(": 1})"}) {
    tell(wrong);
    EXPECT_EQ(obeyed, 0) << wrong;
    obeyed = 0;
  }
  tell("");  // who wants no answer is obeyed
  EXPECT_EQ(obeyed, 1);
}

TEST(celery_monitor, the_command_line_of_the_worker_is_checked) {
  const auto help = run("celery_monitor_start", {"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const std::string text : {"--app", "--broker", "--quiet", "--version", "amqp://guest@localhost//"}) {
    EXPECT_THAT(help.text(), HasSubstr(text));
  }
  const auto version = run("celery_monitor_start", {"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.lines_with("^celery_monitor_start \\d+\\.\\d+\\.\\d+, Celery message protocol 2, ").size(), 1U);
  const std::string long_name(256, 'q');
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--nonsense"},
                                             {"--concurrency", "0"},
                                             {"--queues", "a,,b"},
                                             {"--queues", "a,b,a"},
                                             {"--queues", long_name},
                                             {"--name", long_name},
                                             {"--broker", "redis://localhost"},
                                             {"--broker", "amqp://a:b@c:port"}}) {
    const auto result = run("celery_monitor_start", wrong);
    EXPECT_EQ(result.exit_code, 2) << result.text();
    ASSERT_EQ(result.err.size(), 1U) << result.text();
    EXPECT_THAT(result.err[0], HasSubstr(wrong[0])) << result.text();
  }
}

TEST(celery_monitor, the_longest_names_are_taken) {
  const std::string nobody = "amqp://guest@127.0.0.1:1//", queue(255, 'q'), worker(200, 'w');
  for (const std::vector<std::string>& right :
       std::vector<std::vector<std::string>>{{"--queues", "a," + queue}, {"--name", worker}}) {
    std::vector<std::string> arguments = {"--broker", nobody};
    arguments.insert(arguments.end(), right.begin(), right.end());
    const auto result = run("celery_monitor_start", arguments);
    EXPECT_EQ(result.exit_code, 3) << result.text();  // there is no broker
    EXPECT_THAT(result.err, ElementsAre(HasSubstr("connect to"))) << result.text();
  }
  const auto longer = run("celery_monitor_start", {"--broker", nobody, "--name", worker + 'w'});
  EXPECT_EQ(longer.exit_code, 2) << longer.text();
}

TEST(celery_monitor, survives_random_messages) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const celery::Registry registry = registry_for_random_tasks();
  const celery::Settings settings = {.url = broker.url(), .node = "cpp@random", .concurrency = 2};
  expect_to_survive(
      broker.url(), [&] { celery::Worker(settings, registry).run(); }, true);
}

}  // namespace
