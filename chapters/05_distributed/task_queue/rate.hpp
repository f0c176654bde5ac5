/// How many tasks a second pass through the broker, beside what the broker can do at all.
#pragma once

#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <vector>

#include "client.hpp"
#include "control.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/verdict.hpp"
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
  const auto take_until = [&](std::size_t at_most, int replies_at_least) {
    while (unconfirmed.size() > at_most || replied < replies_at_least) {
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
    if (unconfirmed.size() >= Client::unconfirmed_at_most) take_until(Client::unconfirmed_at_most / 2, 0);
  }
  take_until(0, replies ? count : 0);
  consuming.join();
  const double seconds = watch.seconds();
  if (failed) std::rethrow_exception(failed);
  publisher.delete_queue(queue);
  publisher.delete_queue(reply_queue);
  return seconds;
}

/// Posts `count` tasks and waits until they are done, with a result each or, for the last one only; in seconds. Adds
/// to `wrong` how many results were not what they should be.
inline double tasks_in_seconds(Client& client, int count, bool results, int& wrong) {
  const cookbook::Stopwatch watch;
  std::vector<std::pair<int, Client::Handle>> handles;
  for (int i = 0; i < count; ++i) {
    const bool kept = results || i + 1 == count;
    Client::Handle handle = client.post("addTask.add", {i, 5}, {}, {.ignore_result = !kept});
    if (kept) handles.emplace_back(i, std::move(handle));
  }
  client.flush();
  for (auto& [i, handle] : handles) wrong += handle.get() != json::value(i + 5);
  return watch.seconds();
}

/// How many tasks the worker says that it has executed.
inline long executed(Connection& broker) {
  for (const auto& [node, statistics] : ask_workers(broker, "stats", std::chrono::milliseconds(100))) {
    return statistics.at("total").at("addTask.add").to_number<long>();
  }
  return -1;
}

/// The bare loop and the tasks in turn, so that what disturbs the machine disturbs both.
inline void measure_rates(Client& client, Connection& broker, const Address& address, const std::string& url, int count,
                          int repeats, cookbook::Verdict& verdict) {
  const int concurrency = 2, ahead = 50;
  WorkerProcess worker(
      {"--broker", url, "--quiet", "--concurrency", std::to_string(concurrency), "--prefetch", std::to_string(ahead)});
  Request request = {"addTask.add", new_id(), {5, 5}};
  request.reply_to = new_id();
  const Message message = encode(request);
  std::vector<double> bare, plain, bare_with_reply, with_result;
  int wrong = 0;
  for (int i = 0; i <= repeats; ++i) {
    const double seconds[] = {
        bare_loop(address, message, count, concurrency * ahead, false), tasks_in_seconds(client, count, false, wrong),
        bare_loop(address, message, count, concurrency * ahead, true), tasks_in_seconds(client, count, true, wrong)};
    if (i == 0) continue;  // the first round warms up
    bare.push_back(seconds[0]);
    plain.push_back(seconds[1]);
    bare_with_reply.push_back(seconds[2]);
    with_result.push_back(seconds[3]);
  }
  verdict.equal("wrong results among the measured tasks", wrong, 0);
  verdict.equal("measured tasks that were executed once", executed(broker), 2L * (repeats + 1) * count);

  cookbook::Figures one_way("one message a task", cookbook::rate("K/s", 1e3));
  one_way.add_limit("bare publish-and-consume loop", cookbook::timing_of(bare), count);
  one_way.add("tasks, results ignored", cookbook::timing_of(plain), count);
  one_way.print(verdict);
  cookbook::Figures both_ways("a message and a reply a task", cookbook::rate("K/s", 1e3));
  both_ways.add_limit("bare loop, there and back", cookbook::timing_of(bare_with_reply), count);
  both_ways.add("tasks with results", cookbook::timing_of(with_result), count);
  both_ways.print(verdict);
}

}  // namespace task_queue
