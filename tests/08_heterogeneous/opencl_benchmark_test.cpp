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
    EXPECT_EQ(result.lines_with("^ok    sums of .*: yes$").size(), 2U) << result.text();
  }
}

TEST(opencl_benchmark, says_how_much_it_does_and_how_long_it_takes) {
  const auto result = run("opencl_benchmark");
  if (result.exit_code == opencl::skipped) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  EXPECT_TRUE(result.has_line("10000 floats, 40000 bytes per vector, 100000000 additions")) << result.text();
  const auto one = result.captures("^One thread: ([0-9.]+) ms$"),
             all = result.captures("^All hardware threads: ([0-9.]+) ms$"),
             kernel = result.captures("^Device Kernel Time: ([0-9.]+) ms$"),
             device = result.captures("^Device Time: ([0-9.]+) ms$"),
             ratio = result.captures("^(?:One thread|All hardware threads) / Device Time: ([0-9.]+) x$");
  ASSERT_TRUE(one.size() == 1 && all.size() == 1 && kernel.size() == 2 && device.size() == 2 && ratio.size() == 2)
      << result.text();
  for (const int way : {0, 1}) EXPECT_LE(std::stod(kernel[way]), std::stod(device[way]));
  // The times are printed with three decimals; the ratios are those of the groups of 64.
  for (const int row : {0, 1}) {
    const double host = std::stod(row == 0 ? one[0] : all[0]);
    EXPECT_GE(std::stod(ratio[row]), (host - 0.001) / (std::stod(device[1]) + 0.001) - 0.01);
    EXPECT_LE(std::stod(ratio[row]), (host + 0.001) / (std::stod(device[1]) - 0.001) + 0.01);
  }
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
    DeviceSum sum(device, source, a, b);
    EXPECT_EQ(sum.bytes(), 4004U);
    for (const unsigned repeats : {1U, 2U, 1000U}) {
      Vector c(1001, -1);
      for (const std::size_t group : {1U, 7U, 64U}) {  // 1001 is a multiple of 7, and not of 64
        std::fill(c.begin(), c.end(), -1.0F);
        sum.poison();
        sum.run(repeats, c, group);
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

TEST(opencl_benchmark_speed_up, has_the_figures_of_the_book) {
  EXPECT_NEAR(speed_up(71.9769999981, 0.0809998512268), 888.6, 0.05);          // first edition, total
  EXPECT_NEAR(speed_up(71.9769999981, 0.075756608), 950.1, 0.05);              // kernel alone
  EXPECT_NEAR(speed_up(39.505873918533325, 0.019981861114501953), 1977, 0.5);  // second edition
  EXPECT_NEAR(speed_up(39.505873918533325, 0.013606592), 2903, 0.5);
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
    DeviceSum sum(device, source, a, b);
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
  EXPECT_EQ(result.lines_with("^One thread: ").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^Oclgrind").size(), 1U) << result.text();
  EXPECT_EQ(result.lines_with("^ok    sums of .*: yes$").size(), 2U) << result.text();
  EXPECT_TRUE(result.err.empty()) << result.text();
}

}  // namespace
