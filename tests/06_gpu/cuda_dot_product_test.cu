// The program's output for many lengths and shapes of the grid, and its steps from inside: what they read and write.

#define main cuda_dot_product_main  // the steps stand in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_dot_product/cuda_dot_product.cu"
#undef main

#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using cuda_test::skipped;
using test_support::run;

/// The rows of the output, and the bytes that each states for a pair.
const std::pair<std::string, std::string> rows[] = {{"store the products", "16"},
                                                    {"add up the stored products", "8"},
                                                    {"both, one after the other", "24"},
                                                    {"multiply and add up at once", "8"},
                                                    {"the same by thrust::transform_reduce", "8"}};

void expect_right(const std::vector<std::string>& arguments) {
  const auto result = run("cuda_dot_product", arguments, {.environment = {{"COOKBOOK_GUARD", "1"}}});
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  EXPECT_EQ(result.exit_code, 0) << result.text();
  for (const auto& [row, bytes] : rows) {
    EXPECT_EQ(result.lines_with("^" + row + " +" + bytes + " +[0-9.]+ us +\\d+ GB/s$").size(), 1U) << result.text();
  }
  EXPECT_TRUE(result.has_line("ok    ways with the right dot product: 4")) << result.text();
}

TEST(cuda_dot_product, is_exact_for_every_length) {
  // From 1862 on the sum does not fit into an int, from 46,342 on a product does not.
  for (const std::string count : {"0", "1", "2", "400", "500", "1862", "46342", "2000003"}) {
    expect_right({"--count", count});
    if (IsSkipped()) return;
  }
}

TEST(cuda_dot_product, does_not_depend_on_blocks_and_threads) {
  for (const auto& [blocks, threads] : {std::pair<std::string, std::string>{"1", "1"},
                                        {"1", "3"},
                                        {"1", "1024"},
                                        {"2", "31"},
                                        {"2", "96"},
                                        {"2", "1000"},
                                        {"33", "2"},
                                        {"33", "33"},
                                        {"33", "511"},
                                        {"1000", "1"},
                                        {"1000", "96"},
                                        {"1000", "1024"}}) {
    expect_right({"--count", "500", "--blocks", blocks, "--threads", threads});
    if (IsSkipped()) return;
  }
}

TEST(cuda_dot_product, without_a_device_is_skipped_with_a_reason) {
  const auto result = run("cuda_dot_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_dot_product: skipped, no CUDA device: "));
}

TEST(cuda_dot_product_steps, store_all_products_or_read_them_or_do_without_them) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const std::vector<int> numbers = {-3, 46'342, 5};
  Job job{2, 32, gpu::DeviceArray<int>(numbers), gpu::DeviceArray<int>(numbers)};
  job.products.poison();
  job.multiply_and_add_up();
  EXPECT_EQ(job.result.to_host(), std::vector<long long>{2'147'580'998});
  EXPECT_EQ(job.products.to_host(), (std::vector<long long>{-1, -1, -1})) << "stores products";
  job.result.poison();
  job.store_products();
  EXPECT_EQ(job.products.to_host(), (std::vector<long long>{9, 2'147'580'964, 25}));
  EXPECT_EQ(job.result.to_host(), std::vector<long long>{-1}) << "adds them up";
  job.products = gpu::DeviceArray<long long>(std::vector<long long>{1, 10, 100});
  job.add_up_products();
  EXPECT_EQ(job.result.to_host(), std::vector<long long>{111}) << "does not read what was stored";
}

TEST(cuda_dot_product_steps, compute_what_the_book_prints) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  std::vector<int> numbers(400);
  std::iota(numbers.begin(), numbers.end(), 0);
  Job job{3, 96, gpu::DeviceArray<int>(numbers), gpu::DeviceArray<int>(numbers)};
  job.multiply_and_add_up();
  EXPECT_EQ(job.result.to_host(), std::vector<long long>{21'253'400});
}

struct Negative {
  __device__ long long operator()(int i) const { return -5 - i; }
};

struct Maximum {
  __device__ long long operator()(long long a, long long b) const { return a < b ? b : a; }
};

TEST(cuda_dot_product_map_reduce, begins_with_the_neutral_element_of_any_reduction) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  constexpr long long least = std::numeric_limits<long long>::min();
  for (const int count : {1, 3, 1000}) {
    EXPECT_EQ(map_reduce(count, Negative{}, Maximum{}, least, 4, 96), -5) << count;
    EXPECT_EQ(map_reduce(count, Negative{}, Sum{}, 0LL, 4, 96), -5LL * count - count * (count - 1LL) / 2) << count;
  }
  EXPECT_EQ(map_reduce(0, Negative{}, Maximum{}, least, 4, 96), least);
}

TEST(cuda_dot_product_timing, both_at_once_take_less_than_half_and_run_near_the_bandwidth) {
  const auto result = run("cuda_dot_product");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto time = [&](const auto& row) {
    const auto found = result.captures("^" + row.first + " +" + row.second + " +([0-9.]+) us ");
    EXPECT_EQ(found.size(), 1U) << result.text();
    return found.size() == 1 ? std::stod(found[0]) : 0;
  };
  EXPECT_LT(2 * time(rows[3]), time(rows[2])) << result.text();
  EXPECT_LT(time(rows[1]), time(rows[0])) << result.text();
  // A grid of a few blocks only would make all ways slow alike; a copy on the device shows how fast memory is.
  const gpu::DeviceArray<int> from(1 << 26);
  gpu::DeviceArray<int> to(from.size());
  const double copied = fastest_alone([&] {
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(int), cudaMemcpyDeviceToDevice));
  });
  EXPECT_LT(time(rows[3]), 1.5e6 * copied) << "8 bytes per pair are read, and per element of the copy moved";
}

TEST(cuda_dot_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_dot_product",
                          {{"--count", "1001", "--blocks", "3", "--threads", "33"}, {"--count", "1024"}});
}

}  // namespace
