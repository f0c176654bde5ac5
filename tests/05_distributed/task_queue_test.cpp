// Task queue: programs and broker seen from outside. Catalogue: 5.C1, 5.C2, 5.1, 5.C3, 5.2.
//
// A broker takes seconds to start, so each test plays a whole scene beside one: a script of the folder task_queue/,
// whose output is looked at here.

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/run.hpp"

namespace {

using test_support::Result;
using test_support::run;
using test_support::run_parts;
using test_support::Setting;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

using Lines = std::vector<std::string>;

const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
const std::string scenes = here / "task_queue";
const std::string recipe = here.parent_path().parent_path() / "chapters/05_distributed/task_queue";

Setting with_programs() {
  return {.environment = {{"PATH", test_support::bin() + ":" + recipe + ":" + std::getenv("PATH")}, {"TESTS", scenes}},
          .limit = std::chrono::seconds(55)};
}

/// Plays a scene beside a broker of its own.
Result scene(const std::string& name) {
  return run(recipe + "/broker.sh", {"bash", scenes + "/" + name + ".sh"}, with_programs());
}

#define SKIP_WITHOUT_RABBITMQ(result) \
  if ((result).exit_code == 77) GTEST_SKIP() << "install rabbitmq-server"

/// The numbers of each line that has the form REGEX(number,number).
std::vector<std::pair<long, long>> spans(const Result& result, const std::string& regex) {
  std::vector<std::pair<long, long>> found;
  const auto from = result.captures(regex + "\\[(\\d+),\\d+\\]"), to = result.captures(regex + "\\[\\d+,(\\d+)\\]");
  for (std::size_t i = 0; i < from.size(); ++i) found.emplace_back(std::stol(from[i]), std::stol(to[i]));
  return found;
}

TEST(task_queue, whole_recipe_holds_and_leaves_nothing_behind) {
  const auto scratch = std::filesystem::temp_directory_path() / ("task_queue_test_" + std::to_string(getpid()));
  std::filesystem::create_directory(scratch);
  Setting setting = with_programs();
  setting.environment["TMPDIR"] = scratch;
  const auto result = run_parts("05_distributed/task_queue", {"--tasks", "300", "--repeats", "1"}, setting);
  EXPECT_EQ(std::filesystem::remove_all(scratch), 1U) << "files were left behind";
  SKIP_WITHOUT_RABBITMQ(result);
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.left_behind, 0);
  EXPECT_EQ(result.lines_with("^FAIL").size(), 0U);

  const auto received = result.captures("^worker: Received task: (addTask.add\\[[-0-9a-f]{36}\\])$");
  const auto succeeded = result.captures("^worker: Task (addTask.add\\[.*\\]) succeeded in [0-9.]+ s: 10$");
  EXPECT_EQ(std::set(received.begin(), received.end()).size(), 3U) << result.text();
  EXPECT_EQ(received, succeeded);
  const auto shares = result.captures("^tasks.* K/s +(\\d+) %");
  ASSERT_EQ(shares.size(), 2U) << result.text();
  for (const std::string& share : shares) EXPECT_GT(std::stoi(share), 20) << result.text();
}

TEST(task_queue, ctrl_c_ends_broker_and_workers) {
  const auto starting = run_parts("05_distributed/task_queue", {}, {.interrupt_after_ms = 700});
  SKIP_WITHOUT_RABBITMQ(starting);
  EXPECT_EQ(starting.exit_code, 130) << starting.text();
  EXPECT_EQ(starting.left_behind, 0) << starting.text();
  const auto working = scene("interrupted");
  EXPECT_EQ(working.exit_code, 130) << working.text();
  EXPECT_EQ(working.left_behind, 0) << working.text();
}

TEST(task_queue, tasks_are_executed_as_asked) {
  const auto result = scene("as_asked");
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_THAT(result.out,
              ElementsAre("queue celery: 2 waiting, 0 consumers", "queue celery.dead: there is none",
                          "source: SUCCESS: 10", "position: SUCCESS: 1.5", "name: SUCCESS: 3", "mixed: SUCCESS: 3",
                          "few: FAILURE: TypeError: addTask.add misses argument 'y'",
                          "many: FAILURE: TypeError: addTask.add takes 2 arguments, 3 were given",
                          "twice: FAILURE: TypeError: addTask.add has already got argument 'x'",
                          "strange: FAILURE: TypeError: addTask.add does not know argument 'z'",
                          "texts: FAILURE: TypeError: add takes two numbers",
                          "large: FAILURE: OverflowError: the sum does not fit into 64 bits",
                          "unknown: FAILURE: NotRegistered: addTask.nowhere", "flaky: SUCCESS: 3",
                          "hopeless: FAILURE: MaxRetriesExceededError: not yet",
                          "expired: REVOKED: TaskRevokedError: expired", "unexpired: SUCCESS: 10", "past: SUCCESS: 10",
                          "future: task_queue_client: no result within 0.2 s, the task is PENDING",
                          "ignored: task_queue_client: no result is kept, since the task was posted with ignore_result",
                          "elsewhere: task_queue_client: no result within 0.2 s, the task is PENDING",
                          "queue celery: 0 waiting, 1 consumers", "queue slow: 1 waiting, 0 consumers",
                          "queue celery.dead: 1 waiting, 0 consumers", "queue none: there is none",
                          MatchesRegex("worker first: pid [0-9]+, 2 at once, 9 messages ahead"),
                          "  addTask.add, executed: 15", "  addTask.flaky, executed: 2",
                          "queue slow: 0 waiting, 1 consumers", "received 17, ended 16", "both workers ended well"))
      << result.text();
}

TEST(task_queue, garbage_is_set_aside_and_refusals_are_said_once) {
  const auto result = scene("garbage");
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_THAT(
      result.out,
      ElementsAre(
          "headers: FAILURE: DecodeError: header 'task' is no name",
          "headers: FAILURE: DecodeError: header 'task' is no name",
          "headers: FAILURE: DecodeError: header 'id' is no name",
          "headers: FAILURE: DecodeError: header 'eta' is no time",
          "headers: FAILURE: DecodeError: header 'expires' is no time",
          "headers: FAILURE: DecodeError: header 'retries' is no number",
          "headers: FAILURE: NotRegistered: a?Received task: forged", "afterwards: SUCCESS: 10", "ended well",
          "queue celery: 0 waiting, 0 consumers", "queue celery.dead: 17 waiting, 0 consumers", "forged lines: 0",
          "the body is no JSON: incomplete JSON", "the body is not [ID]", "the body is not [ID]",
          "the body is not [ID]", "the body is no JSON: extra data", "the body is no JSON: syntax error",
          "the body is no JSON: too deep", "the body has 30000 bytes, 20000 are allowed",
          "content type 'application/x-python-serialize' is refused", "header 'task' is no name",
          "header 'task' is no name", "header 'task' is no name", "header 'id' is no name", "header 'eta' is no time",
          "header 'expires' is no time", "header 'retries' is no number",
          "no task of the name a?Received task: forged[ID] is registered", "worker: exit 3, 1 line, ACCESS_REFUSED",
          "client: exit 3, 1 line, ACCESS_REFUSED", "status: exit 3, 1 line, ACCESS_REFUSED",
          "worker: exit 3, 1 line, NOT_ALLOWED", "client: exit 3, 1 line, NOT_ALLOWED",
          "status: exit 3, 1 line, NOT_ALLOWED", "reserved name: exit 3, 1 line, ACCESS_REFUSED"))
      << result.text();
}

TEST(task_queue, workers_overlap_die_and_stop) {
  const auto result = scene("workers");
  SKIP_WITHOUT_RABBITMQ(result);
  const auto tasks = spans(result, "SUCCESS: ");
  ASSERT_EQ(tasks.size(), 4U) << result.text();
  EXPECT_LE(tasks[0].second, tasks[1].first) << "one thread had two tasks at once";
  EXPECT_LT(tasks[3].first, tasks[2].second) << "two workers worked one after the other";
  EXPECT_TRUE(result.has_line("done by the other, having been left undone: 1")) << result.text();
  EXPECT_TRUE(result.has_line("exit code 0, received 2, succeeded 1")) << result.text();
  EXPECT_TRUE(result.has_line("queue celery: 1 waiting, 0 consumers")) << result.text();
  EXPECT_EQ(result.left_behind, 0);
}

TEST(task_queue, broker_that_is_gone_is_tried_again) {
  const auto result = run("/bin/bash", {scenes + "/broker_gone.sh"}, with_programs());
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^exit code 3$").size(), 2U) << result.text();
  EXPECT_TRUE(result.has_line("each task was done once")) << result.text();
  EXPECT_TRUE(result.has_line("but its connection is lost: the broker will deliver it again")) << result.text();
  EXPECT_TRUE(result.has_line("the patient client: SUCCESS: 10")) << result.text();
  const auto pauses = result.captures("^again (.*)");
  ASSERT_GE(pauses.size(), 3U) << result.text();
  for (std::size_t i = 1; i < pauses.size(); ++i) EXPECT_GT(std::stod(pauses[i]), std::stod(pauses[i - 1]));
}

TEST(task_queue, speaks_with_celery_in_both_directions) {
  if (run("/usr/bin/python3", {"-c", "import celery"}).exit_code != 0) GTEST_SKIP() << "install python3-celery";
  const auto result = scene("celery");
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_THAT(
      result.out,
      ElementsAre("add SUCCESS: 10", "by name SUCCESS: 10", "fractions SUCCESS: 3.25",
                  "large FAILURE: builtins.OverflowError: the sum does not fit into 64 bits",
                  "texts FAILURE: builtins.TypeError: add takes two numbers",
                  "missing FAILURE: builtins.TypeError: addTask.add misses argument 'y'",
                  "divide FAILURE: builtins.ZeroDivisionError: division by zero",
                  "unknown FAILURE: celery.exceptions.NotRegistered: 'addTask.subtract'", "flaky SUCCESS: 2",
                  "countdown SUCCESS: 10", "expired REVOKED: celery.exceptions.TaskRevokedError: expired",
                  HasSubstr("pickled FAILURE: kombu.exceptions.DecodeError: content type"),
                  HasSubstr("linked FAILURE: builtins.NotImplementedError: callbacks, chains and chords"),
                  "ping {'ours': {'ok': 'pong'}}", HasSubstr("registered {'ours': ['addTask.add', 'addTask.divide'"),
                  "to Python: SUCCESS: 10", "to Python: SUCCESS: 10", "to Python: SUCCESS: \"ab\"",
                  "to Python: FAILURE: ZeroDivisionError: division by zero",
                  "to Python: FAILURE: NotRegistered: addTask.subtract", "to Python: SUCCESS: 2",
                  "to Python: SUCCESS: 10", "to Python: REVOKED: TaskRevokedError: expired",
                  "queue celery: 0 waiting, 1 consumers", HasSubstr("worker celery@theirs: pid "),
                  "  addTask.add, executed: 4", "  addTask.divide, executed: 1", "  addTask.flaky, executed: 3"))
      << result.text();
}

TEST(task_queue, without_a_broker_gives_up_after_growing_pauses) {
  const auto result = run("task_queue_client", {"--broker", "amqp://127.0.0.1:1", "--max-retries", "3",
                                                "--interval-start", "0.01", "--interval-step", "0.02"});
  EXPECT_EQ(result.exit_code, 3);
  const Lines& err = result.err;
  ASSERT_EQ(err.size(), 4U) << result.text();
  for (const auto& [line, end] : {std::pair{0, "in 0.01 s"}, {1, "in 0.03 s"}, {2, "in 0.05 s"}, {3, "occurred"}}) {
    EXPECT_TRUE(err[static_cast<std::size_t>(line)].ends_with(end)) << result.text();
  }
  EXPECT_EQ(run("task_queue_worker", {"--broker", "amqp://127.0.0.1:1", "--max-retries", "0"}).exit_code, 3);
  EXPECT_EQ(run("task_queue_status", {"--broker", "amqp://127.0.0.1:1"}).exit_code, 3);
  EXPECT_EQ(run_parts("05_distributed/task_queue", {"--broker", "amqp://127.0.0.1:1"}).exit_code, 3);
}

TEST(task_queue, command_lines_are_checked) {
  for (const std::string program : {"task_queue_worker", "task_queue_client", "task_queue_status"}) {
    const auto help = run(program, {"--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.text(), HasSubstr("amqp://guest@localhost//"));  // what is used if no broker is named
    const auto version = run(program, {"--version"});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_EQ(version.lines_with("^" + program + " \\d+\\.\\d+\\.\\d+, Celery message protocol 2, ").size(), 1U);
  }
  const std::string long_name(256, 'q');
  for (const auto& [program, wrong] :
       std::vector<std::pair<std::string, Lines>>{{"task_queue_worker", {"--nonsense"}},
                                                  {"task_queue_worker", {"--concurrency", "0"}},
                                                  {"task_queue_worker", {"--queues", "a,,b"}},
                                                  {"task_queue_worker", {"--queues", long_name}},
                                                  {"task_queue_worker", {"--broker", "redis://localhost"}},
                                                  {"task_queue_worker", {"--name", long_name}},
                                                  {"task_queue_client", {"--nonsense"}},
                                                  {"task_queue_client", {"--broker", "amqp://a:b@c:port"}},
                                                  {"task_queue_client", {"--args", "5"}},
                                                  {"task_queue_client", {"--args", "[5"}},
                                                  {"task_queue_client", {"--kwargs", "[]"}},
                                                  {"task_queue_client", {"--headers", "x"}},
                                                  {"task_queue_client", {"--eta", "noon"}},
                                                  {"task_queue_client", {"--eta", "2026-02-30T00:00:00"}},
                                                  {"task_queue_client", {"--queue", ""}},
                                                  {"task_queue_client", {"--task", long_name}},
                                                  {"task_queue_status", {"--queues", ""}},
                                                  {"task_queue_status", {"--wait-ms", "-1"}}}) {
    Lines arguments = {"--broker", "amqp://127.0.0.1:1"};  // no broker, should an option be taken that is wrong
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const auto result = run(program, arguments, {.limit = std::chrono::seconds(5)});
    EXPECT_EQ(result.exit_code, 2) << wrong[0] << result.text();
    EXPECT_EQ(result.err.size(), 1U) << wrong[0] << result.text();
  }
}

}  // namespace
