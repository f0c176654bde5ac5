// The task queue beside a broker of the test's own, and the program from outside. Catalogue: 5.C1, 5.C2, 5.C3, 5.2.
//
// A broker takes seconds to start, so a test looks at several things beside the same one.

#include <algorithm>
#include <filesystem>

#include "05_distributed/task_queue/client.hpp"
#include "05_distributed/task_queue/worker.hpp"
#include "broker.hpp"
#include "cookbook/process.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using test_support::eventually;
using test_support::run;
using test_support::TemporaryDirectory;
using testing::ElementsAre;
using testing::MatchesRegex;
using testing::StartsWith;

// A broker's start takes much longer on a busy machine, or with a sanitizer.
test_support::RunOptions in_folder(const TemporaryDirectory& temporary) {
  return {.environment = {{"TMPDIR", temporary.path}}, .limit = 100s};
}

int stop(pid_t worker) {
  kill(worker, SIGTERM);
  return cookbook::exit_code_of(worker);
}

TEST(task_queue_execute, takes_a_name_and_two_numbers) {
  EXPECT_EQ(execute("add 5 5"), 10);
  EXPECT_EQ(execute("multiply -3 4"), -12);
  EXPECT_EQ(execute("sleep 0 7"), 7);
  for (const std::string wrong :
       {"", "add", "add 5", "add 5 x", "add 5 5 5", "subtract 5 5", "add 99999999999999999999 1"}) {
    EXPECT_THROW(execute(wrong), std::invalid_argument) << wrong;
  }
  // What fits is right, and what does not is an error, not a wrong result.
  EXPECT_EQ(execute("multiply 9223372036854775807 -1"), -9'223'372'036'854'775'807);
  EXPECT_EQ(execute("add 9223372036854775806 1"), 9'223'372'036'854'775'807);
  for (const std::string wrong :
       {"multiply 9223372036854775807 2", "multiply -9223372036854775808 -1", "add 9223372036854775807 1",
        "add -9223372036854775808 -1", "sleep 9223372036854775807 0", "sleep 10001 0", "sleep -1 0"}) {
    EXPECT_THROW(execute(wrong), std::invalid_argument) << wrong;
  }
}

TEST(task_queue, tasks_are_done_elsewhere_in_any_number_and_nothing_is_left_behind) {
  const TemporaryDirectory temporary;
  const auto result = run("task_queue", {"--tasks", "40", "--workers", "3"}, in_folder(temporary));
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  const auto numbers = [&](const std::string& row) { return result.captures("^" + row + " +(\\d+ +\\d+)$"); };
  EXPECT_THAT(numbers("at the broker, without a worker"), ElementsAre(MatchesRegex("40 +40"))) << result.text();
  EXPECT_THAT(numbers("when the first worker has been killed"), ElementsAre(MatchesRegex("[0-9]+ +40")))
      << result.text();
  // What was sent to the first worker is lost if it counts as acknowledged then.
  EXPECT_THAT(numbers("results that the client gets"), ElementsAre(MatchesRegex("[0-3]?[0-9] +40"))) << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
  EXPECT_TRUE(std::filesystem::is_empty(temporary.path));
}

TEST(task_queue, a_program_that_is_killed_takes_its_broker_along) {
  const TemporaryDirectory temporary;
  // The pitfall's program, a second after its broker's folder has been made, when the broker is about to start or runs.
  const auto result = run("/bin/bash",
                          {"-c", R"("$0" & until compgen -G "$TMPDIR/rabbitmq.*/output" >/dev/null; do sleep 0.02; done
                                    sleep 1; kill -KILL $!; wait $!
                                    for i in {1..200}; do [[ $(ls "$TMPDIR") ]] || exit 42; sleep 0.05; done)",
                           test_support::bin() + "/task_queue"},
                          in_folder(temporary));
  if (result.text().find("is not installed") != std::string::npos) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 42) << "its folder is still there\n" << result.text();
  EXPECT_EQ(result.leaked_processes, 0) << result.text();
}

TEST(task_queue, without_rabbitmq_or_with_a_wrong_address_it_ends_with_one_line) {
  for (const std::string wrong : {"redis://localhost", "amqp://a:b@c:port", "nonsense"}) {
    EXPECT_THROW(amqp::Connection{wrong}, std::invalid_argument) << wrong;
  }
  try {
    amqp::Connection("amqp://guest:secret@127.0.0.1:1//");
    FAIL() << "connected to nobody";
  } catch (const amqp::Error& error) {
    EXPECT_THAT(error.what(), StartsWith("connect to 127.0.0.1:1//: "));  // and not the password
  }
}

TEST(task_queue, beside_one_broker) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  amqp::Connection watching(broker.url());
  declare_queues(watching);
  Client client(broker.url());

  // Three posts with nobody there have three ids; a worker that comes later does them, in another process.
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(client.post("add 5 5"));
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 3U);
  EXPECT_EQ(watching.waiting("tasks"), 3U);
  EXPECT_THROW(client.result(ids[0], 50ms), std::runtime_error);
  pid_t worker = cookbook::start_child([&] { work(broker.url()); });
  for (const std::string& id : ids) EXPECT_EQ(client.result(id), "10");

  // What is no task is kept aside, answered if somebody asked, and the worker lives on. One has headers that fill the
  // frame: whoever had to publish it again, with a word more, could not.
  EXPECT_EQ(client.result(client.post("add 5 x")), "failed: this is no task: add 5 x");
  EXPECT_EQ(client.result(client.post("dance 5 5")), "failed: no function is called dance");
  EXPECT_THAT(client.result(client.post(std::string(5'000'000, 'x'))), StartsWith("failed: this is no task: xxx"));
  watching.publish("", "tasks", {.body = "nobody waits for an answer"});
  const std::string filler(130'900, 'h');
  amqp_table_entry_t entry = {amqp_cstring_bytes("filler"), {}};
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = amqp::bytes_of(filler);
  watching.publish("", "tasks", {.body = "no task", .headers = {1, &entry}});
  entry.key = amqp_empty_bytes;  // a header without a name, and a text in it that is no UTF-8
  entry.value.value.bytes = amqp::bytes_of("\xff");
  watching.publish("", "tasks", {.body = "no task", .headers = {1, &entry}});
  watching.confirm();
  EXPECT_TRUE(eventually([&] { return watching.waiting("tasks.failed") == 6; })) << watching.waiting("tasks.failed");
  EXPECT_EQ(client.result(client.post("add 5 5")), "10");
  const std::string larger(140'000, 'h');
  entry.value.value.bytes = amqp::bytes_of(larger);
  EXPECT_THROW(watching.publish("", "tasks", {.headers = {1, &entry}}), std::invalid_argument);

  // A post to a queue that is gone is an error, and the client can go on.
  watching.declare_queue("gone");
  EXPECT_NO_THROW(client.post("add 5 5", "gone"));
  watching.delete_queue("gone");
  EXPECT_THROW(client.post("add 5 5", "gone"), amqp::Unroutable);
  EXPECT_EQ(client.result(client.post("add 6 6")), "12");
  EXPECT_EQ(stop(worker), 0);

  // One worker does two tasks one after the other; two do them at the same time, since each takes one at a time.
  const auto one_does_both = [&](int workers) {
    int takers[2];
    EXPECT_EQ(pipe(takers), 0);
    const auto tell = [&](const amqp::Delivery&) {
      const pid_t own = getpid();
      EXPECT_EQ(write(takers[1], &own, sizeof own), ssize_t{sizeof own});
    };
    std::vector<pid_t> pids;
    for (int i = 0; i < workers; ++i) pids.push_back(cookbook::start_child([&] { work(broker.url(), tell); }));
    const std::string first = client.post("sleep 300 1"), second = client.post("sleep 300 2");
    EXPECT_EQ(client.result(first) + client.result(second), "12");
    for (const pid_t pid : pids) EXPECT_EQ(stop(pid), 0);
    pid_t by[2] = {};
    EXPECT_EQ(read(takers[0], by, sizeof by), ssize_t{sizeof by});
    close(takers[0]);
    close(takers[1]);
    return by[0] == by[1];
  };
  EXPECT_TRUE(one_does_both(1));
  EXPECT_FALSE(one_does_both(2));

  // The acknowledgement waits for the broker's confirmation of the answer, and so does the rejection of what is no
  // task. Here the broker is stopped before it can confirm one, and SIGALRM ends the worker while it waits: the broker
  // still has the task.
  const std::vector<std::pair<std::string, std::string>> kept = {{"add 4 4", "8"},
                                                                 {"dance 4 4", "failed: no function is called dance"}};
  for (const auto& [task, answer] : kept) {
    const std::string id = client.post(task);
    worker = cookbook::start_child([&] {
      work(broker.url(), [&](const amqp::Delivery&) {
        test_support::stop_every_thread(broker.pid());
        alarm(1);
      });
    });
    EXPECT_EQ(cookbook::exit_code_of(worker), -SIGALRM);
    kill(broker.pid(), SIGCONT);
    EXPECT_TRUE(eventually([&] { return watching.waiting("tasks") == 1; })) << task << ": gone before it was confirmed";
    worker = cookbook::start_child([&] { work(broker.url()); });
    EXPECT_TRUE(eventually([&] { return watching.waiting("tasks") == 0; }));
    EXPECT_EQ(client.result(id), answer);
    EXPECT_EQ(stop(worker), 0);
  }

  // Killed from outside in the middle of a task, which another worker then does; SIGTERM lets a worker finish its own.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto started = [&](const auto&) { EXPECT_EQ(write(ends[1], "!", 1), 1); };
  char mark;
  const std::string twice = client.post("sleep 500 3");
  worker = cookbook::start_child([&] { work(broker.url(), started); });
  ASSERT_EQ(read(ends[0], &mark, 1), 1);
  kill(worker, SIGKILL);
  EXPECT_EQ(cookbook::exit_code_of(worker), -SIGKILL);
  EXPECT_THROW(client.result(twice, 50ms), std::runtime_error);
  worker = cookbook::start_child([&] { work(broker.url(), started); });
  ASSERT_EQ(read(ends[0], &mark, 1), 1);
  const std::string left = client.post("add 1 1");
  EXPECT_EQ(stop(worker), 0);
  EXPECT_EQ(client.result(twice), "3");
  EXPECT_THROW(client.result(left, 50ms), std::runtime_error);
  EXPECT_EQ(watching.waiting("tasks"), 1U);
  close(ends[0]);
  close(ends[1]);

  // The broker is killed: an error at whoever asks it next, at once.
  kill(broker.pid(), SIGKILL);
  EXPECT_THROW(client.result(left), amqp::Error);
  EXPECT_THROW(client.post("add 5 5"), amqp::Error);
  EXPECT_THROW(Client{broker.url()}, amqp::Error);
}

/// Posts 20 tasks, and restarts the broker while a worker has the tenth. Returns how often each answer came: "0" to
/// "19".
std::map<std::string, int> answers_with_a_restart_in_mid_run(Broker& broker, int signal) {
  constexpr int count = 20;
  const std::string answers = "answers";  // durable, as the queue of Client is not
  {
    amqp::Connection posting(broker.url());
    declare_queues(posting);
    posting.declare_queue(answers);
    for (int i = 0; i < count; ++i) {
      posting.publish("", tasks_queue, {.body = fmt::format("add {} 0", i), .reply_to = answers});
    }
    posting.confirm();
  }

  int taking[2], resuming[2];
  EXPECT_EQ(pipe(taking), 0);
  EXPECT_EQ(pipe(resuming), 0);
  char mark = '!';
  pid_t worker = cookbook::start_child([&] {
    try {
      work(broker.url(), [&, taken = 0](const amqp::Delivery&) mutable {
        EXPECT_EQ(write(taking[1], &mark, 1), 1);
        if (++taken == 10) {
          EXPECT_EQ(read(resuming[0], &mark, 1), 1);
        }
      });
    } catch (const amqp::Error&) {
      return 42;
    }
    return 0;
  });
  close(taking[1]);  // so that read() returns if the worker ends too early
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(taking[0], &mark, 1), 1);
  broker.restart(signal);
  EXPECT_EQ(write(resuming[1], &mark, 1), 1);
  EXPECT_EQ(cookbook::exit_code_of(worker), 42);  // it cannot publish its answer
  for (const int end : {taking[0], resuming[0], resuming[1]}) close(end);

  worker = cookbook::start_child([&] { work(broker.url()); });
  amqp::Connection reading(broker.url());
  reading.consume(answers, amqp::Acknowledgement::automatic);
  std::map<std::string, int> times;
  while (const auto answer = reading.next(times.size() < count ? 20s : 1s)) {
    ++times[answer->body];
  }
  EXPECT_EQ(stop(worker), 0);
  return times;
}

TEST(task_queue, a_broker_that_restarts_in_mid_run_loses_no_task) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  Broker broker;
  // Stopped in good order: what was acknowledged is not done again.
  auto times = answers_with_a_restart_in_mid_run(broker, SIGTERM);
  EXPECT_EQ(times.size(), 20U);
  for (const auto& [value, count] : times) EXPECT_EQ(count, 1) << value;
  // Killed: an acknowledgement may be lost, and the task done again, but none is lost.
  times = answers_with_a_restart_in_mid_run(broker, SIGKILL);
  EXPECT_EQ(times.size(), 20U);
  for (int value = 9; value < 20; ++value) EXPECT_EQ(times[std::to_string(value)], 1) << value;
}

}  // namespace
