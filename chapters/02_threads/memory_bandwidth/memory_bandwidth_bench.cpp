// Memory bandwidth, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon -Ichapters/02_threads chapters/02_threads/memory_bandwidth/memory_bandwidth_bench.cpp common/cookbook/*.cpp -ltbb -lopenblas -lfmt -pthread -o memory_bandwidth_bench
// Run:     memory_bandwidth_bench [--numbers N] [--threads N] [--rounds N]

#include <cblas.h>
#include <sys/mman.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <atomic>
#include <execution>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/measure.hpp"
#include "cookbook/options.hpp"
#include "streams.hpp"
#include "tbb_threads.hpp"

namespace {

using namespace std::chrono_literals;
using Input = std::span<const Number>;
using Output = std::span<Number>;

/// The sum of `in`; each thread reads its block in turn from `streams` places.
template <std::size_t streams>
Number sum_in_streams(Input in, int threads) {
  std::atomic<Number> total = 0;
  in_blocks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t length = (end - begin) / streams;  // of one stream
    Number sum_here = 0;
    for (std::size_t i = begin; i < begin + length; ++i) {
      for (std::size_t stream = 0; stream < streams; ++stream) sum_here += in[stream * length + i];
    }
    for (std::size_t i = begin + streams * length; i < end; ++i) sum_here += in[i];  // what is left over
    total += sum_here;
  });
  return total;
}

/// Reads all of `in` and combines the numbers by the cheapest operation that keeps the compiler from leaving it out.
template <std::size_t streams>
Number only_read(Input in, int threads) {
  std::atomic<Number> seen = 0;
  in_blocks(in.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t length = (end - begin) / streams;
    Number seen_here = 0;
    for (std::size_t i = begin; i < begin + length; ++i) {
      for (std::size_t stream = 0; stream < streams; ++stream) seen_here |= in[stream * length + i];
    }
    seen |= seen_here;
  });
  return seen;
}

Number sum_by_tbb(Input in) {
  return tbb::parallel_reduce(
      tbb::blocked_range<std::size_t>(0, in.size()), Number{0},
      [in](const tbb::blocked_range<std::size_t>& range, Number sum) {
        return std::accumulate(in.begin() + range.begin(), in.begin() + range.end(), sum);
      },
      std::plus<>{});
}

/// out[i] = a[i] + 3 * b[i] by several threads. Two streams are read and one is written per thread.
void triad(std::span<const Number> a, std::span<const Number> b, std::span<Number> out, int threads) {
  in_blocks(out.size(), threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out[i] = a[i] + 3 * b[i];
  });
}

void triad_by_par(Input a, Input b, Output out) {
  std::transform(std::execution::par, a.begin(), a.end(), b.begin(), out.begin(),
                 [](Number x, Number y) { return x + 3 * y; });
}

void triad_by_tbb(Input a, Input b, Output out) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, out.size()), [=](const tbb::blocked_range<std::size_t>& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i) out[i] = a[i] + 3 * b[i];
  });
}

/// Each thread works at both halves of its block at once.
void triad_in_two_places(Input a, Input b, Output out, int threads) {
  in_blocks(out.size(), threads, [&](std::size_t begin, std::size_t end) {
    const std::size_t half = (end - begin) / 2;
    for (std::size_t i = begin; i < begin + half; ++i) {
      out[i] = a[i] + 3 * b[i];
      out[i + half] = a[i + half] + 3 * b[i + half];
    }
    for (std::size_t i = begin + 2 * half; i < end; ++i) out[i] = a[i] + 3 * b[i];
  });
}

/// Non-temporal stores go past the caches, so that what is overwritten need not be read first. (Plain ones if not x86.)
void triad_past_the_caches(Input a, Input b, Output out, int threads) {
#ifdef __SSE2__
  in_blocks(out.size() / 4, threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = 4 * begin; i < 4 * end; i += 4) {
      alignas(16) const Number four[] = {a[i] + 3 * b[i], a[i + 1] + 3 * b[i + 1], a[i + 2] + 3 * b[i + 2],
                                         a[i + 3] + 3 * b[i + 3]};
      _mm_stream_si128(reinterpret_cast<__m128i*>(&out[i]), _mm_load_si128(reinterpret_cast<const __m128i*>(four)));
    }
    _mm_sfence();
  });
  for (std::size_t i = out.size() / 4 * 4; i < out.size(); ++i) out[i] = a[i] + 3 * b[i];
#else
  triad(a, b, out, threads);
#endif
}

/// Measures the rows in turns and adds them to the table. Returns the name of the fastest row of each given group.
std::vector<std::string> measure(cookbook::Figures& figures,
                                 const std::vector<std::vector<cookbook::Benchmark>>& groups, int rounds) {
  std::vector<cookbook::Benchmark> rows;
  for (const auto& group : groups) rows.insert(rows.end(), group.begin(), group.end());
  const std::vector<cookbook::Timing> timings = cookbook::run_interleaved(rows, rounds);
  for (std::size_t i = 0; i < rows.size(); ++i) figures.add(rows[i].name, timings[i], rows[i].items_per_run);

  std::vector<std::string> fastest;
  std::size_t first = 0;
  for (const auto& group : groups) {
    const auto faster = [](const auto& x, const auto& y) { return x.median < y.median; };
    const auto best = std::min_element(timings.begin() + first, timings.begin() + first + group.size(), faster);
    fastest.push_back(rows[best - timings.begin()].name);
    first += group.size();
  }
  return fastest;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t size = 1 << 26;
  int threads = cookbook::allowed_processors(), rounds = 11;
  cookbook::Options options("How fast a sum and a triad read and write memory");
  options.add("numbers", size, "numbers that the sum reads, four bytes each; the triad's arrays have a third each",
              1'000, std::size_t{1} << 30);
  options.add("threads", threads, "threads", 1, 1'024);
  options.add("rounds", rounds, "measured runs of each row", 1, 1'000);
  options.parse(argc, argv);
  cookbook::require_memory(8.0 * static_cast<double>(size), fmt::format("--numbers {}", size));
  const tbb::global_control at_most(tbb::global_control::max_allowed_parallelism,
                                    static_cast<std::size_t>(std::min(threads, threads_for_tbb())));
  openblas_set_num_threads(threads);

  // One array for the sum; the triad uses its thirds. OpenBLAS has no integers, so it gets as many floats.
  // Each thread touches its block first, as in the lesson.
  const auto memory = std::make_unique_for_overwrite<Number[]>(size);
  const auto float_memory = std::make_unique_for_overwrite<float[]>(size);
  const Output numbers(memory.get(), size);
  const std::span<float> floats(float_memory.get(), size);
  in_blocks(size, threads, [&](std::size_t begin, std::size_t end) {
    std::minstd_rand random(static_cast<Number>(begin + 1));
    for (std::size_t i = begin; i < end; ++i) {
      numbers[i] = static_cast<Number>(random());
      floats[i] = static_cast<float>(numbers[i] % 1024);
    }
  });
  const std::size_t third = size / 3 / 16 * 16;
  const Input in = numbers, a = in.first(third), b = in.subspan(third, third);
  const Output out = numbers.subspan(2 * third, third);
  const auto n = static_cast<blasint>(size);

  cookbook::Checks checks;
  const Number expected = std::accumulate(in.begin(), in.end(), Number{0});
  checks.equal("sum by all threads, 1 stream", sum_in_streams<1>(in, threads), expected);
  checks.equal("sum by all threads, 8 streams", sum_in_streams<8>(in, threads), expected);
  checks.equal("sum by std::execution::par", std::reduce(std::execution::par, in.begin(), in.end()), expected);
  checks.equal("sum by oneTBB", sum_by_tbb(in), expected);
  const double of_floats = std::accumulate(floats.begin(), floats.end(), 0.0);
  checks.within("sum by OpenBLAS, over the sum in double", cblas_sasum(n, floats.data(), 1) / of_floats, 0.999, 1.001);
  const auto wrong_after = [&](auto triad_form) {
    std::fill(out.begin(), out.end(), 0xdeadbeef);
    triad_form();
    long wrong = 0;
    for (std::size_t i = 0; i < third; ++i) wrong += out[i] != a[i] + 3 * b[i];
    return wrong;
  };
  checks.equal("wrong results of the triad", wrong_after([&] { triad(a, b, out, threads); }), 0);
  checks.equal("... in two places", wrong_after([&] { triad_in_two_places(a, b, out, threads); }), 0);
  checks.equal("... past the caches", wrong_after([&] { triad_past_the_caches(a, b, out, threads); }), 0);
  checks.equal("... by std::execution::par", wrong_after([&] { triad_by_par(a, b, out); }), 0);
  checks.equal("... by oneTBB", wrong_after([&] { triad_by_tbb(a, b, out); }), 0);

  using cookbook::do_not_optimize;
  const double bytes = 4.0 * static_cast<double>(size), triad_bytes = 12.0 * static_cast<double>(third);
  const auto row = [&](const std::string& name, auto sum_form) {
    return benchmark_after_pause(
        name, bytes, [=] { do_not_optimize(sum_form()); }, 30ms);
  };
  // Addresses without memory of their own, as in the pitfall memory_bandwidth_untouched.
  void* never_written = mmap(nullptr, 4 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (never_written == MAP_FAILED) cookbook::exit_with_errno("mmap");
  const Input zeros(static_cast<const Number*>(never_written), size);

  cookbook::Figures sums("sum", cookbook::rate("GB/s", 1e9));
  const auto fastest_sum =
      measure(sums,
              {{row("1 thread, 1 stream", [&] { return sum_in_streams<1>(in, 1); }),
                row("1 thread, 8 streams", [&] { return sum_in_streams<8>(in, 1); }),
                row("all threads, 1 stream", [&] { return sum_in_streams<1>(in, threads); }),
                row("all threads, 8 streams", [&] { return sum_in_streams<8>(in, threads); })},
               {row("std::execution::par", [&] { return std::reduce(std::execution::par, in.begin(), in.end()); }),
                row("oneTBB", [&] { return sum_by_tbb(in); }),
                row("OpenBLAS, sasum", [&] { return cblas_sasum(n, floats.data(), 1); })},
               {row("only read, 1 stream", [&] { return only_read<1>(in, threads); }),
                row("only read, 2 streams", [&] { return only_read<2>(in, threads); }),
                row("only read, 4 streams", [&] { return only_read<4>(in, threads); }),
                row("only read, 8 streams", [&] { return only_read<8>(in, threads); }),
                row("only read, 12 streams", [&] { return only_read<12>(in, threads); })},
               {row("memory never written, 8 streams", [&] { return sum_in_streams<8>(zeros, threads); })}},
              rounds);
  sums.percent_of(fastest_sum[2], "best read");
  sums.speedup_over(fastest_sum[1], "best library");

  cookbook::Figures triads("triad", cookbook::rate("GB/s", 1e9));
  const auto triad_row = [&](const std::string& name, auto form) {
    return benchmark_after_pause(name, triad_bytes, form, 30ms);
  };
  const float* x = floats.data();
  float* y = floats.data() + third;
  const auto fastest_triad = measure(
      triads,
      {{triad_row("1 thread", [&] { triad(a, b, out, 1); }),
        triad_row("all threads", [&] { triad(a, b, out, threads); }),
        triad_row("all threads, each in two places", [&] { triad_in_two_places(a, b, out, threads); }),
        triad_row("all threads, past the caches", [&] { triad_past_the_caches(a, b, out, threads); })},
       {triad_row("std::execution::par", [&] { triad_by_par(a, b, out); }),
        triad_row("oneTBB", [&] { triad_by_tbb(a, b, out); })},
       {triad_row("OpenBLAS, saxpy (in place)", [=] { cblas_saxpy(static_cast<blasint>(third), 1e-6F, x, 1, y, 1); })}},
      rounds);
  triads.percent_of(fastest_triad[0], "best form");
  triads.speedup_over(fastest_triad[1], "best library");

  sums.print(checks);
  triads.print(checks);
  return checks.exit_code();
}
