/// A job that has a serial part: units of work that one thread has to do before the others may begin.
#pragma once

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

using Sum = std::uint64_t;  // wraps around, so it is the same in any order

/// Units 0 to serial - 1 are for one thread, and come first. The others may be done by any thread, in any order.
struct Job {
  long serial, units;
};

/// Amdahl's case: the same units for any number of threads.
inline Job same_work(long units, double serial_part) {
  return {std::lround(serial_part * static_cast<double>(units)), units};
}

/// Gustafson's case: each thread has as many parallel units as one thread alone would have.
inline Job more_work(long units, double serial_part, int threads) {
  const Job alone = same_work(units, serial_part);
  return {alone.serial, alone.serial + (alone.units - alone.serial) * threads};
}

/// Does the job in `threads` threads, this one included; the sum of what `unit(i)` gives for every unit i.
template <typename Unit>
Sum run(const Job& job, int threads, Unit unit) {
  Sum sum = 0;
  for (long i = 0; i < job.serial; ++i) sum += unit(i);

  std::vector<Sum> sums(static_cast<std::size_t>(threads));
  const auto share = [&](int thread) {
    const long parallel = job.units - job.serial, end = job.serial + parallel * (thread + 1) / threads;
    Sum own = 0;
    for (long i = job.serial + parallel * thread / threads; i < end; ++i) own += unit(i);
    sums[static_cast<std::size_t>(thread)] = own;
  };
  std::vector<std::jthread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(share, thread);
  share(0);
  others.clear();  // joins
  for (const Sum of_thread : sums) sum += of_thread;
  return sum;
}
