// Blas in the process: the book's matrices, sizes of all kinds, alpha and beta, and the two orders of storage; and how
// the program compares.

#define main cuda_blas_main  // wrong_elements() stands in the program's file, and the test has a main() of its own
#include "06_gpu/cuda_blas/cuda_blas.cpp"
#undef main

#include <cmath>
#include <limits>

#include "06_gpu/compute_sanitizer.hpp"
#include "support/run.hpp"

namespace {

using test_support::run;

/// The matrices that the book prints; the product has 8 decimals.
const Matrix book_a{
    10, 10, {0.79582178, 0.95671563, 0.69251157, 0.85600979, 0.32826726, 0.72861569, 0.20724061, 0.55065641, 0.2257875,
             0.90146437, 0.6742022,  0.43449657, 0.04862685, 0.9023226,  0.87598306, 0.20774405, 0.15774015, 0.2847742,
             0.81601615, 0.34114773, 0.61500219, 0.65982283, 0.73493152, 0.21913261, 0.80862566, 0.73982082, 0.84005388,
             0.38745489, 0.676947,   0.31530397, 0.60694411, 0.65138528, 0.63773284, 0.06589098, 0.49177294, 0.02029247,
             0.9064746,  0.93419845, 0.14609622, 0.28317855, 0.60166404, 0.41423776, 0.09938464, 0.19315303, 0.07374789,
             0.45335697, 0.2912572,  0.81481984, 0.65222424, 0.0670377,  0.32192297, 0.30244072, 0.86595209, 0.37701833,
             0.79095644, 0.11518194, 0.88491826, 0.98290063, 0.62965353, 0.38323725, 0.21512101, 0.64731098, 0.4079146,
             0.8371392,  0.01398673, 0.85945652, 0.0586854,  0.48812094, 0.3625991,  0.58142603, 0.77378663, 0.43994483,
             0.5620805,  0.70350504, 0.60589009, 0.09605428, 0.25423268, 0.06869655, 0.13642323, 0.00221422, 0.77808301,
             0.47386303, 0.54323866, 0.42010733, 0.80652762, 0.05903843, 0.63316824, 0.58479485, 0.45141828, 0.46231481,
             0.97122802, 0.53723365, 0.68688748, 0.54315409, 0.00883411, 0.9855186,  0.53542786, 0.83478941, 0.27459888,
             0.21024639}};
const Matrix book_b{
    10, 10, {0.17084153, 0.44546677, 0.21551063, 0.39731923, 0.00102686, 0.81069924, 0.00681474, 0.01126972, 0.13769525,
             0.63437229, 0.81913609, 0.97583768, 0.52579565, 0.20179695, 0.24066758, 0.18154282, 0.75033104, 0.41878918,
             0.96892428, 0.54358419, 0.10071768, 0.3090773,  0.94185921, 0.70550442, 0.10651627, 0.62659408, 0.23255164,
             0.96166165, 0.65615938, 0.16991118, 0.84163163, 0.59296382, 0.12281989, 0.32851275, 0.78716318, 0.02568872,
             0.02367708, 0.65485736, 0.79834789, 0.76747705, 0.90406949, 0.03424157, 0.01519989, 0.5011444,  0.63175281,
             0.17705116, 0.16257016, 0.81357471, 0.58567631, 0.24503327, 0.62989968, 0.47944669, 0.86860435, 0.94086568,
             0.24312278, 0.13450463, 0.16352136, 0.42323191, 0.46907905, 0.97772097, 0.44608094, 0.19969488, 0.01035155,
             0.69528549, 0.07219375, 0.91454669, 0.18330497, 0.76095336, 0.12880003, 0.24301603, 0.37860881, 0.33079438,
             0.19275564, 0.58316669, 0.35753971, 0.63697732, 0.72063491, 0.42698316, 0.53811423, 0.83682958, 0.42135462,
             0.89413827, 0.00620849, 0.63770542, 0.29376823, 0.68415057, 0.71826696, 0.9748898,  0.9086774,  0.7084634,
             0.08020851, 0.47789158, 0.45538401, 0.26468263, 0.84960276, 0.1108932,  0.0407631,  0.41811299, 0.2539022,
             0.73346706}};
const Matrix book_product{
    10, 10, {2.93393517, 3.22653293, 2.58999843, 2.97688025, 2.40723642, 2.22561846, 1.71083261, 3.20145366, 3.4654546,
             3.9246803,  2.70759988, 2.42236864, 0.94108333, 2.20715685, 2.06739391, 1.78390442, 1.37381915, 2.80760808,
             2.87826551, 2.88739456, 2.93301949, 2.70921232, 2.08465713, 3.39447429, 1.76684939, 2.84034554, 1.8600905,
             3.70096673, 3.21368161, 3.20257798, 2.05665894, 1.92477247, 1.42646422, 2.45288009, 1.27576149, 2.65682509,
             1.68187918, 2.6942483,  2.30742661, 2.35163885, 1.68553937, 1.98030198, 1.05436088, 2.03107385, 0.98066787,
             1.94328559, 1.54050405, 1.8876191,  2.04514196, 2.49719893, 2.55782414, 2.2600454,  1.57942935, 3.11991574,
             1.91570669, 2.93236718, 1.92525406, 3.76932667, 3.03618471, 2.87628333, 2.27705425, 2.53777179, 1.98218876,
             2.30511984, 1.85547257, 1.36423334, 1.39131705, 2.43879465, 2.75148098, 3.14994564, 1.94662205, 1.62822264,
             1.12425671, 1.72230283, 1.21131853, 1.56748417, 0.79113948, 2.08449619, 2.05742732, 1.82536594, 2.42686338,
             2.22641127, 1.3762425,  2.57727754, 1.80747335, 2.53040609, 1.51847658, 3.05078902, 2.68199133, 2.72340269,
             2.44854528, 2.69315101, 2.3255071,  3.17886105, 1.47260987, 2.69597578, 1.65043895, 2.79595207, 2.82714486,
             3.58489296}};

class cuda_blas : public testing::Test {
 protected:
  void SetUp() override {
    if (!gpu::device_found()) GTEST_SKIP() << "no CUDA device";
  }
};

Matrix numbered(int rows, int columns) {
  Matrix matrix{rows, columns, {}};
  for (int i = 0; i < rows * columns; ++i) matrix.values.push_back(i % 7 - 3);  // small integers: sums are exact
  return matrix;
}

Matrix filled(int rows, int columns, double value) {
  return {rows, columns, std::vector<double>(rows * columns, value)};
}

Matrix transposed(const Matrix& a) {
  Matrix result{a.columns, a.rows, a.values};
  for (int i = 0; i < a.rows; ++i) {
    for (int j = 0; j < a.columns; ++j) result.values[j * a.rows + i] = a.values[i * a.columns + j];
  }
  return result;
}

/// The same for matrices on the host.
void multiply(Blas& blas, double alpha, const Matrix& a, const Matrix& b, double beta, Matrix& c) {
  const gpu::DeviceArray<double> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<double> device_c(c.values);
  blas.multiply(alpha, {a.rows, a.columns, device_a.data()}, {b.rows, b.columns, device_b.data()}, beta,
                {c.rows, c.columns, device_c.data()});
  c.values = device_c.to_host();
}

TEST(cuda_blas_multiply_on_host, gives_the_product_of_the_book) {
  Matrix product = filled(10, 10, 0);
  multiply_on_host(1, book_a, book_b, 0, product);
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(product.values[i], book_product.values[i], 1e-7) << i;
}

TEST(cuda_blas_multiply_on_host, overwrites_with_beta_0_and_adds_with_beta_1) {
  const Matrix a{1, 2, {2, 3}}, b{2, 1, {5, 7}};
  Matrix c{1, 1, {std::numeric_limits<double>::quiet_NaN()}};
  multiply_on_host(1, a, b, 0, c);
  EXPECT_EQ(c.values[0], 31);
  multiply_on_host(2, a, b, 1, c);
  EXPECT_EQ(c.values[0], 93);
}

TEST(cuda_blas_wrong_elements, counts_every_element_and_nothing_else) {
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const Matrix expected{2, 3, {1, 2, 3, 4, 5, 6}};
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    for (const double other : {expected.values[i] + 1e-10, expected.values[i] - 1e-10, not_a_number}) {
      std::vector<double> values = expected.values;
      values[i] = other;
      EXPECT_EQ(wrong_elements(values, expected, 3), 1) << i << ": " << other;
    }
  }
  std::vector<double> values = expected.values;
  values.push_back(not_a_number);
  values.pop_back();  // a NaN is left behind the last element
  EXPECT_EQ(wrong_elements(values, expected, 3), 0);
}

TEST_F(cuda_blas, gives_the_product_of_the_book) {
  Matrix product = filled(10, 10, 0);
  Blas blas;
  multiply(blas, 1, book_a, book_b, 1, product);
  for (int i = 0; i < 100; ++i) EXPECT_NEAR(product.values[i], book_product.values[i], 1e-7) << i;
}

TEST_F(cuda_blas, fits_the_processor_for_matrices_that_are_not_square) {
  Blas blas;
  for (const auto& [rows, inner, columns] :
       {std::array{1, 1, 1}, {1, 5, 1}, {5, 1, 7}, {2, 3, 4}, {33, 65, 17}, {200, 3, 1}}) {
    const Matrix a = numbered(rows, inner), b = numbered(inner, columns);
    for (const double beta : {0., 1., -2.}) {
      Matrix c = filled(rows, columns, 1), expected = c;
      multiply(blas, 3, a, b, beta, c);
      multiply_on_host(3, a, b, beta, expected);
      EXPECT_EQ(c.values, expected.values) << rows << " x " << inner << " x " << columns << ", beta " << beta;
    }
  }
}

TEST_F(cuda_blas, with_beta_0_the_old_elements_do_not_matter) {
  Matrix c = filled(2, 2, std::numeric_limits<double>::quiet_NaN());
  Blas blas;
  multiply(blas, 1, numbered(2, 2), numbered(2, 2), 0, c);
  for (const double element : c.values) EXPECT_FALSE(std::isnan(element));
}

TEST_F(cuda_blas, with_alpha_0_and_beta_1_nothing_changes) {
  Matrix c = numbered(3, 4);
  Blas blas;
  multiply(blas, 0, numbered(3, 2), numbered(2, 4), 1, c);
  EXPECT_EQ(c.values, numbered(3, 4).values);
}

/// cublasDgemm for square matrices of n rows, with the factors in the order of the arguments.
std::vector<double> bare_gemm(cublasOperation_t operation, const Matrix& first, const Matrix& second) {
  const int n = first.rows;
  const gpu::DeviceArray<double> device_first(first.values), device_second(second.values);
  gpu::DeviceArray<double> result(n * n);
  const double one = 1, zero = 0;
  cublasHandle_t handle;
  CUBLAS_CHECK(cublasCreate(&handle));
  CUBLAS_CHECK(cublasDgemm(handle, operation, operation, n, n, n, &one, device_first.data(), n, device_second.data(), n,
                           &zero, result.data(), n));
  CUBLAS_CHECK(cublasDestroy(handle));
  return result.to_host();
}

TEST_F(cuda_blas, storage_column_by_column_and_transposition_give_the_same) {
  const Matrix a = numbered(3, 3), b{3, 3, {0, 1, 2, 5, 0, 3, 1, 1, 0}};
  Matrix a_times_b = filled(3, 3, 0), b_times_a = a_times_b;
  multiply_on_host(1, a, b, 0, a_times_b);
  multiply_on_host(1, b, a, 0, b_times_a);
  const std::vector<double> by_columns = transposed(a_times_b).values;
  EXPECT_EQ(bare_gemm(CUBLAS_OP_N, transposed(a), transposed(b)), by_columns);
  EXPECT_EQ(bare_gemm(CUBLAS_OP_T, a, b), by_columns);
  EXPECT_EQ(bare_gemm(CUBLAS_OP_N, a, b), b_times_a.values);  // the pitfall
  EXPECT_EQ(bare_gemm(CUBLAS_OP_N, b, a), a_times_b.values);  // what multiply() does
}

TEST_F(cuda_blas, refuses_sizes_that_do_not_fit_together) {
  Blas blas;
  Matrix c = filled(2, 2, 0);
  EXPECT_THROW(multiply(blas, 1, numbered(2, 3), numbered(2, 2), 0, c), std::invalid_argument);
  EXPECT_THROW(multiply(blas, 1, numbered(3, 2), numbered(2, 2), 0, c), std::invalid_argument);
  EXPECT_THROW(multiply(blas, 1, numbered(2, 2), numbered(2, 3), 0, c), std::invalid_argument);
}

TEST_F(cuda_blas, matrices_that_are_on_the_device_stay_there_and_only_the_result_changes) {
  const Matrix a = numbered(5, 3), b = numbered(3, 4);
  const gpu::DeviceArray<double> device_a(a.values), device_b(b.values);
  gpu::DeviceArray<double> device_c(20);
  device_c.poison();
  Blas blas;
  blas.multiply(2, {5, 3, device_a.data()}, {3, 4, device_b.data()}, 0, {5, 4, device_c.data()});
  Matrix expected = filled(5, 4, 0);
  multiply_on_host(2, a, b, 0, expected);
  EXPECT_EQ(device_c.to_host(), expected.values);
  EXPECT_EQ(device_a.to_host(), a.values);
  EXPECT_EQ(device_b.to_host(), b.values);
  EXPECT_THROW(blas.multiply(1, {5, 3, device_a.data()}, {3, 4, device_b.data()}, 0, {4, 5, device_c.data()}),
               std::invalid_argument);
}

TEST_F(cuda_blas, program_holds_for_other_sizes) {
  for (const auto& [largest, sizes] : {std::pair{"1", 1U}, {"7", 2U}, {"33", 4U}, {"310", 5U}}) {
    const auto result = run("cuda_blas", {"--largest", largest});
    EXPECT_EQ(result.exit_code, 0) << result.text();
    EXPECT_EQ(result.lines_with("^ *[0-9]+ rows +[0-9.]+ us( +[0-9.]+ us +[0-9.]+ x){2}$").size(), sizes)
        << result.text();
    EXPECT_TRUE(result.has_line("ok    elements that differ from the loops': 0")) << result.text();
  }
}

TEST(cuda_blas_timing, the_gpu_loses_with_small_matrices_and_wins_with_large_ones) {
  const auto result = run("cuda_blas");
  if (result.exit_code == cuda_test::skipped) GTEST_SKIP() << result.err[0];
  const auto with_copies = result.captures("rows +[0-9.]+ us +[0-9.]+ us +([0-9.]+) x");
  const auto on_device = result.captures("([0-9.]+) x$");
  ASSERT_EQ(with_copies.size(), 5U) << result.text();
  ASSERT_EQ(on_device.size(), 5U) << result.text();
  EXPECT_LT(std::stod(with_copies.front()), 1) << result.text();
  EXPECT_GT(std::stod(with_copies.back()), 1) << result.text();
  EXPECT_GT(std::stod(on_device.back()), std::stod(with_copies.back())) << result.text();
}

TEST(cuda_blas_memory, is_clean_under_compute_sanitizer) {
  const std::vector<std::vector<std::string>> sizes = {{"--largest", "33"}, {"--largest", "32"}};
  cuda_test::expect_clean("cuda_blas", sizes, {"memcheck"}, {"--leak-check", "full"});
}

}  // namespace
