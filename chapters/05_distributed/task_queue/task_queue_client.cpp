// Task queue: a client on the command line
//
// Posts a task by name and, unless told otherwise, waits for its result and prints it. Which worker executes it, and
// when, the client does not know: it speaks with the broker only. It can even post while no worker is alive, and end.
//
// Compile: g++ -std=c++20 -O1 -Icommon chapters/05_distributed/task_queue/task_queue_client.cpp common/cookbook/*.cpp -lfmt -lrabbitmq -lboost_json -pthread -o task_queue_client
// Run:     task_queue_client [--broker URL] [--task NAME] [--args JSON] [--countdown S] [--expires S] [--queue NAME]

#include "client.hpp"

#include "cookbook/options.hpp"

namespace {

using namespace task_queue;
using cookbook::println;

[[noreturn]] void refuse(const std::string& message) {
  cookbook::complain(message);
  std::exit(2);
}

/// The value of an option that is JSON, of the type that is wanted.
template <typename Wanted>
Wanted json_of_option(const char* name, const std::string& text, const char* example) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if constexpr (std::is_same_v<Wanted, json::array>) {
    if (!error && value.is_array()) return value.get_array();
  } else {
    if (!error && value.is_object()) return value.get_object();
  }
  refuse(fmt::format("--{} {}: not of the form {}", name, text, example));
}

}  // namespace

int main(int argc, char** argv) {
  std::string broker = default_broker, task = "addTask.add", args = "[5, 5]", kwargs = "{}", headers = "{}", eta, raw;
  std::string content_type = "application/json";
  double countdown = 0, expires = 0, wait = 30;
  int times = 1;
  bool no_retry = false, no_wait = false, want_version = false;
  Execution how;
  cookbook::Options options("Post a task to a broker's queue and print its result");
  options.add("broker", broker, "where the broker is");
  options.add("task", task, "name of the task");
  options.add("args", args, "its arguments by position, a JSON array");
  options.add("kwargs", kwargs, "its arguments by name, a JSON object");
  options.add("queue", how.queue, "queue to post it to");
  options.add("countdown", countdown, "seconds before which it is not executed", 0, 1e6);
  options.add("eta", eta, "time before which it is not executed, such as 2026-01-31T09:30:00+00:00");
  options.add("expires", expires, "seconds after which it is not executed; 0 for never", 0, 1e6);
  options.add("headers", headers, "further headers of the message, a JSON object");
  options.add("times", times, "how often to post it", 1, 1'000'000);
  options.add("wait", wait, "seconds to wait for each result", 0, 1e6);
  options.add_flag("no-wait", no_wait, "end as soon as the broker has the tasks");
  options.add_flag("ignore-result", how.ignore_result, "let nobody keep the result");
  options.add("max-retries", how.retry.max_retries, "tries again when the broker is gone", 0, 1000);
  options.add("interval-start", how.retry.interval_start, "pause before the first of them, in seconds", 0, 3600);
  options.add("interval-step", how.retry.interval_step, "how much longer each further pause is", 0, 3600);
  options.add("interval-max", how.retry.interval_max, "the longest pause", 0, 3600);
  options.add_flag("no-retry", no_retry, "do not try again");
  options.add("raw", raw, "post this text instead of a task, to see what a worker makes of it");
  options.add("content-type", content_type, "what that text claims to be");
  options.add_flag("version", want_version, "print the version and end");
  options.parse(argc, argv);
  if (want_version) {
    println("{} {}", cookbook::program_name(), version());
    return 0;
  }

  const auto positional = json_of_option<json::array>("args", args, "[5, 5]");
  const auto named = json_of_option<json::object>("kwargs", kwargs, R"({"x": 5})");
  how.headers = json_of_option<json::object>("headers", headers, R"({"priority": 1})");
  if (how.queue.empty() || how.queue.size() > 255) refuse("--queue: a queue's name has 1 to 255 bytes");
  if (task.empty() || task.size() > 255) refuse("--task: a task's name has 1 to 255 bytes");
  if (countdown > 0) how.countdown = Seconds(countdown);
  if (expires > 0) how.expires = Seconds(expires);
  if (!eta.empty() && !(how.eta = from_iso(eta)))
    refuse("--eta " + eta + ": not of the form 2026-01-31T09:30:00+00:00");
  if (no_retry) how.retry.max_retries = 0;

  Client client(address_of_option(broker));
  if (!raw.empty()) {
    for (int i = 0; i < times; ++i) {
      client.post_raw(how.queue, {.body = raw, .content_type = content_type, .headers = how.headers}, how.retry);
    }
    client.flush(how.retry);
    return 0;
  }
  std::vector<Client::Handle> handles;
  for (int i = 0; i < times; ++i) {
    handles.push_back(client.post(task, positional, named, how));
    println("posted {}[{}]", task, handles.back().id());
  }
  client.flush(how.retry);
  if (no_wait) return 0;

  int worst = 0;
  for (Client::Handle& handle : handles) {
    try {
      const json::value result = handle.get(Seconds(wait));
      println("{}: {}", handle.state(), shown(result));
    } catch (const TaskFailed& failed) {
      println("{}: {}", handle.state(), one_line(fmt::format("{}: {}", failed.type, failed.what())));
      worst = 1;
    } catch (const NoResult& none) {
      cookbook::complain(none.what());
      worst = 1;
    }
  }
  return worst;
}
