// Processor and devices, measured
//
// Compile: g++ -std=c++20 -O3 -march=native -Icommon chapters/08_heterogeneous/opencl_benchmark/opencl_benchmark_bench.cpp common/cookbook/*.cpp -lfmt -lOpenCL -pthread -o opencl_benchmark_bench
// Run:     opencl_benchmark_bench [--count N] [--repeats N] [--rounds N]

#include <algorithm>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cookbook/affinity.hpp"
#include "cookbook/checks.hpp"
#include "cookbook/figures.hpp"
#include "cookbook/opencl.hpp"
#include "cookbook/options.hpp"
#include "repeated_sum.hpp"

namespace {

/// The same job with the loops exchanged: all elements, `repeats` times. A store has to be made before the next
/// repetition begins, but within one the compiler may use vector instructions.
void whole_vectors(const float* a, const float* b, float* __restrict c, std::size_t begin, std::size_t end,
                   unsigned repeats) {
  for (unsigned r = 0; r < repeats; ++r) {
    for (std::size_t i = begin; i < end; ++i) c[i] = a[i] + b[i];
    cookbook::do_not_optimize(c);
  }
}

void whole_vectors_by_threads(const Vector& a, const Vector& b, Vector& c, unsigned repeats, std::size_t threads) {
  std::vector<std::jthread> workers;
  for (std::size_t t = 0; t < threads; ++t) {
    const std::size_t begin = a.size() * t / threads, end = a.size() * (t + 1) / threads;
    workers.emplace_back([&, begin, end] { whole_vectors(a.data(), b.data(), c.data(), begin, end, repeats); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 10'000;
  unsigned repeats = 10'000;
  int rounds = 11;
  cookbook::Options options("How fast the same sums are on the processor and on every device");
  options.add("count", count, "elements of each vector", 1000, 10'000'000);
  options.add("repeats", repeats, "how often each sum is computed", 1, 1'000'000);
  options.add("rounds", rounds, "measured runs of each row", 1, 1000);
  options.parse(argc, argv);
  const std::vector<cl::Device> devices = opencl::devices();
  if (devices.empty()) return opencl::without_device();

  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  Vector a(count), b(count), expected(count), c(count);
  for (float& number : a) number = uniform(engine);
  for (float& number : b) number = uniform(engine);
  std::transform(a.begin(), a.end(), b.begin(), expected.begin(), std::plus<>());
  const std::size_t threads = cookbook::allowed_processors();
  const std::string source = opencl::read_kernels(opencl::beside(__FILE__, "repeated_sum.cl"));
  std::deque<DeviceSum> sums;

  const double additions = static_cast<double>(count) * repeats;
  const std::string of_threads = fmt::format("{} threads", threads);
  std::vector<cookbook::Benchmark> rows = {
      {"one thread", additions, [&] { repeated_sum(a.data(), b.data(), c.data(), 0, count, repeats); }},
      {of_threads, additions, [&] { repeated_sum_by_threads(a, b, c, repeats, threads); }},
      {"one thread, whole vectors", additions, [&] { whole_vectors(a.data(), b.data(), c.data(), 0, count, repeats); }},
      {of_threads + ", whole vectors", additions, [&] { whole_vectors_by_threads(a, b, c, repeats, threads); }}};
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const cl::Context context = CL_CHECK(cl::Context(devices[number]));
    DeviceSum& sum = sums.emplace_back(context, opencl::build(context, source), a, b);
    cookbook::println("device {}: {}", number, opencl::name_of(devices[number]));
    rows.push_back(opencl::timed_row(fmt::format("device {}, kernel alone", number), additions,
                                     [&] { return sum.run(repeats, c); }));
    rows.push_back(opencl::timed_row(fmt::format("device {}, in groups of 64", number), additions,
                                     [&] { return sum.run(repeats, c, cl::NDRange(64)); }));
    rows.emplace_back(fmt::format("device {}, launch to copy back", number), additions, [&] { sum.run(repeats, c); });
  }

  cookbook::Checks checks;
  for (const cookbook::Benchmark& row : rows) {
    std::fill(c.begin(), c.end(), -1.0F);
    row.run();
    checks.that("right sums: " + row.name, c == expected);
  }
  cookbook::Figures figures(fmt::format("{} floats added {} times", count, repeats), cookbook::rate("G/s", 1e9));
  figures.speedup_over("one thread");
  figures.measure(rows, rounds);
  figures.print(checks);
  return checks.exit_code();
}
