/// How many tasks a second pass through the broker, beside what the broker can do at all.
#pragma once

#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <vector>

#include "client.hpp"
#include "control.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "worker_process.hpp"

namespace task_queue {

/// The bare loop, in seconds: this thread publishes `count` copies of a message, another one takes and acknowledges
/// them, and nobody looks at them. With replies, it publishes a message back for each, which this thread takes.
inline double bare_loop(const Address& address, const Message& message, int count, std::uint16_t prefetch,
                        bool replies) {
  const std::string queue = "bare." + new_id(), reply_queue = "reply." + queue;
  Connection publisher(address), consumer(address);
  publisher.want_confirmations(1);
  publisher.declare_queue(queue, true, false);
  publisher.declare_queue(reply_queue, true, false);
  publisher.consume(reply_queue, false);
  consumer.prefetch(prefetch);
  consumer.consume(queue, true);
  const Message reply = encode(Result{message.correlation_id, "SUCCESS", 10});

  const cookbook::Stopwatch watch;
  std::exception_ptr failed;
  std::jthread consuming([&] {
    try {
      for (int taken = 0; taken < count; ++taken) {
        const auto event = consumer.next(std::chrono::seconds(30));
        if (!event) throw Lost("the broker is silent");
        if (replies) consumer.publish("", reply_queue, reply);
        consumer.acknowledge(std::get<Delivery>(*event).tag, false);
      }
      consumer.depth(queue);  // a question and its answer: the broker has done all that was sent before
    } catch (...) {
      failed = std::current_exception();
    }
  });
  std::set<int> unconfirmed;
  int replied = 0;
  const auto take_until = [&](std::size_t max_left, int replies_at_least) {
    while (unconfirmed.size() > max_left || replied < replies_at_least) {
      const auto event = publisher.next(std::chrono::seconds(30));
      if (!event) throw Lost("the broker is silent");
      if (const auto* confirmed = std::get_if<Confirmed>(&*event)) {
        const int number = static_cast<int>(confirmed->number);
        const auto first = confirmed->and_all_before ? unconfirmed.begin() : unconfirmed.find(number);
        unconfirmed.erase(first, unconfirmed.upper_bound(number));
      } else {
        ++replied;
      }
    }
  };
  for (int sent = 1; sent <= count; ++sent) {
    publisher.publish("", queue, message);
    unconfirmed.insert(sent);
    if (unconfirmed.size() >= Client::max_unconfirmed) take_until(Client::max_unconfirmed / 2, 0);
  }
  take_until(0, replies ? count : 0);
  consuming.join();
  const double seconds = watch.seconds();
  if (failed) std::rethrow_exception(failed);
  publisher.delete_queue(queue);
  publisher.delete_queue(reply_queue);
  return seconds;
}

/// Posts `count` tasks and waits until they are done, with a result for each of them or for the last one only. Returns
/// how many results were not what they should be.
inline int wrong_results(Client& client, int count, bool results) {
  std::vector<std::pair<int, Client::Handle>> handles;
  for (int i = 0; i < count; ++i) {
    const bool kept = results || i + 1 == count;
    Client::Handle handle = client.post("addTask.add", {i, 5}, {}, {.ignore_result = !kept});
    if (kept) handles.emplace_back(i, std::move(handle));
  }
  client.flush();
  int wrong = 0;
  for (auto& [i, handle] : handles) wrong += handle.get() != json::value(i + 5);
  return wrong;
}

/// How many tasks the worker says that it has executed; asks again, up to a hundred times, as long as it is fewer than
/// `posted`: the last result may be here before the task of another thread is done.
inline long executed(Connection& broker, long posted) {
  long count = -1;
  for (int asked = 0; asked < 100 && count < posted; ++asked) {
    for (const auto& [node, statistics] : ask_workers(broker, "stats", std::chrono::seconds(10), 1)) {
      count = statistics.at("total").at("addTask.add").to_number<long>();
    }
  }
  return count;
}

/// The bare loop and the tasks.
inline void measure_rates(Client& client, Connection& broker, const Address& address, const std::string& url, int count,
                          int repeats, cookbook::Checks& checks) {
  const int concurrency = 2, ahead = 50;
  WorkerProcess worker(
      {"--broker", url, "--quiet", "--concurrency", std::to_string(concurrency), "--prefetch", std::to_string(ahead)});
  Request request = {"addTask.add", new_id(), {5, 5}};
  request.reply_to = new_id();
  const Message message = encode(request);
  int wrong = 0;
  long posted = 0;
  const auto bare = [&](bool replies) { return bare_loop(address, message, count, concurrency * ahead, replies); };
  const auto tasks = [&](bool results) {
    wrong += wrong_results(client, count, results);
    posted += count;
  };
  const double amount = count;
  const std::vector<cookbook::Row> rows = {{"bare publish-and-consume loop", amount, [&] { return bare(false); }},
                                           {"tasks, results ignored", amount, [&] { tasks(false); }},
                                           {"bare loop, there and back", amount, [&] { return bare(true); }},
                                           {"tasks with results", amount, [&] { tasks(true); }}};
  const std::vector<cookbook::Timing> timings = cookbook::measure_in_turns(rows, repeats);
  checks.equal("wrong results among the measured tasks", wrong, 0);
  checks.equal("measured tasks, executed less posted", executed(broker, posted) - posted, 0L);

  for (const auto& [title, bare_row] : {std::pair{"one message a task", 0U}, {"a message and a reply a task", 2U}}) {
    cookbook::Figures figures(title, cookbook::rate("K/s", 1e3));
    for (const unsigned row : {bare_row, bare_row + 1}) figures.add(rows[row].name, timings[row], rows[row].amount);
    figures.percent_of(rows[bare_row].name, "bare loop");
    figures.print(checks);
  }
}

}  // namespace task_queue
