/// Messages that are nearly tasks of Celery, or questions to a worker, from a fixed seed, and a worker that must
/// survive them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>

#include "../random_bytes.hpp"
#include "broker.hpp"
#include "celery/client.hpp"
#include "celery/registry.hpp"
#include "cookbook/process.hpp"
#include "support/files.hpp"

class RandomTasks : public RandomBytes {
 public:
  using RandomBytes::RandomBytes;

  /// JSON, mostly.
  std::string json_text(int depth = 3) {
    const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
        return pick({"null", "true", "false", "{}", "[]", "5", "nul", ""});
      case 1:
        return pick({"1e308", "-1e308", "1e309", "Infinity", "NaN", "9223372036854775807", "9223372036854775808",
                     "-9223372036854775808", "18446744073709551616", "0.1", "1e-400", "00", "-", "1e999999999"});
      case 2:
        return '"' + bytes(20) + '"';
      case 3:
        return pick({"\"\\ud800\"", "\"\\u0000\"", "\"2026-01-01T00:00:00\"", "\"2199-01-01T00:00:00\"", "\"celery\""});
      case 4:
        return one_in(10) ? nested(below(5000)) : nested(27 + below(8));
      case 5:
        return '[' + json_text(depth - 1) + ", " + json_text(depth - 1) + ']';
      case 6:
        return "{\"" + pick({"x", "y", "task", "chain", "callbacks"}) + "\": " + json_text(depth - 1) + '}';
      default:
        return "{\"" + bytes(one_in(20) ? 400 : 10) + "\": " + json_text(depth - 1) + '}';
    }
  }

  std::string task_name() { return pick({"t.add", "t.add", "t.echo", "t.none", bytes(30), ""}); }

  std::string signature() {
    std::string options = R"("task_id": "y")";
    for (std::size_t i = below(3); i > 0; --i) {
      const std::string name = pick({"reply_to", "countdown", "eta", "expires", "time_limit", "group_id", "root_id",
                                     "ignore_result", "link", "priority", "task_id"});
      options += ", \"" + name +
                 "\": " + (one_in(4) ? pick({"\"amq.rabbitmq.reply-to\"", "\"nowhere\"", "0.01"}) : json_text(1));
    }
    if (one_in(3)) options += R"(, "queue": ")" + pick({"celery", "nowhere", bytes(10), ""}) + '"';
    return R"({"task": ")" + task_name() + R"(", "args": )" + pick({"[1]", "[]", json_text(1)}) + R"(, "options": {)" +
           options + R"(}, "immutable": )" + pick({"true", "false", "5"}) + '}';
  }

  std::string body() {
    std::string embed = "{}";
    if (one_in(2)) embed = R"({"chain": [)" + signature() + (one_in(2) ? ", " + signature() : "") + "]}";
    if (one_in(8)) embed = json_text();
    return changed('[' + pick({"[5, 5]", "[1e308, 1e308]", "[" + json_text() + "]", json_text()}) + ", " +
                   pick({"{}", "{}", json_text()}) + ", " + embed + ']');
  }

  /// AMQP has no text but UTF-8 and no infinite number in its headers that the broker would take; all else is here.
  celery::json::object headers() {
    celery::json::object all = {{"task", task_name()}, {"id", bytes(40)}};
    for (std::size_t i = below(4); i > 0; --i) {
      all[pick({"task", "id", "eta", "expires", "retries", "timelimit", "root_id", "parent_id", "group",
                "ignore_result", "compression", "argsrepr", bytes(10)})] = value();
    }
    all.erase("CC");  // by these the broker would make copies, or close the connection of this test
    all.erase("BCC");
    return all;
  }

  amqp::Message task() {
    amqp::Message message = {.body = body(), .reply_to = pick({"", "nowhere", "amq.rabbitmq.reply-to.x", bytes(255)})};
    message.correlation_id = bytes(one_in(10) ? 255 : 10);
    message.content_type = one_in(10) ? bytes(20) : "application/json";
    return message;
  }

  amqp::Message question() {
    std::string text = R"({"method": ")" +
                       pick({"ping", "active", "reserved", "scheduled", "stats", "revoke", "revoked", "registered",
                             "active_queues", "hello", "enable_events", "disable_events", bytes(10)}) +
                       R"(", "arguments": )" + pick({"{}", R"({"task_id": "a", "terminate": true})", json_text()});
    if (one_in(3))
      text += R"(, "pattern": )" + pick({R"("*a*a*a*b*c*")", json_text()}) + R"(, "matcher": )" + json_text(1);
    if (one_in(3)) text += R"(, "destination": )" + pick({"[]", json_text()});
    if (one_in(2)) {
      text += R"(, "reply_to": {"exchange": ")" + pick({"reply.celery.pidbox", "", bytes(9)}) +
              R"(", "routing_key": )" + pick({"\"nowhere\"", json_text(1)}) + "}";
    }
    return {.body = changed(text + R"(, "ticket": )" + json_text() + '}'),
            .content_type = one_in(10) ? bytes(20) : "application/json"};
  }

 private:
  celery::json::value value(int depth = 2) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return one_in(2);
      case 2:
        return static_cast<std::int64_t>(below(5)) - 2;
      case 3:
        return pick({"a", "1e300"}) == "a" ? -1.5 : 1e300;
      case 4:
        return celery::json::string(bytes(one_in(10) ? 2000 : 20));
      case 5:
        return celery::json::string(
            pick({"2026-01-01T00:00:00", "2199-01-01T00:00:00", "nan", "2026-01-01T00:00:nan"}));
      case 6:
        return celery::json::array{value(depth - 1), value(depth - 1)};
      default:
        return celery::json::object{{bytes(10), value(depth - 1)}};
    }
  }
};

/// The functions that a task can name there.
inline celery::Registry registry_for_random_tasks() {
  celery::Registry registry;
  registry.add(
      "t.add", {"x", "y"}, +[](double x, double y) { return x + y; });
  registry.add(
      "t.echo", {"x"}, +[](celery::json::value x) { return x; });
  return registry;
}

/// Lets `work` take 10,000 random messages in a child, and then a good one. It must answer that one, and neither end
/// nor lose its connection before.
inline void expect_to_survive(const std::string& url, const std::function<void()>& work, bool with_questions = false) {
  const test_support::TemporaryDirectory folder;
  const std::string errors = folder.path / "errors";
  const pid_t worker = cookbook::start_child([&] {
    if (!std::freopen("/dev/null", "w", stdout) || !std::freopen(errors.c_str(), "w", stderr)) return 3;
    try {
      work();
      return 0;
    } catch (const std::exception& error) {
      cookbook::print_error(error.what());
      return 3;
    }
  });
  celery::Client client(url);
  EXPECT_EQ(outcome(client.delay("t.add", 5, 5)), "10");  // it is there
  amqp::Connection posting(url);
  RandomTasks random(5);
  for (int i = 0; i < 10'000; ++i) {
    if (with_questions && i % 2 == 0) {
      posting.publish("celery.pidbox", "", random.question());
    } else {
      const celery::json::object headers = random.headers();
      celery::publish(posting, "", "celery", random.task(), headers);
    }
    if (i % 100 == 99) posting.confirm();
  }
  posting.confirm();
  celery::Client::Handle good = client.delay("t.add", 5, 5);
  std::optional<int> ended;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(150);
  while (good.state() == "PENDING" && !ended && std::chrono::steady_clock::now() < end) {
    ended = cookbook::exit_code_of(worker, std::chrono::milliseconds(50));
  }
  EXPECT_EQ(ended, std::nullopt) << "the worker has ended";
  EXPECT_TRUE(good.state() == "SUCCESS" || good.state() == "STARTED") << good.state();
  if (!ended) {
    kill(worker, SIGKILL);
    cookbook::exit_code_of(worker);
  }
  std::string last;
  std::ifstream file(errors);
  for (std::string line; std::getline(file, line); last = line) {
    EXPECT_EQ(line.find("trying again in a second"), std::string::npos) << last << '\n' << line;
  }
  EXPECT_EQ(ended, std::nullopt) << last;
}
