// The protocol: times, numbers, arguments; and the worker beside a client in Python and messages that are no tasks.
// Catalogue: 5.C3, 5.2. (celery_monitor_test has more: the client beside Python's worker, and all that it can be told.)

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "05_distributed/celery_worker/worker.hpp"
#include "broker.hpp"
#include "celery/client.hpp"
#include "celery/random_tasks.hpp"
#include "cookbook/process.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

namespace {

bool exit_if_acknowledged_too_early = false;
std::set<std::uint64_t> unconfirmed;  // numbers of the messages that this process has published on its one channel
std::uint64_t published = 0;

template <typename Function>
Function* library_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// These stand before librabbitmq's own: a worker that acknowledges a task while the broker has not confirmed all
// results ends with exit code 99.
extern "C" {

int amqp_basic_publish(amqp_connection_state_t state, amqp_channel_t channel, amqp_bytes_t exchange, amqp_bytes_t key,
                       amqp_boolean_t mandatory, amqp_boolean_t immediate, const amqp_basic_properties_t* properties,
                       amqp_bytes_t body) {
  if (exit_if_acknowledged_too_early) unconfirmed.insert(++published);
  return library_function<decltype(amqp_basic_publish)>("amqp_basic_publish")(state, channel, exchange, key, mandatory,
                                                                              immediate, properties, body);
}

int amqp_simple_wait_frame_noblock(amqp_connection_state_t state, amqp_frame_t* frame, const timeval* timeout) {
  const int status = library_function<decltype(amqp_simple_wait_frame_noblock)>("amqp_simple_wait_frame_noblock")(
      state, frame, timeout);
  if (status == AMQP_STATUS_OK && frame->frame_type == AMQP_FRAME_METHOD &&
      frame->payload.method.id == AMQP_BASIC_ACK_METHOD) {
    const auto& confirmed = *static_cast<amqp_basic_ack_t*>(frame->payload.method.decoded);
    if (confirmed.multiple) {
      unconfirmed.erase(unconfirmed.begin(), unconfirmed.upper_bound(confirmed.delivery_tag));
    } else {
      unconfirmed.erase(confirmed.delivery_tag);
    }
  }
  return status;
}

int amqp_basic_ack(amqp_connection_state_t state, amqp_channel_t channel, std::uint64_t tag, amqp_boolean_t multiple) {
  if (exit_if_acknowledged_too_early && !unconfirmed.empty()) _exit(99);
  return library_function<decltype(amqp_basic_ack)>("amqp_basic_ack")(state, channel, tag, multiple);
}

}  // extern "C"

namespace {

using namespace std::chrono_literals;
using celery::json::object;
using test_support::Process;
using test_support::run;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string scripts = std::filesystem::path(__FILE__).parent_path() / "celery";

std::int64_t add(std::int64_t x, std::int64_t y) { return x + y; }
std::int64_t slow(std::int64_t x) {
  std::this_thread::sleep_for(100ms);
  return x;
}
std::int64_t kill_once(const std::string& mark) {
  if (mkdir(mark.c_str(), 0700) == 0) std::raise(SIGKILL);
  return 7;
}

TEST(celery_worker_iso_time, reads_what_it_writes_and_refuses_what_is_no_time) {
  const celery::Time time = celery::after(0.25, celery::Time(std::chrono::seconds(1'769'851'800)));
  EXPECT_EQ(celery::to_iso(time), "2026-01-31T09:30:00.250000+00:00");
  for (const std::string same :
       {"2026-01-31T09:30:00.250000+00:00", "2026-01-31T09:30:00.25", "2026-01-31 09:30:00.25Z",
        "2026-01-31T11:30:00.25+02:00", "2026-01-31T08:00:00.25-01:30"}) {
    ASSERT_TRUE(celery::from_iso(same)) << same;
    EXPECT_TRUE(*celery::from_iso(same) == time) << same << ": " << celery::to_iso(*celery::from_iso(same));
  }
  for (const std::string wrong : {"", "noon", "2026-02-30T00:00:00", "2026-01-31T25:00:00", "2026-01-31T09:60:00",
                                  "2026-01-31T09:30:00 please", "9999-01-31T09:30:00", "2026-01-31T09:30:00+"}) {
    EXPECT_FALSE(celery::from_iso(wrong)) << wrong;
  }
}

TEST(celery_worker_protocol, whole_numbers_beyond_64_bits_are_noticed) {
  for (const std::string fits : {"[9223372036854775807]", "[-9223372036854775807]", R"(["99999999999999999999"])",
                                 "[1.25]", "[12345678901234567890.5]", "[1e30]", R"(["\"", 5])"}) {
    EXPECT_FALSE(celery::has_huge_integer(fits)) << fits;
  }
  for (const std::string huge :
       {"[9223372036854775808]", "[[1, 18446744073709551616]]", R"(["\\", 99999999999999999999])"}) {
    EXPECT_TRUE(celery::has_huge_integer(huge)) << huge;
  }
}

TEST(celery_worker_registry, a_registered_function_is_called_with_arguments_of_the_right_number_name_and_type) {
  celery::Registry registry;
  registry.add(
      "app.add", {"x", "y"}, +[](double x, double y) { return x + y; });
  const auto call = [&](celery::json::array args, object kwargs) {
    return celery::shown(registry.at("app.add")({"app.add", "id", std::move(args), std::move(kwargs)}));
  };
  EXPECT_EQ(call({5, 5}, {}), "10");
  EXPECT_EQ(call({5}, {{"y", 5}}), "10");
  EXPECT_EQ(call({}, {{"y", 5}, {"x", 0.5}}), "5.5");
  EXPECT_THROW(call({5}, {}), celery::TaskError);
  EXPECT_THROW(call({5, 5, 5}, {}), celery::TaskError);
  EXPECT_THROW(call({5}, {{"x", 5}}), celery::TaskError);
  EXPECT_THROW(call({5, 5}, {{"z", 5}}), celery::TaskError);
  EXPECT_THROW(call({5, "five"}, {}), celery::TaskError);
  EXPECT_THROW(registry.at("app.subtract"), celery::TaskError);
}

TEST(celery_worker_protocol, a_text_is_utf8_as_the_standard_has_it) {
  for (const std::string valid : {"", "a", "\x7f", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xef\xbf\xbf",
                                  "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "gr\xc3\xbc\xc3\x9f"}) {
    EXPECT_TRUE(celery::is_utf8(valid)) << valid;
    EXPECT_EQ(celery::as_utf8(valid), valid);
  }
  EXPECT_TRUE(celery::is_utf8(std::string(1, '\0')));
  for (const std::string wrong : {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                  "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_FALSE(celery::is_utf8(wrong));
    EXPECT_TRUE(celery::is_utf8(celery::as_utf8("a" + wrong + "b")));
  }
  EXPECT_EQ(celery::as_utf8("gr\xc3\xbcn"), "gr\xc3\xbcn");
  EXPECT_EQ(celery::as_utf8("gr\xc3\xbcn", 3), "gr?");
}

TEST(celery_worker_protocol, what_a_client_could_not_read_is_no_result) {
  const auto why = [](celery::json::value value) -> std::string {
    try {
      celery::checked(std::move(value));
      return "right";
    } catch (const celery::TaskError& error) {
      return error.what();
    }
  };
  const auto levels = [](int count, celery::json::value inside) {
    for (int i = 0; i < count; ++i)
      inside = i % 2 ? celery::json::value{std::move(inside)} : object{{"a", std::move(inside)}};
    return inside;
  };
  EXPECT_EQ(why({1, -1.5, "text", nullptr, object{{"a", true}}}), "right");
  EXPECT_EQ(why(levels(30, 5)), "right");
  EXPECT_EQ(why(levels(31, 5)), "the result has more than 30 levels");
  EXPECT_EQ(why(levels(29, INFINITY)), "the result has a number that is infinite or undefined");
  EXPECT_EQ(why(std::nan("")), "the result has a number that is infinite or undefined");
  EXPECT_EQ(why({1, "\xff"}), "the result has a text that is no UTF-8");
  EXPECT_EQ(why(object{{"\xff", 1}}), "the result has a text that is no UTF-8");
}

void nothing_is_acknowledged_before_its_result_is_confirmed(const Broker& broker) {
  celery::Registry registry;
  registry.add("t.add", {"x", "y"}, add);
  celery::Client client(broker.url());
  const pid_t worker = cookbook::start_child([&] {
    exit_if_acknowledged_too_early = true;
    celery::work(broker.url(), registry);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(outcome(client.delay("t.add", i, 1)), std::to_string(i + 1));
  kill(worker, SIGTERM);
  EXPECT_EQ(cookbook::exit_code_of(worker), 0);
}

void a_worker_that_is_killed_loses_no_task(const Broker& broker) {
  celery::Registry registry;
  registry.add("t.add", {"x", "y"}, add);
  registry.add("t.slow", {"x"}, slow);
  registry.add("t.kill_once", {"mark"}, kill_once);
  amqp::Connection watching(broker.url());
  celery::Client client(broker.url());
  const test_support::TemporaryDirectory folder;

  // Posted with nobody there. While the worker executes the first one, the broker sends the others. So it executes all
  // of them before it acknowledges any; but the third one kills it.
  std::vector<celery::Client::Handle> tasks = {client.delay("t.slow", 1), client.delay("t.add", 1, 1),
                                               client.delay("t.kill_once", (folder.path / "mark").string())};
  for (int i = 4; i < 7; ++i) tasks.push_back(client.delay("t.add", 0, i));
  EXPECT_EQ(watching.waiting("celery"), 6U);
  EXPECT_EQ(cookbook::exit_code_of(cookbook::start_child([&] { celery::work(broker.url(), registry, "celery", 10); })),
            -SIGKILL);
  EXPECT_EQ(tasks[5].state(), "PENDING");

  const pid_t heir = cookbook::start_child([&] { celery::work(broker.url(), registry, "celery", 10); });
  std::vector<std::string> sums;
  for (const celery::Client::Handle& task : tasks) sums.push_back(outcome(task));
  EXPECT_THAT(sums, ElementsAre("1", "2", "7", "4", "5", "6"));
  kill(heir, SIGTERM);
  EXPECT_EQ(cookbook::exit_code_of(heir), 0);
  // All are acknowledged: another worker gets none of them. (What comes back from a worker that has gone comes first.)
  watching.consume("celery");
  const celery::Client::Handle later = client.delay("t.add", 0, 8);
  const auto next = watching.next(20s);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->correlation_id, later.id());
  watching.acknowledge(*next);
}

void what_is_no_task_is_kept_aside(const Broker& broker) {
  celery::Registry registry;
  registry.add(
      "t.add", {"x", "y"}, +[](double x, double y) { return x + y; });
  registry.add("t.text", [](const auto&) { return celery::json::string("\xff"); });
  registry.add("t.throw_text", [](const auto&) -> celery::json::value { throw std::runtime_error("\xff"); });
  registry.add("t.throw_number", [](const auto&) -> celery::json::value { throw 5; });
  amqp::Connection posting(broker.url());
  const pid_t worker = cookbook::start_child([&] { celery::work(broker.url(), registry); });
  const std::string answers = posting.declare_queue("", {.exclusive = true});
  posting.consume(answers, amqp::Acknowledgement::automatic);
  const object right = {{"task", "t.add"}, {"id", "x"}};
  const std::string filler(130'900, 'h');  // so that the frame is full: one word more would not fit into it
  const std::vector<std::pair<object, std::string>> wrong = {
      {right, "[[5, 5"},
      {right, "[5, 5]"},
      {{{"task", 7}, {"id", "x"}}, "[[5, 5], {}, {}]"},
      {{{"task", "t.none"}, {"id", "x"}, {"filler", filler}}, "[[5, 5], {}, {}]"},
      {right, std::string(2'000'000, ' ') + "[[5, 5], {}, {}]"}};
  for (const auto& [headers, body] : wrong) {
    const amqp::Message message = {
        .body = body, .reply_to = answers, .correlation_id = "x", .content_type = "application/json"};
    celery::publish(posting, "", "celery", message, headers);
    const auto answer = posting.next(20s);
    ASSERT_TRUE(answer) << body.substr(0, 60);
    const std::string type = celery::error_of(celery::read_result(*answer)).type;
    EXPECT_TRUE(type == "DecodeError" || type == "NotRegistered") << type << ": " << body.substr(0, 60);
  }
  // What a task returns or throws is an answer in JSON, and the worker goes on.
  celery::Client client(broker.url());
  EXPECT_EQ(outcome(client.delay("t.add", 1e308, 1e308)),
            "EncodeError: the result has a number that is infinite or undefined");
  EXPECT_EQ(outcome(client.delay("t.text")), "EncodeError: the result has a text that is no UTF-8");
  EXPECT_EQ(outcome(client.delay("t.throw_text")), "RuntimeError: ?");
  EXPECT_EQ(outcome(client.delay("t.throw_number")), "RuntimeError: an exception of unknown type");
  EXPECT_EQ(outcome(client.delay("t.add", 5, 5)), "10");
  // What it refuses is an error at once, also for who waits for the last task of a chain.
  EXPECT_EQ(outcome(client.chain({{"t.add", {1, 2}}, {"t.add", {3}}, {"t.add", {4}}})), "NotImplementedError: chains");
  kill(worker, SIGTERM);
  EXPECT_EQ(cookbook::exit_code_of(worker), 0);
  EXPECT_EQ(posting.waiting(celery::dead_letters), wrong.size() + 1);
  EXPECT_EQ(posting.waiting("celery"), 0U);
}

void sigterm_ends_a_worker_that_waits_for_tasks_soon(const Broker& broker) {
  celery::Registry registry;
  registry.add("t.add", {"x", "y"}, add);
  celery::Client client(broker.url());
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const pid_t worker = cookbook::start_child([&] { celery::work(broker.url(), registry); });
    EXPECT_EQ(outcome(client.delay("t.add", 1, 1)), "2");
    std::this_thread::sleep_for(50ms);  // now it has begun to wait for the next task
    const auto start = std::chrono::steady_clock::now();
    kill(worker, SIGTERM);
    EXPECT_EQ(cookbook::exit_code_of(worker), 0);
    quickest = std::min(quickest, std::chrono::steady_clock::now() - start);
  }
  EXPECT_LT(quickest, 600ms);
}

void a_client_in_python_gets_results_and_exceptions(const Broker& broker) {
  setenv("BROKER", broker.url().c_str(), 1);
  const char* const path = std::getenv("PYTHONPATH");  // may lead to another Celery than the system's
  setenv("PYTHONPATH", (scripts + (path ? std::string(":") + path : "")).c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  Process worker("celery_worker", {"--broker", broker.url()});
  const auto client = run("/usr/bin/python3", {"-W", "ignore", scripts + "/worker_client.py"}, {.limit = 100s});
  EXPECT_EQ(client.exit_code, 0) << client.text();
  EXPECT_THAT(client.out,
              ElementsAre("add SUCCESS: 10", "by name SUCCESS: 10", "largest SUCCESS: 9223372036854775807",
                          HasSubstr("huge FAILURE: kombu.exceptions.DecodeError: a whole number does not fit"),
                          "large FAILURE: builtins.OverflowError: the sum does not fit into 64 bits",
                          "missing FAILURE: builtins.TypeError: addTask.add misses argument y",
                          "divide FAILURE: builtins.ZeroDivisionError: division by zero",
                          "unknown FAILURE: celery.exceptions.NotRegistered: 'addTask.subtract'",
                          "expired REVOKED: celery.exceptions.TaskRevokedError: expired",
                          "countdown FAILURE: builtins.NotImplementedError: eta and countdown",
                          "time limit FAILURE: builtins.NotImplementedError: time limits",
                          "linked FAILURE: builtins.NotImplementedError: callbacks",
                          "chain FAILURE: builtins.NotImplementedError: chains",
                          "its first task FAILURE: builtins.NotImplementedError: chains",
                          HasSubstr("pickled FAILURE: kombu.exceptions.DecodeError: content type"),
                          HasSubstr("compressed FAILURE: kombu.exceptions.DecodeError: a compressed body"),
                          "group [0, 2, 4, 6, 8]"));
  EXPECT_EQ(worker.stop(SIGTERM).exit_code, 0);
}

TEST(celery_worker, beside_one_broker) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const bool have_celery = run("/usr/bin/python3", {"-c", "import celery"}).exit_code == 0;
  const Broker broker;
  nothing_is_acknowledged_before_its_result_is_confirmed(broker);
  a_worker_that_is_killed_loses_no_task(broker);
  what_is_no_task_is_kept_aside(broker);
  sigterm_ends_a_worker_that_waits_for_tasks_soon(broker);
  if (!have_celery) GTEST_SKIP() << "install python3-celery";
  a_client_in_python_gets_results_and_exceptions(broker);
}

TEST(celery_worker, a_wrong_address_is_refused_and_a_broker_that_is_not_there_is_an_error) {
  for (const std::string wrong : {"redis://localhost", "amqp://a:b@c:port"}) {
    const auto result = run("celery_worker", {"--broker", wrong});
    EXPECT_EQ(result.exit_code, 2) << result.text();
    EXPECT_THAT(result.err, ElementsAre(HasSubstr("--broker"))) << result.text();
  }
  const auto nobody = run("celery_worker", {"--broker", "amqp://guest@127.0.0.1:1//"});
  EXPECT_EQ(nobody.exit_code, 3) << nobody.text();
  EXPECT_EQ(nobody.err.size(), 1U) << nobody.text();
}

TEST(celery_worker, survives_random_messages) {
  if (!Broker::installed()) GTEST_SKIP() << "install rabbitmq-server";
  const Broker broker;
  const celery::Registry registry = registry_for_random_tasks();
  expect_to_survive(broker.url(), [&] { celery::work(broker.url(), registry, "celery", 100); });
}

TEST(celery_worker, shows_the_message_of_a_task_its_answer_and_what_the_client_gets) {
  const auto result = run("celery_worker", {}, {.limit = 100s});
  if (result.exit_code == 77) GTEST_SKIP() << result.text();
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const std::string line :
       {"task                      \"addTask.add\"", "add(5, 5)                 10", "add(x=5, y=5)             10",
        "divide(1, 0)              ZeroDivisionError: division by zero",
        "add(5)                    TypeError: addTask.add misses argument y",
        "subtract(5, 5)            NotRegistered: 'addTask.subtract'",
        "add(5, 5) in a second     NotImplementedError: eta and countdown",
        R"({"exc_type": "ZeroDivisionError", "exc_message": ["division by zero"], "exc_module": "builtins"})"}) {
    EXPECT_TRUE(result.has_line(line)) << line << '\n' << result.text();
  }
  const auto posted = result.captures("^id +\"(.*)\"$");
  ASSERT_EQ(posted.size(), 1U) << result.text();
  EXPECT_TRUE(result.has_line(R"({"task_id":")" + posted[0] +
                              R"(","status":"SUCCESS","result":10,"traceback":null,"children":[]})"))
      << result.text();
  EXPECT_EQ(result.leaked_processes, 0);
}

}  // namespace
