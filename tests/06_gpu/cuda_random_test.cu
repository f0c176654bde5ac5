// The program's statistics for several seeds, how evenly its numbers are spread, and that they depend on the seed
// alone.

#include "06_gpu/cuda_random/uniform.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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

/// How far the numbers are from being spread evenly over 100 bins of equal width. For random numbers it is about 99 on
/// average, and above 200 in less than one of ten million cases.
double chi_squared(const std::vector<double>& numbers) {
  std::array<double, 100> bins{};
  for (const double number : numbers) ++bins[std::min(static_cast<int>(number * 100), 99)];
  const double expected = static_cast<double>(numbers.size()) / bins.size();
  double sum = 0;
  for (const double found : bins) sum += (found - expected) * (found - expected) / expected;
  return sum;
}

TEST(cuda_random_uniform_numbers, are_spread_evenly) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const unsigned seed : {0U, 1U, 2U, 12345U, 1'000'000'000U}) {
    EXPECT_LT(chi_squared(uniform_numbers(seed, 100'000)), 200) << seed;
  }
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

const std::string estimate = " where it is made +\\d+ G numbers/s +pi is about (\\d\\.\\d{4})$";

TEST(cuda_random, prints_estimates_which_the_seed_decides) {
  const std::vector<std::string> small = {"--count", "1000000"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), small.begin(), small.end());
    return run("cuda_random", more);
  };
  const auto first = with({}), again = with({"--blocks", "7"}), other = with({"--seed", "2"});
  if (first.exit_code == skipped) GTEST_SKIP() << first.err[0];
  ASSERT_EQ(first.captures("^Philox, used" + estimate).size(), 1U) << first.text();
  EXPECT_EQ(first.captures("^Philox, used" + estimate), again.captures("^Philox, used" + estimate)) << again.text();
  EXPECT_NE(first.captures("^Philox, used" + estimate), other.captures("^Philox, used" + estimate)) << other.text();
}

TEST(cuda_random, estimates_that_are_far_from_pi_are_noticed) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto result = cuda_test::run_without_device("cuda_random", {"--count", "10000"}).result;
  EXPECT_TRUE(result.has_line("FAIL  estimates near pi: 0, expected 3")) << result.text();  // no kernel counts a hit
}

TEST(cuda_random, more_points_come_nearer_to_pi) {
  const auto result = run("cuda_random", {"--count", "100000000"});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  for (const std::string& line : {"^XORWOW, used" + estimate, "^Philox, used" + estimate,
                                  std::string("^Philox, stored and then used +\\d+ G numbers/s +pi is about (.+)$")}) {
    const auto pi = result.captures(line);
    ASSERT_EQ(pi.size(), 1U) << line << result.text();
    EXPECT_NEAR(std::stod(pi[0]), 3.14159, 0.002);  // eight times the standard error, and the rounding
  }
}

TEST(cuda_random, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_random", {{"--count", "10001", "--blocks", "3"}, {"--count", "16384", "--blocks", "4"}},
                          {"memcheck"});
}

}  // namespace
