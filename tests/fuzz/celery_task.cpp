// A message of Celery, as the workers of chapter 5 read it: the first line of the input has the headers as JSON, the
// rest is the body. What a worker makes of it must be JSON that its client can read.

#include <array>

#include "05_distributed/celery_worker/worker.hpp"
#include "fuzz.hpp"

namespace {

using namespace celery;

Registry functions() {
  Registry registry;
  registry.add(
      "t.add", {"x", "y"}, +[](double x, double y) { return x + y; });
  registry.add(
      "t.echo", {"x"}, +[](json::value x) { return x; });
  return registry;
}

void expect_readable(const json::value& value) {
  const std::string text = json::serialize(value);
  require(is_utf8(text), "what is sent is UTF-8");
  json::error_code error;
  json::parse(text, error);
  require(!error, "what is sent is JSON");
}

void expect_readable(const Result& result) {
  expect_readable(json::object{{"result", result.value}, {"traceback", result.traceback}});
}

void read_as_task(const Registry& registry, const amqp::Message& message) {
  expect_readable(json::value(unread_task(message).id));
  try {
    const Task task = read_task(message);
    try {
      refuse_what_is_not_implemented(task);
    } catch (const TaskError& refused) {
      expect_readable(failure(refused));
    }
    check_chain(task);
    const Result result = execute(registry.at(task.name), task);
    expect_readable(result);
    expect_readable(json::value(one_line(shown(result.value))));
    if (task.chain.empty() || result.status != "SUCCESS") return;
    const Next next = next_in_chain(task, result.value);
    require(next.task.chain.size() + 1 == task.chain.size(), "the chain has become shorter");
    or_null(next.task.eta);
    or_null(next.task.expires);
  } catch (const Malformed& malformed) {
    expect_readable(failure({"DecodeError", malformed.what()}));
  } catch (const TaskError& error) {
    expect_readable(failure(error));
  }
}

void read_as_result(const amqp::Message& message) {
  try {
    const Result result = read_result(message);
    if (result.status != "SUCCESS") expect_readable(failure(error_of(result)));
  } catch (const Malformed&) {
  }
}

}  // namespace

void one_input(std::string_view input) {
  static const Registry registry = functions();
  json::error_code error;
  const json::value line = json::parse(take_line(input), error);
  const json::object headers = !error && line.is_object() ? line.get_object() : json::object();
  try {
    const Table table(headers);
    const amqp::Message message = {.body = std::string(input),
                                   .reply_to = "answers",
                                   .correlation_id = std::string(input.substr(0, 20)),
                                   .content_type = "application/json",
                                   .headers = table.get()};
    read_as_task(registry, message);
    read_as_result(message);
  } catch (const std::invalid_argument&) {
    // A key is longer than AMQP allows: such headers cannot be sent.
  }
}
