// The program's output, and the kernel from inside.

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_affine_product/affine_product.cuh"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// A row of the output: the time of the kernel in us, all arrays in MB, and the number of wrong results.
struct Row {
  double time, arrays;
  long wrong;
};

Row row_of(const test_support::Result& result, const std::string& what) {
  const auto part = [&](const std::string& rest) {
    const auto found = result.captures("^" + what + rest);
    if (found.size() != 1) throw std::runtime_error("no row " + what + "\n" + result.text());
    return found[0];
  };
  return {std::stod(part(" +([0-9]+) us +[0-9]+ MB +[0-9]+$")), std::stod(part(" +[0-9]+ us +([0-9]+) MB +[0-9]+$")),
          std::stol(part(" +[0-9]+ us +[0-9]+ MB +([0-9]+)$"))};
}
const std::string same_in_place = "reads a\\[i\\], in place";
const std::string same_apart = "reads a\\[i\\], results in an array of their own";
const std::string other_in_place = "reads a\\[count - 1 - i\\], in place";
const std::string other_apart = "reads a\\[count - 1 - i\\], in an array of their own";

TEST(cuda_affine_product, results_are_right_at_every_count) {
  for (const std::string count : {"1", "255", "256", "257", "1000003"}) {
    const auto result = run("cuda_affine_product", {"--count", count});
    if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
    ASSERT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 6U) << result.text();
    for (const std::string& what : {same_in_place, same_apart, other_apart}) {
      EXPECT_EQ(row_of(result, what).wrong, 0) << result.text();
    }
    EXPECT_TRUE(result.has_line("ok    wrong results where nobody overwrites what another thread reads: 0"));
  }
}

TEST(cuda_affine_product, a_result_that_overwrites_what_another_thread_reads_is_wrong) {
  const auto result = run("cuda_affine_product");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  ASSERT_EQ(result.exit_code, 0) << result.text();
  // No device runs 40,000,000 threads at once.
  EXPECT_GT(row_of(result, other_in_place).wrong, 1'000'000) << result.text();
  EXPECT_LT(row_of(result, other_in_place).wrong, 40'000'000) << result.text();
  EXPECT_EQ(row_of(result, same_in_place).arrays, 320);
  EXPECT_EQ(row_of(result, same_apart).arrays, 480);
}

TEST(cuda_affine_product_timing, in_place_saves_memory_and_no_time) {
  const auto result = run("cuda_affine_product");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const double in_place = row_of(result, same_in_place).time, apart = row_of(result, same_apart).time;
  EXPECT_LT(in_place, 1.2 * apart) << result.text();
  EXPECT_LT(apart, 1.2 * in_place) << result.text();
  // 480 MB are loaded and stored, by an H200 at 4.4 TB/s. In 16 us these would be 30 TB/s.
  EXPECT_GT(in_place, 16) << result.text();
}

TEST(cuda_affine_product, the_formula_by_hand) {
  EXPECT_EQ(affine_product(0, 0), 5 * 2 * 15);
  EXPECT_EQ(affine_product(2, -1), 5 * 22 * 5);
  EXPECT_EQ(affine_product(-1, 3), 5 * -8 * 45);
}

/// Keeps the device busy for so many cycles of its clock.
__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

TEST(cuda_affine_product, the_devices_events_and_the_hosts_clock_tell_the_same_time) {
  if (!gpu::device_found()) GTEST_SKIP() << "no device";
  gpu::EventTimer timer;
  spin<<<1, 1>>>(0);  // the first launch also loads the kernel
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  const cookbook::Stopwatch watch;
  timer.start();
  spin<<<1, 1>>>(400'000'000);  // some tenths of a second
  CUDA_CHECK(cudaGetLastError());
  const double by_events = timer.stop(), by_clock = watch.seconds();
  EXPECT_LE(by_events, 1.01 * by_clock);
  EXPECT_GE(by_events, by_clock / 10);  // however busy the host is
}

TEST(cuda_affine_product_affine_product, is_0_at_minus_one_fifth) {
  for (const float b : {-3.0F, 0.0F, 0.7F, 100.0F})
    EXPECT_NEAR(affine_product(-0.2F, b), 0, 1e-6 * std::abs(50 * b + 75));
}

TEST(cuda_affine_product_affine_product, takes_a_size_of_the_type_that_arrays_have) {
  static_assert(std::is_same_v<decltype(&start_change), void (*)(float*, const float*, std::size_t)>);
}

TEST(cuda_affine_product_change, works_on_so_many_elements_and_no_more_and_leaves_b_alone) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const std::size_t count : {1U, 255U, 256U, 257U, 5000U}) {
    std::vector<float> original(count + 100), b(count + 100);
    for (std::size_t i = 0; i < original.size(); ++i) {
      original[i] = 4 * gpu::random_number(1, static_cast<unsigned>(i));
      b[i] = 4 * gpu::random_number(2, static_cast<unsigned>(i));
    }
    gpu::DeviceArray<float> device_a(original);
    const gpu::DeviceArray<float> device_b(b);
    start_change(device_a.data(), device_b.data(), count);
    const std::vector<float> a = device_a.to_host();
    EXPECT_EQ(device_b.to_host(), b);
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = (original[i] * 10.0 + 2) * ((b[i] + 2.0) * 10 - 5) * 5;
      ASSERT_LE(std::abs(a[i] - exact), 8e-7 * std::max(std::abs(exact), 5000.0)) << i;
    }
    for (std::size_t i = count; i < a.size(); ++i) ASSERT_EQ(a[i], original[i]) << i << " of " << count;
  }
}

TEST(cuda_affine_product, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--count", "1001"}, {"--count", "1024"}};
  cuda_test::expect_clean("cuda_affine_product", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_affine_product", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
