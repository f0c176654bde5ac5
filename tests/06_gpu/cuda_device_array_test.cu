// The program's output, and Array from inside.

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <bit>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/cuda_device_array/array.cuh"
#include "support/run.hpp"

namespace {

using test_support::run;
using Floats = std::vector<float>;

/// The matrix that the book doubles, and its double, as printed there.
const Floats printed = {-0.30127314F, 0.58347476F,  0.74255317F,  -0.73359144F, 1.05939233F,
                        1.31579852F,  -1.82708645F, 1.22098589F,  -0.56050682F, 0.11089337F,
                        -0.43856913F, -0.9901976F,  0.49370724F,  -1.41929567F, -0.77806169F,
                        0.39776155F,  -0.12967178F, -0.56103957F, -0.10889374F, -2.02298045F,
                        -0.87429291F, 0.67464012F,  -1.27954066F, 1.11129856F,  0.41121387F};
const Floats printed_double = {-0.60254627F, 1.16694951F,  1.48510635F,  -1.46718287F, 2.11878467F,
                               2.63159704F,  -3.6541729F,  2.44197178F,  -1.12101364F, 0.22178674F,
                               -0.87713826F, -1.9803952F,  0.98741448F,  -2.83859134F, -1.55612338F,
                               0.79552311F,  -0.25934356F, -1.12207913F, -0.21778747F, -4.0459609F,
                               -1.74858582F, 1.34928024F,  -2.55908132F, 2.22259712F,  0.82242775F};

/// The bits of each number: as numbers, a NaN differs from itself and two zeros with different signs do not differ.
std::vector<std::uint32_t> bits(const Floats& numbers) {
  std::vector<std::uint32_t> result;
  for (const float number : numbers) result.push_back(std::bit_cast<std::uint32_t>(number));
  return result;
}

/// A row of the output, with the times in ms.
struct Row {
  int kernels, arrays;
  double at_copy_speed, time;
};

Row row_of(const test_support::Result& result, const std::string& how) {
  const std::string row = "^" + how + " +([0-9]+) +([0-9]+) +([0-9.]+) ms +([0-9.]+) ms$";
  std::smatch match;
  for (const std::string& line : result.out) {
    if (std::regex_match(line, match, std::regex(row))) {
      return {std::stoi(match[1]), std::stoi(match[2]), std::stod(match[3]), std::stod(match[4])};
    }
  }
  throw std::runtime_error("no row " + how + "\n" + result.text());
}

const std::string per_operator = "an array per operator", at_once = "one array for the whole expression",
                  by_thrust = "thrust::transform";

TEST(cuda_device_array, counts_kernels_and_arrays_whatever_the_count) {
  for (const std::string count : {"1", "16", "25", "256", "257", "100001"}) {
    const auto result = run("cuda_device_array", {"--count", count});
    if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 6U) << result.text();
    EXPECT_EQ(result.out[0], "2a + 5b, " + count + " floats in each array");
    EXPECT_TRUE(result.has_line("ok    all three have the same bits: yes")) << result.text();
    EXPECT_EQ(row_of(result, per_operator).kernels, 3);
    EXPECT_EQ(row_of(result, per_operator).arrays, 7);
    EXPECT_EQ(row_of(result, at_once).kernels, 1);
    EXPECT_EQ(row_of(result, at_once).arrays, 3);
    EXPECT_EQ(row_of(result, by_thrust).kernels, 1);
    EXPECT_EQ(row_of(result, by_thrust).arrays, 3);
  }
}

/// What one array takes at a copy's speed is the same in all rows.
TEST(cuda_device_array, the_times_at_a_copys_speed_belong_to_the_arrays) {
  const auto result = run("cuda_device_array");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const double seven = row_of(result, per_operator).at_copy_speed, three = row_of(result, at_once).at_copy_speed;
  EXPECT_NEAR(three / 3, seven / 7, 0.0005) << result.text();
  EXPECT_EQ(row_of(result, by_thrust).at_copy_speed, three) << result.text();
  EXPECT_GT(three, 0.03) << "ms: 403 MB at 13 TB/s\n" << result.text();
}

/// thrust::transform is one kernel, as the program's table says: recorded, not run.
TEST(cuda_device_array, thrust_transforms_by_one_kernel) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  gpu::DeviceArray<float> a(1'000'000), b(1'000'000), c(1'000'000);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const auto transform = [&] {
    thrust::transform(thrust::cuda::par_nosync.on(stream), a.data(), a.data() + a.size(), b.data(), c.data(), Plus());
  };
  transform();  // loads code, which may not be done during a recording
  CUDA_CHECK(cudaStreamSynchronize(stream));
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  transform();
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  std::size_t nodes = 0;
  CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 1U);
  CUDA_CHECK(cudaGraphDestroy(graph));
  CUDA_CHECK(cudaStreamDestroy(stream));
}

TEST(cuda_device_array_array, operators_on_numbers_alone_stay_as_they_are) {
  static_assert(std::is_same_v<decltype(2 * 3), int>);
  enum Colour { red };
  static_assert(!OneIsAnArray<int, float>);
  static_assert(!OneIsAnArray<int, Colour>);
  static_assert(!OneIsAnArray<std::string, Array>);
  static_assert(OneIsAnArray<Array, int> && OneIsAnArray<float, Array> && OneIsAnArray<Array, Array>);
}

TEST(cuda_device_array_array, cannot_be_copied) {
  static_assert(!std::is_copy_constructible_v<Array> && !std::is_copy_assignable_v<Array>);
}

TEST(cuda_device_array_array, can_be_moved_and_is_empty_then) {
  static_assert(std::is_nothrow_move_constructible_v<Array> && std::is_nothrow_move_assignable_v<Array>);
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  Array first(Floats{1, 2, 3});
  Array second(std::move(first));
  EXPECT_EQ(second.get(), (Floats{1, 2, 3}));
  EXPECT_EQ(first.get(), Floats());
  first = std::move(second);
  EXPECT_EQ(first.get(), (Floats{1, 2, 3}));
  std::vector<Array> several;
  for (int i = 0; i < 10; ++i) several.push_back(i * first);
  EXPECT_EQ(several[0].get(), (Floats{0, 0, 0}));
  EXPECT_EQ(several[9].get(), (Floats{9, 18, 27}));
}

TEST(cuda_device_array_array, returns_every_bit_that_it_was_given) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Floats numbers = {std::bit_cast<float>(0x7FC12345U), -0.0F, std::bit_cast<float>(1U), -3.5F, 1e38F};
  EXPECT_EQ(bits(Array(numbers).get()), bits(numbers));
  EXPECT_EQ(fmt::format("{}", Array(numbers).get()), fmt::format("{}", numbers));
  EXPECT_EQ(Array(Floats()).get(), Floats());
}

TEST(cuda_device_array_array, does_not_follow_changes_on_the_host) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  Floats host = {1, 2, 3};
  const Array array(host);
  host[0] = 100;
  EXPECT_EQ(array.get(), (Floats{1, 2, 3}));
}

TEST(cuda_device_array_array, doubles_the_matrix_that_the_book_prints) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Array a(printed), doubled = 2 * a;
  const Floats result = doubled.get();
  for (std::size_t i = 0; i < result.size(); ++i) {
    EXPECT_EQ(result[i], 2 * printed[i]);
    EXPECT_NEAR(result[i], printed_double[i], 1.2e-7);
  }
  const Array six = (2 * a) * 3, at_once = 6 * a;
  for (std::size_t i = 0; i < result.size(); ++i) EXPECT_FLOAT_EQ(six.get()[i], at_once.get()[i]);
  EXPECT_EQ(a.get(), printed);
}

TEST(cuda_device_array_array, evaluates_in_the_order_in_which_the_expression_is_written) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Array a(Floats{1, 2, 3}), b(Floats{10, 20, 30});
  EXPECT_EQ(Array(a + b * 2 + 1).get(), (Floats{22, 43, 64}));
  EXPECT_EQ(Array((a + b) * (a + 1)).get(), (Floats{22, 66, 132}));
}

TEST(cuda_device_array_array, may_be_part_of_the_expression_that_is_assigned_to_it) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  Array a(Floats{1, 2, 3});
  a = a * a + a;
  EXPECT_EQ(a.get(), (Floats{2, 6, 12}));
}

/// A thread works out four elements, which are 256 apart; only the last block may have fewer.
TEST(cuda_device_array_array, works_out_every_element_in_place_for_any_size) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  for (const std::size_t size : {1, 255, 256, 257, 768, 769, 1023, 1024, 1025, 1792, 1793, 2048, 5000}) {
    Floats numbers(size), expected(size);
    for (std::size_t i = 0; i < size; ++i) {
      numbers[i] = static_cast<float>(i);
      expected[i] = static_cast<float>(3 * i + 1);
    }
    Array a(numbers);
    a = a + 2 * a + 1;
    EXPECT_EQ(a.get(), expected) << size;
  }
}

TEST(cuda_device_array_array, rounds_after_each_operation) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  // 1 + 2^-12, squared, is 1 + 2^-11 + 2^-24; rounded it has no 2^-24, so what is left is 0.
  const float x = 1 + 0x1p-12F;
  EXPECT_EQ(Array(Array(Floats{x}) * x + -(1 + 0x1p-11F)).get()[0], 0.0F);
}

TEST(cuda_device_array_array, refuses_different_sizes) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Array three(Floats{1, 2, 3}), two(Floats{1, 2}), none(Floats{});
  Array target(Floats{0, 0});
  EXPECT_THROW(three + two, std::invalid_argument);
  EXPECT_THROW(three + none, std::invalid_argument);
  EXPECT_THROW(target = 2 * three, std::invalid_argument);
}

TEST(cuda_device_array_array, one_kernel_per_array_that_is_made_or_assigned) {
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  Array a(Floats{1, 2, 3});
  const int kernels = Array::kernels;
  a = a + a;
  const Array b = a * a + 2 * a;
  EXPECT_EQ(Array::kernels, kernels + 2);
  EXPECT_EQ(b.get(), (Floats{8, 24, 48}));
}

TEST(cuda_device_array_array, tells_how_many_arrays_a_kernel_reads_and_writes) {
  using Product = Expression<Times, Number, Elements>;
  static_assert(Elements::arrays == 1 && Number::arrays == 0 && Product::arrays == 1);
  static_assert(Expression<Plus, Product, Product>::arrays == 2);
  if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  const Array a(Floats{1, 2, 3});
  const int before = Array::arrays_moved;
  const Array b = 2 * a;
  EXPECT_EQ(Array::arrays_moved, before + 2);
  const Array c = a + b * b;
  EXPECT_EQ(Array::arrays_moved, before + 6);
}

TEST(cuda_device_array_timing, one_pass_is_faster_than_an_array_per_operator) {
  const auto result = run("cuda_device_array");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  const Row seven_arrays = row_of(result, per_operator), three_arrays = row_of(result, at_once);
  EXPECT_LT(three_arrays.time, 0.55 * seven_arrays.time) << "3 / 7 is 0.43\n" << result.text();
  EXPECT_LT(three_arrays.time, 1.1 * three_arrays.at_copy_speed) << result.text();
  // What moves the arrays is not much faster than a copy.
  EXPECT_GT(seven_arrays.time, 0.8 * seven_arrays.at_copy_speed) << result.text();
  EXPECT_GT(three_arrays.time, 0.8 * three_arrays.at_copy_speed) << result.text();
}

TEST(cuda_device_array, the_bench_is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_device_array_bench", {{"--count", "100003"}, {"--count", "65536"}});
}

TEST(cuda_device_array, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_device_array", {{"--count", "1001"}, {"--count", "1024"}});
}

}  // namespace
