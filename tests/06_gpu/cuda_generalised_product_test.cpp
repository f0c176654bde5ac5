// The program's output; layouts, batches, and the matrices that the book prints, from inside.

#include "06_gpu/cuda_generalised_product/batch.hpp"

#include <numeric>
#include <string>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

// The matrices that the first and the second edition print: c = a b.
const std::vector<long long> first_a = {7, 7, 8, 5, 8, 5, 1, 9, 5, 9, 3, 5, 5, 4, 6, 7, 6, 5, 3, 1, 7, 1, 6, 8, 7,
                                        9, 0, 3, 3, 3, 7, 4, 4, 3, 7, 8, 1, 2, 1, 2, 4, 7, 7, 1, 3, 5, 5, 6, 7, 6,
                                        5, 0, 1, 5, 8, 4, 4, 4, 4, 9, 1, 3, 2, 0, 7, 3, 7, 2, 3, 4, 0, 2, 9, 0, 7,
                                        5, 9, 7, 4, 7, 7, 3, 7, 6, 5, 6, 4, 2, 2, 7, 2, 1, 9, 7, 1, 0, 3, 5, 7, 3};
const std::vector<long long> first_b = {2, 9, 8, 4, 2, 3, 9, 7, 3, 1, 9, 1, 3, 3, 8, 0, 7, 6, 3, 5, 7, 4, 9, 6, 6,
                                        5, 9, 7, 6, 6, 6, 8, 3, 1, 5, 4, 4, 7, 7, 5, 6, 2, 5, 1, 2, 8, 6, 0, 5, 8,
                                        4, 4, 5, 7, 6, 0, 1, 1, 3, 8, 2, 7, 8, 6, 1, 9, 8, 4, 1, 6, 2, 2, 9, 8, 3,
                                        6, 1, 4, 7, 4, 9, 9, 6, 9, 3, 3, 3, 2, 4, 9, 8, 4, 6, 7, 8, 8, 8, 6, 7, 8};
const std::vector<long long> first_c = {
    368, 284, 402, 331, 304, 295, 361, 291, 327, 378, 231, 207, 278, 226, 188, 199, 236, 177, 193, 273,
    248, 247, 280, 217, 208, 190, 243, 198, 232, 279, 201, 181, 232, 175, 173, 149, 218, 156, 170, 225,
    297, 239, 331, 301, 239, 225, 290, 225, 229, 315, 235, 229, 270, 222, 181, 248, 246, 175, 219, 280,
    174, 142, 201, 166, 124, 185, 192, 108, 129, 217, 267, 213, 348, 297, 212, 292, 289, 194, 233, 334,
    266, 254, 305, 239, 228, 230, 303, 234, 232, 288, 227, 219, 255, 215, 166, 189, 214, 196, 204, 229};
const std::vector<long long> second_a = {8, 7, 1, 3, 1, 0, 4, 9, 2, 2, 3, 6, 2, 7, 7, 9, 8, 4, 4, 9, 8, 9, 9, 9, 1,
                                         1, 1, 1, 8, 0, 0, 5, 0, 7, 1, 3, 2, 0, 7, 3, 4, 2, 6, 4, 1, 2, 9, 1, 0, 5,
                                         3, 0, 6, 5, 1, 0, 4, 3, 7, 4, 0, 9, 7, 2, 1, 4, 3, 3, 7, 3, 1, 7, 2, 7, 1,
                                         8, 0, 3, 4, 1, 5, 1, 5, 0, 7, 7, 2, 3, 0, 9, 4, 6, 3, 6, 0, 3, 3, 4, 1, 2};
const std::vector<long long> second_b = {2, 1, 4, 6, 6, 4, 9, 9, 5, 2, 8, 6, 7, 6, 5, 9, 2, 1, 0, 9, 4, 1, 2, 4, 8,
                                         2, 9, 5, 1, 4, 9, 9, 1, 5, 0, 5, 1, 1, 7, 1, 8, 7, 8, 3, 9, 1, 4, 3, 1, 5,
                                         7, 2, 5, 8, 3, 5, 8, 5, 6, 2, 5, 3, 1, 4, 3, 7, 2, 9, 9, 5, 8, 7, 9, 3, 4,
                                         1, 7, 8, 0, 4, 3, 0, 4, 2, 3, 8, 8, 8, 6, 2, 8, 6, 7, 1, 8, 3, 0, 8, 8, 9};
const std::vector<long long> second_c = {
    225, 172, 201, 161, 170, 172, 189, 230, 127, 169, 400, 277, 289, 251, 278, 276, 240, 324, 295, 273,
    257, 171, 177, 217, 208, 254, 265, 224, 176, 174, 187, 130, 116, 117, 94,  175, 105, 128, 152, 114,
    199, 133, 117, 143, 168, 156, 143, 214, 188, 157, 180, 118, 124, 113, 152, 149, 175, 213, 167, 122,
    238, 142, 186, 165, 188, 215, 202, 200, 139, 192, 237, 158, 162, 176, 122, 185, 169, 140, 137, 130,
    249, 160, 220, 159, 249, 125, 201, 241, 169, 191, 209, 152, 142, 154, 131, 160, 147, 161, 132, 137};

const Shape square = {10, 10};

std::vector<long long> counting(std::size_t count) {
  std::vector<long long> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

std::string refusal(const std::vector<Shape>& shapes) {
  try {
    product_layout.result(shapes);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(cuda_generalised_product, device_and_host_agree_for_any_size) {
  for (const int pairs : {1, 127, 128, 129, 3000}) {
    for (const int rows : {1, 7}) {
      const auto result =
          run("cuda_generalised_product", {"--pairs", std::to_string(pairs), "--rows", std::to_string(rows)});
      if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
      EXPECT_EQ(result.exit_code, 0) << result.text();
      const auto expect_row = [&](const std::string& name, int threads, int steps) {
        const std::string numbers = " +" + std::to_string(threads) + " +" + std::to_string(steps);
        EXPECT_EQ(result.lines_with("^" + name + numbers + " +[0-9.]+ M products/s$").size(), 1U) << result.text();
      };
      expect_row("the processor, a loop", 1, pairs * rows * 100);
      expect_row("the GPU, a launch per pair", rows * 10, 10);
      expect_row("the GPU, a thread per pair", pairs, rows * 100);
      expect_row("the same, the matrices interleaved", pairs, rows * 100);
      expect_row("the GPU, a thread per element", pairs * rows * 10, 10);
      EXPECT_TRUE(result.has_line("ok    batches with the right products: 6")) << result.text();
    }
  }
}

/// The products per microsecond in this row of the output.
double speed(const test_support::Result& result, const std::string& row) {
  const auto found = result.captures("^" + row + " +[0-9]+ +[0-9]+ +([0-9.]+) M products/s$");
  EXPECT_EQ(found.size(), 1U) << result.text();
  return found.size() == 1 ? std::stod(found[0]) : 0;
}

TEST(cuda_generalised_product_timing, one_launch_is_faster_than_many_and_neighbouring_addresses_faster_than_others) {
  const auto result = run("cuda_generalised_product");
  if (result.exit_code == 77) GTEST_SKIP() << result.err[0];
  EXPECT_LT(speed(result, "the GPU, a launch per pair"), speed(result, "the GPU, a thread per pair"));
  EXPECT_LT(speed(result, "the GPU, a thread per pair"), speed(result, "the same, the matrices interleaved"));
  EXPECT_LT(speed(result, "the same, the matrices interleaved"), speed(result, "the GPU, a thread per element"));
}

TEST(cuda_generalised_product, without_a_device_is_skipped_with_a_reason) {
  const auto result = run("cuda_generalised_product", {}, {.environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(result.exit_code, 77) << result.text();
  ASSERT_EQ(result.err.size(), 1U) << result.text();
}

TEST(cuda_generalised_product_layout, gives_the_shape_of_the_result) {
  EXPECT_EQ(product_layout.result({{2, 3}, {3, 4}}), (Shape{2, 4}));
  EXPECT_EQ(product_layout.result({{5, 2, 3}, {5, 3, 4}}), (Shape{5, 2, 4}));
  EXPECT_EQ(product_layout.result({{5, 2, 3}, {3, 4}}), (Shape{5, 2, 4}));
  EXPECT_EQ(product_layout.result({{2, 3}, {5, 3, 4}}), (Shape{5, 2, 4}));
  const Layout sum = {{{"n"}}, {}};
  EXPECT_EQ(sum.result({{7, 3}}), Shape{7});
}

TEST(cuda_generalised_product_layout, refuses_shapes_that_do_not_fit) {
  EXPECT_EQ(refusal({{10, 9}, {10, 10}}), "n is 9 and 10");
  EXPECT_EQ(refusal({{2, 3, 4}, {3, 4, 5}}), "loop is 2 and 3");
  EXPECT_EQ(refusal({{3}, {3, 4}}), "an input has the wrong number of dimensions");
  EXPECT_EQ(refusal({{6, 5, 2, 3}, {3, 4}}), "an input has the wrong number of dimensions");
  EXPECT_EQ(refusal({{1, 1}, {1, 1}}), "accepted");
}

TEST(cuda_generalised_product_multiply, computes_the_matrices_that_the_book_prints) {
  const Numbers first = multiply_on_host({square, first_a}, {square, first_b});
  EXPECT_EQ(first.values, first_c);
  EXPECT_EQ(std::accumulate(first.values.begin(), first.values.end(), 0LL), 23777);
  const Numbers second = multiply_on_host({square, second_a}, {square, second_b});
  EXPECT_EQ(second.values, second_c);
  EXPECT_EQ(std::accumulate(second.values.begin(), second.values.end(), 0LL), 18263);
}

TEST(cuda_generalised_product_multiply, computes_rectangular_matrices) {
  const Numbers c = multiply_on_host({{2, 3}, counting(6)}, {{3, 4}, counting(12)});
  EXPECT_EQ(c.shape, (Shape{2, 4}));
  EXPECT_EQ(c.values, (std::vector<long long>{38, 44, 50, 56, 83, 98, 113, 128}));
}

TEST(cuda_generalised_product_multiply, does_not_use_what_the_result_held_before) {
  const std::vector<long long> a = counting(4);
  std::vector<long long> c(4, 999);
  for (int call = 0; call < 2; ++call) {
    multiply({a.data(), 2, 2}, {a.data(), 2, 2}, {c.data(), 2, 2});
    EXPECT_EQ(c, (std::vector<long long>{7, 10, 15, 22}));
  }
}

TEST(cuda_generalised_product_multiply, sums_of_nothing_are_0) {
  const Numbers c = multiply_on_host({{2, 0}, {}}, {{0, 3}, {}});
  EXPECT_EQ(c.shape, (Shape{2, 3}));
  EXPECT_EQ(c.values, std::vector<long long>(6, 0));
}

TEST(cuda_generalised_product_batch, of_pairs_has_the_products_of_the_pairs) {
  std::vector<long long> a = first_a, b = first_b, c = first_c;
  a.insert(a.end(), second_a.begin(), second_a.end());
  b.insert(b.end(), second_b.begin(), second_b.end());
  c.insert(c.end(), second_c.begin(), second_c.end());
  EXPECT_EQ(multiply_on_host({{2, 10, 10}, a}, {{2, 10, 10}, b}).values, c);
}

TEST(cuda_generalised_product_batch, of_one_matrix_has_it_once_and_gives_it_for_every_index) {
  const std::vector<long long> numbers = counting(24);
  const auto one = batch(numbers.data(), {2, 3}), many = batch(numbers.data(), {4, 2, 3});
  EXPECT_EQ(one.count, 1U);
  EXPECT_EQ(one[3].data, numbers.data());
  EXPECT_EQ(many.count, 4U);
  EXPECT_EQ(many[3].data, numbers.data() + 18);
}

TEST(cuda_generalised_product_batch, may_be_interleaved_and_is_multiplied_all_the_same) {
  const std::vector<long long> numbers = counting(24);  // four matrices of 2 x 3
  const auto woven = interleaved(batch(numbers.data(), {4, 2, 3}));
  EXPECT_EQ(woven[3](0, 0), 4);   // behind the first elements of the three before it
  EXPECT_EQ(woven[0](0, 1), 5);   // behind the first elements of all four
  EXPECT_EQ(woven[3](1, 2), 24);  // the last one of all
  const std::vector<long long> a = transposed({1, 2, 3, 4, 5, 6, 7, 8}, 2);  // two matrices
  EXPECT_EQ(a, (std::vector<long long>{1, 5, 2, 6, 3, 7, 4, 8}));
  std::vector<long long> c(8, 999);
  const auto from = interleaved(batch(a.data(), {2, 2, 2}));
  const auto to = interleaved(batch(c.data(), {2, 2, 2}));
  for (int i = 0; i < 2; ++i) multiply(from[i], from[i], to[i]);
  EXPECT_EQ(c, (std::vector<long long>{7, 67, 10, 78, 15, 91, 22, 106}));
}

TEST(cuda_generalised_product_batch, takes_one_matrix_for_every_pair) {
  std::vector<long long> a = first_a, c = first_c;
  a.insert(a.end(), first_a.begin(), first_a.end());
  c.insert(c.end(), first_c.begin(), first_c.end());
  EXPECT_EQ(multiply_on_host({{2, 10, 10}, a}, {square, first_b}).values, c);
  EXPECT_EQ(multiply_on_host({square, first_a}, {{1, 10, 10}, first_b}).values, first_c);
}

TEST(cuda_generalised_product, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--pairs", "129"}, {"--pairs", "128"}};
  cuda_test::expect_clean("cuda_generalised_product", sizes, {"racecheck"});
  cuda_test::expect_clean("cuda_generalised_product", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
