// Tests a CircuitBreaker that a learner has written.

#include "retry.hpp"

#include <cstdio>
#include <limits>
#include <random>
#include <string>

using judge::expect;

namespace {

constexpr int limit = 20;
constexpr long pause_ms = 2'000;

/// A breaker after so many attempts in succession that have failed at that time.
CircuitBreaker failed(int attempts, long now) {
  CircuitBreaker breaker;
  for (int i = 0; i < attempts; ++i) {
    expect(breaker.allows(now), "An attempt is refused, and fewer than " + std::to_string(limit) +
                                    " have failed in succession: " + std::to_string(i) + ".");
    breaker.on_result(false, now);
  }
  return breaker;
}

void closed() {
  CircuitBreaker breaker;
  for (long now = 0; now < 5'000; now += 10) {  // every second one fails
    expect(breaker.allows(now), "An attempt is refused, and no two have failed in succession.");
    breaker.on_result(now % 20 == 0, now);
  }
  breaker = failed(limit - 1, 100);
  expect(breaker.allows(100), "19 attempts have failed in succession, and the next one is refused.");
  breaker.on_result(true, 100);
  for (int i = 0; i < limit - 1; ++i) breaker.on_result(false, 100);
  expect(breaker.allows(100), "The failures before a success are counted, too: not only those in succession.");
  breaker = CircuitBreaker();
  for (int i = 0; i < limit; ++i) breaker.on_result(false, 10'000L * i);
  expect(!breaker.allows(10'000L * limit - 9'999),
         "20 attempts have failed in succession, with pauses in between, and one goes through.");
}

void open_until_the_pause_is_over() {
  CircuitBreaker breaker = failed(limit, 1'000);
  for (const long now : {1'000L, 1'001L, 2'000L, 2'999L}) {
    expect(!breaker.allows(now), "20 attempts have failed in succession, and during the pause one goes through.");
  }
  expect(breaker.allows(1'000 + pause_ms),
         "2000 ms after the last failure the pause is over, and no attempt goes through.");
  // Attempts that were under way when it opened: the pause begins with the last of them.
  CircuitBreaker later = failed(limit, 1'000);
  later.on_result(false, 1'500);
  expect(!later.allows(3'499), "An attempt goes through less than 2000 ms after the last failure.");
  expect(later.allows(3'500), "2000 ms after the last failure the pause is over, and no attempt goes through.");
}

void one_attempt_decides() {
  for (const bool success : {true, false}) {
    CircuitBreaker breaker = failed(limit, 0);
    expect(breaker.allows(2'500), "The pause is over, and no attempt goes through.");
    constexpr long late = 40'000'000;
    for (const long now : {2'500L, 3'000L, 9'000L, 100'000L, late}) {
      expect(!breaker.allows(now), "After the pause more than one attempt goes through before the first one's result.");
    }
    breaker.on_result(success, late);
    if (success) {
      for (int i = 0; i < limit; ++i) {
        expect(breaker.allows(late), "The attempt after the pause has succeeded, and not all others go through.");
      }
      for (int i = 0; i < limit; ++i) breaker.on_result(false, late);
      expect(!breaker.allows(late),
             "After it has closed, 20 attempts have failed in succession, and one goes through.");
    } else {
      expect(!breaker.allows(late) && !breaker.allows(late + pause_ms - 1),
             "The attempt after the pause has failed, and others go through at once.");
      expect(breaker.allows(late + pause_ms),
             "The attempt after the pause has failed, and after a further pause none goes through.");
      expect(!breaker.allows(late + pause_ms), "After the second pause more than one attempt goes through.");
      breaker.on_result(true, late + pause_ms);
      expect(breaker.allows(late + pause_ms),
             "The attempt after the second pause has succeeded, and others are refused.");
    }
  }
}

/// One attempt after another, at any time and with any result, against a list of the failures' times.
void any_course() {
  std::mt19937 random(8);
  for (int course = 0; course < 200; ++course) {
    CircuitBreaker breaker;
    int in_succession = 0;
    long now = 0, last_failure = 0;
    const unsigned failing = 1 + random() % 10;
    for (int i = 0; i < 200; ++i) {
      now += random() % (in_succession >= limit ? 900 : 30);
      const bool allowed = in_succession < limit || now - last_failure >= pause_ms;
      expect(breaker.allows(now) == allowed, allowed ? "An attempt is refused that should go through."
                                                     : "An attempt goes through before the pause is over.");
      if (!allowed) continue;
      const bool success = random() % (4 * failing) == 0;
      breaker.on_result(success, now);
      in_succession = success ? 0 : in_succession + 1;
      if (!success) last_failure = now;
    }
  }
}

}  // namespace

int main() {
  closed();
  open_until_the_pause_is_over();
  one_attempt_decides();
  any_course();
  std::puts("the breaker opens and closes in time");
}
