// A question of `celery inspect` to a worker.

#include "05_distributed/celery/remote_control.hpp"
#include "fuzz.hpp"

namespace {

using namespace celery;

RemoteControl remote_control() {
  RemoteControl control("cpp@fuzz");
  control.on("ping", [](const json::value&) { return ok("pong"); });
  control.on("revoke", [](const json::value& arguments) {
    const json::value& id = member(arguments, "task_id");
    return ok(id.is_string() ? std::string(id.get_string()) : "");
  });
  return control;
}

}  // namespace

void one_input(std::string_view input) {
  static RemoteControl control = remote_control();
  json::error_code error;
  const json::value question = json::parse(input, error);
  // There is no broker here that would take an answer.
  if (!error && member(member(question, "reply_to"), "exchange") == json::value("reply.celery.pidbox")) return;
  control.answer({.body = std::string(input), .content_type = "application/json"});
}
