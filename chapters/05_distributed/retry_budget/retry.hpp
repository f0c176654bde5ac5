/// What limits the attempts of a client: delays that grow, a budget for repetitions, and a circuit breaker.
/// All times are milliseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

/// The delay before repetition `n` (1, 2 and so on): 200 ms, doubled each time, 3200 ms at most.
inline long back_off(int n) { return std::min(3'200L, 100L << std::min(n, 10)); }

/// A random delay between 0 and back_off(n), so that clients that have failed together do not come back together ("full
/// jitter": Brooker, Exponential backoff and jitter, 2015).
inline long jittered_back_off(int n, std::mt19937_64& random) {
  return static_cast<long>(random() % static_cast<std::uint64_t>(back_off(n) + 1));
}

/// Allows a repetition per ten requests, in the long run. It counts in tenths of a repetition.
class RetryBudget {
 public:
  /// A request is sent for the first time.
  void on_request() { tenths_ = std::min(tenths_ + 1, max); }

  /// Whether it may be repeated now. The caller then does it.
  bool take() {
    if (tenths_ < 10) return false;
    tenths_ -= 10;
    return true;
  }

 private:
  static constexpr int max = 100;  // ten repetitions may be saved up, so that a few failures at once are no problem
  int tenths_ = max;
};

/// Lets nothing through after many failures in succession until two seconds after the last one, and then one attempt,
/// which decides.
class CircuitBreaker {
 public:
  /// Whether an attempt may be made now.
  bool allows(long now) {
    if (failures_ < limit) return true;               // closed
    if (now < open_until_ || probing_) return false;  // open
    probing_ = true;                                  // half open: this attempt is the probe
    return true;
  }

  /// An attempt that was made has ended.
  void on_result(bool success, long now) {
    probing_ = false;
    failures_ = success ? 0 : std::min(failures_ + 1, limit);
    if (failures_ == limit) open_until_ = now + pause;
  }

 private:
  static constexpr int limit = 20;
  // The pause is longer than any attempt takes; else the result of an older one would count as the probe's.
  static constexpr long pause = 2'000;
  int failures_ = 0;  // in succession
  long open_until_ = 0;
  bool probing_ = false;
};
