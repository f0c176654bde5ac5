// Task queue: programs and broker seen from outside. Catalogue: 5.C1, 5.C2, 5.1, 5.C3, 5.2.
//
// A broker takes seconds to start. So most tests are scenes, scripts of the folder task_queue/ that are played one
// after another beside the same one, and whose output is looked at here.

#include <algorithm>
#include <filesystem>
#include <set>

#include "support/files.hpp"
#include "support/run.hpp"

namespace {

using test_support::Folder;
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

/// A broker takes seconds to start, and much longer on a busy machine or with a sanitizer: see also the chapter's
/// CMakeLists.txt.
Setting with_programs(const Folder& temporary) {
  return {.environment = {{"PATH", test_support::bin() + ":" + recipe + ":" + std::getenv("PATH")},
                          {"TESTS", scenes},
                          {"TMPDIR", temporary.path}},
          .limit = std::chrono::seconds(200)};
}

/// Plays scenes beside a broker of their own.
Result play(const Folder& temporary, const Lines& names) {
  Lines words = {"bash", scenes + "/scenes.sh"};
  words.insert(words.end(), names.begin(), names.end());
  return run(recipe + "/broker.sh", words, with_programs(temporary));
}

/// What one of these scenes has printed.
Result scene(const Result& all, const std::string& name) {
  Result one;
  const auto heading = std::find(all.out.begin(), all.out.end(), "== " + name);
  if (heading == all.out.end()) return one;
  const auto end = std::find_if(heading + 1, all.out.end(), [](const auto& line) { return line.starts_with("== "); });
  one.out.assign(heading + 1, end);
  one.err = all.err;
  return one;
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

void expect_lesson(const Result& result) {
  EXPECT_EQ(result.lines_with("^FAIL").size(), 0U) << result.text();
  EXPECT_EQ(result.lines_with("^ok ").size(), 27U) << result.text();
  const auto received = result.captures("^worker: Received task: (addTask.add\\[[-0-9a-f]{36}\\])$");
  const auto succeeded = result.captures("^worker: Task (addTask.add\\[.*\\]) succeeded in [0-9.]+ s: 10$");
  EXPECT_EQ(std::set(received.begin(), received.end()).size(), 3U) << result.text();
  EXPECT_EQ(received, succeeded);
  EXPECT_EQ(result.lines_with("^tasks.* K/s +\\d+ %$").size(), 2U) << result.text();
}

/// Catalogue 5.2, checks 2 to 4.
void expect_tasks_executed_as_asked(const Result& result) {
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

/// Two messages are in celery.dead already, the tasks of the scene before that no worker knew.
void expect_garbage_set_aside_and_refusals_said_once(const Result& result) {
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
          "queue celery: 0 waiting, 0 consumers", "queue celery.dead: 19 waiting, 0 consumers", "forged lines: 0",
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

/// Catalogue 5.2, check 5.
void expect_workers_that_overlap_die_and_stop(const Result& result) {
  const auto tasks = spans(result, "SUCCESS: ");
  ASSERT_EQ(tasks.size(), 4U) << result.text();
  EXPECT_LE(tasks[0].second, tasks[1].first) << "one thread had two tasks at once";
  EXPECT_LT(tasks[3].first, tasks[2].second) << "two workers worked one after the other";
  EXPECT_TRUE(result.has_line("done by the other, having been left undone: 1")) << result.text();
  EXPECT_TRUE(result.has_line("exit code 0, received 2, succeeded 1")) << result.text();
  EXPECT_TRUE(result.has_line("queue naps: 1 waiting, 0 consumers")) << result.text();
}

/// Python's Celery posts to this worker, this client posts to Python's worker.
void expect_words_with_celery(const Result& result) {
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

TEST(task_queue, scenes_beside_one_broker) {
  const Folder temporary;
  const bool have_celery = run("/usr/bin/python3", {"-c", "import celery"}).exit_code == 0;
  Lines names = {"as_asked", "garbage", "workers", "lesson", "interrupted"};
  if (have_celery) names.insert(names.begin() + 3, "celery");
  const Result all = play(temporary, names);
  SKIP_WITHOUT_RABBITMQ(all);
  expect_tasks_executed_as_asked(scene(all, "as_asked"));
  expect_garbage_set_aside_and_refusals_said_once(scene(all, "garbage"));
  expect_workers_that_overlap_die_and_stop(scene(all, "workers"));
  if (have_celery) {
    expect_words_with_celery(scene(all, "celery"));
  } else {
    std::puts("without its scene beside Python: install python3-celery");
  }
  expect_lesson(scene(all, "lesson"));
  // The last scene ends all by Ctrl-C.
  EXPECT_EQ(all.exit_code, 130) << all.text();
  EXPECT_EQ(all.left_behind, 0) << all.text();
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path)) << "files were left behind";
}

TEST(task_queue, ctrl_c_while_the_broker_starts_leaves_nothing_behind) {
  const Folder temporary;
  // The whole process group gets the signal, as soon as the broker has been started.
  const auto result = run("/bin/bash",
                          {"-c", R"((until compgen -G "$TMPDIR/task_queue.*/output"; do sleep 0.02; done; kill -INT 0) &
                                    exec run.sh "$0")",
                           test_support::bin()},
                          with_programs(temporary));
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_EQ(result.exit_code, 130) << result.text();
  EXPECT_EQ(result.left_behind, 0) << result.text();
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path)) << "files were left behind";
}

TEST(task_queue_timing, tasks_pass_at_a_fifth_of_the_bare_loops_rate) {
  const Folder temporary;
  const auto result = run_parts("05_distributed/task_queue", {"--tasks", "3000"}, with_programs(temporary));
  SKIP_WITHOUT_RABBITMQ(result);
  const auto shares = result.captures("^tasks.* K/s +(\\d+) %");
  ASSERT_EQ(shares.size(), 2U) << result.text();
  for (const std::string& share : shares) EXPECT_GT(std::stoi(share), 20) << result.text();
}

TEST(task_queue, broker_that_is_gone_is_tried_again) {
  const Folder temporary;
  const auto result = run("/bin/bash", {scenes + "/broker_gone.sh"}, with_programs(temporary));
  SKIP_WITHOUT_RABBITMQ(result);
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^exit code 3$").size(), 2U) << result.text();
  EXPECT_TRUE(result.has_line("each task was done once")) << result.text();
  EXPECT_TRUE(result.has_line("but its connection is lost: the broker will deliver it again")) << result.text();
  EXPECT_TRUE(result.has_line("the persistent client: SUCCESS: 10")) << result.text();
  const auto pauses = result.captures("^again (.*)");
  ASSERT_GE(pauses.size(), 3U) << result.text();
  for (std::size_t i = 1; i < pauses.size(); ++i) EXPECT_GT(std::stod(pauses[i]), std::stod(pauses[i - 1]));
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
  struct Attempt {
    std::string program;
    Lines wrong;
    std::string named;  ///< in the error
  };
  for (const Attempt& attempt : std::vector<Attempt>{
           {"task_queue_worker", {"--nonsense"}, "--nonsense"},
           {"task_queue_worker", {"--concurrency", "0"}, "--concurrency 0"},
           {"task_queue_worker", {"--queues", "a,,b"}, "queues a,,b: a queue's name has 1 to 255 bytes"},
           {"task_queue_worker", {"--queues", long_name}, "a queue's name has 1 to 255 bytes"},
           {"task_queue_worker",
            {"--broker", "redis://localhost"},
            "--broker redis://localhost: not a broker's address"},
           {"task_queue_worker", {"--name", long_name}, "--name: a worker's name has 1 to 200 bytes"},
           {"task_queue_client", {"--nonsense"}, "--nonsense"},
           {"task_queue_client",
            {"--broker", "amqp://a:b@c:port"},
            "--broker amqp://a:b@c:port: not a broker's address"},
           {"task_queue_client", {"--args", "5"}, "--args 5: not of the form [5, 5]"},
           {"task_queue_client", {"--args", "[5"}, "--args [5: not of the form [5, 5]"},
           {"task_queue_client", {"--kwargs", "[]"}, "--kwargs []: not of the form {\"x\": 5}"},
           {"task_queue_client", {"--headers", "x"}, "--headers x: not of the form {\"priority\": 1}"},
           {"task_queue_client", {"--eta", "noon"}, "--eta noon: not of the form"},
           {"task_queue_client", {"--eta", "2026-02-30T00:00:00"}, "--eta 2026-02-30T00:00:00: not of the form"},
           {"task_queue_client", {"--queue", ""}, "--queue: a queue's name has 1 to 255 bytes"},
           {"task_queue_client", {"--task", long_name}, "--task: a task's name has 1 to 255 bytes"},
           {"task_queue_status", {"--queues", ""}, "a queue's name has 1 to 255 bytes"},
           {"task_queue_status", {"--wait-ms", "-1"}, "--wait-ms -1"}}) {
    Lines arguments = {"--broker", "amqp://127.0.0.1:1"};  // no broker, should an option be taken that is wrong
    arguments.insert(arguments.end(), attempt.wrong.begin(), attempt.wrong.end());
    const auto result = run(attempt.program, arguments);
    EXPECT_EQ(result.exit_code, 2) << attempt.named << result.text();
    EXPECT_EQ(result.out.size(), 0U) << attempt.named << result.text();
    ASSERT_EQ(result.err.size(), 1U) << attempt.named << result.text();
    EXPECT_THAT(result.err[0], HasSubstr(attempt.program + ": ")) << result.text();
    EXPECT_THAT(result.err[0], HasSubstr(attempt.named)) << result.text();
  }
}

}  // namespace
