/// A simulated server with a queue, and clients that repeat what gets no answer in time. All of them share one budget
/// and one circuit breaker. All times are milliseconds.
#pragma once

#include <deque>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "retry.hpp"

/// How the clients repeat requests.
struct Policy {
  int repetitions = 0;    ///< of a request, at most
  bool back_off = false;  ///< repetitions wait before they are sent
  bool jitter = false;    ///< and for a random time
  bool budget = false;
  bool breaker = false;
  bool server_drops = false;    ///< the server drops, in no time, attempts for which nobody waits any more
  std::size_t queue_limit = 0;  ///< an attempt that finds so many in the queue is dropped; 0: none is
};

/// What came of the simulated seconds.
struct Outcome {
  long requests = 0, attempts = 0;
  std::vector<long> started;   ///< the requests that began in each second
  std::vector<long> answered;  ///< those of them that were answered
  std::vector<long> load;      ///< the attempts that were sent in each second
  std::vector<long> queued;    ///< the attempts that were in the queue when each second began
};

/// The server answers an attempt every 10 ms, in the order in which they come, but none in the seconds 10 to 14. In
/// each millisecond a request begins with a probability of 7 %: 70 per second. A client waits 1 s for an answer, and
/// then repeats the request or gives up. One answer in 50 gets lost on the way. Unless `server_drops`, the server works
/// on every attempt, also when nobody waits for it any more.
inline Outcome simulate(const Policy& policy, unsigned seed, int seconds) {
  constexpr long timeout = 1'000, service = 10, per_second = 1'000;
  struct Attempt {
    std::size_t request;
    int number;
    long sent;
  };
  struct Request {
    long start;
    bool answered = false;
  };
  const long end = seconds * per_second;
  std::mt19937_64 arrivals(seed), random(seed + 1), losses(seed + 2);
  RetryBudget budget;
  CircuitBreaker breaker;
  std::vector<Request> requests;
  std::deque<Attempt> queue, waiting;                        // at the server; at the clients, for an answer
  std::set<std::tuple<long, std::size_t, int>> repetitions;  // when, of which request, which attempt
  Outcome outcome;
  outcome.load.resize(static_cast<std::size_t>(seconds) + 10);

  const auto attempt = [&](std::size_t request, int number, long now) {
    if (policy.breaker && !breaker.allows(now)) return;  // the request fails at once, and nothing is sent
    waiting.push_back({request, number, now});
    if (policy.queue_limit == 0 || queue.size() < policy.queue_limit) queue.push_back(waiting.back());
    ++outcome.attempts;
    ++outcome.load[static_cast<std::size_t>(now / per_second)];
  };
  for (long now = 0; now < end + 10 * per_second; ++now) {  // ten seconds more, for what is under way
    if (now % per_second == 0) outcome.queued.push_back(static_cast<long>(queue.size()));
    if (now < end && arrivals() % 100 < 7) {
      requests.push_back({now});
      budget.on_request();
      attempt(requests.size() - 1, 0, now);
    }
    for (; !repetitions.empty() && std::get<0>(*repetitions.begin()) <= now; repetitions.erase(repetitions.begin())) {
      attempt(std::get<1>(*repetitions.begin()), std::get<2>(*repetitions.begin()), now);
    }
    const bool works = now < 10 * per_second || now >= 15 * per_second;
    while (policy.server_drops && !queue.empty() && now - queue.front().sent > timeout) queue.pop_front();
    if (works && now % service == 0 && !queue.empty()) {
      const Attempt& done = queue.front();
      const bool lost = losses() % 50 == 0;
      if (now - done.sent <= timeout && !lost) {  // too late: the work was for nothing
        requests[done.request].answered = true;
        breaker.on_result(true, now);
      }
      queue.pop_front();
    }
    for (; !waiting.empty() && now - waiting.front().sent > timeout; waiting.pop_front()) {
      const auto [request, number, sent] = waiting.front();
      if (requests[request].answered) continue;
      breaker.on_result(false, now);
      if (number == policy.repetitions || (policy.budget && !budget.take())) continue;  // gives up
      const int next = number + 1;
      const long delay = policy.jitter ? jittered_back_off(next, random) : policy.back_off ? back_off(next) : 0;
      repetitions.emplace(now + delay, request, next);
    }
  }
  outcome.requests = static_cast<long>(requests.size());
  outcome.started.resize(static_cast<std::size_t>(seconds));
  outcome.answered.resize(static_cast<std::size_t>(seconds));
  for (const Request& request : requests) {
    ++outcome.started[static_cast<std::size_t>(request.start / per_second)];
    outcome.answered[static_cast<std::size_t>(request.start / per_second)] += request.answered;
  }
  return outcome;
}
