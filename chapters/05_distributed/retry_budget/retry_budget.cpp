// Retry budget
//
// A simulated server can answer 100 requests per second and gets 70. For five seconds it answers nothing. Clients
// repeat what has got no answer within a second. The output shows for several ways of repeating which share of the
// requests is answered before, during and after these seconds. Plain repetitions keep the server overloaded for good; a
// budget for repetitions or a circuit breaker lets it recover. The same in every run: the random numbers have a fixed
// seed.
//
// Compile: g++ -std=c++20 -O2 -Icommon chapters/05_distributed/retry_budget/retry_budget.cpp common/cookbook/*.cpp -lfmt -pthread -o retry_budget
// Run:     retry_budget [--seed N] [--repetitions N]

#include <algorithm>
#include <map>
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

/// The first second from which on 99 % of the requests are answered; "never" if there is none.
std::string recovery(const Outcome& outcome) {
  int second = seconds;
  while (second > 0 && answered(outcome, second - 1, second) >= 99) --second;
  return second == seconds ? "never" : std::to_string(second) + " s";
}

/// A hundred clients fail at the same moment: how many of their first repetitions fall into the same 10 ms, at most?
template <typename Delay>
int most_at_once(Delay delay) {
  std::map<long, int> in_10_ms;
  for (int client = 0; client < 100; ++client) ++in_10_ms[delay() / 10];
  return std::max_element(in_10_ms.begin(), in_10_ms.end(), [](auto& a, auto& b) { return a.second < b.second; })
      ->second;
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
      {"after a back-off", {.repetitions = repetitions, .back_off = true}},
      {"with jitter", {.repetitions = repetitions, .back_off = true, .jitter = true}},
      {"jitter, budget", {.repetitions = repetitions, .back_off = true, .jitter = true, .budget = true}},
      {"jitter, breaker", {.repetitions = repetitions, .back_off = true, .jitter = true, .breaker = true}}};
  cookbook::println("repeats {:>22}{:>11}{:>11}{:>11}{:>14}", "attempts", "0 to 10 s", "10 to 15 s", "15 to 60 s",
                    "well again at");
  std::map<std::string, Outcome> outcomes;
  for (const auto& [name, policy] : policies) {
    const Outcome outcome = outcomes[name] = simulate(policy, seed, seconds);
    cookbook::println("{:22}{:8.2f}{:>9} %{:>9} %{:>9} %{:>14}", name,
                      static_cast<double>(outcome.attempts) / static_cast<double>(outcome.requests),
                      answered(outcome, 0, 10), answered(outcome, 10, 15), answered(outcome, 15, 60),
                      recovery(outcome));
  }
  std::mt19937_64 random(seed);
  cookbook::println("clients of 100 that come back within the same 10 ms: {} without jitter, at most {} with it",
                    most_at_once([] { return back_off(1); }),
                    most_at_once([&] { return jittered_back_off(1, random); }));

  cookbook::Checks checks;
  checks.equal("after plain repetitions, answered in the last ten seconds (%)", answered(outcomes["at once"], 50, 60),
               0);
  checks.equal("with a budget", answered(outcomes["jitter, budget"], 50, 60), 100);
  checks.equal("with a circuit breaker", answered(outcomes["jitter, breaker"], 50, 60), 100);
  return checks.exit_code();
}
