// The sequential product in the process, with the book's numbers, and the program seen from outside.

#include "06_gpu/cuda_matrix_product/sequential_product.hpp"

#include <bit>
#include <cmath>
#include <random>

#include "06_gpu/book_matrices.hpp"
#include "06_gpu/compute_sanitizer.hpp"
#include "06_gpu/without_device.hpp"
#include "cookbook/cuda.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// Exit code of a recipe that found no device.
constexpr int skipped = 77;

// What the book prints beside its matrices: the product by its GPU, and how much the processor's is larger.
const Matrix book_c = {-1.19226956F, 1.55315971F,  -1.44614291F, 0.90420711F,  0.43665022F,  -0.73617989F, 0.28546685F,
                       1.02769876F,  -1.97204924F, -0.65403283F, -1.62555301F, 1.05654192F,  -0.34626681F, -0.51481217F,
                       -1.35338223F, -1.0040834F,  1.00310731F,  -0.4568972F,  -0.90064859F, 1.47408712F,  1.59797418F,
                       3.52156591F,  -0.21708387F, 2.31396151F,  0.85150564F};
const std::vector<std::pair<int, float>> book_differences = {{3, -0x1p-24F},  {6, 0x1p-24F},   {9, 0x1p-24F},
                                                             {10, -0x1p-23F}, {11, 0x1p-22F},  {13, -0x1p-24F},
                                                             {17, -0x1p-25F}, {18, -0x1p-24F}, {20, 0x1p-23F}};

TEST(cuda_matrix_product_sequential_product, products_by_hand) {
  EXPECT_EQ(sequential_product({}, {}, 0, one_rounding), Matrix{});
  EXPECT_EQ(sequential_product({3}, {-4}, 1, one_rounding), Matrix{-12});
  EXPECT_EQ(sequential_product({1, 2, 3, 4}, {5, 6, 7, 8}, 2, two_roundings), (Matrix{19, 22, 43, 50}));
}

TEST(cuda_matrix_product_sequential_product, identity_times_a_is_a) {
  Matrix identity(25);
  for (int i = 0; i < 5; ++i) identity[i * 6] = 1;
  EXPECT_EQ(sequential_product(identity, book_a, 5, one_rounding), book_a);
  EXPECT_EQ(sequential_product(book_a, identity, 5, two_roundings), book_a);
}

TEST(cuda_matrix_product_sequential_product, whole_numbers_are_exact) {
  const Matrix a = {8, 7, 1, 3, 1, 0, 4, 9, 2, 2, 3, 6, 2, 7, 7, 9, 8, 4, 4, 9, 8, 9, 9, 9, 1,
                    1, 1, 1, 8, 0, 0, 5, 0, 7, 1, 3, 2, 0, 7, 3, 4, 2, 6, 4, 1, 2, 9, 1, 0, 5,
                    3, 0, 6, 5, 1, 0, 4, 3, 7, 4, 0, 9, 7, 2, 1, 4, 3, 3, 7, 3, 1, 7, 2, 7, 1,
                    8, 0, 3, 4, 1, 5, 1, 5, 0, 7, 7, 2, 3, 0, 9, 4, 6, 3, 6, 0, 3, 3, 4, 1, 2};
  const Matrix b = {2, 1, 4, 6, 6, 4, 9, 9, 5, 2, 8, 6, 7, 6, 5, 9, 2, 1, 0, 9, 4, 1, 2, 4, 8,
                    2, 9, 5, 1, 4, 9, 9, 1, 5, 0, 5, 1, 1, 7, 1, 8, 7, 8, 3, 9, 1, 4, 3, 1, 5,
                    7, 2, 5, 8, 3, 5, 8, 5, 6, 2, 5, 3, 1, 4, 3, 7, 2, 9, 9, 5, 8, 7, 9, 3, 4,
                    1, 7, 8, 0, 4, 3, 0, 4, 2, 3, 8, 8, 8, 6, 2, 8, 6, 7, 1, 8, 3, 0, 8, 8, 9};
  const Matrix c = sequential_product(a, b, 10, one_rounding);
  EXPECT_EQ(c, sequential_product(a, b, 10, two_roundings));
  EXPECT_EQ((Matrix{c.begin(), c.begin() + 10}), (Matrix{225, 172, 201, 161, 170, 172, 189, 230, 127, 169}));
  EXPECT_EQ((Matrix{c.end() - 10, c.end()}), (Matrix{209, 152, 142, 154, 131, 160, 147, 161, 132, 137}));
  float sum = 0, trace = 0;
  for (const float x : c) sum += x;
  for (int i = 0; i < 10; ++i) trace += c[i * 11];
  EXPECT_EQ(sum, 18263);
  EXPECT_EQ(trace, 1761);
}

TEST(cuda_matrix_product_sequential_product, five_by_five_takes_125_multiplications_and_250_reads) {
  int calls = 0;
  sequential_product(book_a, book_b, 5, [&](float a, float b, float sum) {
    ++calls;  // each has read one element of a and one of b
    return a * b + sum;
  });
  EXPECT_EQ(calls, 125);
}

TEST(cuda_matrix_product_sequential_product, both_ways_to_round_agree_with_the_book_within_its_tolerance) {
  for (const Matrix& c :
       {sequential_product(book_a, book_b, 5, one_rounding), sequential_product(book_a, book_b, 5, two_roundings)}) {
    for (int i = 0; i < 25; ++i) EXPECT_NEAR(c[i], book_c[i], 5e-7) << i;
  }
}

TEST(cuda_matrix_product_sequential_product, two_roundings_are_the_books_processor_bit_by_bit) {
  Matrix processor = book_c;
  for (const auto& [i, difference] : book_differences) processor[i] += difference;
  EXPECT_EQ(sequential_product(book_a, book_b, 5, two_roundings), processor);
}

TEST(cuda_matrix_product_sequential_product, a_truncated_product_is_the_books_gpu_bit_by_bit) {
  // The multiply-add of devices of compute capability 1.x cuts the product off after 24 digits, and rounds the sum.
  const auto truncated = [](float a, float b, float sum) {
    const double exact = double{a} * b;
    float product = static_cast<float>(exact);
    if (std::abs(double{product}) > std::abs(exact)) product = std::nextafter(product, 0.0F);
    // The first product is no multiply-add, and is rounded.
    const volatile float stored = product;  // not to be fused with the addition
    return sum == 0 ? static_cast<float>(exact) : stored + sum;
  };
  EXPECT_EQ(sequential_product(book_a, book_b, 5, truncated), book_c);
}

TEST(cuda_matrix_product_sequential_product, random_floats_are_near_the_product_in_double_precision) {
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  constexpr int width = 64;
  Matrix a(width * width), b(width * width);
  for (float& x : a) x = normal(engine);
  for (float& x : b) x = normal(engine);
  const Matrix c = sequential_product(a, b, width, one_rounding);
  for (int row = 0; row < width; ++row) {
    for (int column = 0; column < width; ++column) {
      double exact = 0, magnitude = 0;
      for (int k = 0; k < width; ++k) {
        const double term = double{a[row * width + k]} * b[k * width + column];
        exact += term;
        magnitude += std::abs(term);
      }
      EXPECT_NEAR(c[row * width + column], exact, 1e-5 * magnitude);
    }
  }
}

TEST(cuda_matrix_product_sequential_product, a_nan_is_different_from_everything) {
  EXPECT_EQ(different({1, 2, NAN}, {1, 3, NAN}), 2);
}

TEST(cuda_matrix_product, without_a_device_it_is_skipped_with_a_reason) {
  const auto result = run("cuda_matrix_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, skipped) << result.text();
  EXPECT_TRUE(result.out.empty()) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
  EXPECT_THAT(result.err[0], testing::HasSubstr("cuda_matrix_product: skipped, no CUDA device: "));
}

TEST(cuda_matrix_product, every_width_has_the_bits_of_the_processor_with_one_rounding) {
  for (const std::string width : {"1", "2", "15", "16", "17", "33", "257", "500"}) {
    const auto result = run("cuda_matrix_product", {"--width", width});
    if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
    EXPECT_EQ(result.exit_code, 0) << result.text();
    ASSERT_EQ(result.out.size(), 5U) << result.text();
    EXPECT_EQ(result.lines_with("^GPU, .* ms$").size(), 2U) << result.text();
    const auto different = result.captures(" ([0-9]+) of [0-9]+ elements differ$");
    ASSERT_EQ(different.size(), 2U) << result.text();
    EXPECT_EQ(different[1], "0") << result.text();
    EXPECT_TRUE(result.has_line("ok    elements that are not those of the processor with one rounding: 0"))
        << result.text();
    if (width == "500") {
      EXPECT_GT(std::stoi(different[0]), 100'000) << result.text();
    }
  }
}

TEST(cuda_matrix_product_timing, columns_belong_to_x) {
  const auto result = run("cuda_matrix_product");
  if (result.exit_code == skipped) GTEST_SKIP() << result.err[0];
  const auto by_rows = result.captures("^GPU, row from x and column from y +([0-9.]+) ms$");
  const auto by_columns = result.captures("^GPU, row from y and column from x +([0-9.]+) ms$");
  ASSERT_EQ(by_rows.size() + by_columns.size(), 2U) << result.text();
  EXPECT_GT(std::stod(by_rows[0]), 1.5 * std::stod(by_columns[0])) << result.text();
}

TEST(cuda_matrix_product, is_clean_under_compute_sanitizer) {
  cuda_test::expect_clean("cuda_matrix_product", {{"--width", "33"}, {"--width", "32"}});
}

TEST(cuda_matrix_product, an_element_that_no_thread_writes_is_equal_to_nothing) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  const auto [result, record] = cuda_test::run_without_device("cuda_matrix_product", {"--width", "2"});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.captures(" ([0-9]+) of 4 elements differ$"), std::vector<std::string>(2, "4")) << result.text();
  // Four of each launch.
  EXPECT_TRUE(result.has_line("FAIL  elements that are not those of the processor with one rounding: 8, expected 0"))
      << result.text();
}

TEST(cuda_matrix_product, a_right_element_of_an_earlier_run_does_not_count) {
  if (!cuda_test::can_run_without_device) GTEST_SKIP() << "not in a sanitizer's build";
  // No kernel is run, and what is in fresh memory happens to be the only element of the product.
  const float product = gpu::random_number(1, 0) * gpu::random_number(2, 0);
  const auto [result, record] = cuda_test::run_without_device(
      "cuda_matrix_product", {"--width", "1"}, {{"COOKBOOK_CUDA_POISON", std::to_string(std::bit_cast<int>(product))}});
  EXPECT_EQ(result.exit_code, 1) << result.text();
  EXPECT_EQ(result.captures(" ([0-9]+) of 1 elements differ$"), std::vector<std::string>(2, "1")) << result.text();
}

}  // namespace
