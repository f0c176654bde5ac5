// Retry budget
//
// A simulated server can answer 100 requests per second and gets 70. For five seconds it answers nothing, and at all
// times one answer in 50 gets lost. Clients repeat what has got no answer within a second. The output shows how many
// attempts are in the server's queue when it works again, how many per second arrive later, and which share of the
// requests is answered. Where more than 100 arrive and the server works on all of them, the overload lasts; a budget, a
// circuit breaker, a server that drops late requests or a queue with a limit ends it.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/retry_budget/retry_budget.cpp common/cookbook/*.cpp -lfmt -pthread -o retry_budget
// Run:     retry_budget [--seed N] [--repetitions N]

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cookbook/checks.hpp"
#include "cookbook/options.hpp"
#include "overload.hpp"

namespace {

constexpr int seconds = 60;

/// The share of the requests begun in the seconds `from` to `to` - 1 that were answered, in per cent.
long answered(const Outcome& outcome, int from, int to) {
  long started = 0, good = 0;
  for (int second = from; second < to; ++second) {
    started += outcome.started[static_cast<std::size_t>(second)];
    good += outcome.answered[static_cast<std::size_t>(second)];
  }
  return started == 0 ? 100 : 100 * good / started;
}

/// The attempts per second that arrive in the seconds 20 to 29.
long load(const Outcome& outcome) {
  return std::accumulate(outcome.load.begin() + 20, outcome.load.begin() + 30, 0L) / 10;
}

/// The first second from which on 90 % of each second's requests are answered; "never" if there is none.
std::string recovery(const Outcome& outcome) {
  int second = seconds;
  while (second > 0 && answered(outcome, second - 1, second) >= 90) --second;
  return second == seconds ? "never" : std::to_string(second) + " s";
}

}  // namespace

int main(int argc, char** argv) {
  unsigned seed = 1;
  int repetitions = 3;
  cookbook::Options options("Let a server recover from an overload that repeated requests keep alive");
  options.add("seed", seed, "of the random numbers", 0U, 1'000'000U);
  options.add("repetitions", repetitions, "of a request, at most", 1, 10);
  options.parse(argc, argv);

  const std::vector<std::pair<std::string, Policy>> policies = {
      {"no repetitions", {}},
      {"at once", {.repetitions = repetitions}},
      {"back-off, jitter", {.repetitions = repetitions, .back_off = true, .jitter = true}},
      {"back-off, jitter, budget", {.repetitions = repetitions, .back_off = true, .jitter = true, .budget = true}},
      {"back-off, jitter, breaker", {.repetitions = repetitions, .back_off = true, .jitter = true, .breaker = true}},
      {"at once, server drops late", {.repetitions = repetitions, .server_drops = true}},
      {"at once, queue of 90", {.repetitions = repetitions, .queue_limit = 90}}};
  cookbook::println("The server can answer 100 attempts per second, but none between 10 and 15 s.");
  cookbook::println("{:26}{:>9}{:>16}{:>25}", "what clients and", "queue", "attempts/s", "answered requests of");
  cookbook::println("{:26}{:>9}{:>16}{:>12}{:>13}{:>15}", "server do", "at 15 s", "in 20 to 30 s", "0 to 10 s",
                    "40 to 60 s", "well again at");
  std::map<std::string, Outcome> outcomes;
  for (const auto& [name, policy] : policies) {
    const Outcome outcome = outcomes[name] = simulate(policy, seed, seconds);
    cookbook::println("{:26}{:9}{:16}{:>10} %{:>11} %{:>15}", name, outcome.queued[15], load(outcome),
                      answered(outcome, 0, 10), answered(outcome, 40, 60), recovery(outcome));
  }

  cookbook::Checks checks;
  checks.equal("at once, answered in the last ten seconds (%)", answered(outcomes["at once"], 50, 60), 0);
  checks.equal("with a budget (%)", answered(outcomes["back-off, jitter, budget"], 50, 60), 100);
  return checks.exit_code();
}
