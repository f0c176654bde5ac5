// Parallel algorithms
//
// Four jobs that most parallel programs are made of: a sum, a multiply-add, a scan (running totals) and a sort. Each is
// done by one thread, by the standard library's parallel algorithms, by oneTBB and by threads of our own, and checked
// against the one thread. Then all of them run in turns. The first three jobs soon read and write as fast as
// the memory can: the tables show that limit, measured in the same run, and who reaches it.
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/02_threads/parallel_algorithms/parallel_algorithms.cpp common/cookbook/*.cpp -ltbb -lfmt -pthread -o parallel_algorithms
// Run:     parallel_algorithms [--numbers N] [--threads N] [--rounds N]

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <execution>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "by_threads.hpp"
#include "contest.hpp"
#include "cookbook/options.hpp"
#include "cookbook/print.hpp"
#include "limits.hpp"
#include "sort.hpp"

namespace {

using Input = std::span<const Number>;
using Output = std::span<Number>;
using Indices = tbb::blocked_range<std::size_t>;

/// Under a sanitizer everything is slow. And oneTBB has to do with one thread then: ThreadSanitizer cannot see how its
/// threads wait for each other inside the library, and would take that for races.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// Sum -----------------------------------------------------------------------------------------------------------------

Number sum_serial(Input in) { return std::accumulate(in.begin(), in.end(), Number{0}); }

Number sum_par(Input in) { return std::reduce(std::execution::par, in.begin(), in.end(), Number{0}); }

Number sum_tbb(Input in) {
  const auto add_part = [&](const Indices& part, Number sum) {
    return std::accumulate(in.begin() + part.begin(), in.begin() + part.end(), sum);
  };
  return tbb::parallel_reduce(Indices(0, in.size()), Number{0}, add_part, std::plus<>{});
}

/// Adds up rows side by side, so that the processor has many requests to the memory on their way at a time.
Number sum_of_rows(Input in) {
  const std::size_t length = in.size() / rows;
  Number sum = sum_serial(in.subspan(rows * length));
  for (std::size_t i = 0; i != length; ++i) {
    for (std::size_t row = 0; row != rows; ++row) sum += in[i + row * length];
  }
  return sum;
}

Number sum_by_hand(Input in, int threads) {
  std::atomic<Number> total = 0;
  for_chunks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    total += sum_of_rows(in.subspan(begin, end - begin));  // touches what the threads share once a chunk
  });
  return total;
}

// Multiply-add --------------------------------------------------------------------------------------------------------

constexpr auto multiply_add = [](Number a, Number b) { return a + 3 * b; };

void triad_serial(Input a, Input b, Output out) {
  std::transform(a.begin(), a.end(), b.begin(), out.begin(), multiply_add);
}

void triad_par(Input a, Input b, Output out) {
  std::transform(std::execution::par, a.begin(), a.end(), b.begin(), out.begin(), multiply_add);
}

void triad_tbb(Input a, Input b, Output out) {
  tbb::parallel_for(Indices(0, a.size()), [&](const Indices& part) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) out[i] = multiply_add(a[i], b[i]);
  });
}

void triad_by_hand(Input a, Input b, Output out, int threads) {
  for_chunks(a.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t half = (end - begin) / 2;
    for (std::size_t i = begin; i != begin + half; ++i) {  // two places at once, as in sum_of_rows()
      out[i] = multiply_add(a[i], b[i]);
      out[i + half] = multiply_add(a[i + half], b[i + half]);
    }
    if (begin + 2 * half != end) out[end - 1] = multiply_add(a[end - 1], b[end - 1]);
  });
}

// Scan ----------------------------------------------------------------------------------------------------------------

void scan_serial(Input in, Output out) { std::inclusive_scan(in.begin(), in.end(), out.begin()); }

void scan_par(Input in, Output out) { std::inclusive_scan(std::execution::par, in.begin(), in.end(), out.begin()); }

void scan_tbb(Input in, Output out) {
  const auto scan_part = [&](const Indices& part, Number sum, bool is_final) {
    for (std::size_t i = part.begin(); i != part.end(); ++i) {
      sum += in[i];
      if (is_final) out[i] = sum;
    }
    return sum;
  };
  tbb::parallel_scan(Indices(0, in.size()), Number{0}, scan_part, std::plus<>{});
}

/// Looks at each chunk twice: adds it up, so that the next chunk can go on, then writes its running totals. The second
/// look finds the chunk in the cache, so the memory is read once.
void scan_by_hand(Input in, Output out, int threads) {
  constexpr std::int64_t unknown = -1;
  std::vector<std::atomic<std::int64_t>> sum_before(in.size() / chunk_length + 2);  // of each chunk
  for (auto& sum : sum_before) sum = unknown;
  sum_before[0] = 0;

  for_chunks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    const Number sum = sum_of_rows(in.subspan(begin, end - begin));

    // Chunks are taken in order, so the one before is done, or at work in another thread: this wait ends.
    const std::size_t chunk = begin / chunk_length;
    sum_before[chunk].wait(unknown);
    const auto before = static_cast<Number>(sum_before[chunk]);
    sum_before[chunk + 1] = static_cast<Number>(before + sum);
    sum_before[chunk + 1].notify_one();

    std::inclusive_scan(in.begin() + begin, in.begin() + end, out.begin() + begin, std::plus<>{}, before);
  });
}

/// Random numbers, the same for any count of threads, since each chunk has a generator of its own.
void fill(Output out, int threads) {
  for_chunks(out.size(), threads, [&](std::size_t begin, std::size_t end) {
    std::mt19937 random(static_cast<Number>(begin / chunk_length));
    std::generate(out.begin() + begin, out.begin() + end, std::ref(random));
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = sanitized ? 1 << 20 : 1 << 26;
  int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  int rounds = 7;
  cookbook::Options options("Add, scan and sort with parallel algorithms, at the speed of the memory");
  options.add("numbers", size, "numbers to add up; a quarter is scanned, one in 256 sorted", 1'000, 1UL << 32);
  options.add("threads", threads, "threads that each parallel form may use", 1, 256);
  options.add("rounds", rounds, "measured runs of each form", 1, 1'000);
  options.parse(argc, argv);
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism,
                                    sanitized ? 1 : static_cast<std::size_t>(threads));

  // No std::vector: its constructor would write all of it, and so take the memory from the system, in one thread.
  const auto memory = std::make_unique_for_overwrite<Number[]>(size);
  const Output numbers(memory.get(), size);
  fill(numbers, threads);

  cookbook::Verdict verdict;
  const Number sum = sum_serial(numbers);
  cookbook::println("{} random numbers, sum by one thread: {}", size, sum);
  verdict.equal("sum, std::execution::par", sum_par(numbers), sum);
  verdict.equal("sum, oneTBB", sum_tbb(numbers), sum);
  verdict.equal("sum, threads by hand", sum_by_hand(numbers, threads), sum);

  const Input a = numbers.first(size / 4), b = numbers.subspan(size / 4, size / 4);
  std::vector<Number> expected(a.size()), out(a.size());
  // Counts what `work` leaves in `out` that it should not.
  const auto wrong = [&](auto work) {
    std::fill(out.begin(), out.end(), 0xdeadbeef);
    work();
    return std::transform_reduce(out.begin(), out.end(), expected.begin(), 0L, std::plus<>{}, std::not_equal_to<>{});
  };
  triad_serial(a, b, expected);
  verdict.equal("wrong in multiply-add, std::execution::par", wrong([&] { triad_par(a, b, out); }), 0);
  verdict.equal("wrong in multiply-add, oneTBB", wrong([&] { triad_tbb(a, b, out); }), 0);
  verdict.equal("wrong in multiply-add, threads by hand", wrong([&] { triad_by_hand(a, b, out, threads); }), 0);
  scan_serial(a, expected);
  verdict.equal("wrong in scan, std::execution::par", wrong([&] { scan_par(a, out); }), 0);
  verdict.equal("wrong in scan, oneTBB", wrong([&] { scan_tbb(a, out); }), 0);
  verdict.equal("wrong in scan, threads by hand", wrong([&] { scan_by_hand(a, out, threads); }), 0);

  const Input unsorted = numbers.first(size / 256);
  expected.assign(unsorted.begin(), unsorted.end());
  sort_serial(expected);
  const auto refill = [&] { out.assign(unsorted.begin(), unsorted.end()); };
  const auto sorted = [&](auto work) {
    refill();
    work();
    return out == expected;
  };
  verdict.that("sorted by std::execution::par", sorted([&] { sort_par(out); }));
  verdict.that("sorted by oneTBB", sorted([&] { sort_tbb(out); }));
  verdict.that("sorted by threads by hand", sorted([&] { sort_by_hand(out, threads); }));

  using cookbook::keep;
  const auto gigabytes = cookbook::rate("GB/s", 1e9);
  const double in_bytes = static_cast<double>(size * sizeof(Number)), row_bytes = in_bytes / 4;
  out.resize(a.size());
  contest(verdict, "sum", gigabytes, in_bytes, rounds,
          {{Role::limit, "the same bytes read", [&] { keep(read_only(numbers, threads)); }},
           {Role::way, "one thread", [&] { keep(sum_serial(numbers)); }},
           {Role::way, "std::execution::par", [&] { keep(sum_par(numbers)); }},
           {Role::peer, "oneTBB", [&] { keep(sum_tbb(numbers)); }},
           {Role::way, "threads by hand", [&] { keep(sum_by_hand(numbers, threads)); }}});
  contest(verdict, "multiply-add", gigabytes, 3 * row_bytes, rounds,
          {{Role::limit, "the same bytes read and copied", [&] { keep(copy_one_read_other(a, b, out, threads)); }},
           {Role::way, "one thread", [&] { triad_serial(a, b, out); }},
           {Role::way, "std::execution::par", [&] { triad_par(a, b, out); }},
           {Role::peer, "oneTBB", [&] { triad_tbb(a, b, out); }},
           {Role::way, "threads by hand", [&] { triad_by_hand(a, b, out, threads); }}});
  contest(verdict, "scan", gigabytes, 2 * row_bytes, rounds,
          {{Role::limit, "the same bytes copied", [&] { copy_only(a, out, threads); }},
           {Role::way, "one thread", [&] { scan_serial(a, out); }},
           {Role::way, "std::execution::par", [&] { scan_par(a, out); }},
           {Role::peer, "oneTBB", [&] { scan_tbb(a, out); }},
           {Role::way, "threads by hand", [&] { scan_by_hand(a, out, threads); }}});
  contest(verdict, "sort", cookbook::rate("M numbers/s", 1e6), static_cast<double>(unsorted.size()), rounds,
          {{Role::limit, "a block a thread, not merged", [&] { sort_blocks(out, threads); }},
           {Role::way, "one thread", [&] { sort_serial(out); }},
           {Role::way, "std::execution::par", [&] { sort_par(out); }},
           {Role::peer, "oneTBB", [&] { sort_tbb(out); }},
           {Role::way, "threads by hand", [&] { sort_by_hand(out, threads); }}},
          refill);
  return verdict.exit_code();
}
