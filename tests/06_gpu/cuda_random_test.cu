// The program's statistics for several seeds, how evenly its numbers are spread, and that they depend on the seed
// alone.

#include "06_gpu/cuda_random/uniform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_random/darts.cuh"
#include "06_gpu/without_device.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

TEST(cuda_random, the_statistics_hold_for_other_seeds_and_counts) {
  for (const std::string seed : {"0", "2", "12345", "1000000000"}) {
    for (const std::string count : {"10000", "100001", "3000000"}) {
      const auto result = run("cuda_random", {"--seed", seed, "--count", count});
      if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
    }
  }
}

/// The first numbers of this generator.
std::vector<float> uniform_numbers(curandRngType_t type, unsigned seed, std::size_t count = 100'000) {
  gpu::DeviceArray<float> numbers(count);
  numbers.poison();
  Generator(type, seed).fill(numbers);
  return numbers.to_host();
}

constexpr curandRngType_t types[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_PHILOX4_32_10};
constexpr unsigned seeds[] = {0, 1, 2, 12345, 1'000'000'000};

/// How far the numbers are from being spread evenly over 100 bins of equal width. For random numbers it is about 99 on
/// average, and above 200 in less than one of ten million cases.
double chi_squared(const std::vector<float>& numbers) {
  std::array<double, 100> bins{};
  for (const float number : numbers) ++bins[std::min(static_cast<int>(number * 100), 99)];
  const double expected = static_cast<double>(numbers.size()) / bins.size();
  double sum = 0;
  for (const double found : bins) sum += (found - expected) * (found - expected) / expected;
  return sum;
}

TEST(cuda_random_generator, numbers_are_above_0_and_at_most_1_and_spread_evenly) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const curandRngType_t type : types) {
    for (const unsigned seed : seeds) {
      const std::vector<float> numbers = uniform_numbers(type, seed);
      const auto [least, greatest] = std::minmax_element(numbers.begin(), numbers.end());
      EXPECT_GT(*least, 0) << seed;
      EXPECT_LE(*greatest, 1) << seed;
      EXPECT_LT(chi_squared(numbers), 200) << seed;
    }
  }
}

TEST(cuda_random_generator, the_same_seed_gives_the_same_numbers_and_another_seed_others) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const curandRngType_t type : types) {
    EXPECT_EQ(uniform_numbers(type, 1), uniform_numbers(type, 1));
    EXPECT_NE(uniform_numbers(type, 1), uniform_numbers(type, 2));
  }
}

TEST(cuda_random_generator, goes_on_with_each_call) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  gpu::DeviceArray<float> numbers(1'000);
  Generator philox(CURAND_RNG_PSEUDO_PHILOX4_32_10, 1);
  philox.fill(numbers);
  const std::vector<float> first = numbers.to_host();
  philox.fill(numbers);
  EXPECT_NE(numbers.to_host(), first);
}

/// One thread makes all numbers of sequence 0, one after another.
__global__ void in_order(unsigned seed, int fours, unsigned long long* hits) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, 0, 0, &state);
  for (int i = 0; i < fours; ++i) *hits += hits_of(curand_uniform4(&state));
}

TEST(cuda_random_darts, philox_begins_each_four_where_the_one_before_has_ended) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const unsigned seed : {1U, 77U}) {
    for (const int fours : {1, 63, 10'001}) {
      gpu::DeviceArray<unsigned long long> expected(1), hits(1);
      expected.zero();
      in_order<<<1, 1>>>(seed, fours, expected.data());
      CUDA_CHECK(cudaGetLastError());
      for (const int blocks : {1, 3, 200}) {
        hits.zero();
        use_philox<<<blocks, 256>>>(seed, fours, hits.data());
        CUDA_CHECK(cudaGetLastError());
        EXPECT_EQ(hits.to_host(), expected.to_host()) << seed << ' ' << fours << ' ' << blocks;
      }
    }
  }
}

TEST(cuda_random_darts, stored_points_are_counted_as_on_the_host) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const int fours : {1, 255, 10'001}) {
    gpu::DeviceArray<float> numbers(std::size_t{4} * fours);
    Generator(CURAND_RNG_PSEUDO_PHILOX4_32_10, 5).fill(numbers);
    const std::vector<float> host = numbers.to_host();
    unsigned long long expected = 0;
    for (std::size_t i = 0; i < host.size(); i += 2) {
      // fmaf() as on the device, where x * x + y * y is rounded once less.
      expected += std::fmaf(host[i], host[i], host[i + 1] * host[i + 1]) <= 1;
    }
    gpu::DeviceArray<unsigned long long> hits(1);
    hits.zero();
    use_stored<<<3, 256>>>(reinterpret_cast<const float4*>(numbers.data()), fours, hits.data());
    CUDA_CHECK(cudaGetLastError());
    EXPECT_NEAR(static_cast<double>(hits.to_host().front()), static_cast<double>(expected), 1) << fours;
  }
}

TEST(cuda_random_darts, the_sequences_of_xorwow_differ) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  // 256 threads, one four each: hits of 512 points. If all were the same, the hits would be 0, 256 or 512.
  for (const unsigned seed : {1U, 2U, 3U}) {
    gpu::DeviceArray<unsigned long long> hits(1);
    hits.zero();
    use_xorwow<<<1, 256>>>(seed, 256, hits.data());
    CUDA_CHECK(cudaGetLastError());
    EXPECT_NEAR(static_cast<double>(hits.to_host().front()), 402, 60) << seed;  // six standard deviations
  }
}

/// One thread makes four numbers twice of each of these sequences.
__global__ void sequence_by_sequence(unsigned seed, int sequences, unsigned long long* hits) {
  for (int sequence = 0; sequence < sequences; ++sequence) {
    curandStateXORWOW_t state;
    curand_init(seed, sequence, 0, &state);
    for (int four = 0; four < 2; ++four) {
      const float x = curand_uniform(&state), y = curand_uniform(&state);
      const float z = curand_uniform(&state), w = curand_uniform(&state);
      *hits += hits_of(make_float4(x, y, z, w));
    }
  }
}

TEST(cuda_random_darts, each_thread_of_xorwow_goes_on_in_a_sequence_of_its_own) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const unsigned seed : {1U, 2U, 3U}) {
    gpu::DeviceArray<unsigned long long> expected(1), hits(1);
    expected.zero();
    hits.zero();
    sequence_by_sequence<<<1, 1>>>(seed, 256, expected.data());
    CUDA_CHECK(cudaGetLastError());
    use_xorwow<<<1, 256>>>(seed, 512, hits.data());
    CUDA_CHECK(cudaGetLastError());
    EXPECT_EQ(hits.to_host(), expected.to_host()) << seed;
  }
}

TEST(cuda_random_darts, kept_states_give_the_same_numbers_and_go_on_with_the_next_launch) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  constexpr int blocks = 2, threads = 256;
  for (const int fours : {1, 512, 1'300}) {
    gpu::DeviceArray<curandStateXORWOW_t> states(blocks * threads);
    gpu::DeviceArray<unsigned long long> expected(1), hits(1);
    const auto of = [&](const gpu::DeviceArray<unsigned long long>& counted) { return counted.to_host().front(); };
    expected.zero();
    hits.zero();
    use_xorwow<<<blocks, threads>>>(5, fours, expected.data());
    set_up_xorwow<<<blocks, threads>>>(5, states.data());
    use_kept_xorwow<<<blocks, threads>>>(states.data(), fours, hits.data());
    CUDA_CHECK(cudaGetLastError());
    EXPECT_EQ(of(hits), of(expected)) << fours;
  }
  // Twice a four per thread is what eight numbers per thread give at once.
  gpu::DeviceArray<curandStateXORWOW_t> states(blocks * threads);
  gpu::DeviceArray<unsigned long long> expected(1), hits(1);
  expected.zero();
  hits.zero();
  use_xorwow<<<blocks, threads>>>(5, 2 * blocks * threads, expected.data());
  set_up_xorwow<<<blocks, threads>>>(5, states.data());
  for (int launch = 0; launch < 2; ++launch) {
    use_kept_xorwow<<<blocks, threads>>>(states.data(), blocks * threads, hits.data());
  }
  CUDA_CHECK(cudaGetLastError());
  EXPECT_EQ(hits.to_host(), expected.to_host());
}

/// A row of the output: what is written and read in MB, the calls of curand_init, and the time in us.
struct Row {
  double memory, set_up, time;
};

std::vector<Row> rows_of(const test_support::Result& result) {
  const std::string row = "^[A-Za-z].* +([0-9]+) MB +([0-9]+) times +([0-9]+) us$";
  std::vector<Row> rows;
  std::smatch match;
  for (const std::string& line : result.out) {
    if (!std::regex_match(line, match, std::regex(row))) continue;
    rows.push_back({std::stod(match[1]), std::stod(match[2]), std::stod(match[3])});
  }
  return rows;
}

const std::vector<std::string> names = {"Philox, stored in an array and read", "Philox, made in the kernel",
                                        "XORWOW, stored in an array and read", "XORWOW, made in the kernel",
                                        "XORWOW, set up before"};

void expect_memory_and_calls(const test_support::Result& result) {
  EXPECT_EQ(result.out[0], "10000000 numbers for pi                 memory  curand_init per launch        time");
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(result.out.at(i + 1).find(names[i]), 0U) << result.text();
  const std::vector<Row> rows = rows_of(result);
  ASSERT_EQ(rows.size(), names.size()) << result.text();
  // 10,000,000 floats are written once and read once; 256,000 states of 48 bytes as well. Philox is set up
  // for each four.
  const double memory[] = {80, 0, 80, 0, 25}, set_up[] = {0, 2'500'000, 0, 256'000, 0};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(rows[i].memory, memory[i]) << names[i];
    EXPECT_EQ(rows[i].set_up, set_up[i]) << names[i];
  }
}

const std::vector<std::string> ten_million = {"--count", "10000000", "--blocks", "1000"};

TEST(cuda_random, says_how_much_memory_is_moved_and_how_often_a_generator_is_set_up) {
  const auto result = run("cuda_random", ten_million);
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  expect_memory_and_calls(result);
  EXPECT_TRUE(result.has_line("ok    estimates near pi: 5")) << result.text();
}

TEST(cuda_random, estimates_that_are_far_from_pi_are_noticed) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_random", ten_million).result;
  expect_memory_and_calls(result);
  EXPECT_TRUE(result.has_line("FAIL  estimates near pi: 0, expected 5")) << result.text();  // no kernel counts a hit
}

TEST(cuda_random_timing, memory_is_what_philox_saves_and_setting_up_is_what_xorwow_pays_for) {
  const auto result = run("cuda_random");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const std::vector<Row> rows = rows_of(result);
  ASSERT_EQ(rows.size(), names.size()) << result.text();
  const double philox_stored = rows[0].time, philox = rows[1].time;
  const double xorwow_stored = rows[2].time, xorwow = rows[3].time, set_up_before = rows[4].time;
  EXPECT_LT(philox, 0.7 * philox_stored) << result.text();
  EXPECT_LT(set_up_before, 0.5 * xorwow) << result.text();
  EXPECT_GT(xorwow, 2 * philox) << result.text();
  // An eighth of the threads has less to set up.
  const int blocks = static_cast<int>(rows[3].set_up) / 256;
  const auto few = run("cuda_random", {"--blocks", std::to_string(std::max(blocks / 8, 1))});
  const std::vector<Row> rows_of_few = rows_of(few);
  ASSERT_EQ(rows_of_few.size(), names.size()) << few.text();
  EXPECT_LT(rows_of_few[3].time, 0.7 * xorwow) << few.text();
  EXPECT_LT(rows_of_few[3].time, 0.9 * xorwow_stored) << few.text();
}

TEST(cuda_random_timing, setting_up_is_paid_once_per_thread_whatever_it_makes) {
  const auto result = run("cuda_random", {"--count", "268435456"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const std::vector<Row> rows = rows_of(result);
  ASSERT_EQ(rows.size(), names.size()) << result.text();
  EXPECT_LT(rows[3].time, 0.9 * rows[2].time) << result.text();
}

TEST(cuda_random, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_random", {{"--count", "10001", "--blocks", "3"}, {"--count", "16384", "--blocks", "4"}},
                          {"memcheck"});
}

}  // namespace
