// The sums of host and devices, their times, and the program's output. Catalogue: 6.15, 8.9.

#include "08_heterogeneous/opencl_benchmark/repeated_sum.hpp"

#include <unistd.h>

#include <algorithm>
#include <random>

#include "cookbook/measure.hpp"
#include "support/run.hpp"

namespace {

using test_support::bin;
using test_support::run;

const std::string source =
    opencl::read_kernels(opencl::beside(__FILE__, "../../chapters/08_heterogeneous/opencl_benchmark/repeated_sum.cl"));

Vector random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Vector numbers(count);
  for (float& number : numbers) number = uniform(engine);
  return numbers;
}

DeviceSum device_sum(const cl::Device& device, const Vector& a, const Vector& b) {
  const cl::Context context(device);
  return DeviceSum(context, opencl::build(context, source), a, b);
}

Vector plus(const Vector& a, const Vector& b) {
  Vector sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  return sum;
}

TEST(opencl_benchmark, all_sums_are_the_same_whatever_the_repetitions) {
  for (const auto& [count, repeats] :
       {std::pair("1", "1"), std::pair("1", "1000"), std::pair("1000", "1000"), std::pair("9999", "1")}) {
    const auto result = run("opencl_benchmark", {"--count", count, "--repeats", repeats});
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^ok    (sums of .*: yes|runs of the device with .*: 4)$").size(), 2U) << result.text();
  }
}

/// Checks the rows of one run, and gives the six times in ms.
std::vector<double> times_of_checked_rows(const test_support::Result& result) {
  EXPECT_EQ(result.exit_code, 0) << result.text();
  EXPECT_EQ(result.lines_with("^10000 floats added 10000 times +time +speed-up$").size(), 1U) << result.text();
  EXPECT_TRUE(result.has_line("ok    the kernel's time is part of that until the sums are back: yes")) << result.text();
  const std::string names =
      "(one thread|all threads|until the launch has returned|kernel alone, by the device's clock|"
      "until the sums are back|with context, compiling and copies)";
  const auto rows = result.captures("^" + names + " +[0-9.]+ ms +[0-9.]+ x$"),
             times = result.captures("^.* ([0-9.]+) ms +[0-9.]+ x$"), ratios = result.captures(" ms +([0-9.]+) x$");
  EXPECT_EQ(rows, (std::vector<std::string>{"one thread", "all threads", "until the launch has returned",
                                            "kernel alone, by the device's clock", "until the sums are back",
                                            "with context, compiling and copies"}))
      << result.text();
  if (times.size() != 6 || ratios.size() != 6) return {};
  std::vector<double> ms;
  for (const std::string& time : times) ms.push_back(std::stod(time));
  for (std::size_t row = 0; row < 6; ++row) {  // the times are printed with three decimals, the ratios with two
    EXPECT_GE(std::stod(ratios[row]), (ms[0] - 0.001) / (ms[row] + 0.001) - 0.01) << result.text();
    EXPECT_LE(std::stod(ratios[row]), (ms[0] + 0.001) / std::max(ms[row] - 0.001, 1e-9) + 0.01) << result.text();
  }
  EXPECT_LE(ms[3], ms[4]) << result.text();  // the kernel is over before the sums are back
  const auto once = result.captures("^  (?:of this, making|compiling|copies to it).* ([0-9.]+) ms$");
  EXPECT_EQ(once.size(), 3U) << result.text();
  double parts = 0;
  for (const std::string& part : once) parts += std::stod(part);
  EXPECT_NEAR(ms[4] + parts, ms[5], 0.004) << "the last time is that until the sums are back and what is made once\n"
                                           << result.text();
  if (once.size() != 3) return {};
  EXPECT_GT(std::stod(once[1]), 0.1) << "nothing compiles a kernel in so short a time";
  return ms;
}

TEST(opencl_benchmark, says_how_long_each_way_takes_and_how_many_times_as_fast_as_one_thread_it_is) {
  std::string seen;
  for (int attempt = 0; attempt < 5; ++attempt) {  // other programs may take the processor between two of the times
    const auto result = run("opencl_benchmark");
    if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
    const std::vector<double> ms = times_of_checked_rows(result);
    ASSERT_EQ(ms.size(), 6U) << result.text();
    const bool kernel_takes_most = 2 * ms[3] > ms[4];  // with so many repetitions
    const bool launch_does_not_wait = 2 * ms[2] < ms[4];
    if (kernel_takes_most && launch_does_not_wait) return;
    seen = result.text();
  }
  FAIL() << "the launch waits for the kernel, or the kernel takes less than half of the time\n" << seen;
}

TEST(opencl_benchmark_repeated_sum, touches_its_own_elements_alone) {
  const Vector a = random_numbers(100, 1), b = random_numbers(100, 2);
  Vector c(100, -1);
  repeated_sum(a.data(), b.data(), c.data(), 30, 60, 3);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(c[i], i >= 30 && i < 60 ? a[i] + b[i] : -1) << i;
}

TEST(opencl_benchmark_repeated_sum_by_threads, divides_the_elements_without_gaps) {
  for (const std::size_t count : {1U, 7U, 1000U}) {
    const Vector a = random_numbers(count, 1), b = random_numbers(count, 2);
    for (const std::size_t threads : {1U, 2U, 3U, 16U}) {
      Vector c(count, -1);
      repeated_sum_by_threads(a, b, c, 2, threads);
      EXPECT_EQ(c, plus(a, b)) << count << " elements, " << threads << " threads";
    }
  }
}

TEST(opencl_benchmark_device_sum, is_the_same_on_every_device_to_the_last_bit) {
  for (const cl::Device& device : opencl::devices()) {
    const Vector a = random_numbers(1001, 1), b = random_numbers(1001, 2);
    DeviceSum sum = device_sum(device, a, b);
    EXPECT_EQ(sum.bytes(), 4004U);
    for (const unsigned repeats : {1U, 2U, 1000U}) {
      Vector c(1001, -1);
      for (const std::size_t group : {1U, 7U, 64U}) {  // 1001 is a multiple of 7, and not of 64
        std::fill(c.begin(), c.end(), -1.0F);
        sum.poison();
        sum.run(repeats, c, cl::NDRange(group));
        EXPECT_EQ(c, plus(a, b)) << repeats << " repetitions in groups of " << group;
      }
      std::fill(c.begin(), c.end(), -1.0F);
      sum.poison();
      const cl::Event event = sum.run(repeats, c);
      EXPECT_EQ(c, plus(a, b)) << repeats;
      const cl_ulong times[] = {
          event.getProfilingInfo<CL_PROFILING_COMMAND_QUEUED>(), event.getProfilingInfo<CL_PROFILING_COMMAND_SUBMIT>(),
          event.getProfilingInfo<CL_PROFILING_COMMAND_START>(), event.getProfilingInfo<CL_PROFILING_COMMAND_END>()};
      EXPECT_TRUE(std::is_sorted(std::begin(times), std::end(times)));
      EXPECT_GT(times[3], times[2]);
      EXPECT_DOUBLE_EQ(opencl::seconds_of(event), static_cast<double>(times[3] - times[2]) * 1e-9);
    }
  }
}

TEST(opencl_benchmark_device_sum, is_launched_first_and_read_later) {
  for (const cl::Device& device : opencl::devices()) {
    const Vector a = random_numbers(1001, 1), b = random_numbers(1001, 2);
    DeviceSum sum = device_sum(device, a, b);
    Vector c(1001, -1);
    sum.poison();
    const cl::Event event = sum.launch(10, cl::NDRange(64));
    EXPECT_EQ(c, Vector(1001, -1));
    sum.read(c);
    EXPECT_EQ(c, plus(a, b));
    EXPECT_EQ(event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>(), CL_COMPLETE);
  }
}

/// A repetition that was removed would take no time. With a hundred times as many the job must take clearly longer; how
/// much longer depends on what else a launch costs.
TEST(opencl_benchmark_repeated_sum_timing, repetitions_are_really_made) {
  const Vector a = random_numbers(10'000, 1), b = random_numbers(10'000, 2);
  Vector c(10'000);
  const auto seconds_of_host = [&](unsigned repeats) {
    const cookbook::Stopwatch watch;
    repeated_sum(a.data(), b.data(), c.data(), 0, c.size(), repeats);
    return watch.seconds();
  };
  EXPECT_GT(seconds_of_host(10'000), 20 * seconds_of_host(100));
  for (const cl::Device& device : opencl::devices()) {
    DeviceSum sum = device_sum(device, a, b);
    sum.run(1, c);
    const double few = opencl::seconds_of(sum.run(100, c)), many = opencl::seconds_of(sum.run(10'000, c));
    EXPECT_GT(many, 20 * few) << opencl::name_of(device);
  }
}

TEST(opencl_benchmark, is_clean_under_oclgrind) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "not in a sanitizer's build: Oclgrind has faults of its own, which end the program";
#endif
  const std::string oclgrind = "/usr/bin/oclgrind";
  if (access(oclgrind.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no oclgrind; scripts/setup --with-test-dependencies installs it";
  const auto result = run(oclgrind, {"--data-races", "--uninitialized", "--check-api", bin() + "/opencl_benchmark",
                                     "--count", "1000", "--repeats", "3"});
  EXPECT_EQ(result.lines_with("^one thread ").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^on Oclgrind").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^ok    (sums of .*: yes|runs of the device with .*: 4)$").size(), 2U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
