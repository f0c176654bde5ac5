// Chains and acknowledgements in this process, the program's output, and a client in Python. Catalogue: 5.1, 5.2.

#include "celery/chain.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "05_distributed/celery_chain/worker.hpp"
#include "broker.hpp"
#include "celery/acknowledgements.hpp"
#include "celery/client.hpp"
#include "celery/random_tasks.hpp"
#include "celery/tasks.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/process.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/run.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using celery::json::object;
using test_support::eventually;
using test_support::run;
using testing::ElementsAre;
using testing::HasSubstr;

/// Stands for a broker, and notes what is acknowledged.
struct NotingBroker {
  std::set<std::uint64_t> unconfirmed;
  std::vector<std::string> acknowledged;

  bool is_confirmed(std::uint64_t number) const { return !unconfirmed.contains(number); }
  void acknowledge(std::uint64_t tag, amqp::Acknowledged which) {
    acknowledged.push_back((which == amqp::Acknowledged::this_one ? "" : "up to ") + std::to_string(tag));
  }
};

TEST(celery_chain, a_message_is_acknowledged_when_what_replaces_it_is_confirmed) {
  NotingBroker broker;
  celery::Acknowledgements acknowledgements;
  const auto sent = [&] {
    acknowledgements.send(broker);
    return std::exchange(broker.acknowledged, {});
  };
  for (std::uint64_t tag = 1; tag <= 6; ++tag) acknowledgements.received(tag);
  EXPECT_THAT(sent(), ElementsAre());
  broker.unconfirmed = {8};
  acknowledgements.replaced(4, 7);
  acknowledgements.replaced(2, 8);
  EXPECT_THAT(sent(), ElementsAre("4"));  // alone, since 1 and 3 are not done
  EXPECT_THAT(sent(), ElementsAre());     // and only once
  acknowledgements.replaced(1, 9);
  EXPECT_THAT(sent(), ElementsAre("up to 1"));  // 2 is done, but the broker does not have its result yet
  broker.unconfirmed = {};
  acknowledgements.replaced(3, 0);
  acknowledgements.replaced(6, 10);
  EXPECT_THAT(sent(), ElementsAre("6", "up to 3"));  // 5 is not done
  acknowledgements.replaced(5, 11);
  EXPECT_THAT(sent(), ElementsAre("up to 5"));

  // On a new connection the tags begin with 1 again. What was received on the old one is no longer acknowledged.
  acknowledgements.received(7);
  acknowledgements.clear();
  acknowledgements.received(1);
  acknowledgements.replaced(1, 1);
  EXPECT_THAT(sent(), ElementsAre("up to 1"));
}

/// A task with a chain of so many signatures, as few bytes each as there can be.
celery::Task with_chain(std::size_t length) {
  celery::Task task = {.name = "first", .id = "1", .reply_to = "answers"};
  const object signature = {{"task", "a"}, {"options", object{{"task_id", "b"}}}};
  for (std::size_t i = 0; i < length; ++i) task.chain.push_back(signature);
  return task;
}

TEST(celery_chain, a_chain_takes_memory_in_proportion_to_its_length) {
  const celery::Task task = with_chain(3'000);
  const auto peak_of_a_child = [&](bool checked) {
    const pid_t child = cookbook::start_child([&] {
      if (checked) check_chain(task);
      if (checked) next_in_chain(task, 5);
    });
    rusage usage = {};
    int status = -1;
    EXPECT_EQ(wait4(child, &status, 0, &usage), child);
    EXPECT_EQ(status, 0);
    return usage.ru_maxrss;
  };
  EXPECT_LT(peak_of_a_child(true) - peak_of_a_child(false),
            20'000 * test_support::memory_factor);  // KiB; it was 1.3 GB
}

TEST(celery_chain, a_chain_has_a_limit) {
  EXPECT_NO_THROW(check_chain(with_chain(celery::max_chain)));
  EXPECT_THROW(check_chain(with_chain(celery::max_chain + 1)), celery::TaskError);
  celery::Task wrong = with_chain(3);
  wrong.chain[0] = 5;
  EXPECT_THROW(check_chain(wrong), celery::Malformed);
  const celery::Next next = next_in_chain(with_chain(3), 7);
  EXPECT_EQ(next.task.name, "a");
  EXPECT_EQ(next.task.args, celery::json::array{7});
  EXPECT_EQ(next.task.chain.size(), 2U);
}

TEST(celery_chain, each_message_goes_when_another_has_taken_its_place) {
  const auto result = run("celery_chain", {}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
  std::vector<std::string> lines;
  for (const std::string& line : result.out) {
    std::istringstream words(line);
    std::string text;
    for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
    lines.push_back(text);
  }
  EXPECT_THAT(lines,
              ElementsAre("executed published in its place",                                        //
                          "nobody is killed:",                                                      //
                          "add(5, 5), then 1 more add(10, 1)",                                      //
                          "add(10, 1) result 11",                                                   //
                          "ok the client gets: 11",                                                 //
                          "a worker is killed when it has published, and before it acknowledges:",  //
                          "add(5, 5), then 1 more add(10, 1)",                                      //
                          "ok messages left for another worker: 2",                                 //
                          "another worker:",                                                        //
                          "add(5, 5), then 1 more add(10, 1)",                                      //
                          "add(10, 1) result 11",                                                   //
                          "add(10, 1) result 11",                                                   //
                          "ok the client gets: 11",                                                 //
                          "a task fails, and asks to be tried again:",                              //
                          "flaky(2) flaky(2), retry 1 in 100 ms",                                   //
                          "flaky(2), retry 1 flaky(2), retry 2 in 100 ms",                          //
                          "flaky(2), retry 2 result \"done\"",                                      //
                          "ok the client gets: \"done\""))
      << result.text();
}

TEST(celery_chain, a_task_that_fails_too_often_is_tried_again_three_times) {
  const auto result = run("celery_chain", {"--fails", "100"}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^flaky").size(), 4U) << result.text();
  EXPECT_TRUE(result.has_line("ok    the client gets: MaxRetriesExceededError: not yet")) << result.text();
}

TEST(celery_chain, a_chain_is_lost_with_a_worker_that_acknowledges_first) {
  const auto result = run("celery_chain_ack_first", {}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_TRUE(result.has_line("FAIL  messages left for another worker: 0, expected 2")) << result.text();
}

TEST(celery_chain, a_message_is_kept_until_the_broker_confirms_what_takes_its_place) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  celery::Registry registry;
  registry.add("stop_the_broker", [&](const celery::Task&) -> celery::json::value {
    test_support::stop_every_thread(broker.pid());  // so it confirms nothing
    alarm(1);                                       // and SIGALRM ends the worker while it waits for the confirmation
    return 0;
  });
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  celery::Client client(broker.url());
  client.delay("stop_the_broker");
  const pid_t worker = cookbook::start_child([&] {
    celery::ChainWorker own(broker.url(), registry);
    own.between = [&] { EXPECT_EQ(write(ends[1], "!", 1), 1); };
    own.run(1);
  });
  EXPECT_EQ(cookbook::exit_code_of(worker), -SIGALRM);
  kill(broker.pid(), SIGCONT);
  close(ends[1]);
  char mark;
  EXPECT_EQ(read(ends[0], &mark, 1), 0) << "it was about to acknowledge the task";
  close(ends[0]);
  EXPECT_TRUE(eventually([&] { return amqp::Connection(broker.url()).waiting("celery") == 1; }));
}

TEST(celery_chain, clients_in_python_get_what_they_would_get_from_a_worker_of_pythons) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const std::string scripts = std::filesystem::path(__FILE__).parent_path() / "celery";
  if (run("/usr/bin/python3", {"-c", "import celery"}).exit_code != 0) GTEST_SKIP() << "install python3-celery";
  const Broker broker;
  cookbook::ChildProcess worker([&] {
    const celery::Registry registry = celery::registered_tasks("addTask");
    celery::ChainWorker(broker.url(), registry).run(1'000'000);
  });
  setenv("BROKER", broker.url().c_str(), 1);
  const char* const path = std::getenv("PYTHONPATH");  // may lead to another Celery than the system's
  setenv("PYTHONPATH", (scripts + (path ? std::string(":") + path : "")).c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  const auto client = run("/usr/bin/python3", {"-W", "ignore", scripts + "/client.py", "following"}, {.limit = 200s});
  EXPECT_THAT(
      client.out,
      ElementsAre("its first SUCCESS: 3", "its second SUCCESS: 6", "chain SUCCESS: 10", "immutable SUCCESS: 14",
                  "first fails FAILURE: builtins.ZeroDivisionError: division by zero",
                  "second fails FAILURE: builtins.ZeroDivisionError: division by zero",
                  HasSubstr("no such queue FAILURE: celery.exceptions.QueueNotFound"), "flaky SUCCESS: 2",
                  "too flaky FAILURE: celery.exceptions.MaxRetriesExceededError: not yet", "countdown SUCCESS: 10",
                  "expired REVOKED: celery.exceptions.TaskRevokedError: expired", "long SUCCESS: 100"))
      << client.text();
  EXPECT_EQ(worker.wait(0ms), std::nullopt) << "the worker has ended";
}

TEST(celery_chain, a_task_for_later_keeps_no_other_waiting_and_a_time_limit_is_refused) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  cookbook::ChildProcess worker([&] {
    const celery::Registry registry = celery::registered_tasks("app");
    celery::ChainWorker(broker.url(), registry).run(1'000'000);
  });
  celery::Client client(broker.url());
  for (int i = 0; i < 3; ++i) client.apply_async("app.add", {5, 5}, {}, {.countdown = 3600});
  EXPECT_EQ(outcome(client.delay("app.add", 1, 2)), "3");
  EXPECT_EQ(outcome(client.apply_async("app.add", {1, 2}, {}, {.time_limit = 1})), "NotImplementedError: time limits");
}

TEST(celery_chain, a_task_for_later_is_started_when_it_is_due) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const cookbook::ChildProcess worker([&] {
    const celery::Registry registry = celery::registered_tasks("app");
    celery::ChainWorker(broker.url(), registry).run(1'000'000);
  });
  celery::Client client(broker.url());
  double shortest = 100;  // of ten times: on a busy machine one may be long
  for (int attempt = 0; attempt < 10 && shortest > 0.9; ++attempt) {
    const cookbook::Stopwatch watch;
    EXPECT_EQ(outcome(client.apply_async("app.add", {5, 5}, {}, {.countdown = 0.1})), "10");
    EXPECT_GE(watch.seconds(), 0.09);
    shortest = std::min(shortest, watch.seconds());
  }
  EXPECT_LT(shortest, 0.9) << "it was kept until the worker looked for the next message";
}

TEST(celery_chain, a_worker_takes_only_the_task_that_it_executes_and_leaves_the_next_one_to_others) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const auto work = [&] {
    const celery::Registry registry = celery::registered_tasks("app");
    celery::ChainWorker(broker.url(), registry).run(1'000'000);
  };
  celery::Client client(broker.url());
  client.delay("app.nap", 3600);
  const celery::Client::Handle next = client.delay("app.add", 5, 5);
  const cookbook::ChildProcess busy(work);
  amqp::Connection watching(broker.url());
  EXPECT_TRUE(eventually([&] { return watching.waiting("celery") < 2; }));
  const cookbook::ChildProcess other(work);
  EXPECT_EQ(outcome(next), "10");
}

TEST(celery_chain, a_worker_that_has_held_tasks_for_later_leaves_the_next_one_to_others_too) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const test_support::TemporaryDirectory folder;
  celery::Registry registry = celery::registered_tasks("app");
  registry.add("sleep", [&](const celery::Task&) -> celery::json::value {
    std::filesystem::create_directory(folder.path / "begun");
    std::this_thread::sleep_for(1h);
    return 0;
  });
  const auto work = [&] { celery::ChainWorker(broker.url(), registry).run(1'000'000); };
  celery::Client client(broker.url());
  const cookbook::ChildProcess busy(work);
  for (int i = 0; i < 2; ++i) client.apply_async("app.add", {5, 5}, {}, {.countdown = 0.1});
  client.apply_async("sleep", {}, {}, {.countdown = 0.3});
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder.path / "begun"); }));
  const celery::Client::Handle next = client.delay("app.add", 1, 2);
  const cookbook::ChildProcess other(work);
  EXPECT_EQ(outcome(next), "3");
}

TEST(celery_chain, a_chain_that_has_a_task_that_cannot_be_read_fails_before_its_first_task_is_executed) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const test_support::TemporaryDirectory folder;
  celery::Registry registry;
  registry.add("note", [&](const celery::Task&) -> celery::json::value {
    return std::filesystem::create_directory(folder.path / "executed");
  });
  amqp::Connection posting(broker.url());
  const std::string answers = posting.declare_queue("", {.exclusive = true});
  posting.consume(answers, amqp::Acknowledgement::automatic);
  celery::declare_task_queue(posting, "celery");
  const cookbook::ChildProcess worker([&] { celery::ChainWorker(broker.url(), registry).run(1'000'000); });
  const std::string right = R"({"task": "note", "options": {"task_id": "2"}})";
  for (const auto& [last, error] :
       {std::pair{"5", "DecodeError"},
        {R"({"task": "note", "options": {"task_id": "3", "priority": 3}})", "NotImplementedError"}}) {
    const object headers = {{"task", "note"}, {"id", "1"}};
    const amqp::Message message = {.body = fmt::format(R"([[], {{}}, {{"chain": [{}, {}]}}])", last, right),
                                   .reply_to = answers,
                                   .correlation_id = "1",
                                   .content_type = "application/json"};
    celery::publish(posting, "", "celery", message, headers);
    auto answer = posting.next(20s);
    while (answer && answer->correlation_id != "1") answer = posting.next(20s);  // to the task that was to follow
    ASSERT_TRUE(answer) << last;
    EXPECT_EQ(celery::error_of(celery::read_result(*answer)).type, error) << last;
    EXPECT_FALSE(std::filesystem::exists(folder.path / "executed")) << last;
  }
}

TEST(celery_chain, survives_random_messages) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const celery::Registry registry = registry_for_random_tasks();
  expect_to_survive(broker.url(), [&] { celery::ChainWorker(broker.url(), registry).run(1'000'000); });
}

}  // namespace
