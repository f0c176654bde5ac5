/// What a number of runs says about a bug that shows in some of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

/// The probability that at least one of `runs` independent runs shows a bug which shows in each with probability p:
/// 1 - (1 - p)^runs.
inline double detection(double p, long runs) { return -std::expm1(static_cast<double>(runs) * std::log1p(-p)); }

/// How many independent runs are needed to see a bug of probability p > 0 at least once, with this confidence.
inline long runs_needed(double p, double confidence) {
  return std::max(1L, static_cast<long>(std::ceil(std::log1p(-confidence) / std::log1p(-p))));
}

/// The highest p that is still compatible with `runs` passed runs: with any higher one, so many would have passed with
/// a probability of less than 1 - confidence. It solves (1 - p)^runs = 1 - confidence.
inline double upper_bound(long runs, double confidence = 0.95) {
  return -std::expm1(std::log1p(-confidence) / static_cast<double>(runs));
}

/// A race in a calculation instead of in threads, so that its probability is known. Two threads come to the same update
/// at a random time each, one of `times`, and need `window` units of time from its load to its store. The update of one
/// is lost if they overlap.
struct Race {
  long times = 10'000;
  long window = 1;

  /// Of the times * times pairs, times have the distance 0, and 2 * (times - d) have the distance d.
  double probability() const {
    double pairs = static_cast<double>(times);
    for (long d = 1; d < window; ++d) pairs += 2 * static_cast<double>(times - d);
    return pairs / static_cast<double>(times) / static_cast<double>(times);
  }

  /// One run; true if an update is lost.
  bool fails(std::mt19937_64& random) const {
    const long a = draw(random), b = draw(random);
    return std::labs(a - b) < window;
  }

 private:
  long draw(std::mt19937_64& random) const { return static_cast<long>(random() % static_cast<unsigned long>(times)); }
};
